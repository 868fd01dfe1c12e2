"""The space of a user's own data: the data determine the layout, the suitable objectives, and the domains.
`own_file.py` writes the space to a file."""

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
"""Encoders of smaller width take higher learning rates. In records of real data with width 384, the best
rate is 5 to 25 times the literature's rate for wider encoders."""
DEEP = 4
"""An encoder with fewer layers than this never counts as finished. Records are of six and two layers; two layers need
higher rates and more passes."""
USUAL_BATCH, FEWEST_STEPS = 64, 4
"""The base's batch size, and the fewest steps in a pass over the data: with few data the batch is smaller."""
SMALL = 5_000
"""With fewer training units than this, a search also tries ten passes over the data."""
PASSES = ((500, 10), (2_500, 3))
"""Pairs of a limit and a number of passes. The base trains that many passes on labelled texts with fewer groups of four
than the limit, because one pass is too few for them."""
OWN_GOAL = "own"
"""The name of the goal that is the mean over several tasks."""
GENERAL_TASK = "STS-B"
"""A small check of a model's knowledge beyond the user's data: the test score of STSBenchmark by cosines alone."""
MOST_DRAWN = 5
"""A search tries at most this many positives or negatives per anchor."""
MINED_FROM = 500
"""Hard negatives are not mined among fewer pairs than this: the nearest texts are no harder than those of a batch."""

TF_IDF = "TF-IDF (no model)"
"""The row without a model. Finals of a space without a baseline are compared with it too."""
MOST_COUNTED, MOST_LETTERS, MOST_LABELLED = 20_000, 5_000_000, 300_000
"""TF-IDF is scored only up to this many texts, letters, and texts times labels. It then needs 330 MB and about twenty
seconds; with labels 730 MB and a minute."""
RATE, BATCH, EPOCHS = "optimisation.learning_rate", "optimisation.batch_size", "optimisation.epochs"
WITHOUT_TRAINING: Overrides = {EPOCHS: 0, "encoder.adapter": "none", "pooling.after": "none"}
OBJECTIVE, TEMPERATURE = "objective.name", "objective.temperature"
SOURCE = "corpus.positives_from"
KeyAndFields = tuple[str, Mapping[str, Any]]
"""The key and other fields of a domain."""
SOURCE_ORDER = ("title", "crops", "heading", "neighbours", "dropout")
"""Sources of positives in order of preference; the base uses the first that the data allow. A title is most like a
query. Crops are before neighbours and dropout as measured (`docs/own_data.md`). The position of headings is a guess."""
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
"""Recipes that a search tries first, if the space has their values. `FIRST_NARROW` and `FIRST_FINISHED`, for encoders
narrower than `WIDE`, come from records of real data: of two-layer encoders, and of finished six-layer ones.
`FIRST_WIDE` is from the literature. With the base's rate, the rates of each list span a factor of ten, so that what is
best for small encoders does not hurt other encoders."""


@dataclass(frozen=True)
class OwnEncoder:
    """An encoder of the search."""

    label: str
    settings: Overrides
    """Its recipe keys: name, longest input, prompts, and its own pooling, or a usual one if it has none."""
    poolings: tuple[str, ...]
    """Poolings worth a try, including the encoder's own."""
    width: int | None = None
    """Embedding width; None if not known."""
    finished: bool = False
    """Whether the encoder was trained for sentences and is used with at least `DEEP` of its layers."""

    @property
    def name(self) -> str:
        return str(self.settings["encoder.name"])


@dataclass(frozen=True)
class OwnSpace:
    """The content of a space of own data."""

    name: str
    title: str
    folder: str
    """Absolute path of the prepared data."""
    train: str
    content: str
    units: int
    """Least number of training units, as a batch counts them; for labelled texts, groups of four."""
    most_positives: int
    most_negatives: int
    """Most positives and negatives per anchor."""
    encoders: tuple[OwnEncoder, ...]
    """The encoders that a search tries. The base has the first one."""
    tasks: tuple[Task, ...]
    general: Task | None = None
    """`GENERAL_TASK`, which no goal uses; None if its data are missing."""
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    """Names of possible sources of positives, if the data are texts alone."""
    taught: bool = False
    """Whether the training data contain a teacher's scores."""
    tf_idf: bool = False
    """Whether the row `TF_IDF` is scored."""


@dataclass(frozen=True)
class _Fit:
    """Settings that suit a kind of data."""

    layout: str
    objectives: tuple[str, ...]
    """Names of the objectives to search; empty for all that fit the layout. Objectives of plugins are added."""
    objective: str = ""
    """The base's objective; empty for the first one."""
    first: tuple[Overrides, ...] = ()
    """Recipes that a search of narrow encoders tries first; empty if they depend on the encoder."""
    batch: int = USUAL_BATCH
    """The base's batch size, if there is enough data."""
    other_settings: Overrides = dataclasses.field(default_factory=dict)
    """Other settings of the base."""


_PAIRS = _Fit("pairs", ("mnrl",))  # ntxent is best on no recorded set: docs/record_own.md
_FITS: Mapping[str, _Fit] = {
    "pairs": _PAIRS,
    "triplets": _Fit("groups", ("mnrl", "supmpn", "triplet", "distill")),
    "nli": _Fit("groups", ("mnrl", "simcse", "supmpn")),
    "texts": _Fit("texts", ("mnrl",)),
    # From records: at rate 1e-4 and batches of 64 cosent makes a finished encoder worse.
    "scored": _Fit("scored_pairs", (), "cosine", FIRST_SCORED),
    "labelled": _Fit("same_label", (), "", FIRST_LABELLED, 16, {"objective.contrast": "all"}),  # docs/record_own.md
}
_ANCHORED = ("pairs", "triplets", "nli")
"""Kinds of data that every layout of anchors reads."""
_PREFERRED = ("cosent", "supcon")
"""Preferred order of all fitting objectives: the base has the first one, unless its kind names another."""
_SHARED: Mapping[str, Mapping[str, Any]] = {
    "temperature": {"low": 0.01, "high": 0.5, "log": True},
    "margin": {},
    "matches": {"choices": ("similarities", "margins")},  # no file has a teacher's embeddings
}
"""Keys, inherited by objectives, that a search should set on any data. Each has the values to search, if they are fewer
than the key's own. Keys that an objective adds itself are searched if they define a range."""


def own_base(own: OwnSpace) -> Overrides:
    """Return the settings of the base. `UserError` if no objective learns from data of this kind."""
    fit = _fit(own)
    base = {
        **own.encoders[0].settings,
        "corpus.nli": own.train,
        "corpus.layout": fit.layout,
        **({SOURCE: _sources(own)[0]} if own.sources else {}),
        "objective.name": fit.objective or fit.objectives[0],
        "objective.temperature": 0.05,
        **fit.other_settings,
        # Drawn anew in each pass: five per anchor took four times as long for 0.4 points (docs/record_own.md).
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
    # A teacher must be named by the user, or its scores must be in the data.
    able = [
        name
        for name, objective in OBJECTIVES.items()
        if (own.taught or "teacher" not in keys_of(objective)) and _learns(name, fit.layout)
    ]
    plugged = [entry.name for registry, entry in Registry.added if registry is OBJECTIVES]
    chosen = [name for name in (*(fit.objectives or (*_PREFERRED, *able)), *plugged) if name in able]
    return dataclasses.replace(fit, objectives=tuple(dict.fromkeys(chosen)))


def contents_of(layout: str) -> tuple[str, ...]:
    """Return the kinds of data that a layout reads, its own first; empty for a layout of no space of own data."""
    contents = [content for content, fit in _FITS.items() if fit.layout == layout]
    if {*contents} & {*_ANCHORED}:
        return _ANCHORED
    return (*contents, "labelled") if layout == "texts" else tuple(contents)


def _learns(objective: str, layout: str) -> bool:
    return layout in OBJECTIVES[objective].layouts or objective in LAYOUTS[layout].objectives


def _rates(own: OwnSpace) -> tuple[float, float, float]:
    """Return the base's learning rate, and the lowest and the highest rate of the search."""
    if any(encoder.name == SCENES_ENCODER for encoder in own.encoders):  # that encoder's weights are not pretrained
        return 5e-4, 1e-4, 5e-3
    return (1e-4, 5e-6, 1e-3) if _narrow(own) else (2e-5, 5e-6, 3e-4)


def _passes(own: OwnSpace) -> int:
    """Return the base's number of passes over the data."""
    return next((passes for most, passes in PASSES if own.content == "labelled" and own.units < most), 1)


def first_tried(own: OwnSpace) -> tuple[Overrides, ...]:
    """Return the recipes that a search tries first."""
    others: tuple[Overrides, ...] = tuple({SOURCE: source} for source in _sources(own)[1:])
    if any(encoder.name == SCENES_ENCODER for encoder in own.encoders):
        return others
    if not _narrow(own):
        return others + FIRST_WIDE
    finished = all(encoder.finished for encoder in own.encoders)
    return others + (_fit(own).first or (FIRST_FINISHED if finished else FIRST_NARROW))


def _sources(own: OwnSpace) -> tuple[str, ...]:
    """Return the sources of positives for texts alone, first the one that the base uses."""
    return tuple(sorted(own.sources, key=lambda name: SOURCE_ORDER.index(name) if name in SOURCE_ORDER else -1))


def _narrow(own: OwnSpace) -> bool:
    return all(encoder.width is not None and encoder.width < WIDE for encoder in own.encoders)


def _batch_sizes(own: OwnSpace) -> tuple[int, ...]:
    """Return the batch sizes of a search, first the one that the base uses."""
    most = max(2, own.units // FEWEST_STEPS)
    fitting = [size for size in BATCH_SIZES if size <= most] or [most]
    default = _fit(own).batch
    usual = default if default in fitting else fitting[-1]
    return (usual, *(size for size in fitting if size != usual))


def own_domains(own: OwnSpace) -> list[KeyAndFields]:
    """Return the domains of a search, each as its key and the other fields that are set."""
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
    """Return a list with the domain of these values; empty if there are fewer than two."""
    return [(key, {"choices": tuple(values)})] if len(values) > 1 else []


def _prompts(own: OwnSpace, key: str) -> list[KeyAndFields]:
    """Return a list with one domain of the prompts of all encoders, as a domain has the same values for all recipes."""
    prompts = dict.fromkeys(encoder.settings[key] for encoder in own.encoders)
    return _choices(key, [*(prompt for prompt in prompts if prompt), None])


def _counts(own: OwnSpace, fit: _Fit) -> Iterator[KeyAndFields]:
    """Yield domains of the number of positives and hard negatives per anchor, for objectives that take several."""
    for key, most in (("positives", own.most_positives), ("negatives", own.most_negatives)):
        able = tuple(name for name in fit.objectives if getattr(OBJECTIVES[name], f"most_{key}") is None)
        if fit.layout == "groups" and most > 1 and able:
            yield f"objective.{key}", {"low": 1, "high": min(most, MOST_DRAWN), "when": (OBJECTIVE, able)}


def _mined(own: OwnSpace, fit: _Fit) -> Iterator[KeyAndFields]:
    """Yield the domains of mining hard negatives. They apply to pairs, which have no negatives, and to texts whose
    pairs do not change between epochs."""
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
    """Yield the domains of the offered objectives' keys. A search sets a key if the chosen objective has it."""
    offered = [OBJECTIVES[name] for name in fit.objectives]
    shared = {f"objective.{key}": values for key, values in _SHARED.items() if any(key in keys_of(o) for o in offered)}
    added = [
        item.name
        for objective in offered
        for name, item in keys_of(objective).items()
        if item.search is not None and name in inspect.get_annotations(objective)
    ]
    yield from ({key: {} for key in added} | shared).items()
