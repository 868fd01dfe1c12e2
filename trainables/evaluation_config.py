"""How a trained model is scored: which tasks, on which data, under which protocol.

It is no part of a recipe, and of no hash: one trained model may be scored in several ways, and tests can be added to it
later. Its keys (`evaluation.protocol`) are given as a recipe's are. This module imports nothing heavy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from trainables import recipe
from trainables.errors import UserError, did_you_mean, shown
from trainables.keys import Key, Options, Value, key, keys_of, parse

PREFIX = "evaluation."
Parts = Literal["all", "development"]
"""Which parts of the tasks are scored: all, or what their development numbers need."""


@dataclass(frozen=True)
class EvaluationConfig(Options):
    """SentEval: which tasks, on which data, under which protocol."""

    section = "evaluation"

    senteval: str = key(
        "senteval", "Folder in SentEval's layout (it holds downstream/), or scenes.", place=True, measures=False
    )
    tasks: tuple[str, ...] = key(
        ("sts", "transfer", "STSBenchmark"), "Names of tasks and of groups of tasks.", measures=False
    )
    protocol: str = key(
        "full",
        "How classifiers are fitted.",
        registry="trainables.senteval.protocol:PROTOCOLS",
    )
    heat_map: str = key(
        "none",
        "Sentences whose cosines are kept before and after training (SupMPN, Figure 2): none, topics (twelve of our "
        "own), or a text file with one a line.",
        place=True,
        measures=False,
    )
    explored: Parts = key(
        "development",
        "What explored recipes are scored on: development, which is what the search's goals need, or all, as rows are.",
        measures=False,
    )
    parts: Parts = "all"
    """Which parts are scored. It is no key: a study decides it for each trial."""

    def flat(self) -> dict[str, Value]:
        """`{"evaluation.protocol": "full", ...}`, every key."""
        return {item.name: getattr(self, name) for name, item in keys_of(type(self)).items()}

    def override(self, overrides: Mapping[str, Any]) -> EvaluationConfig:
        """One with some flat keys replaced. Unknown keys and bad values raise `UserError`."""
        changes: dict[str, Any] = {
            _find(name).name.removeprefix(PREFIX): tuple(value) if isinstance(value, list) else value
            for name, value in overrides.items()
        }
        return dataclasses.replace(self, **changes)

    @classmethod
    def from_flat(cls, values: Mapping[str, Any]) -> EvaluationConfig:
        """The inverse of `flat()`, also after a trip through JSON."""
        return cls().override(values)


def evaluation_keys() -> Mapping[str, Key]:
    """Every flat key, and what it says of itself."""
    return {item.name: item for item in keys_of(EvaluationConfig).values()}


def all_keys() -> Mapping[str, Key]:
    """What `--set` takes: the keys of a recipe, then those of the evaluation."""
    return {**recipe.keys(), **evaluation_keys()}


def split(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Flat keys of a recipe, and those of the evaluation."""
    ours = {name: value for name, value in values.items() if name.startswith(PREFIX)}
    return {name: value for name, value in values.items() if name not in ours}, ours


def parse_assignment(text: str) -> tuple[str, Value]:
    """As `trainables.recipe.parse_assignment`, of either kind of key."""
    name, equals, raw = text.partition("=")
    if not equals or not name.strip().startswith(PREFIX):
        return recipe.parse_assignment(text)
    item = _find(name.strip())
    return item.name, parse(item, raw.strip())


def _find(name: str) -> Key:
    entries = evaluation_keys()
    if name not in entries:
        hint = did_you_mean(name, entries).rstrip() or "`--keys` prints them all"
        raise UserError(f"{shown(name)} is not a key of an evaluation; {hint}")
    return entries[name]
