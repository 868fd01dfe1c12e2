"""How many explored trials were stopped early, what that saved, and whether the rungs' order was that of the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from reports.answer import seconds_of
from reports.document import Block
from reports.ledger import Record
from reports.markdown import DASH, code, count, duration, number
from reports.results import Results


def write(results: Results, pictures: Path) -> list[Block]:
    """Empty where no trial was scored at a rung: nobody was stopped early, or an older version did not keep it."""
    explored = set(results.explored)
    judged = [record for record in results.records if record.recipe_hash in explored and record.judged]
    through = [record for record in judged if record.status == "finished" and None not in _ends(results, record)]
    stopped = [record for record in judged if str(record.training.get("stopped")).startswith("stopped at rung")]
    if not through and not stopped:
        return []
    were = "was" if len(stopped) == 1 else "were"
    of_all = f"{count(len(stopped), 'explored trial')} of {len(through) + len(stopped)} {were} stopped early."
    return [f"{of_all} {_saving(through, stopped)}", *_agreement(results, through)]


def _ends(results: Results, record: Record) -> list[float | None]:
    """What the search maximises: each goal's value, upward."""
    values = [(goal, goal.of(record.scores, record.cost)) for goal in results.goals]
    return [None if value is None else goal.upward(value) for goal, value in values]


def _saving(through: Sequence[Record], stopped: Sequence[Record]) -> str:
    """What the explored trials took, beside what they would have taken."""
    finished = math.fsum(seconds_of(record, "seconds") or 0.0 for record in through)
    spent = finished + math.fsum(seconds_of(record, "seconds") or 0.0 for record in stopped)
    scoring = fmean([seconds_of(record, "evaluation_seconds") or 0.0 for record in through]) if through else 0.0
    full = finished + math.fsum(
        float(record.training["seconds"]) * record.training["planned_steps"] / max(record.training["steps"] or 1, 1)
        + scoring
        for record in stopped
    )
    share = 100 * (1 - spent / full) if full else 0.0
    return (
        f"The {count(len(through) + len(stopped), 'trial')} that could be stopped took {duration(spent)} "
        f"instead of about {duration(full)}, had all run through: stopping saved **{number(share, 0)} %** of that."
    )


def _agreement(results: Results, through: Sequence[Record]) -> list[str]:
    """How far the order at each rung is that at the end, in one line."""
    taus = []
    for place, goal in enumerate(results.goals):
        pairs: dict[int, list[tuple[float, float | None]]] = {}
        for record in through:
            for rung in record.training["rungs"]:
                score = [*rung["scores"].values()][place]
                pairs.setdefault(rung["rung"], []).append((score, _ends(results, record)[place]))
        name = code(goal.name) if results.space.goals else "development score"
        taus.append(f"{', '.join(f'{_tau(own)} at rung {rung}' for rung, own in sorted(pairs.items()))} by {name}")
    if len(through) < 2:
        return []
    return [
        f"Of the {len(through)} trials that ran through, Kendall's tau with the order at the end is {'; '.join(taus)}. "
        "They are the best of each rung, so that is lower than of all trials."
    ]


def _tau(pairs: Sequence[tuple[float, float | None]]) -> str:
    """Of one rung's scores with the ends; a dash where one of the two is the same for all."""
    from scipy.stats import kendalltau

    tau = float(kendalltau(*zip(*pairs, strict=True)).statistic)
    return DASH if math.isnan(tau) else number(tau)
