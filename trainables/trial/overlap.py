"""Test items that contain a sentence of the training data."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from trainables.corpora.layouts import Layout, SamplerRequest, all_sentences
from trainables.corpora.leaks import TextIndex
from trainables.recipe import Recipe
from trainables.senteval.read_task import kept_task
from trainables.senteval.tasks import TASKS, kind_of
from trainables.trial.data_requests import sampler_request


def overlap(
    recipe: Recipe, senteval: Path, tasks: Iterable[str], fingerprints: tuple[str | None, str | None]
) -> dict[str, np.ndarray] | None:
    """Return for each task with a test split, (items,), whether each item contains a sentence of the corpus. None for a
    recipe without training, and for a layout without sentences.

    Near duplicates count, by the rule of `leaks`. Of a search only queries count: its documents may be known, such as
    the answers of an FAQ. `senteval`: the tasks' folder. `fingerprints`: of corpus and tasks. Errors of reading either
    are raised.
    """
    if not recipe.trains or not recipe.part(Layout).has_sentences:
        return None
    return _seen(recipe.part(Layout), sampler_request(recipe, seed=0), senteval, tuple(tasks), fingerprints)


@functools.lru_cache(maxsize=32)
def _seen(
    layout: Layout,
    request: SamplerRequest,
    senteval: Path,
    tasks: tuple[str, ...],
    fingerprints: tuple[str | None, str | None],
) -> dict[str, np.ndarray]:
    """See `overlap`. `fingerprints` is part of the cache key, so changed files are read again.

    Only test sentences, which are few, are held in memory; corpus sentences are read one by one.
    """
    items = {name: texts for name in tasks if (texts := _test_items(name, senteval))}
    every = (text for texts in items.values() for item in texts for text in item)
    numbers = {text: number for number, text in enumerate(dict.fromkeys(every))}
    tested, seen = TextIndex(numbers), set[int]()
    for sentence in all_sentences(layout, request):
        seen.update(tested.matches(sentence))
    return {
        name: np.array([any(numbers[text] in seen for text in item) for item in texts]) for name, texts in items.items()
    }


def _test_items(name: str, senteval: Path) -> list[tuple[str, ...]]:
    splits = kind_of(name).tested_splits(kept_task(TASKS[name], senteval))
    return [item for split in splits for item in split.items()]
