"""What may make a comparison worthless: different code, data or budgets, broken scores, leaked test sentences.

    flags = find_flags(results)
    flags.of_recipe(recipe_hash, parts)      # what a reader must know of a figure that is made of these tasks
    flags.between(first, second, parts)      # what forbids a verdict on two recipes

A guard looks at the results and raises flags; a comparison across a flag gets no verdict unless the reader asks for it
(`StudyInfo.across`, `--across GUARD`). To add a guard: a function from `Results` to a list of flags, and an entry here
or in a plugin file:

    GUARDS.add(Guard("mine", "what it looks at", my_function, blocks=True))
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from reports.results import Results
from trainables.registry import Registry, load


@dataclass(frozen=True)
class Flag:
    """One thing that a reader must know about some recipes, or about some of their scores."""

    guard: str
    """The guard's name, as `--across` takes it."""
    sentence: str
    """Markdown, escaped: what is wrong, with figures, and what it means."""
    recipes: frozenset[str]
    """The hashes of the recipes that it touches; empty where the guard could not look, and the sentence says why."""
    tasks: frozenset[str] = frozenset()
    """The tasks whose test scores it touches, and `dev.TASK` for a development score (`Quantity.parts`); empty: all."""
    blocks: bool = True
    """Whether comparisons across it get no verdict."""
    follows: str = "Verdicts stand."
    """Of one that does not block: what follows for verdicts."""
    marks: bool = True
    """Whether it is marked at every row and figure that it touches; else the trust box alone says it."""
    crossed_by: Literal["any", "unequal", "both"] = "any"
    """Which comparisons cross it: `any` with a recipe that it touches; `unequal`: those of two recipes that have not
    the same of `values`; `both`: those of two recipes that it touches, as they are one in effect."""
    values: Mapping[str, str | float | None] = field(default_factory=dict, hash=False)
    """For `unequal`: what must be the same, by the hash of every recipe that has such a thing; None is unknown."""
    tolerance: float = 0.0
    """For `unequal`: numbers may differ by this share of the larger one."""
    own: str = ""
    """What of the sentence is this flag's own: flags that differ in nothing else are told in one (`grouped`)."""

    def touches(self, recipe_hash: str, tasks: frozenset[str]) -> bool:
        """Whether it concerns a figure of that recipe that is made of these tasks."""
        return recipe_hash in self.recipes and self._concerns(tasks)

    def stands_between(self, first: str, second: str, tasks: frozenset[str]) -> bool:
        """Whether a comparison of two recipes, in a figure that is made of these tasks, crosses it."""
        if not self._concerns(tasks):
            return False
        if self.crossed_by == "unequal":
            both = first in self.values and second in self.values
            return both and not alike(self.values[first], self.values[second], self.tolerance)
        touched = (first in self.recipes, second in self.recipes)
        return all(touched) if self.crossed_by == "both" else any(touched)

    def _concerns(self, tasks: frozenset[str]) -> bool:
        return not self.tasks or bool(self.tasks & tasks)


def alike(first: str | float | None, second: str | float | None, tolerance: float = 0.0) -> bool:
    """Whether two values are the same, numbers within a share of the larger one; what is unknown is like nothing."""
    if first is None or second is None:
        return False
    if isinstance(first, str) or isinstance(second, str):
        return first == second
    return abs(first - second) <= tolerance * max(abs(first), abs(second))


def grouped(flags: Iterable[Flag]) -> list[Flag]:
    """For the reader: flags whose sentences differ in their own part alone become one, which names all these parts."""
    alike: dict[object, list[Flag]] = {}
    for flag in flags:
        rest = tuple(flag.sentence.split(flag.own, 1)) if flag.own else (flag.sentence,)
        alike.setdefault((flag.guard, flag.blocks, flag.crossed_by, flag.follows, bool(flag.recipes), rest), []).append(
            flag
        )
    return [those[0] if len(those) == 1 else _together(those) for those in alike.values()]


def _together(flags: Sequence[Flag]) -> Flag:
    """To be read, not to be judged by: its `values` are the first one's."""
    first, parts = flags[0], list(dict.fromkeys(flag.own for flag in flags))
    return dataclasses.replace(
        first,
        sentence=first.sentence.replace(first.own, "; ".join(parts), 1) if first.own else first.sentence,
        recipes=frozenset().union(*(flag.recipes for flag in flags)),
        tasks=frozenset().union(*(flag.tasks for flag in flags)) if all(flag.tasks for flag in flags) else frozenset(),
    )


@dataclass(frozen=True)
class Guard:
    """An entry of `GUARDS`."""

    name: str
    label: str
    """What it looks at, in a few words."""
    find: Callable[[Results], list[Flag]] | str
    """From the results to its flags, or `"module:function"`."""
    blocks: bool = True
    """Whether its flags can forbid a verdict."""


def _own(name: str, label: str, module: str, blocks: bool = True) -> Guard:
    return Guard(name, label, f"reports.guards.{module}:{name}", blocks)


GUARDS = Registry(
    "guard",
    _own("code", "the code that trials ran", "conditions"),
    _own("protocol", "SentEval's protocol", "conditions"),
    _own("data", "the data that was read", "conditions"),
    _own("encoder", "the encoder before training", "conditions"),
    _own("steps", "training steps", "conditions"),
    _own("tokens", "tokens read in training", "conditions"),
    _own("hardware", "the machine", "conditions"),
    _own("precision", "the numbers' precision in training", "conditions"),
    _own("streams", "workers that drew dropout", "conditions"),
    _own("seeds", "seeds", "trials"),
    _own("copies", "trials with the same scores", "trials"),
    _own("untrained", "parameters that nobody trained", "trials"),
    _own("caps", "limits that never bind", "limits", blocks=False),
    _own("filters", "filters that leave no negatives", "limits", blocks=False),
    _own("items", "predictions behind the scores", "scores"),
    _own("degenerate", "collapsed embeddings and predictions that are all the same", "scores"),
    _own("parts", "averages and their parts", "scores"),
    _own("overlap", "test items seen whole in training", "scores"),
)
"""What a report looks at before it says anything."""


@dataclass(frozen=True)
class Flags:
    """All flags of a study."""

    all: tuple[Flag, ...]
    across: frozenset[str] = frozenset()
    """The guards that the reader chose to judge across."""

    def of_recipe(self, recipe_hash: str, tasks: frozenset[str]) -> tuple[Flag, ...]:
        """Every flag to be marked at a figure of that recipe that is made of these tasks (`Quantity.parts`)."""
        return tuple(flag for flag in self.all if flag.marks and flag.touches(recipe_hash, tasks))

    def between(self, first: str, second: str, tasks: frozenset[str]) -> tuple[Flag, ...]:
        """The flags that forbid a verdict on two recipes in a figure that is made of these tasks."""
        return tuple(flag for flag in self.forbidding if flag.stands_between(first, second, tasks))

    @cached_property
    def forbidding(self) -> tuple[Flag, ...]:
        """Those that forbid verdicts, but for the guards that the reader chose to judge across."""
        return tuple(flag for flag in self.all if flag.blocks and flag.guard not in self.across)


def find_flags(results: Results) -> Flags:
    """What every guard finds, in the guards' order; found once for the same results."""
    return results.made(_find)


def _find(results: Results) -> Flags:
    found: list[Flag] = []
    for guard in GUARDS.values():
        find: Callable[[Results], list[Flag]] = load(guard.find)
        found += find(results)
    return Flags(tuple(found), frozenset(results.info.across))
