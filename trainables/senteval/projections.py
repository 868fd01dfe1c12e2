"""Linear projections of captions and of images into one space, for retrieval, fitted by a ranking loss."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from trainables.errors import UserError
from trainables.senteval.examples import Split
from trainables.senteval.ranking import CAPTIONS, FOLDS, fold_size, recalls

_SPACE, _MARGIN, _CONTRASTS, _BATCH, _TENACITY, _MAX_EPOCHS = 1000, 0.2, 30, 128, 3, 20


def fit_projections(parts: Mapping[str, tuple[Tensor, Split]], seed: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Fit linear projections of images and captions to 1000 dimensions. Returns the mean of the recalls on dev, and the
    ranks on test as `recalls` takes them.

    A pairwise ranking loss, margin 0.2, against 30 random captions and 30 random images per pair; Adam, batch 128.
    Training stops once more than 3 sums of the recalls on dev have failed to improve, or more than 20 epochs have run.
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
        score = math.fsum(recalls(*_ranks(model, *parts["dev"])).values())
        if score > best_score:
            best_score, best = score, {name: value.clone() for name, value in model.state_dict().items()}
        else:
            failures += 1
    model.load_state_dict(best)
    return best_score / 6, *_ranks(model, *parts["test"])


def _images(part: Split) -> Tensor:
    assert part.images is not None, "caption splits carry images"
    return torch.from_numpy(part.images)


def _others(order: np.ndarray, low: int, random: np.random.RandomState) -> Tensor:
    """Return contrasts for each member of the batch that starts at `low`, drawn from all examples outside the batch."""
    batch = min(_BATCH, len(order) - low)
    drawn = random.randint(0, len(order) - batch, size=_CONTRASTS * batch)
    drawn[drawn >= low] += batch
    return torch.from_numpy(order[drawn])


def _project(layer: nn.Module, rows: Tensor) -> Tensor:
    return nn.functional.normalize(layer(rows), dim=1)


def _project_unique(layer: nn.Module, rows: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """Project each row once, however often it is drawn. Returns (unique, space), and each index's row in it."""
    unique, where = index.unique(return_inverse=True)
    return _project(layer, rows[unique]), where


def _ranking_loss(images: tuple[Tensor, Tensor], texts: tuple[Tensor, Tensor], batch: int) -> Tensor:
    """Return the sum of hinge losses. The first `batch` indices are pairs, then come `_CONTRASTS` contrasts per
    pair."""
    (image_rows, image_at), (text_rows, text_at) = images, texts
    similarity = image_rows[image_at[:batch]] @ text_rows.T  # (batch, unique texts)
    other_way = text_rows[text_at[:batch]] @ image_rows.T  # (batch, unique images)
    anchor = similarity.gather(1, text_at[:batch, None])  # (batch, 1)
    text_cost = _MARGIN - anchor + similarity.gather(1, text_at[batch:].view(batch, -1))
    image_cost = _MARGIN - anchor + other_way.gather(1, image_at[batch:].view(batch, -1))
    return text_cost.clamp(min=0).sum() + image_cost.clamp(min=0).sum()


@torch.no_grad()
def _ranks(model: nn.ModuleDict, embeddings: Tensor, part: Split) -> tuple[np.ndarray, np.ndarray]:
    """Return ranks, as numbers of nearer items: of each caption's image among the images of its fold, (captions,), and
    of the nearest of each image's captions among the captions, (images,)."""
    device = next(model.parameters()).device
    images = _images(part)
    size = fold_size(len(images))
    if not size:
        raise UserError(f"ImageCaptionRetrieval needs at least {FOLDS} images to score, not {len(images)}")
    to_images, to_captions = [], []
    for fold in range(FOLDS):
        these = slice(fold * size, (fold + 1) * size)
        texts = _project(model["text"], embeddings[these.start * CAPTIONS : these.stop * CAPTIONS].to(device))
        scores = (texts @ _project(model["image"], images[these].to(device)).T).cpu()  # (captions, images)
        own = scores[torch.arange(len(scores)), torch.arange(len(scores)) // CAPTIONS]
        to_images.append((scores > own[:, None]).sum(dim=1).numpy())
        nearest = own.view(-1, CAPTIONS).max(dim=1).values  # (images,)
        to_captions.append((scores > nearest).sum(dim=0).numpy())
    return np.concatenate(to_images), np.concatenate(to_captions)
