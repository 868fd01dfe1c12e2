"""What a report says that stopping could have cost, beside what it did cost, on a record in which every end is known.

    python -m benchmarks stopping --record benchmarks/recorded/frozen_grid-minilm.parquet --goals sts --rungs 6,12,24

Random search with `asha`, one seed of each recipe. Trials that it stopped have ends in the record: a report never sees
them, and here they say whether the best trial was stopped, and by how much it lies above the best that ran through.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks._asked import check_numbers
from trainables.errors import UserError

if TYPE_CHECKING:
    from study.replay.recorded import Recorded

WORKERS = 4


@dataclass(frozen=True)
class Audited:
    """A goal of one search: what its audit states, and the truth, in points of development scores."""

    chance: float
    cost: float
    most: float
    true_cost: float


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    asked = _parser().parse_args(arguments)
    check_numbers(asked, searches=2, recipes=10)
    from reports.markdown import number, table
    from study.replay.recorded import read_record, rung_numbers
    from study.replay.repeats import share

    recorded = read_record(asked.record)
    if asked.goals:
        recorded = recorded.of_goals(asked.goals.split(","))
    rungs = rung_numbers(recorded, asked.rungs) or tuple(range(len(recorded.rungs) - 1))
    searches = [found for repeat in range(asked.searches) if (found := audited(recorded, rungs, asked.recipes, repeat))]
    if not searches:
        raise UserError("in no search a trial was stopped and enough ran through; ask for more --recipes or --searches")
    lines = []
    for place, goal in enumerate(recorded.goals):
        found = [search[place] for search in searches]
        lost = share(sum(one.true_cost > 0 for one in found), len(found))
        kept = share(sum(one.true_cost <= one.most for one in found), len(found))
        lines.append(
            [
                goal,
                str(len(found)),
                number(float(np.mean([one.chance for one in found]))),
                f"{number(lost.value)} [{number(lost.low)}, {number(lost.high)}]",
                number(float(np.mean([one.cost for one in found]))),
                number(float(np.mean([one.true_cost for one in found]))),
                f"{100 * kept.value:.0f} % [{100 * kept.low:.0f}, {100 * kept.high:.0f}]",
            ]
        )
    head = ["goal", "searches", "stated chance", "lost the best", "stated cost", "true cost", "within the most"]
    print(f"{asked.recipes} recipes a search; of {asked.searches} searches {len(searches)} say something.\n")
    print(table(head, lines))


def audited(recorded: Recorded, rungs: Sequence[int], recipes: int, repeat: int) -> list[Audited] | None:
    """A search, by goal; None where it stopped nobody, or too few ran through for its report to say anything."""
    from reports.statistics.stopping import audit
    from study.replay.compare import Start, common_seeds
    from study.replay.our_search import our_searches
    from study.replay.simulate import SearchBudget, TrialCurves, simulate

    curves = TrialCurves.of(recorded, rungs)
    seed = int(np.random.default_rng(repeat).choice(common_seeds(recorded)))
    [named] = our_searches(recorded, ["random"], ["asha"])
    search = named.make(Start(recorded, curves.rungs, (seed,), repeat))
    history = simulate(curves, search, (seed,), WORKERS, SearchBudget(recipes))
    curves_of = recorded.development[history.recipe, seed]  # (trials, rungs, goals), the ends of stopped ones too
    values, ends = curves_of[:, list(rungs)].copy(), curves_of[:, -1].copy()
    for trial, stops in enumerate(history.stops):
        values[trial, stops:] = np.nan
    ends[~history.finished] = np.nan
    if history.finished.all() or not history.finished.any():
        return None
    best, hidden = np.nanmax(ends, axis=0), np.nanmax(curves_of[~history.finished, -1], axis=0)
    found = []
    for goal, each in enumerate(audit(values, ends, best.tolist(), seed=repeat)):
        if each.cost is None:
            return None
        lost = max(float(hidden[goal] - best[goal]), 0.0)
        found.append(Audited(each.cost.chance, each.cost.expected, each.cost.most, lost))
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks stopping", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--record", type=Path, required=True, metavar="FILE", help="a packed record")
    parser.add_argument("--goals", metavar="NAMES", help="one goal or two, such as sts (default: all of the record's)")
    parser.add_argument("--rungs", metavar="STEPS", help="steps where trials may be stopped (default: all recorded)")
    parser.add_argument("--recipes", type=int, default=120, metavar="N", help="that a search asks for (default 120)")
    parser.add_argument("--searches", type=int, default=40, metavar="N", help="default 40")
    return parser
