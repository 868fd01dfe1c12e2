"""What a replay says: what was run, a table of all searches, what to choose and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from reports.markdown import DASH, count, duration, number, table
from study.replay.compare import Conditions, Outcome
from study.replay.metrics import Yardstick
from study.replay.repeats import Choice, Interval, choose, mean, share

ENOUGH = 0.95
"""The share of the whole record's hypervolume that a search is to reach."""
TAIL = 0.9
"""Of the repeats: a quantile is as bad or better in so many of them."""


@dataclass(frozen=True, eq=False)
class ReplayResult:
    """Searches under the same conditions, and the whole record run without choosing or stopping."""

    name: str
    """Of the record."""
    yardstick: Yardstick
    conditions: Conditions
    searches: Mapping[str, Sequence[Outcome]]
    whole: Sequence[Outcome]

    @property
    def one_goal(self) -> bool:
        return len(self.yardstick.recorded.goals) == 1

    @property
    def repeats(self) -> int:
        return len(self.whole)

    def choice(self) -> Choice:
        """Which search is best, by what it has found at its end."""
        found = {name: [outcome.found for outcome in outcomes] for name, outcomes in self.searches.items()}
        return choose(found, low=self.one_goal)

    def reached(self, found: float) -> bool:
        """Whether that is as good as the whole record: regret within one standard error, or 95 % of its hypervolume."""
        return found <= self.yardstick.error if self.one_goal else found >= ENOUGH


def said(compared: ReplayResult) -> str:
    """What was run, and what the numbers mean."""
    recorded, conditions, yardstick = compared.yardstick.recorded, compared.conditions, compared.yardstick
    budget = [
        *([count(conditions.trials, "recipe") + " asked for"] if conditions.trials is not None else []),
        *([f"{conditions.compute:.0%} of the whole record's compute"] if conditions.compute is not None else []),
    ]
    stops = recorded.rungs[:-1] if conditions.rungs is None else [recorded.rungs[rung] for rung in conditions.rungs]
    rungs = (
        f"rungs at step {', '.join(f'{step:g}' for step in stops)} of {recorded.rungs[-1]:g}" if stops else "no rungs"
    )
    seeds = count(conditions.seeds, "seed") + (
        f", up to {conditions.most_seeds} in a race," if conditions.most_seeds else ""
    )
    sentences = [
        f"{count(len(recorded.hashes), 'recipe')} recorded; each search ends at {', or '.join(budget)}. "
        f"{seeds} of each recipe, {count(conditions.workers, 'worker')}, {rungs}; "
        f"{count(compared.repeats, 'repeat')}, each with the same seeds for all searches. Intervals are of 95 %.",
        "Compute is the training time of all trials, up to where each stopped; where a trial holds one GPU it is GPU "
        "time. Clock is simulated time, scoring at rungs and at the end included. A search gets the recorded recipe "
        "nearest to what it asks for; one that was run already counts among its recipes, but is not run again.",
    ]
    if compared.one_goal:
        error = (
            f"here {number(yardstick.error)}, and {yardstick.near:,} of the recorded recipes are so near"
            if math.isfinite(yardstick.error)
            else "unknown with one seed"
        )
        sentences.append(
            f"Regret: how many points of {recorded.goals[0]} (test, mean over all recorded seeds) the search's pick "
            "lies below the recipe that the whole record would pick. Within 1 SE: the share of repeats whose regret is "
            f"at most one standard error of that score, {error}."
        )
    else:
        sentences.append(
            f"Hypervolume: of {' and '.join(recorded.goals)} (test, mean over all recorded seeds), above the median "
            "recipe, of what the search would put on its front by development scores, as a share of the whole "
            f"record's. At least {ENOUGH:.0%}: the share of repeats that reach that."
        )
    return "\n\n".join(sentences)


def results_table(compared: ReplayResult) -> str:
    """All searches, the best first, and the whole record below."""
    one = compared.one_goal
    found = (
        ["regret", "9 of 10 at most", "within 1 SE"] if one else ["hypervolume", "9 of 10 at least", "at least 95 %"]
    )
    head = ["search", "recipes", "trials", "run to the end", "compute", "clock", *found]
    choice = compared.choice()
    rows = [_row(compared, name, compared.searches[name]) for name in (choice.best, *choice.differences)]
    return table(head, [*rows, _row(compared, "whole record", compared.whole)])


def _row(compared: ReplayResult, name: str, outcomes: Sequence[Outcome]) -> list[str]:
    found = np.array([outcome.found for outcome in outcomes])
    tail = float(np.quantile(found, TAIL if compared.one_goal else 1 - TAIL))
    hits = sum(compared.reached(outcome.found) for outcome in outcomes)
    unknown = compared.one_goal and math.isnan(compared.yardstick.error)

    def middle(values: Sequence[float]) -> float:
        return float(np.mean(values))

    return [
        name,
        f"{middle([outcome.asked for outcome in outcomes]):,.0f}",
        f"{middle([outcome.trials for outcome in outcomes]):,.0f}",
        f"{middle([outcome.finished for outcome in outcomes]):,.0f}",
        f"{middle([outcome.compute / outcome.whole for outcome in outcomes]):.1%}",
        _clock(middle([outcome.clock for outcome in outcomes])),
        _shown(compared, mean(found)),
        number(tail) if compared.one_goal else f"{tail:.1%}",
        DASH if unknown else _percent(share(hits, len(outcomes))),
    ]


def found_by(outcome: Outcome, part: float) -> float:
    """What a search had found when it had spent that part of the whole record's compute."""
    place = np.searchsorted(outcome.progress.compute, part * outcome.whole, side="right") - 1
    return float(outcome.progress.found[place])


def advice(compared: ReplayResult) -> str:
    """What to choose, and how sure that is."""
    choice = compared.choice()
    alike = [choice.best, *choice.same]
    compute = {name: fmean(outcome.compute for outcome in compared.searches[name]) for name in alike}
    best = min(alike, key=lambda name: compute[name])
    found = [outcome.found for outcome in compared.searches[best]]
    what = "regret is the lowest" if compared.one_goal else "hypervolume is the largest"
    lines = [f"Choose **{best}**: its {what}, {_shown(compared, mean(found), unit=True)}."]
    if choice.worse:
        listed = ", ".join(f"{name} (by {_shown(compared, choice.differences[name])})" for name in choice.worse)
        lines.append(f"Over the same repeats it is better than {listed}; these intervals hold together.")
    if choice.same:
        same = ", ".join(name for name in alike if name != best)
        less = ", and took the least compute of them" if compute[best] < max(compute.values()) else ""
        lines.append(f"In every repeat it found the same as {same}{less}.")
    if choice.alike:
        listed = ", ".join(f"{name} ({_shown(compared, choice.differences[name])})" for name in choice.alike)
        lines.append(f"It cannot be told apart from {listed}; more repeats may do that.")
    if compared.repeats < 2:
        lines.append("One repeat says nothing of how sure that is; give more --repeats.")
    return " ".join(lines)


def _shown(compared: ReplayResult, interval: Interval, *, unit: bool = False) -> str:
    scale, digits = (1.0, 2) if compared.one_goal else (100.0, 1)
    sign = (" points" if unit else "") if compared.one_goal else " %"
    value, low, high = (number(scale * part, digits) for part in (interval.value, interval.low, interval.high))
    return f"{value}{sign}" if math.isnan(interval.low) else f"{value}{sign} [{low}, {high}]"


def _clock(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else duration(seconds)


def _percent(interval: Interval) -> str:
    return f"{interval.value:.0%} [{interval.low:.0%}, {interval.high:.0%}]"
