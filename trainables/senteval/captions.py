"""Caption and image retrieval: the published pickles, read safely, and two projections into one space.

The files `COCO/{train,valid,test}.pkl` hold a dictionary: `features` (image number to 2048 numbers),
`image_to_caption_ids` (image number to caption ids) and `captions` (caption id to a dictionary with
`cleaned_caption`). Five captions an image are used.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from trainables.errors import UserError
from trainables.senteval.read import Split, sentence

CAPTIONS = 5
_SPACE, _MARGIN, _CONTRASTS, _BATCH, _TENACITY, _MAX_EPOCHS = 1000, 0.2, 30, 128, 3, 20
_FOLDS, _FOLD_IMAGES = 5, 1000

_ADMITTED = {
    "collections": {"OrderedDict"},
    "_codecs": {"encode"},
    "numpy": {"ndarray", "dtype"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy.core.numeric": {"_frombuffer"},
    "numpy._core.numeric": {"_frombuffer"},
}
"""Arrays and plain containers need these and no other names; `_codecs.encode` rebuilds bytes of old pickles."""


class _Restricted(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name not in _ADMITTED.get(module, ()):
            raise pickle.UnpicklingError(f"{module}.{name} is neither an array nor a plain container")
        return super().find_class(module, name)


def read_captions(path: Path) -> Split:
    """Captions in the order of their images; labels are image numbers, (5 * images,)."""
    try:
        with path.open("rb") as file:
            content = _Restricted(file, encoding="latin1").load()
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise UserError(f"{path} is no caption file: {str(error) or 'it ends too early'}") from None
    keys = ("features", "image_to_caption_ids", "captions")
    if not isinstance(content, dict) or any(key not in content for key in keys):
        raise UserError(f"{path} is no caption file: it must hold a dictionary with {', '.join(keys)}")
    features, ids, captions = (content[key] for key in keys)
    texts: list[str] = []
    vectors: list[np.ndarray] = []
    for image in range(len(features)):
        try:
            chosen = ids[image][:CAPTIONS]
            # The original adds the full stop, too.
            texts += [sentence((captions[caption]["cleaned_caption"] + " .").split()) for caption in chosen]
            vectors.append(np.asarray(features[image], dtype=np.float32))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise UserError(f"{path}: image {image}: {type(error).__name__} {error}") from None
        if len(chosen) < CAPTIONS:
            raise UserError(f"{path}: image {image} has {len(chosen)} captions, not {CAPTIONS}")
        if vectors[-1].shape != vectors[0].shape or vectors[-1].ndim != 1 or not np.isfinite(vectors[-1]).all():
            raise UserError(f"{path}: image {image} has no vector of {vectors[0].size} finite numbers")
    if not vectors:
        raise UserError(f"{path} holds no image")
    return Split(texts, None, np.repeat(np.arange(len(vectors)), CAPTIONS), np.stack(vectors))


def fit_projections(
    parts: Mapping[str, tuple[Tensor, Split]], seed: int
) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Fit linear projections of images and captions to 1000 dimensions; returns numbers, ranks and gold.

    Pairwise ranking loss, margin 0.2, against 30 random captions and 30 random images a pair, Adam, batch 128.
    After each epoch the six recalls on dev are summed; training stops once more than 3 sums have failed to
    improve, or with the first one after 20 epochs. Ranks are those of each test caption's image.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    embeddings, train = parts["train"]
    images = _images(train).to(device)
    texts, owner = embeddings.to(device), torch.from_numpy(train.labels).to(device)
    if len(texts) <= _BATCH:
        raise UserError(f"ImageCaptionRetrieval needs more than {_BATCH} training captions, not {len(texts)}")
    random = np.random.RandomState(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        image_layer, text_layer = nn.Linear(images.shape[1], _SPACE), nn.Linear(texts.shape[1], _SPACE)
    model = nn.ModuleDict({"image": image_layer, "text": text_layer}).to(device)
    optimiser = torch.optim.Adam(model.parameters(), fused=True)

    best: dict[str, Tensor] = {}
    best_score, failures, epochs = -1.0, 0, 0
    while failures <= _TENACITY and epochs <= _MAX_EPOCHS:
        order = random.permutation(len(texts))
        for low in range(0, len(order), _BATCH):
            batch = torch.from_numpy(order[low : low + _BATCH]).to(device)
            contrast_images = _others(order, low, random).to(device)  # drawn before the texts, as in the original
            contrast_texts = _others(order, low, random).to(device)
            loss = _ranking_loss(
                _project_unique(image_layer, images, owner[torch.cat([batch, contrast_images])]),
                _project_unique(text_layer, texts, torch.cat([batch, contrast_texts])),
                len(batch),
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        epochs += 1
        score = sum(_recalls(model, *parts["dev"])[0].values())
        if score > best_score:
            best_score, best = score, {name: value.clone() for name, value in model.state_dict().items()}
        else:
            failures += 1
    model.load_state_dict(best)
    recalls, ranks, medians = _recalls(model, *parts["test"])
    numbers = {
        "dev_recall": best_score / 6,
        "test_recall": sum(recalls.values()) / 6,
        **{f"test_{name}": value for name, value in {**recalls, **medians}.items()},
        "examples": [len(parts["dev"][0]), len(parts["test"][0])],
    }
    return numbers, ranks, np.zeros_like(ranks)


def _images(part: Split) -> Tensor:
    assert part.images is not None, "caption splits carry images"
    return torch.from_numpy(part.images)


def _others(order: np.ndarray, low: int, random: np.random.RandomState) -> Tensor:
    """Contrasts for each member of the batch that starts at `low`, drawn from all examples outside it."""
    batch = min(_BATCH, len(order) - low)
    drawn = random.randint(0, len(order) - batch, size=_CONTRASTS * batch)
    drawn[drawn >= low] += batch
    return torch.from_numpy(order[drawn])


def _project(layer: nn.Module, rows: Tensor) -> Tensor:
    return nn.functional.normalize(layer(rows), dim=1)


def _project_unique(layer: nn.Module, rows: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """Each row is projected once however often it is drawn: (unique, space), and where each index went."""
    unique, where = index.unique(return_inverse=True)
    return _project(layer, rows[unique]), where


def _ranking_loss(images: tuple[Tensor, Tensor], texts: tuple[Tensor, Tensor], batch: int) -> Tensor:
    """Sum of hinges. The first `batch` indices are pairs, the rest their contrasts, `_CONTRASTS` for each."""
    (image_rows, image_at), (text_rows, text_at) = images, texts
    similarity = image_rows[image_at[:batch]] @ text_rows.T  # (batch, unique texts)
    other_way = text_rows[text_at[:batch]] @ image_rows.T  # (batch, unique images)
    anchor = similarity.gather(1, text_at[:batch, None])  # (batch, 1)
    text_cost = _MARGIN - anchor + similarity.gather(1, text_at[batch:].view(batch, -1))
    image_cost = _MARGIN - anchor + other_way.gather(1, image_at[batch:].view(batch, -1))
    return text_cost.clamp(min=0).sum() + image_cost.clamp(min=0).sum()


@torch.no_grad()
def _recalls(
    model: nn.ModuleDict, embeddings: Tensor, part: Split
) -> tuple[dict[str, float], np.ndarray, dict[str, float]]:
    """Mean over five folds of R@1, 5, 10 both ways in percent, each caption's rank, and median ranks.

    A fold has 1000 images, or a fifth of them where there are fewer.
    """
    device = next(model.parameters()).device
    images = _images(part)
    size = min(_FOLD_IMAGES, len(images) // _FOLDS)
    if not size:
        raise UserError(f"ImageCaptionRetrieval needs at least {_FOLDS} images to score, not {len(images)}")
    ways: dict[str, list[np.ndarray]] = {"i2t": [], "t2i": []}
    for fold in range(_FOLDS):
        these = slice(fold * size, (fold + 1) * size)
        texts = _project(model["text"], embeddings[these.start * CAPTIONS : these.stop * CAPTIONS].to(device))
        scores = (texts @ _project(model["image"], images[these].to(device)).T).cpu()  # (captions, images)
        own = scores[torch.arange(len(scores)), torch.arange(len(scores)) // CAPTIONS]
        ways["t2i"].append((scores > own[:, None]).sum(dim=1).numpy())
        nearest = own.view(-1, CAPTIONS).max(dim=1).values  # (images,)
        ways["i2t"].append((scores > nearest).sum(dim=0).numpy())
    recalls = {
        f"{way}_r{k}": float(np.mean([100 * (ranks < k).mean() for ranks in folds]))
        for way, folds in ways.items()
        for k in (1, 5, 10)
    }
    medians = {f"{way}_medr": float(np.mean([np.floor(np.median(r)) + 1 for r in f])) for way, f in ways.items()}
    return recalls, np.concatenate(ways["t2i"]), medians
