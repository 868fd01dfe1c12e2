"""What stopping explored trials early saved, and what it could have cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from reports.document import Block, DataTable
from reports.ledger import Record
from reports.markdown import DASH, code, count, duration, number
from reports.results import Results
from reports.statistics.stopping import Agreement, Audit, audit
from reports.wording import level

WORTH_SAYING = 0.05
"""From this chance of having stopped the best trial on, the first screen says so."""
LIKELY = 0.5
"""Rungs that order trials no better than this once nobody is stopped are pointed out."""


@dataclass(frozen=True)
class Stopped:
    """The explored trials of an early-stopped study."""

    through: list[Record]
    stopped: list[Record]
    audits: dict[str, Audit]
    """By the goal as it is measured at the rungs."""


def write(results: Results, pictures: Path) -> list[Block]:
    """Empty where no trial was scored at a rung: nobody was stopped early, or an older version did not keep it."""
    early = stopped_early(results)
    if early is None:
        return []
    every = [*early.through, *early.stopped]
    return [
        f"{count(len(early.stopped), 'explored trial')} of {len(every)} {_were(early.stopped)} stopped early. "
        f"{saving(early)}",
        *(block for name in early.audits for block in _audit(results, early, name)),
        "Trials that ran through are the best of each rung, so their own order says too little: scores that all were "
        "chosen by hardly differ. The last column draws the ends of the stopped ones, too, by regressions of each rung "
        "on the one before, which a choice by these scores does not bias. It takes for granted that trials below the "
        "cut follow the same line, and what it does not know makes chance and cost higher: in recorded random searches "
        "whose every end is known (one seed, no race) the estimated chance was on average 1.5 to 6 times the true one, "
        "and the estimated cost 4 to 8 times.",
    ]


def stopping_in_short(results: Results) -> str:
    """One sentence where stopping could have cost something, or where that is not known; else empty."""
    early = stopped_early(results)
    if early is None or not early.stopped:
        return ""
    risky = {name: each.cost for name, each in early.audits.items() if each.cost and each.cost.chance >= WORTH_SAYING}
    if risky:
        risks = " and ".join(
            f"{number(cost.chance)} by {_words(results, name)} ({number(cost.expected)} points on average)"
            for name, cost in risky.items()
        )
        return (
            "Stopping early may have cost the best trial: the estimated chance, which is too high on average, is "
            f"{risks}; {saving(early, whole=False)}"
        )
    if not all(each.cost for each in early.audits.values()):
        return "What stopping early could have cost is not known: too few explored trials ran through."
    return ""


def stopped_early(results: Results) -> Stopped | None:
    """None where no trial was scored at a rung. Worked out once for all who ask."""
    return results.made(_stopped_early)


def _stopped_early(results: Results) -> Stopped | None:
    explored = set(results.explored)
    judged = [record for record in results.records if record.recipe_hash in explored and record.training.get("rungs")]
    names = list(judged[0].training["rungs"][0]["scores"]) if judged else []
    judged = [record for record in judged if set(names) <= set(record.training["rungs"][0]["scores"])]
    through = [record for record in judged if record.status == "finished" and None not in _ends(results, record)]
    stopped = [record for record in judged if str(record.training.get("stopped")).startswith("stopped at rung")]
    if not through and not stopped:
        return None
    every = [*through, *stopped]
    rungs = max(rung["rung"] for record in every for rung in record.training["rungs"])
    values = np.full((len(every), rungs, len(names)), np.nan)
    for trial, record in enumerate(every):
        for rung in record.training["rungs"]:
            values[trial, rung["rung"] - 1] = [rung["scores"][name] for name in names]
    ends = np.full((len(every), len(names)), np.nan)
    for trial, record in enumerate(through):
        ends[trial] = [end if end is not None else np.nan for end in _ends(results, record)]
    seeds = {record.seed for record in every}  # another seed may lift all scores alike: it is no ceiling for these
    finished = [
        _ends(results, record) for record in results.records if record.status == "finished" and record.seed in seeds
    ]
    best = [
        max((value for trial_ends in finished if (value := trial_ends[goal]) is not None), default=0.0)
        for goal in range(len(names))
    ]
    return Stopped(through, stopped, dict(zip(names, audit(values, ends, best), strict=True)))


def _ends(results: Results, record: Record) -> list[float | None]:
    """What the search maximises: each goal's value, upward."""
    values = [(goal, goal.of(record.scores, record.cost)) for goal in results.goals]
    return [None if value is None else goal.upward(value) for goal, value in values]


def saving(early: Stopped, whole: bool = True) -> str:
    """What the explored trials took, beside what they would have taken."""
    spent = math.fsum(_seconds(record) for record in [*early.through, *early.stopped])
    scoring = fmean([_scoring(record) for record in early.through]) if early.through else 0.0
    full = math.fsum(_seconds(record) for record in early.through) + math.fsum(
        float(record.training["seconds"]) * record.training["planned_steps"] / max(record.training["steps"] or 1, 1)
        + scoring
        for record in early.stopped
    )
    share = 100 * (1 - spent / full) if full else 0.0
    if not whole:
        return f"it saved {number(share, 0)} % of the time of the trials that could be stopped."
    return (
        f"The {count(len(early.through) + len(early.stopped), 'trial')} that could be stopped took {duration(spent)} "
        f"instead of about {duration(full)}, had all run through: stopping saved **{number(share, 0)} %** of that."
    )


def _seconds(record: Record) -> float:
    return float(record.cost.get("seconds") or 0)


def _scoring(record: Record) -> float:
    return float(record.cost.get("evaluation_seconds") or 0)


def _audit(results: Results, early: Stopped, name: str) -> list[Block]:
    """How each rung orders trials beside the end, and what stopping could have cost."""
    stopped = Counter(record.training["rungs"][-1]["rung"] for record in early.stopped)
    unit, places = _places(results)
    lines = []
    for rung, each in enumerate(early.audits[name].rungs, 1):
        reached = sum(record.training["rungs"][-1]["rung"] >= rung for record in [*early.through, *early.stopped])
        place = f"{rung} ({places[rung - 1]})" if rung <= len(places) else str(rung)
        lines.append([place, str(reached), str(stopped[rung]), _own_tau(each), _all_tau(each)])
    of = f" ({'share of the training' if unit == 'share' else unit})" if unit else ""
    head = [f"Rung{of}", "trials", "stopped there", "tau with the end, of those run through", "had nobody been stopped"]
    how = f"Kendall's tau of {_words(results, name)} at each rung with the end, at 95 %:"
    return [how, DataTable(head, lines), _cost(results, early, name)]


def _own_tau(each: Agreement) -> str:
    if each.tau is None:
        return DASH
    return f"{level(each.tau, each.low, each.high)} ({each.through})"


def _all_tau(each: Agreement) -> str:
    if each.all_tau is None or each.all_low is None or each.all_high is None:
        return DASH
    return level(each.all_tau, each.all_low, each.all_high)


def _cost(results: Results, early: Stopped, name: str) -> str:
    cost = early.audits[name].cost
    if cost is None:
        return "Too few trials ran through to say what stopping could have cost."
    if not early.stopped:
        return "No trial was stopped, so nothing was lost."
    sentence = (
        f"Had all run through, the estimated chance is **{number(cost.chance)}** that a stopped trial would have ended "
        f"above the best trial of these seeds by {_words(results, name)}; the estimated cost is "
        f"{number(cost.expected)} points on average, and at most {number(cost.most)} in 95 %."
    )
    weak = [
        str(rung)
        for rung, each in enumerate(early.audits[name].rungs, 1)
        if each.all_tau is not None and each.all_tau < LIKELY
    ]
    if weak:
        sentence += f" Trials stand in another order in the end than at rung {', '.join(weak)} (tau below {LIKELY:g})."
    return sentence


def _words(results: Results, name: str) -> str:
    return code(name) if results.space.goals else "development score"


def _were(records: Sequence[Record]) -> str:
    return "was" if len(records) == 1 else "were"


def _places(results: Results) -> tuple[str, list[str]]:
    """The unit of the rungs and where each is, as the study was told; empty where it does not say."""
    unit, _, amounts = results.info.stopping.get("rungs", "").partition(":")
    return unit, amounts.split(",") if amounts else []
