"""Which keys of a recipe change nothing, because no component that it names reads them.

What an objective and a layout read, their entries say (`ObjectiveEntry.keys`, `Layout.keys`); `RULES` has the rest. A
search leaves idle keys alone, and `--set` refuses one that is idle in every trial. Recipes keep what was set in them,
and their hashes: a paper's row may set such a key.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from trainables.corpora.layouts import LAYOUTS
from trainables.encoders.kinds import ENCODERS
from trainables.encoders.pooling import POOLINGS
from trainables.encoders.projection import PROJECTIONS
from trainables.keys import Value
from trainables.objectives import OBJECTIVES, PAPER
from trainables.recipe import keys

Flat = Mapping[str, Value]
"""A recipe by its flat keys."""


@dataclass(frozen=True)
class Rule:
    """When some keys are idle."""

    keys: tuple[str, ...]
    decided_by: tuple[str, ...]
    """The keys that it looks at."""
    why: Callable[[Flat, str], str | None]
    """From a recipe and one of the keys to the reason, in a phrase; None where the key is read."""


def idle(flat: Flat, key: str) -> str | None:
    """Why a key changes nothing in a recipe, in a phrase; None where it may change something, and where that depends on
    a key that is not given."""
    reasons = (rule.why(flat, key) for rule in _rules(key) if flat.keys() >= {*rule.decided_by})
    return next((reason for reason in reasons if reason), None)


def deciding(key: str) -> frozenset[str]:
    """The keys that decide whether this one is idle."""
    return frozenset(other for rule in _rules(key) for other in rule.decided_by)


@functools.cache
def _rules(key: str) -> list[Rule]:
    return [rule for rule in RULES if key in rule.keys]


def _unless(key: str, read: Callable[[Any], bool], *idle_keys: str) -> Rule:
    """These keys are read where the value of `key` is one of those that `read` accepts."""
    return Rule(idle_keys, (key,), lambda flat, _: None if read(flat[key]) else f"{key} is {_shown(flat[key])}")


def _of(*sections: str, but: Iterable[str] = ()) -> tuple[str, ...]:
    """All keys of some sections."""
    return tuple(name for name in keys() if name.partition(".")[0] in sections and name not in but)


def _untrained(flat: Flat, key: str) -> str | None:
    if not flat["optimisation.epochs"]:
        return "optimisation.epochs is 0, so nothing is trained"
    kind = ENCODERS[str(flat["encoder.kind"])]
    if flat["encoder.adapter"] == "none" and not kind.trainable:
        return f"encoder.kind is {kind.name!r}, so nothing is trained"
    return None


def _without_corpus(flat: Flat, key: str) -> str | None:
    """A recipe that trains nothing reads a corpus only to fit what is done to finished embeddings."""
    return _untrained(flat, key) if flat["pooling.after"] == "none" else None


def _by_objective(flat: Flat, key: str) -> str | None:
    entry = OBJECTIVES[str(flat["objective.name"])]
    if entry.keys is None or key in entry.keys or (key in _SHAPE and LAYOUTS[str(flat["corpus.layout"])].exact):
        return None
    return f"the objective {entry.name!r} does not read it"


def _by_layout(flat: Flat, key: str) -> str | None:
    entry = LAYOUTS[str(flat["corpus.layout"])]
    return None if entry.keys is None or key in entry.keys else f"corpus.layout={entry.name} does not read it"


def _without_senteval(flat: Flat, key: str) -> str | None:
    """A training may choose its weights by SentEval, whatever it trains on."""
    return None if flat["optimisation.keep"] == "best" else _by_layout(flat, key)


def _by_anchors(flat: Flat, key: str) -> str | None:
    """Liao's released code draws no negatives: each entailed row has all of them."""
    entry, layout = OBJECTIVES[str(flat["objective.name"])], LAYOUTS[str(flat["corpus.layout"])]
    anchors = flat["objective.anchors"]
    if anchors is None:
        released = entry.released if flat["objective.fidelity"] == "released" else {}
        anchors = {**PAPER, **released}["objective.anchors"]
    if layout.exact or entry.keys is None or "objective.anchors" not in entry.keys or anchors != "rows":
        return None
    return "objective.anchors is rows"


def _shown(value: Value) -> str:
    return "none" if value is None else str(value)


_SHAPE = ("objective.positives", "objective.negatives")
_EVERY = ("objective.name", "objective.fidelity", "objective.workers", "objective.mlm", "objective.bank_warmup")
"""Keys of the section that are read whatever the objective: by the registry, the presets and the model around it."""
_TRAINED = ("optimisation.epochs", "encoder.kind", "encoder.adapter")
RULES = (
    Rule(
        (*_of("head", "spans", "objective", "optimisation", but=("optimisation.epochs",)), "pooling.padding"),
        _TRAINED,
        _untrained,
    ),
    Rule(_of("corpus"), (*_TRAINED, "pooling.after"), _without_corpus),
    Rule(_of("objective", but=_EVERY), ("objective.name", "corpus.layout"), _by_objective),
    Rule(
        ("objective.negatives",),
        ("objective.name", "objective.anchors", "objective.fidelity", "corpus.layout"),
        _by_anchors,
    ),
    Rule(_of("corpus", "spans", but=("corpus.layout", "corpus.senteval")), ("corpus.layout",), _by_layout),
    Rule(("corpus.senteval",), ("corpus.layout", "optimisation.keep"), _without_senteval),
    _unless("corpus.augmentation", lambda name: name not in ("none", "deletion", "synonyms"), "corpus.paraphraser"),
    _unless("objective.bank", bool, "objective.bank_warmup"),
    _unless("head.kind", lambda name: not PROJECTIONS[name].keeps_size, "head.dim"),
    _unless("pooling.mode", lambda name: POOLINGS[name].padded is not None, "pooling.padding"),
    _unless("encoder.kind", lambda name: ENCODERS[name].pools, "pooling.mode", "pooling.padding"),
    _unless("encoder.adapter", "lora".__eq__, "encoder.lora_rank", "encoder.lora_alpha", "encoder.lora_targets"),
    _unless("optimisation.keep", "best".__eq__, "optimisation.keep_every"),
    _unless("optimisation.keep", "average".__eq__, "optimisation.keep_share"),
)
