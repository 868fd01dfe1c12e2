"""Which test items hold a sentence that the model was trained on."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from trainables.corpora.layouts import Layout, SamplerRequest, all_sentences
from trainables.corpora.leaks import AlikeTexts
from trainables.recipe import Recipe
from trainables.senteval.read_task import kept_task
from trainables.senteval.tasks import TASKS, kind_of
from trainables.trial.data_requests import sampler_request


def overlap(
    recipe: Recipe, senteval: Path, tasks: Iterable[str], fingerprints: tuple[str | None, str | None]
) -> dict[str, np.ndarray] | None:
    """By task with a test part, (items,): whether each item holds a sentence of the corpus. None for a recipe without
    training, and for a layout without sentences.

    Near duplicates count, as `leaks` tells them. `senteval` is the tasks' folder, `fingerprints` are those of corpus
    and tasks. Errors are those of reading them.
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
    """`fingerprints` change with the files, so that they are read once as long as they stay as they are.

    Only test sentences are kept, which are few; those of the corpus pass by one after another.
    """
    items = {name: texts for name in tasks if (texts := _test_items(name, senteval))}
    every = (text for texts in items.values() for item in texts for text in item)
    numbers = {text: number for number, text in enumerate(dict.fromkeys(every))}
    tested, seen = AlikeTexts(numbers), set[int]()
    for sentence in all_sentences(layout, request):
        seen.update(tested.like(sentence))
    return {
        name: np.array([any(numbers[text] in seen for text in item) for item in texts]) for name, texts in items.items()
    }


def _test_items(name: str, senteval: Path) -> list[tuple[str, ...]]:
    """The texts of each test item."""
    splits = kind_of(name).tested(kept_task(TASKS[name], senteval))
    return [tuple(item) for split in splits for item in split.items()]
