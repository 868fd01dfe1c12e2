"""Test items that contain a sentence of the training data."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from trainables.corpora.layouts import Layout, SamplerRequest, all_sentences
from trainables.corpora.leaks import TextIndex
from trainables.recipe import Recipe
from trainables.senteval.read_task import kept_task
from trainables.senteval.tasks import TASKS, kind_of
from trainables.trial.data_requests import sampler_request

MAX_TRAINED = 0.5
"""Relevant documents in the training data count only if at most this share of queries has such a document."""


def overlap(
    recipe: Recipe, senteval: Path, tasks: Iterable[str], fingerprints: tuple[str | None, str | None]
) -> dict[str, np.ndarray] | None:
    """Return for each task with a test split, (items,), whether each item contains a sentence of the corpus. None for a
    recipe without training, and for a layout without sentences.

    Near duplicates count, by the rule of `leaks`. The sentences of a search item are its query and relevant documents.
    `senteval`: the tasks' folder. `fingerprints`: of corpus and tasks. Errors of reading corpus or tasks are raised.
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
    items, answers = dict[str, Sequence[Sequence[str]]](), dict[str, Sequence[Sequence[str]]]()
    for name in tasks:
        splits = kind_of(name).tested_splits(kept_task(TASKS[name], senteval))
        if any(map(len, splits)):
            items[name] = [item for split in splits for item in split.items()]
            answers[name] = [item for split in splits for item in split.relevant_documents()]
    every = (text for texts in (*items.values(), *answers.values()) for item in texts for text in item)
    numbers = {text: number for number, text in enumerate(dict.fromkeys(every))}
    tested, trained = TextIndex(numbers), set[int]()
    for sentence in all_sentences(layout, request):
        trained.update(tested.matches(sentence))
    seen = [text in trained for text in range(len(numbers))]

    def marks(texts: Iterable[Sequence[str]]) -> np.ndarray:  # (items,)
        return np.array([any(seen[numbers[text]] for text in item) for item in texts])

    return {name: _of_items(marks(items[name]), marks(answers[name])) for name in items}


def _of_items(own: np.ndarray, answers: np.ndarray) -> np.ndarray:  # (items,)
    """Return the marks of queries joined with the marks of their relevant documents (`answers`). If training has seen
    documents of most queries, they are a known set to rank for new queries, such as the answers of an FAQ, and their
    marks do not count."""
    return own | answers if answers.mean() <= MAX_TRAINED else own
