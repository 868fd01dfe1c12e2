"""The published pickles of captions and image features, read safely.

The files `COCO/{train,valid,test}.pkl` hold a dictionary: `features` (image number to 2048 numbers),
`image_to_caption_ids` (image number to caption ids) and `captions` (caption id to a dictionary with
`cleaned_caption`). Five captions an image are used.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trainables.errors import UserError
from trainables.senteval.examples import Split, TaskData, sentence
from trainables.senteval.scorers import THREE
from trainables.senteval.tasks import Task

CAPTIONS = 5
"""Captions of an image."""

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
    def find_class(self, module: str, name: str) -> object:
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


def read_coco(task: Task, paths: Sequence[Path]) -> TaskData:
    """A pickle for each split."""
    return TaskData({name: read_captions(path) for name, path in zip(THREE, paths, strict=True)})
