"""Guards: checks for what makes a comparison unfair: other code, data or budgets, broken scores, leaked test sentences.

    flags = find_flags(results)
    flags.of_recipe(recipe_hash, parts)      # flags to mark at a figure that is made of these tasks
    flags.between(first, second, parts)      # flags that forbid a verdict on two recipes

A guard reads the results and raises flags. A comparison across a flag gets no verdict unless the reader asks for it
(`StudyInfo.across`, `--across GUARD`). A flag contains facts; the guard's `words` make its sentence where it is printed
(ours: `reports/words/guards.py`). A plugin adds a guard as docs/plugins/my_guard.py does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from reports.facts.cached import cached
from reports.facts.results import Results
from trainables.registry import Registry, load

Value = str | float | tuple[tuple[int, str], ...] | None
"""A value that must be the same in two recipes; if a recipe's seeds differ, a tuple of (seed, value). None: unknown."""


@dataclass(frozen=True)
class Flag:
    """A fact that a reader must know about some recipes, or about some of their scores."""

    guard: str
    """The guard's name, as `--across` takes it."""
    kind: str
    """The problem that the guard found, among all that it looks for."""
    recipes: frozenset[str]
    """Hashes of the recipes that the flag is about; empty if the guard lacked the data for its check."""
    tasks: frozenset[str] = frozenset()
    """Tasks whose test scores the flag is about; `dev.TASK` is a task's development score. Empty: all scores."""
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Numbers, names and hashes, each by its name, ready for JSON."""
    parts: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    """Further facts. Flags that differ only in `parts` are printed as one flag, with the parts of all (`grouped`)."""
    blocks: bool = True
    """Whether comparisons that cross the flag (`crossed_by`) get no verdict."""
    marks: bool = True
    """Whether the flag is marked at every row and figure that it is about. If not, only the trust box prints it."""
    crossed_by: Literal["any", "unequal", "both"] = "any"
    """Which comparisons cross the flag. `any`: those with a recipe of the flag; `unequal`: those of two recipes whose
    `values` differ; `both`: those of two recipes of the flag, which are one recipe in effect."""
    values: Mapping[str, Value] = field(default_factory=dict, hash=False)
    """If `crossed_by` is `unequal`: the values that must be the same, by the hash of every recipe that has one."""
    tolerance: float = 0.0
    """If `crossed_by` is `unequal`: numbers may differ by this share of the larger number."""

    def touches(self, recipe_hash: str, tasks: frozenset[str]) -> bool:
        """Whether the flag is about a figure of that recipe that is made of these tasks."""
        return recipe_hash in self.recipes and self._concerns(tasks)

    def is_crossed_by(self, first: str, second: str, tasks: frozenset[str]) -> bool:
        """Whether a comparison of two recipes crosses the flag, in a figure that is made of these tasks."""
        if not self._concerns(tasks):
            return False
        if self.crossed_by == "unequal":
            both = first in self.values and second in self.values
            return both and not alike(self.values[first], self.values[second], self.tolerance)
        touched = (first in self.recipes, second in self.recipes)
        return all(touched) if self.crossed_by == "both" else any(touched)

    def _concerns(self, tasks: frozenset[str]) -> bool:
        return not self.tasks or bool(self.tasks & tasks)

    def as_json(self) -> dict[str, Any]:
        """Return the flag for `json.dumps`."""
        return {
            "guard": self.guard,
            "kind": self.kind,
            "blocks": self.blocks,
            "recipes": sorted(self.recipes),
            "tasks": sorted(self.tasks),
            "facts": dict(self.facts),
            "parts": list(self.parts),
        }


def alike(first: Value, second: Value, tolerance: float = 0.0) -> bool:
    """Whether two values are the same, numbers within a share of the larger one. An unknown value equals no other."""
    if isinstance(first, int | float) and isinstance(second, int | float):
        return abs(first - second) <= tolerance * max(abs(first), abs(second))
    return first is not None and first == second


def grouped(flags: Iterable[Flag]) -> list[Flag]:
    """Join flags that differ only in `parts`. For printing; verdicts use the single flags."""
    groups: list[list[Flag]] = []
    for flag in flags:
        group = next((group for group in groups if flag.parts and _differ_in_parts(group[0], flag)), None)
        if group is None:
            groups.append([flag])
        else:
            group.append(flag)
    return [_joined(group) for group in groups]


def _differ_in_parts(first: Flag, second: Flag) -> bool:
    names = ("guard", "kind", "facts", "blocks", "crossed_by")
    same = all(getattr(first, name) == getattr(second, name) for name in names)
    return same and bool(first.recipes) == bool(second.recipes)


def _joined(flags: Sequence[Flag]) -> Flag:
    return dataclasses.replace(
        flags[0],
        parts=tuple(part for flag in flags for part in flag.parts),
        recipes=frozenset().union(*(flag.recipes for flag in flags)),
        tasks=frozenset().union(*(flag.tasks for flag in flags)) if all(flag.tasks for flag in flags) else frozenset(),
    )


@dataclass(frozen=True)
class Guard:
    """A guard: an entry of `GUARDS` that finds flags and words them."""

    name: str
    label: str
    """Short text on what the guard checks."""
    find: Callable[[Results], list[Flag]] | str
    """Function from the results to the guard's flags, or `"module:function"`."""
    words: Callable[[Results, Flag], str] | str
    """Function that makes of a flag a clause of markdown without its full stop, with all outside text escaped
    (`reports.words.markdown`); or `"module:function"`."""


def _own(name: str, label: str, module: str, words: str = "") -> Guard:
    return Guard(name, label, f"reports.facts.guards.{module}:{name}", f"reports.words.guards:{words or name}")


GUARDS = Registry(
    "guard",
    _own("code", "the code that trials ran", "conditions", "condition"),
    _own("protocol", "SentEval's protocol", "conditions"),
    _own("data", "the data that was read", "conditions", "condition"),
    _own("encoder", "the encoder before training", "conditions", "condition"),
    _own("steps", "training steps", "conditions", "condition"),
    _own("tokens", "tokens read in training", "conditions", "condition"),
    _own("hardware", "the machine", "conditions", "condition"),
    _own("precision", "the numbers' precision in training", "conditions", "condition"),
    _own("streams", "workers that drew dropout", "conditions", "condition"),
    _own("seeds", "seeds", "trials"),
    _own("copies", "trials with the same scores", "trials"),
    _own("untrained", "parameters that nobody trained", "trials"),
    _own("caps", "limits that never bind", "limits"),
    _own("filters", "filters that leave no negatives", "limits"),
    _own("items", "predictions behind the scores", "scores"),
    _own("degenerate", "collapsed embeddings and predictions that are all the same", "scores"),
    _own("sizes", "numbers of test items", "scores"),
    _own("overlap", "test items seen in training", "scores"),
)
"""The guards of a report, in the order in which they run."""


def sentence(results: Results, flag: Flag) -> str:
    """Return a flag in its guard's words: markdown, escaped, without a full stop."""
    words: Callable[[Results, Flag], str] = load(GUARDS[flag.guard].words)
    return words(results, flag)


@dataclass(frozen=True)
class Flags:
    """All flags of a study."""

    all: tuple[Flag, ...]
    across: frozenset[str] = frozenset()
    """Names of guards whose flags the reader chose to ignore in verdicts (`--across`)."""

    def of_recipe(self, recipe_hash: str, tasks: frozenset[str]) -> tuple[Flag, ...]:
        """Return the flags to be marked at a figure of that recipe that is made of these tasks (`Quantity.parts`)."""
        return tuple(flag for flag in self.all if flag.marks and flag.touches(recipe_hash, tasks))

    def between(self, first: str, second: str, tasks: frozenset[str]) -> tuple[Flag, ...]:
        """Return the flags that forbid a verdict on two recipes in a figure that is made of these tasks."""
        return tuple(flag for flag in self.forbidding if flag.is_crossed_by(first, second, tasks))

    def doubtful(self, recipe_hash: str, tasks: frozenset[str]) -> bool:
        """Whether a flag on the recipe's own scores forbids any verdict on it; missing predictions say nothing of
        them."""
        own = (flag for flag in self.forbidding if flag.crossed_by == "any" and flag.kind != "no predictions")
        return any(flag.touches(recipe_hash, tasks) for flag in own)

    @cached_property
    def forbidding(self) -> tuple[Flag, ...]:
        """Flags that forbid verdicts, without those of the guards in `across`."""
        return tuple(flag for flag in self.all if flag.blocks and flag.guard not in self.across)


@cached
def find_flags(results: Results) -> Flags:
    """Return the flags of all guards, in the guards' order; found once for the same results."""
    finders: list[Callable[[Results], list[Flag]]] = [load(guard.find) for guard in GUARDS.values()]
    return Flags(tuple(flag for find in finders for flag in find(results)), frozenset(results.info.across))
