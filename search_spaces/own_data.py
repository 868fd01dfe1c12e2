"""The space of a person's own data: what these hold decides the layout, the objectives that fit, and the domains.
`own_file.py` writes it.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from search_spaces.paper import Overrides
from trainables.corpora.layouts import LAYOUTS
from trainables.errors import UserError
from trainables.keys import keys_of
from trainables.objectives import OBJECTIVES
from trainables.recipe import SCENES_ENCODER, Value, keys
from trainables.registry import Registry
from trainables.senteval.tasks import Task

BATCH_SIZES = (16, 32, 64, 128, 256)
WIDE = 768
"""Encoders of fewer numbers a token take higher learning rates: by the records of real data, of 384 numbers, the best
rate is 5 to 25 times what the literature has for wider ones."""
DEEP = 4
"""Layers of a finished encoder at least: of six and two, which were recorded, two want higher rates and more passes."""
USUAL_BATCH, FEWEST_STEPS = 64, 4
"""What a practitioner begins with, and how many steps a pass over the data has at least."""
SMALL = 5_000
"""Below so many units of a batch, several passes over the data are worth a try."""
PASSES = ((500, 10), (2_500, 3))
"""Of labelled texts, below so many groups of four so many passes: a single one is too few steps to learn anything."""
OWN_GOAL = "own"
"""What the mean over several tasks is called."""
GENERAL_TASK = "STS-B"
"""A small check of what a model knows beside a person's data: STSBenchmark's tests by cosines alone."""
MOST_DRAWN = 5
"""Positives or negatives of an anchor that are asked for at most."""
MINED_FROM = 500
"""Among fewer pairs the nearest texts are no harder than those of a batch, so none are mined."""

TF_IDF = "TF-IDF (no model)"
"""The row that needs no model: what finals of a space without a baseline are held against, too."""
MOST_COUNTED, MOST_LETTERS, MOST_LABELLED = 20_000, 5_000_000, 300_000
"""Of how many texts at most it is scored (330 MB, of labels 400 more), of how many letters, and of how many texts times
labels: some twenty seconds, of labels a minute."""
RATE, BATCH, EPOCHS = "optimisation.learning_rate", "optimisation.batch_size", "optimisation.epochs"
WITHOUT_TRAINING: Overrides = {EPOCHS: 0, "encoder.adapter": "none", "pooling.after": "none"}
OBJECTIVE, TEMPERATURE = "objective.name", "objective.temperature"
SOURCE = "corpus.positives_from"
KeyAndFields = tuple[str, Mapping[str, Any]]
"""A domain, before a space is made of it."""
SOURCE_ORDER = ("title", "crops", "heading", "neighbours", "dropout")
"""The first of these that the data allow is the base's: a title is most like a query. Crops go before neighbours
and dropout as measured (`docs/own_data.md`). The place of headings is a guess."""
FIRST_NARROW: tuple[Overrides, ...] = (
    {RATE: 5e-4, EPOCHS: 3},
    {RATE: 1e-4, BATCH: 128, EPOCHS: 3},
    {RATE: 2e-5, BATCH: 16},
    {RATE: 2e-4, BATCH: 128, EPOCHS: 3},
    {RATE: 5e-4, TEMPERATURE: 0.02},
    {RATE: 2e-4, BATCH: 16},
    {RATE: 5e-4, TEMPERATURE: 0.1},
    {RATE: 1e-4, EPOCHS: 10},
)
FIRST_FINISHED: tuple[Overrides, ...] = (
    {RATE: 1e-4, BATCH: 128, EPOCHS: 3},
    {RATE: 2e-4, BATCH: 16},
    {RATE: 2e-5, BATCH: 16},
    {RATE: 2e-4, BATCH: 128, EPOCHS: 3},
    {RATE: 5e-5, EPOCHS: 3},
    {RATE: 5e-4, EPOCHS: 3},
    {RATE: 5e-4, TEMPERATURE: 0.1},
    {RATE: 1e-4, EPOCHS: 10},
)
FIRST_WIDE: tuple[Overrides, ...] = (
    {RATE: 1e-4},
    {RATE: 5e-5, EPOCHS: 3},
    {RATE: 2e-4},
    {RATE: 5e-5, BATCH: 32},
)
FIRST_SCORED: tuple[Overrides, ...] = (
    {BATCH: 16},
    {OBJECTIVE: "cosent", RATE: 2e-4, BATCH: 16, EPOCHS: 3, TEMPERATURE: 0.2},
    {RATE: 2e-5, BATCH: 16, EPOCHS: 3},
    {OBJECTIVE: "cosent", RATE: 2e-4, EPOCHS: 3, TEMPERATURE: 0.05},
    {RATE: 5e-5, EPOCHS: 3},
    {RATE: 5e-4, BATCH: 16, EPOCHS: 3},
)
FIRST_LABELLED: tuple[Overrides, ...] = (
    {RATE: 2e-4, BATCH: 64},
    {RATE: 5e-5},
    {OBJECTIVE: "batch_all"},
    {RATE: 2e-5},
    {RATE: 5e-4, BATCH: 64, EPOCHS: 3},
    {TEMPERATURE: 0.1},
)
"""What a search tries first, as far as a space has it: of encoders narrower than `WIDE` by the records of real data,
those of six layers where they are finished, else those of two; of pairs with scores others; of wider ones by the
literature. With the base's the rates of each spread over a factor of ten, so that what small encoders teach does not
hurt others."""


@dataclass(frozen=True)
class OwnEncoder:
    """An encoder to begin with."""

    label: str
    settings: Overrides
    """The keys of a recipe that follow it: its name, its longest input, its prompts, and its pooling or a usual one."""
    poolings: tuple[str, ...]
    """Those worth a try, the first one among them."""
    width: int | None = None
    """Numbers of a token; None where that is not known."""
    finished: bool = False
    """Whether somebody trained it for sentences, and `DEEP` layers of it at least remain."""

    @property
    def name(self) -> str:
        return str(self.settings["encoder.name"])


@dataclass(frozen=True)
class OwnSpace:
    """What a space of one's own data is made of."""

    name: str
    title: str
    folder: str
    """Where the prepared data are; absolute."""
    train: str
    content: str
    units: int
    """What a batch counts of the training data, at least; of labelled texts, groups of four."""
    most_positives: int
    most_negatives: int
    """Of an anchor."""
    encoders: tuple[OwnEncoder, ...]
    """The first one is the base's."""
    tasks: tuple[Task, ...]
    general: Task | None = None
    """`GENERAL_TASK`, which no goal looks at; None where its data are not there."""
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    """Of texts alone: where positives can come from."""
    taught: bool = False
    """Whether what a teacher says stands beside texts of the training data."""
    tf_idf: bool = False
    """Whether the row `TF_IDF` is scored, too."""


@dataclass(frozen=True)
class _Fit:
    """What suits a kind of data."""

    layout: str
    objectives: tuple[str, ...]
    """None of them: all that fit the layout. What plugins bring is offered beside them."""
    objective: str = ""
    """The base's; empty for the first one."""
    first: tuple[Overrides, ...] = ()
    """What a search tries first, of narrow encoders; none where that goes by the encoder."""
    batch: int = USUAL_BATCH
    """The base's, where the data have as many."""
    besides: Overrides = dataclasses.field(default_factory=dict)
    """What else the base sets."""


_PAIRS = _Fit("pairs", ("mnrl", "ntxent"))
_FITS: Mapping[str, _Fit] = {
    "pairs": _PAIRS,
    "triplets": _Fit("groups", ("mnrl", "supmpn", "triplet", "distill")),
    "nli": _Fit("groups", ("mnrl", "simcse", "supmpn")),
    "texts": _Fit("texts", ("mnrl",)),
    # By the records: at 1e-4 and batches of 64 cosent makes a finished encoder worse.
    "scored": _Fit("scored_pairs", (), "cosine", FIRST_SCORED),
    "labelled": _Fit("same_label", (), "", FIRST_LABELLED, 16, {"objective.contrast": "all"}),  # docs/record_own.md
}
_PREFERRED = ("cosent", "supcon")
"""Of all that fit, what comes first: the base has it, unless its kind names another."""
_SHARED: Mapping[str, Mapping[str, Any]] = {
    "temperature": {"low": 0.01, "high": 0.5, "log": True},
    "margin": {},
    "matches": {"choices": ("similarities", "margins")},  # embeddings of a teacher stand in no file
}
"""Of the keys that objectives inherit, those worth a search on any data, and over which values where that is less than
the key says. Of the keys that an objective adds itself, all are searched that say where."""


def own_base(own: OwnSpace) -> Overrides:
    """What the base sets. `UserError` where nothing here learns from such data."""
    fit = _fit(own)
    base = {
        **own.encoders[0].settings,
        "corpus.nli": own.train,
        "corpus.layout": fit.layout,
        **({SOURCE: _sources(own)[0]} if own.sources else {}),
        "objective.name": fit.objective or fit.objectives[0],
        "objective.temperature": 0.05,
        **fit.besides,
        # Drawn anew in each pass: five of an anchor took four times as long for 0.4 points (docs/record_own.md).
        **({"objective.negatives": 1} if fit.layout == "groups" and own.most_negatives > 1 else {}),
        "optimisation.learning_rate": _rates(own)[0],
        "optimisation.batch_size": _batch_sizes(own)[0],
        EPOCHS: _passes(own),
        "optimisation.warmup": 0.1,
    }
    return {key: value for key, value in base.items() if value is not None or keys()[key].default is not None}


def _fit(own: OwnSpace) -> _Fit:
    without = own.content in ("nli", "triplets") and not (own.most_negatives or own.taught)
    fit = _PAIRS if without else _FITS[own.content]
    if fit.layout not in LAYOUTS:
        raise UserError(
            f"the training data hold {'pairs with scores' if own.content == 'scored' else 'labelled texts'}, from "
            "which nothing here learns; give pairs (columns anchor and positive), triplets or NLI, and these with "
            "--test"
        )
    # A person names a teacher, or the data hold what it says.
    able = [
        name
        for name, objective in OBJECTIVES.items()
        if (own.taught or "teacher" not in keys_of(objective)) and _learns(name, fit.layout)
    ]
    plugged = [entry.name for registry, entry in Registry.added if registry is OBJECTIVES]
    chosen = [name for name in (*(fit.objectives or (*_PREFERRED, *able)), *plugged) if name in able]
    return dataclasses.replace(fit, objectives=tuple(dict.fromkeys(chosen)))


def _learns(objective: str, layout: str) -> bool:
    return layout in OBJECTIVES[objective].layouts or objective in LAYOUTS[layout].objectives


def _rates(own: OwnSpace) -> tuple[float, float, float]:
    """The base's learning rate, and the lowest and the highest."""
    if any(encoder.name == SCENES_ENCODER for encoder in own.encoders):  # its weights are not pretrained
        return 5e-4, 1e-4, 5e-3
    return (1e-4, 5e-6, 1e-3) if _narrow(own) else (2e-5, 5e-6, 3e-4)


def _passes(own: OwnSpace) -> int:
    """The base's, over all data."""
    return next((passes for most, passes in PASSES if own.content == "labelled" and own.units < most), 1)


def first_tried(own: OwnSpace) -> tuple[Overrides, ...]:
    """The recipes that a search begins with."""
    others: tuple[Overrides, ...] = tuple({SOURCE: source} for source in _sources(own)[1:])
    if any(encoder.name == SCENES_ENCODER for encoder in own.encoders):
        return others
    if not _narrow(own):
        return others + FIRST_WIDE
    finished = all(encoder.finished for encoder in own.encoders)
    return others + (_fit(own).first or (FIRST_FINISHED if finished else FIRST_NARROW))


def _sources(own: OwnSpace) -> tuple[str, ...]:
    """Where positives of texts alone can come from, the base's first."""
    return tuple(sorted(own.sources, key=lambda name: SOURCE_ORDER.index(name) if name in SOURCE_ORDER else -1))


def _narrow(own: OwnSpace) -> bool:
    return all(encoder.width is not None and encoder.width < WIDE for encoder in own.encoders)


def _batch_sizes(own: OwnSpace) -> tuple[int, ...]:
    """The base's first."""
    most = max(2, own.units // FEWEST_STEPS)
    fitting = [size for size in BATCH_SIZES if size <= most] or [most]
    default = _fit(own).batch
    usual = default if default in fitting else fitting[-1]
    return (usual, *(size for size in fitting if size != usual))


def own_domains(own: OwnSpace) -> list[KeyAndFields]:
    """What a search may choose: of each domain its key, and its other fields as far as they are set."""
    fit = _fit(own)
    _, low, high = _rates(own)
    poolings = [mode for mode in own.encoders[0].poolings if all(mode in other.poolings for other in own.encoders)]
    return [
        *_choices("encoder.name", [encoder.name for encoder in own.encoders]),
        (RATE, {"low": low, "high": high, "log": True}),
        *_choices(BATCH, sorted(_batch_sizes(own))),
        *_choices(EPOCHS, (1, 3, 10) if own.units < SMALL else (1, 2, 3)),
        *_choices(OBJECTIVE, fit.objectives),
        *_choices(SOURCE, _sources(own)),
        *_choices("corpus.each", (2, 4) if own.content == "labelled" else ()),
        *_counts(own, fit),
        *_mined(own, fit),
        *_of_objectives(fit),
        *_choices("pooling.mode", poolings),
        *_prompts(own, "encoder.query_prompt"),
        *_prompts(own, "encoder.document_prompt"),
    ]


def _choices(key: str, values: Sequence[Value]) -> list[KeyAndFields]:
    """None where there is nothing to choose."""
    return [(key, {"choices": tuple(values)})] if len(values) > 1 else []


def _prompts(own: OwnSpace, key: str) -> list[KeyAndFields]:
    """Of several encoders each may be given those of all: a domain is one for all recipes."""
    prompts = dict.fromkeys(encoder.settings[key] for encoder in own.encoders)
    return _choices(key, [*(prompt for prompt in prompts if prompt), None])


def _counts(own: OwnSpace, fit: _Fit) -> Iterator[KeyAndFields]:
    """How many positives and hard negatives each anchor has, of the objectives that take several."""
    for key, most in (("positives", own.most_positives), ("negatives", own.most_negatives)):
        able = tuple(name for name in fit.objectives if getattr(OBJECTIVES[name], f"most_{key}") is None)
        if fit.layout == "groups" and most > 1 and able:
            yield f"objective.{key}", {"low": 1, "high": min(most, MOST_DRAWN), "when": (OBJECTIVE, able)}


def _mined(own: OwnSpace, fit: _Fit) -> Iterator[KeyAndFields]:
    """Of pairs, which have no hard negatives, and of texts alone whose pairs stay the same: whether some are mined, and
    how."""
    able = tuple(name for name in fit.objectives if OBJECTIVES[name].most_negatives is None and _learns(name, "groups"))
    entries: Mapping[str, Any] = keys()[SOURCE].names or {}
    fixed = tuple(name for name in own.sources if entries[name].views is None)
    if own.units < MINED_FROM or not able:
        return
    if fit.layout == "pairs":
        yield "corpus.layout", {"choices": ("pairs", "groups"), "when": (OBJECTIVE, able)}
        yield "corpus.negatives_from", {"choices": ("mined",), "when": ("corpus.layout", ("groups",))}
    elif fixed and able == fit.objectives:
        yield "corpus.negatives_from", {"choices": ("labels", "mined"), "when": (SOURCE, fixed)}
    else:
        return
    mined = {"when": ("corpus.negatives_from", ("mined",))}
    yield "objective.negatives", {"low": 1, "high": MOST_DRAWN, **mined}
    yield "corpus.mined_skip", {"choices": (0, 5, 20), **mined}
    yield "corpus.mined_margin", mined


def _of_objectives(fit: _Fit) -> Iterator[KeyAndFields]:
    """The keys of the objectives that are offered. A search asks for each where the chosen objective has it."""
    offered = [OBJECTIVES[name] for name in fit.objectives]
    shared = {f"objective.{key}": values for key, values in _SHARED.items() if any(key in keys_of(o) for o in offered)}
    added = [
        item.name
        for objective in offered
        for name, item in keys_of(objective).items()
        if item.search is not None and name in inspect.get_annotations(objective)
    ]
    yield from ({key: {} for key in added} | shared).items()
