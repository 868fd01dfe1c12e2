"""When `--until` ends a search, and how often more was still to be had, on tables of finished trainings.

    python -m benchmarks until --table minilm nasbench201/imagenet --repeats 40 --to until.jsonl

A search by `gp` goes on for 60 recipes after its end, and is wrong where one of them is truly better than all before by
more than the gain. As in `peers`: 4 trials at once, one seed. What stands in the file is not run again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._asked import check_numbers
from benchmarks._tables import Table, load_table
from benchmarks.peers import Optuna, peers, run
from study.search.until import EVERY, IMPROBABLE, LEAST, chances

GAINS = (0.25, 0.5, 1.0)
DECADES = (0.05, 0.1, 0.2)
"""Of loss, where a table has no points."""
FURTHER, MOST = 60, 100
"""Recipes after the end, and those after which no end is waited for."""


def watched(table: Table, repeat: int) -> dict[str, Any]:
    """One search: the chance of each gain at every look, and the true values of what ran, in order."""
    gains, seed = DECADES if "decades" in table.unit else GAINS, repeat % table.development.shape[1]
    peer = peers()["ours:gp"](table, repeat)
    assert isinstance(peer, Optuna)
    ask_tell, looks = peer.ask_tell, dict[int, list[float]]()

    def more(course: Sequence[int]) -> bool:
        recipes, ended = len(course), bool(looks) and max([*looks.values()][-1]) < IMPROBABLE
        if recipes % EVERY == 0 and LEAST <= recipes <= MOST and recipes not in looks and not ended:
            found = chances(ask_tell, gains)
            looks.update({recipes: found} if found else {})
        return recipes < max(looks, default=MOST) + FURTHER

    course, _ = run(table, peer, seed, more)
    return {"gains": gains, "looks": [*looks.items()], "truth": [float(table.truth[one]) for one in course]}


def judged(one: Mapping[str, Any], place: int) -> tuple[int | None, float]:
    """Of the gain in that place: after how many recipes the search ends, None where it does not, and what 60 more
    found beyond."""
    best = [*itertools.accumulate(one["truth"], max)]
    end = next((recipes for recipes, found in one["looks"] if found[place] < IMPROBABLE), None)
    return end, best[min((end or MOST) + FURTHER, len(best)) - 1] - best[min(end or MOST, len(best)) - 1]


def shown(found: Sequence[Mapping[str, Any]]) -> str:
    """A row for each table and gain."""
    from reports.markdown import table
    from study.replay.repeats import share

    by: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for one in found:
        by[one["table"]].append(one)
    rows = []
    for name, ones in by.items():
        for place, gain in enumerate(ones[0]["gains"]):
            ends = [judged(one, place) for one in ones]
            stopped = [(end, more) for end, more in ends if end is not None]
            wrong = share(sum(more > gain for _, more in stopped), len(stopped)) if stopped else None
            rows.append(
                [
                    f"`{name}`",
                    f"{gain:g}",
                    f"{len(stopped)} of {len(ends)}",
                    f"{median([end or MOST for end, _ in ends]):g}",
                    f"{100 * wrong.value:.0f} [{100 * wrong.low:.0f}, {100 * wrong.high:.0f}]" if wrong else "–",
                ]
            )
    head = ["table", "gain", f"ended by recipe {MOST}", "recipes, median", f"more was to be had in {FURTHER}, %"]
    return table(head, rows)


def main(arguments: Sequence[str]) -> None:
    """Run what is asked for and is not in the file, and print a table of what is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks until", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--table", nargs="*", default=[], metavar="NAME", help="minilm, scenes, hpolib/..., ...")
    parser.add_argument("--repeats", type=int, default=40, metavar="N", help="of each search (default 40)")
    parser.add_argument("--to", type=Path, required=True, metavar="FILE", help="JSON lines, which are gone on with")
    asked = parser.parse_args(arguments)
    check_numbers(asked, repeats=2)
    warnings.simplefilter("ignore")
    found = [json.loads(line) for line in asked.to.read_text().splitlines()] if asked.to.exists() else []
    there = {(one["table"], one["repeat"]) for one in found}
    tables = [*map(load_table, asked.table)]
    for repeat, table in itertools.product(range(asked.repeats), tables):
        if (table.name, repeat) not in there:
            found.append({"table": table.name, "repeat": repeat} | watched(table, repeat))
            with asked.to.open("a") as file:
                file.write(json.dumps(found[-1]) + "\n")
    print(shown(found))
