"""Test items that contain a sentence of the training data."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from trainables.corpora.layouts import Layout, SamplerRequest, all_sentences
from trainables.corpora.leaks import TextIndex
from trainables.recipe import Recipe
from trainables.senteval.read_task import kept_task
from trainables.senteval.tasks import TASKS, kind_of
from trainables.trial.data_requests import sampler_request

MAX_TRAINED = 0.25
"""If training data have a relevant document of more than this share of a search's queries, its documents are a known
set, such as the answers of an FAQ: only the queries must be new."""


def overlap(
    recipe: Recipe, senteval: Path, tasks: Iterable[str], fingerprints: tuple[str | None, str | None]
) -> dict[str, np.ndarray] | None:
    """Return for each task with a test split, (items,), whether each item contains a sentence of the corpus. None for a
    recipe without training, and for a layout without sentences.

    Near duplicates count, by the rule of `leaks`. An item of a search contains its query, and its relevant documents
    unless these are a known set (`MAX_TRAINED`). Documents are looked for in all of the corpus, so that recipes on
    parts of it are compared on the same items. `senteval`: the tasks' folder. `fingerprints`: of corpus and tasks.
    Errors of reading either are raised.
    """
    if not recipe.trains or not recipe.part(Layout).has_sentences:
        return None
    whole = recipe.override({"corpus.share": 1.0}) if "corpus.share" in recipe.flat() else recipe
    layouts = recipe.part(Layout), whole.part(Layout)
    return _seen(*layouts, sampler_request(recipe, seed=0), senteval, tuple(tasks), fingerprints)


@functools.lru_cache(maxsize=32)
def _seen(
    layout: Layout,
    whole: Layout,
    request: SamplerRequest,
    senteval: Path,
    tasks: tuple[str, ...],
    fingerprints: tuple[str | None, str | None],
) -> dict[str, np.ndarray]:
    """See `overlap`. `fingerprints` is part of the cache key, so changed files are read again.

    Only test sentences, which are few, are held in memory; corpus sentences are read one by one.
    """
    splits = {name: kind_of(name).tested_splits(kept_task(TASKS[name], senteval)) for name in tasks}
    items = {name: texts for name in tasks if (texts := [item for split in splits[name] for item in split.items()])}
    relevant = {name: [item for split in splits[name] for item in split.relevant_documents()] for name in items}
    own = _marks(items, layout, request)
    documents = _marks({name: texts for name, texts in relevant.items() if any(texts)}, whole, request)
    return {
        name: own[name] | documents[name] if name in documents and documents[name].mean() <= MAX_TRAINED else own[name]
        for name in own
    }


def _marks(
    items: Mapping[str, Sequence[Sequence[str]]], layout: Layout, request: SamplerRequest
) -> dict[str, np.ndarray]:
    """Return for each task, (items,), whether the corpus has a text of each item, at least nearly."""
    numbers: dict[str, int] = {}
    for texts in items.values():
        for item in texts:
            for text in item:
                numbers.setdefault(text, len(numbers))
    tested, seen = TextIndex(numbers), set[int]()
    for sentence in all_sentences(layout, request) if numbers else ():
        seen.update(tested.matches(sentence))
    return {
        name: np.array([any(numbers[text] in seen for text in item) for item in texts]) for name, texts in items.items()
    }
