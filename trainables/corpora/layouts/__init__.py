"""The registry of layouts, the values of `corpus.layout`. A layout makes a `Sampler` of batches from a corpus.

    layout, request = recipe.part(Layout), SamplerRequest(batch_size=64, seed=1, positives=5, negatives=5, ...)
    layout.check(request)                                   # raises, before training, if no batch can be made
    sampler, description = make_sampler(layout, request)
    sampler.batch(0)

To add a layout: a subclass of `Layout` (`contract.py`), whose fields are its keys, added here or in a plugin file.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from trainables.corpora.batch import Sampler
from trainables.corpora.layouts.contract import Layout
from trainables.corpora.layouts.mix import MixLayout
from trainables.corpora.layouts.nli import GroupLayout, PairLayout, RowLayout, SentenceLayout
from trainables.corpora.layouts.same_label import SameLabelLayout
from trainables.corpora.layouts.scored_pairs import ScoredPairLayout
from trainables.corpora.layouts.spans import SpanLayout
from trainables.corpora.layouts.stsb_pairs import SimilarPairLayout
from trainables.corpora.layouts.texts import TextLayout
from trainables.corpora.request import SamplerRequest, SpanEncoder
from trainables.errors import UserError
from trainables.registry import Registry

__all__ = [
    "LAYOUTS",
    "Layout",
    "SamplerRequest",
    "SpanEncoder",
    "all_sentences",
    "check_sentences",
    "make_sampler",
    "training_sentences",
]

LAYOUTS: Registry[type[Layout]] = Registry(
    "layout",
    RowLayout,
    GroupLayout,
    PairLayout,
    SimilarPairLayout,
    SentenceLayout,
    TextLayout,
    SpanLayout,
    ScoredPairLayout,
    SameLabelLayout,
    MixLayout,
)
"""The values of `corpus.layout`."""


def make_sampler(layout: Layout, request: SamplerRequest) -> tuple[Sampler, dict[str, Any]]:
    """Return a layout's sampler, and a description of its corpus for the trial's record: `{"layout": name, ...}`."""
    sampler, description = layout.make(request)
    return sampler, {"layout": layout.name, **description}


def training_sentences(layout: Layout, request: SamplerRequest, limit: int) -> list[str]:
    """Return the first `limit` unique sentences of the corpus, in its order. `UserError` if the layout has none."""
    return list(islice(dict.fromkeys(all_sentences(layout, request)), limit))


def all_sentences(layout: Layout, request: SamplerRequest) -> Iterable[str]:
    """Return every sentence of the corpus, in its order, with repetitions. `UserError` if the layout has none."""
    _need_sentences(layout)
    return layout.sentences(request)


def check_sentences(layout: Layout, request: SamplerRequest) -> None:
    """Raise the `UserError` that `training_sentences` would raise. Reads local files once, and downloads nothing."""
    _need_sentences(layout)
    layout.check_sentences(request)


def _need_sentences(layout: Layout) -> None:
    if not layout.has_sentences:
        raise UserError(
            f"pooling.after is fitted on sentences, and corpus.layout={layout.name} holds none; give another layout"
        )
