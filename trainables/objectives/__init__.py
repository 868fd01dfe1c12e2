"""Objectives: one contrastive kernel, and losses that choose its masks.

To add one: a subclass of `Objective` (`objective.py`), and an entry here or in a plugin file. The recipe's
`objective.name` picks it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trainables.corpora.layouts import LAYOUTS, Layout
from trainables.errors import UserError, choices
from trainables.keys import Value
from trainables.recipe import ObjectiveConfig
from trainables.registry import Registry, load

if TYPE_CHECKING:
    from trainables.objectives.objective import Objective

_TRIPLETS = "trainables.objectives.triplets"
_NLI = ("rows", "groups")
_PAIRED = ("pairs", "similar_pairs")

_TAU = ("objective.temperature", "objective.bank")
_TEXTS = ("objective.false_negatives",)
_MARGIN = ("objective.margin", *_TEXTS)
_PAIRS_OF_LIAO = ("objective.positives", "objective.negatives", "objective.anchors", *_TEXTS)

_KEEP: Mapping[str, Value] = {"objective.false_negatives": "keep"}
_LIAO: Mapping[str, Value] = {
    **_KEEP,
    "objective.anchors": "rows",
    "pooling.padding": "count",
    "optimisation.schedule": "constant",
}


@dataclass(frozen=True)
class ObjectiveEntry:
    """Where an objective is, what its formula takes, and what it can learn from."""

    name: str
    build: Any
    """A subclass of `Objective`, or `"module:Class"`."""
    layouts: tuple[str, ...]
    """The layouts of a corpus (`corpus.layout`) that it can learn from; a layout may name further objectives."""
    positives: int | None = None
    """Most positives of an anchor; None takes any number."""
    negatives: int | None = None
    """Most hard negatives of an anchor; None takes any number, 0 none."""
    bank: bool = False
    """Whether it contrasts in a softmax, so that earlier batches (`objective.bank`) can be further negatives. Its
    `Loss` then has `contrasted`."""
    mlm_only: bool = False
    """Whether it has no loss of its own (`Objective.needs_embeddings` is False), so `objective.mlm` must be above 0."""
    contrasts: bool = True
    """Whether it compares anchors with candidates, so that `objective.positives` and `objective.negatives` are caps."""
    stacks: bool = False
    """Whether many trials with it can train as a population: `training/population_training.py` knows NT-Xent alone."""
    released: Mapping[str, Value] = field(default_factory=dict)
    """What `objective.fidelity=released` sets: where the authors' code does something else than the paper's text."""
    keys: tuple[str, ...] | None = None
    """Keys of the section `objective` that its class reads; None: it may read any. A search leaves the others alone
    (`trainables.idle`)."""


OBJECTIVES = Registry(
    "objective",
    # Liao 2021. Cross-entropy needs the three labels.
    ObjectiveEntry(
        "scl",
        "trainables.objectives.scl:SCL",
        _NLI,
        bank=True,
        released=_LIAO,
        keys=("objective.weight", *_PAIRS_OF_LIAO, *_TAU),
    ),
    ObjectiveEntry("ce", "trainables.objectives.ce:CrossEntropy", _NLI, contrasts=False, released=_LIAO, keys=()),
    ObjectiveEntry(
        "ce_augment",
        "trainables.objectives.ce_augment:AugmentedCrossEntropy",
        _NLI,
        released=_LIAO,
        keys=_PAIRS_OF_LIAO,
    ),
    # CLSR, DeCLUTR
    ObjectiveEntry(
        "ntxent",
        "trainables.objectives.ntxent:NTXent",
        ("groups", *_PAIRED, "sentences", "spans"),
        keys=(*_TEXTS, *_TAU),
        negatives=0,
        bank=True,
        stacks=True,
        released=_KEEP,
    ),
    # SupMPN, and what it compares itself with
    ObjectiveEntry(
        "mnrl",
        "trainables.objectives.mnrl:MNRL",
        ("groups", *_PAIRED, "sentences"),
        keys=(*_TEXTS, *_TAU),
        positives=1,
        bank=True,
        released=_KEEP,
    ),
    ObjectiveEntry(
        "simcse",
        "trainables.objectives.mnrl:SimCSE",
        ("groups", "sentences"),
        keys=(*_TEXTS, *_TAU),
        positives=1,
        negatives=1,
        bank=True,
        released=_KEEP,
    ),
    ObjectiveEntry(
        "supcon",
        "trainables.objectives.supcon:SupCon",
        ("groups", *_PAIRED, "sentences", "spans"),
        keys=(*_TEXTS, *_TAU),
        negatives=0,
        bank=True,
        released=_KEEP,
    ),
    ObjectiveEntry(
        "supmpn",
        "trainables.objectives.supmpn:SupMPN",
        ("groups", *_PAIRED, "sentences", "spans"),
        keys=("objective.own_positives", *_TEXTS, *_TAU),
        bank=True,
        released={**_KEEP, "objective.own_positives": "score_zero"},
    ),
    ObjectiveEntry("triplet", f"{_TRIPLETS}:Triplet", ("groups",), released=_KEEP, keys=_MARGIN),
    ObjectiveEntry("batch_all", f"{_TRIPLETS}:BatchAll", ("groups", *_PAIRED), released=_KEEP, keys=_MARGIN),
    ObjectiveEntry("batch_hard", f"{_TRIPLETS}:BatchHard", ("groups", *_PAIRED), released=_KEEP, keys=_MARGIN),
    ObjectiveEntry(
        "mlm",
        "trainables.objectives.mlm:MaskedLanguage",
        ("sentences", "spans"),
        keys=(),
        mlm_only=True,
        contrasts=False,
    ),
)
"""The values of `objective.name`."""


PAPER: Mapping[str, Value] = {
    "objective.false_negatives": "mask",
    "objective.anchors": "premises",
    "objective.own_positives": "leave_out",
}
"""What `objective.fidelity=paper` sets of an objective."""


def resolve_objective(config: ObjectiveConfig) -> ObjectiveConfig:
    """With the keys of `PAPER` written out as `fidelity` says, where the configuration leaves them open.

    For an objective that is built by itself; the recipe of a trial is resolved as a whole (`trainables/fidelity.py`).
    """
    released = OBJECTIVES[config.name].released if config.fidelity == "released" else {}
    wanted: dict[str, Any] = {name.removeprefix("objective."): {**PAPER, **released}[name] for name in PAPER}
    return dataclasses.replace(
        config, **{name: value for name, value in wanted.items() if getattr(config, name) is None}
    )


def fits(objective: ObjectiveEntry, layout: Layout) -> bool:
    """Whether an objective can learn from a layout: one of the two must name the other."""
    return layout.name in objective.layouts or objective.name in layout.objectives


def check_objective(config: ObjectiveConfig, layout: str) -> None:
    """Refuse an unknown name, a layout that it cannot learn from, and numbers that its formula has no place for."""
    name = config.name
    if name not in OBJECTIVES:
        raise UserError(f"objective.name must be {choices(map(repr, OBJECTIVES))}, not {name!r}")
    entry, offered = OBJECTIVES[name], LAYOUTS[layout]
    if not fits(entry, offered):
        possible = [repr(other.name) for other in LAYOUTS.values() if fits(entry, other)]
        raise UserError(f"the objective {name!r} cannot use corpus.layout={layout!r}; it can use {choices(possible)}")
    _check_number("positives", "positive", config, entry.positives)
    _check_number("negatives", "hard negative", config, entry.negatives)
    if offered.positives_key is not None and config.positives is not None:
        raise UserError(f"corpus.layout={layout!r} takes {offered.positives_key}; set objective.positives=none")
    if offered.positives is not None and (config.positives or 1) > offered.positives:
        most = offered.positives
        raise UserError(
            f"corpus.layout={layout!r} gives {_counted(most, 'positive')} per anchor; set objective.positives={most}"
        )
    if not offered.negatives and config.negatives is not None:
        raise UserError(f"corpus.layout={layout!r} gives no hard negatives; set objective.negatives=none")
    if config.bank and not entry.bank:
        raise UserError(f"the objective {name!r} has no use for a memory bank; set objective.bank=0")
    if entry.mlm_only and config.mlm == 0:
        raise UserError(f"the objective {name!r} has nothing to train while objective.mlm is 0; set objective.mlm=1")


def group_shape(config: ObjectiveConfig) -> tuple[int | None, int | None]:
    """How many positives and hard negatives the layout `groups` makes for each anchor; None takes all of its own."""
    entry = OBJECTIVES[config.name]
    return (
        entry.positives if config.positives is None else config.positives,
        entry.negatives if config.negatives is None else config.negatives,
    )


def build_objective(config: ObjectiveConfig, dim: int, layout: str) -> Objective:
    """The objective of a recipe for sentence embeddings of size `dim`."""
    check_objective(config, layout)
    config = resolve_objective(config)
    if LAYOUTS[layout].exact:  # the layout has made exactly P and Q, so nothing is left to be drawn
        config = dataclasses.replace(config, positives=None, negatives=None)
    objective: Objective = load(OBJECTIVES[config.name].build)(config, dim)
    return objective


def _check_number(key: str, word: str, config: ObjectiveConfig, most: int | None) -> None:
    asked = getattr(config, key)
    if asked is None or most is None or asked <= most:
        return
    if most == 0:
        raise UserError(f"the objective {config.name!r} takes no {word}s; set objective.{key}=none")
    raise UserError(
        f"the objective {config.name!r} takes {_counted(most, word)} per anchor; set objective.{key}={most}"
    )


def _counted(most: int, word: str) -> str:
    return f"one {word}" if most == 1 else f"at most {most} {word}s"
