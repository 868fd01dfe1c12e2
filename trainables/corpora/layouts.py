"""What a batch counts: the registry of `corpus.layout`, whose entries make a `Sampler` of a corpus.

    request = SamplerRequest(recipe.corpus, recipe.spans, batch_size=64, seed=1, positives=5, negatives=5, ...)
    check_layout("groups", request)                         # refuses, before anything starts, what cannot be made
    sampler, description = make_sampler("groups", request)
    sampler.batch(0)

To add one: a function from a request to a sampler, one that checks a request, and an entry here or in a plugin file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Union

from trainables.corpora import nli_layouts, spans, stsb_pairs
from trainables.corpora.batch import Sampler
from trainables.corpora.request import SamplerRequest, SpanEncoder
from trainables.errors import UserError
from trainables.keys import Value
from trainables.registry import Registry, load

__all__ = [
    "LAYOUTS",
    "Layout",
    "SamplerRequest",
    "SpanEncoder",
    "all_sentences",
    "check_layout",
    "check_sentences",
    "layout_remarks",
    "make_sampler",
    "training_sentences",
]

Make = Callable[[SamplerRequest], tuple[Sampler, dict[str, Any]]]
Check = Callable[[SamplerRequest], None]
Remarks = Callable[[SamplerRequest], list[str]]
Sentences = Callable[[SamplerRequest], Iterable[str]]


@dataclass(frozen=True)
class Layout:
    """An entry of `LAYOUTS`. A function may also be given as `"module:function"`."""

    name: str
    sampler: Union[Make, str]
    """The batches, and what their corpus is: a description for the trial's record, ready for JSON."""
    check: Union[Check, str]
    """Refuses, by `UserError`, what `sampler` would: fast, and without a download."""
    sentences: Union[Sentences, str, None] = None
    """The training sentences in corpus order, repeated ones too; None for a layout without sentences."""
    check_sentences: Union[Check, str, None] = None
    """Refuses what `sentences` would, as `check` does."""
    remarks: Union[Remarks, str, None] = None
    """What a person should know of the corpus before it is trained on; asked after `check`."""
    reads: str = "corpus.nli"
    """The recipe key that names the data it reads."""
    keys: tuple[str, ...] | None = None
    """Keys of the sections `corpus` and `spans` that it reads; None: it may read any. A search leaves the others alone
    (`trainables.idle`)."""
    tokens: bool = False
    """Whether it draws tokens, so that the request holds an encoder that has tokens of its own."""
    anchors_key: str | None = None
    """The key that sets how many anchors each unit of a batch has, where it is not one."""
    positives: int | None = None
    """Most positives of an anchor that a batch has; None for any number."""
    positives_key: str | None = None
    """The key that sets the number of positives, where it is not `objective.positives`."""
    negatives: bool = True
    """Whether a batch has hard negatives."""
    exact: bool = False
    """Whether every anchor has exactly P positives and Q hard negatives, so that an objective draws none."""
    stacks: bool = False
    """Whether many trials on it can train as a population: its batches are entailed pairs, each a group of its own."""
    objectives: tuple[str, ...] = ()
    """Objectives that can learn from it, beside those that name it themselves."""
    released: Mapping[str, Value] = field(default_factory=dict)
    """What `objective.fidelity=released` sets: where the authors' code does something else than the paper's text."""


_PAIRS = ("corpus.nli", "corpus.columns", "corpus.labels", "corpus.limit")
_SPANS = ("anchors", "positives", "shortest", "longest", "document", "strategy", "places")

LAYOUTS = Registry(
    "layout",
    Layout(
        "rows",
        nli_layouts.make_rows,
        nli_layouts.check_rows,
        nli_layouts.sentences,
        nli_layouts.check_source,
        nli_layouts.remarks,
        keys=_PAIRS,
    ),
    Layout(
        "groups",
        nli_layouts.make_groups,
        nli_layouts.check_groups,
        nli_layouts.sentences,
        nli_layouts.check_source,
        nli_layouts.remarks,
        keys=(*_PAIRS, "corpus.augmentation", "corpus.paraphraser"),
        exact=True,
    ),
    Layout(
        "pairs",
        nli_layouts.make_pairs,
        nli_layouts.check_pairs,
        nli_layouts.sentences,
        nli_layouts.check_source,
        nli_layouts.remarks,
        keys=_PAIRS,
        positives=1,
        negatives=False,
        stacks=True,
    ),
    Layout(
        "similar_pairs",
        stsb_pairs.make_similar,
        stsb_pairs.check_similar,
        stsb_pairs.sentences,
        stsb_pairs.check_source,
        stsb_pairs.remarks,
        reads="corpus.senteval",
        keys=("corpus.limit", "corpus.senteval"),
        positives=1,
        negatives=False,
        stacks=True,
    ),
    Layout(
        "sentences",
        nli_layouts.make_sentences,
        nli_layouts.check_sentences,
        nli_layouts.sentences,
        nli_layouts.check_source,
        nli_layouts.remarks,
        keys=_PAIRS,
        positives=1,
        negatives=False,
    ),
    Layout(
        "spans",
        spans.make_span_sampler,
        spans.check_span_sampler,
        reads="corpus.documents",
        keys=("corpus.documents", "corpus.limit", "corpus.share", *(f"spans.{name}" for name in _SPANS)),
        tokens=True,
        anchors_key="spans.anchors",
        positives_key="spans.positives",
        negatives=False,
        released={"spans.places": "blocks", "objective.workers": "mean"},
    ),
)
"""The values of `corpus.layout`."""


def make_sampler(layout: str, request: SamplerRequest) -> tuple[Sampler, dict[str, Any]]:
    """The batches of a layout, and a description of their corpus for the trial's record: `{"layout": layout, ...}`."""
    sampler, description = load(LAYOUTS[layout].sampler)(request)
    return sampler, {"layout": layout, **description}


def check_layout(layout: str, request: SamplerRequest) -> None:
    """Refuse, by `UserError`, what `make_sampler` would; reads local files once, and downloads nothing."""
    load(LAYOUTS[layout].check)(request)


def layout_remarks(layout: str, request: SamplerRequest) -> list[str]:
    """Sentences that a person should read before the corpus is trained on, for a request that was checked."""
    remarks = LAYOUTS[layout].remarks
    return load(remarks)(request) if remarks is not None else []


def training_sentences(layout: str, request: SamplerRequest, limit: int) -> list[str]:
    """The first so many unique sentences of the corpus, in its order; `UserError` where it has none."""
    return list(islice(dict.fromkeys(all_sentences(layout, request)), limit))


def all_sentences(layout: str, request: SamplerRequest) -> Iterable[str]:
    """Every sentence of the corpus, in its order, repeated ones too; `UserError` where it has none."""
    found: Iterable[str] = load(_need_sentences(layout).sentences)(request)
    return found


def check_sentences(layout: str, request: SamplerRequest) -> None:
    """Refuse, by `UserError`, what `training_sentences` would; reads local files once, and downloads nothing."""
    load(_need_sentences(layout).check_sentences)(request)


def _need_sentences(layout: str) -> Layout:
    entry = LAYOUTS[layout]
    if entry.sentences is None:
        raise UserError(
            f"pooling.after is fitted on sentences, and corpus.layout={layout} holds none; give another layout"
        )
    return entry
