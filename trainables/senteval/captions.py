"""The published pickles of captions and image features, read as plain data (`plain_pickle.py`).

The files `COCO/{train,valid,test}.pkl` hold a dictionary: `features` (image number to 2048 numbers),
`image_to_caption_ids` (image number to caption ids) and `captions` (caption id to a dictionary with
`cleaned_caption`). Five captions per image are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trainables.errors import UserError, describe_error, is_text, reason
from trainables.senteval.examples import Split, TaskData, sentence
from trainables.senteval.kinds.contract import TRAIN_DEV_TEST
from trainables.senteval.plain_pickle import read_plain, unwrap_array
from trainables.senteval.ranking import CAPTIONS
from trainables.senteval.tasks import Task


def read_captions(path: Path) -> Split:
    """Return captions in the order of their images; labels are image numbers, (5 * images,)."""
    try:
        content = read_plain(path)
    except Exception as error:  # a pickle is a program, and a broken one may fail in any way
        raise UserError(f"{path} is no caption file: {reason(error)}") from None
    keys = ("features", "image_to_caption_ids", "captions")
    if not isinstance(content, dict) or any(key not in content for key in keys):
        raise UserError(f"{path} is no caption file: it must hold a dictionary with {', '.join(keys)}")
    features, ids, captions = (unwrap_array(content[key]) for key in keys)
    if not isinstance(features, dict | list | np.ndarray) or not len(features):
        raise UserError(f"{path} holds no image")
    texts: list[str] = []
    vectors: list[np.ndarray] = []
    for image in range(len(features)):
        try:
            chosen = unwrap_array(ids[image])[:CAPTIONS]
            # The original adds the full stop, too.
            texts += [sentence((captions[caption]["cleaned_caption"] + " .").split()) for caption in chosen]
            vectors.append(np.asarray(unwrap_array(features[image]), dtype=np.float32))
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise UserError(f"{path}: image {image}: {describe_error(error)}") from None
        if len(chosen) < CAPTIONS or not all(map(is_text, texts[-CAPTIONS:])):
            raise UserError(f"{path}: image {image} has {len(chosen)} captions, not {CAPTIONS} texts")
        if vectors[-1].shape != vectors[0].shape or vectors[-1].ndim != 1 or not np.isfinite(vectors[-1]).all():
            raise UserError(f"{path}: image {image} has no vector of {vectors[0].size} finite numbers")
    return Split(texts, None, np.repeat(np.arange(len(vectors)), CAPTIONS), np.stack(vectors))


def read_coco(task: Task, paths: Sequence[Path]) -> TaskData:
    """Read the pickles of captions and image features, one for each split."""
    return TaskData({name: read_captions(path) for name, path in zip(TRAIN_DEV_TEST, paths, strict=True)})
