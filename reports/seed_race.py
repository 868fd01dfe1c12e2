"""A race over seeds, in words: which recipes need more seeds, which do not, and why.

A study asks while it runs, and a report asks again from the ledger; both get the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from reports.markdown import count, number
from reports.statistics.sequential import Course, Entrant, race_against, race_for_best
from search_spaces.goals import upward_values

if TYPE_CHECKING:
    from reports.results import Results

Question = Literal["best", "best row", "baseline"]


@dataclass(frozen=True)
class Raced:
    """A recipe, and how far it has come on every question that it takes part in."""

    has: int
    """Seeds."""
    most: int
    fixed: bool
    courses: Mapping[Question, Course]

    @property
    def seeds(self) -> int:
        """So many it needs, as far as is known now."""
        return max((course.seeds for course in self.courses.values()), default=self.has)

    @property
    def going(self) -> bool:
        """Whether more seeds may still be asked for."""
        return not self.fixed and any(course.state == "going" for course in self.courses.values())

    @property
    def lost(self) -> bool:
        """Whether it has left the race for the best."""
        return "best" in self.courses and self.courses["best"].state in ("behind", "failed")

    @property
    def gap(self) -> float:
        """How many points the closest rival is ahead of it, by the question that it is nearest to winning."""
        return min((course.gap for course in self.courses.values() if course.state == "going"), default=0.0)

    def why(self, called: Callable[[str], str]) -> str:
        """A sentence: why it goes on, or what it stopped for. `called` names recipes by their hash."""
        if self.fixed:
            return "no seed changes it"
        if not self.courses:
            return "it lacks seeds that every recipe has"
        told = [
            _sentence(question, course, self.most, called)
            for question, course in self.courses.items()
            if course.seeds == self.seeds or course.state == "going"
        ]
        return "; ".join(dict.fromkeys(told))


def raced(
    entrants: Mapping[str, Entrant], rows: Collection[str], baseline: str | None, least: int, most: int
) -> dict[str, Raced]:
    """By hash, every entrant. The questions: who is best, who is the best row, and which rows are above the baseline.

    An entrant with fewer than the least seeds takes part in nothing.
    """
    ready = {
        name: entrant for name, entrant in entrants.items() if len(entrant.values) >= (1 if entrant.fixed else least)
    }
    of_rows = {name: entrant for name, entrant in ready.items() if name in rows}
    answers: dict[Question, dict[str, Course]] = {"best": race_for_best(ready, least, most)}
    if len(of_rows) < len(ready):
        answers["best row"] = race_for_best(of_rows, least, most)
    if baseline is not None and baseline in of_rows:
        answers["baseline"] = race_against(baseline, of_rows, least, most)
    return {
        name: Raced(
            len(entrant.values),
            most,
            entrant.fixed,
            {question: courses[name] for question, courses in answers.items() if name in courses},
        )
        for name, entrant in entrants.items()
    }


def entrant(by_seed: Mapping[int, Sequence[float] | None], goals: int, fixed: bool, failed: bool = False) -> Entrant:
    """From a recipe's values by seed: those from seed 0 on up to the first that is missing, or has none."""
    values = list(_without_gaps(by_seed))
    return Entrant(np.array(values, dtype=float).reshape(len(values), goals), fixed, failed)


def _without_gaps(by_seed: Mapping[int, Sequence[float] | None]) -> Iterator[Sequence[float]]:
    for seed in range(len(by_seed)):
        values = by_seed.get(seed)
        if values is None:
            return
        yield values


def of_results(results: Results) -> dict[str, Raced]:
    """The race of a study; empty where it has none."""
    kept = vars(results)
    if "raced" not in kept:
        kept["raced"] = _of_results(results)
    found: dict[str, Raced] = kept["raced"]
    return found


def _of_results(results: Results) -> dict[str, Raced]:
    info = results.info
    if not info.raced or info.most_seeds is None:
        return {}
    rows = [recipe_hash for label in results.asked_rows if (recipe_hash := info.row_hashes[label])]
    ended = {record.recipe_hash for record in results.records if record.status == "pruned"} | set(results.failures)
    entrants = {}
    for recipe_hash in dict.fromkeys([*rows, *results.explored]):
        records = results.recipes.get(recipe_hash, [])
        by_seed = {record.seed: upward_values(results.goals, record.scores, record.cost) for record in records}
        fixed = recipe_hash in results.fixed
        entrants[recipe_hash] = entrant(by_seed, len(results.goals), fixed, recipe_hash in ended)
    baseline = info.row_hashes.get(results.space.baseline or "")
    return raced(entrants, rows, baseline, len(info.seeds), info.most_seeds)


def _sentence(question: Question, course: Course, most: int, called: Callable[[str], str]) -> str:
    after = f"after {count(course.seeds, 'seed')}"
    among = " of the rows" if question == "best row" else ""
    rival = called(course.rival) if course.rival else ""
    if question == "baseline":
        return _beside_baseline(course, most)
    match course.state:
        case "going":
            return f"seed {course.seeds} is needed: {_close(course, rival)}, so it may be the best{among}"
        case "behind":
            return f"{after} {rival} is {number(course.gap)} points ahead: it cannot be the best{among} any more"
        case "best":
            return f"{after} no other can be the best{among} any more"
        case "on the front":
            return f"{after} no other can beat it on every goal"
        case "failed":
            return f"{after} a trial of it failed or was stopped"
        case _:
            return f"all {count(most, 'seed')}: with one fewer it could still win{among}"


def _close(course: Course, rival: str) -> str:
    if not rival:
        return "nobody knows yet how far seeds scatter"
    if course.gap > 0:
        return f"{rival} is only {number(course.gap)} points ahead"
    return f"{rival} is only {number(-course.gap)} points behind"


def _beside_baseline(course: Course, most: int) -> str:
    after = f"after {count(course.seeds, 'seed')}"
    if not course.rival and course.state in ("decided", "most"):  # the baseline itself
        return f"rows were compared with it over {count(course.seeds, 'seed')}"
    match course.state:
        case "going":
            return f"seed {course.seeds} is needed: whether a row is above the baseline is still open"
        case "decided":
            return f"{after} its place beside the baseline is decided"
        case "undecided":
            return f"{after} it is too near the baseline for {count(most, 'seed')} to tell them apart"
        case "failed":
            return f"{after} a trial of it, or of the baseline, failed or was stopped"
        case _:
            return f"all {count(most, 'seed')}: its place beside the baseline was open to the end"
