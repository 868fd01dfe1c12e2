"""Test items that contain a sentence of the training data, or that stand in a development part."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from trainables.corpora.layouts import Layout, SamplerRequest, all_sentences
from trainables.corpora.leaks import TextIndex
from trainables.recipe import Recipe
from trainables.senteval.examples import Split
from trainables.senteval.items import IN_DEVELOPMENT, IN_TRAINING
from trainables.senteval.read_task import kept_task
from trainables.senteval.tasks import TASKS, kind_of
from trainables.trial.data_requests import sampler_request


def overlap(
    recipe: Recipe, senteval: Path, tasks: Iterable[str], fingerprints: tuple[str | None, str | None]
) -> dict[str, np.ndarray] | None:
    """Return for each task with a test split, (items,), the sum of `IN_TRAINING` for an item with a sentence of the
    corpus, and of `IN_DEVELOPMENT` for one that a development part of any of the tasks holds whole. None for a recipe
    without training, and for a layout without sentences.

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
    data = {name: kept_task(TASKS[name], senteval) for name in tasks}
    tested_items = {name: _items(kind_of(name).tested_splits(own)) for name, own in data.items()}
    items = {name: texts for name, texts in tested_items.items() if texts}
    every = (text for texts in items.values() for item in texts for text in item)
    numbers = {text: number for number, text in enumerate(dict.fromkeys(every))}
    tested, seen = TextIndex(numbers), set[int]()
    for sentence in all_sentences(layout, request):
        seen.update(tested.matches(sentence))
    chosen_by = defaultdict[int, list[set[int]]](list)
    """Maps a text's number to the texts that each development item with it holds."""
    for name, own in data.items():
        for item in _items(kind_of(name).development_splits(own)):
            held = {number for text in item for number in tested.matches(text)}
            for number in held:
                chosen_by[number].append(held)

    def mark(item: list[int]) -> int:
        rarest = min(item, key=lambda text: len(chosen_by.get(text, ())))
        in_development = any(held.issuperset(item) for held in chosen_by.get(rarest, ()))
        return IN_TRAINING * (not seen.isdisjoint(item)) + IN_DEVELOPMENT * in_development

    return {
        name: np.array([mark([numbers[text] for text in item]) for item in texts], np.int8)
        for name, texts in items.items()
    }


def _items(splits: Iterable[Split]) -> list[tuple[str, ...]]:
    return [item for split in splits for item in split.items()]
