"""The settings of an evaluation: the tasks on which a trained model is scored, their data, and the protocol.

They are not in a recipe or its hash: a trained model may be scored in several ways, and tasks can be added later. Keys
such as `evaluation.protocol` are set like the keys of a recipe. This module imports nothing heavy.
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
"""The splits of the tasks that are scored: all, or only the splits that development numbers need."""


@dataclass(frozen=True)
class EvaluationConfig(Options):
    """Settings of an evaluation on SentEval: tasks, data and protocol."""

    section = "evaluation"

    senteval: str = key(
        "senteval",
        "Folder in SentEval's layout (it holds downstream/), or scenes.",
        is_path=True,
        changes_results=False,
    )
    tasks: tuple[str, ...] = key(
        ("sts", "transfer", "STSBenchmark"), "Names of tasks and of groups of tasks.", changes_results=False
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
        is_path=True,
        changes_results=False,
    )
    explored: Parts = key(
        "development",
        "What explored recipes are scored on: development, which is what the search's goals need, or all, as rows are.",
        changes_results=False,
    )
    parts: Parts = "all"
    """The scored splits of the tasks. This field is not a key, because a study sets it for each trial."""

    def flat(self) -> dict[str, Value]:
        """Return all keys with their values: `{"evaluation.protocol": "full", ...}`."""
        return {item.name: getattr(self, name) for name, item in keys_of(type(self)).items()}

    def override(self, overrides: Mapping[str, Any]) -> EvaluationConfig:
        """Return a copy with some flat keys replaced. Raises `UserError` for unknown keys and invalid values."""
        changes: dict[str, Any] = {
            _find(name).name.removeprefix(PREFIX): tuple(value) if isinstance(value, list) else value
            for name, value in overrides.items()
        }
        return dataclasses.replace(self, **changes)

    @classmethod
    def from_flat(cls, values: Mapping[str, Any]) -> EvaluationConfig:
        """Return the settings with these values of flat keys. The inverse of `flat()`, also after storage as JSON."""
        return cls().override(values)


def evaluation_keys() -> Mapping[str, Key]:
    """Return every flat key of an evaluation with its definition."""
    return {item.name: item for item in keys_of(EvaluationConfig).values()}


def all_keys() -> Mapping[str, Key]:
    """Return all keys of `--set`: the keys of a recipe, then those of an evaluation."""
    return {**recipe.keys(), **evaluation_keys()}


def split(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split flat keys into those of a recipe and those of an evaluation."""
    ours = {name: value for name, value in values.items() if name.startswith(PREFIX)}
    return {name: value for name, value in values.items() if name not in ours}, ours


def parse_assignment(text: str) -> tuple[str, Value]:
    """Parse `KEY=VALUE` for a key of a recipe or an evaluation, as `trainables.recipe.parse_assignment` does."""
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
