"""How many test items hold a sentence that the model was trained on."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable

from trainables.corpora.layouts import LAYOUTS, SamplerRequest, training_sentences
from trainables.errors import UserError
from trainables.recipe import Recipe
from trainables.senteval.items import test_splits
from trainables.senteval.read import read_task
from trainables.senteval.tasks import TASKS
from trainables.trial.places import sampler_request

Overlap = dict[str, dict[str, int]]


def overlap(recipe: Recipe, tasks: Iterable[str], fingerprints: tuple[str | None, str]) -> Overlap | None:
    """By task `items`, how many test items it has, and `seen`, how many of them hold a sentence that stands in the
    corpus of the resolved recipe. None for a recipe without training, and for a corpus whose sentences cannot be
    listed.

    Sentences are compared in lower case and with single spaces. `fingerprints` are those of the corpus and of the
    tasks' files: in one process the same files are counted once.
    """
    if not recipe.trains or LAYOUTS[recipe.corpus.layout].sentences is None:
        return None
    return _counted(recipe.corpus.layout, sampler_request(recipe, seed=0), tuple(tasks), fingerprints)


@functools.lru_cache(maxsize=32)
def _counted(
    layout: str, request: SamplerRequest, tasks: tuple[str, ...], fingerprints: tuple[str | None, str]
) -> Overlap | None:
    """`fingerprints` change with the files, so that they are read once as long as they stay as they are."""
    try:
        trained = {_plain(sentence) for sentence in training_sentences(layout, request, sys.maxsize)}
    except UserError:  # a trial is not lost for a number beside its scores
        return None
    found: Overlap = {}
    for name in tasks:
        splits = test_splits(TASKS[name], read_task(TASKS[name], request.senteval))
        items = [item for split in splits for item in zip(*filter(None, (split.left, split.right)), strict=True)]
        seen = sum(any(_plain(sentence) in trained for sentence in item) for item in items)
        found[name] = {"items": len(items), "seen": seen}
    return found


def _plain(sentence: str) -> str:
    return " ".join(sentence.lower().split())
