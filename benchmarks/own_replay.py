"""Searches replayed on recorded trainings: ours and others in the same time, each set judged by what others taught.

    python -m benchmarks own_replay                                # the table
    python -m benchmarks own_replay --out docs/record_own.md       # and into the page
    python -m benchmarks own_replay --trial                        # parts of ours, each in place of what a study has

Ours is a study's own agenda on simulated time (`_own_replay_ours.py`); its portfolio is learned from the sets of other
data. `docs/record_own.md` says what came of it.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks import _own_replay_ours, _own_replay_peers
from benchmarks._asked import check_numbers, check_page, write_between
from benchmarks._own_portfolio import portfolio
from benchmarks._own_replay_ours import Ours
from benchmarks._own_replay_page import Run, page
from benchmarks._own_replay_peers import PEERS, Peer
from benchmarks._own_replay_table import Replayed, in_space
from benchmarks._own_table import RECORDS, OwnTable, load
from study.search.ladder import Ladder
from trainables.errors import UserError

BEGIN, END = "<!-- own replay: begin -->", "<!-- own replay: end -->"
"""Between these lines of a page stand the tables."""
TIMES = (8.0, 16.0, 32.0)
"""In whole trainings with the base settings, on all places together."""
REPEATS, FEWEST, LONGEST = 20, 8, 16
"""Of each search on a set; recipes without which a set is left out; and how long a portfolio is learned."""
OURS, PICKED = "ours", "its finalist"
TRIAL: Mapping[str, Ours] = {
    OURS: Ours(),
    "ours, Optuna's Gaussian process": Ours("optuna_gp"),
    "ours, no model": Ours("random"),
    "ours, no portfolio": Ours(first=0),
    "ours, a portfolio of 4": Ours(first=4),
    "ours, a portfolio of 16": Ours(first=16),
    "ours, on an eighth alone": Ours(ladder=Ladder((0.125,))),
    "ours, on an eighth, the best third on a half": Ours(ladder=Ladder((0.125, 0.5))),
    "ours, on a quarter alone": Ours(ladder=Ladder((0.25,))),
    "ours, all of the data at once": Ours(ladder=Ladder()),
}
"""What is on trial, beside what a study has."""


def main(arguments: Sequence[str]) -> None:
    """Print the tables."""
    asked = _parser().parse_args(arguments)
    check_numbers(asked, repeats=1, processes=1)
    check_page(asked.out, BEGIN)
    ours = TRIAL if asked.trial else {OURS: TRIAL[OURS]}
    tables = records(asked.records)
    runs = replayed(tables, asked.repeats, ours, () if asked.trial else PEERS, processes=asked.processes)
    text = page(runs, OURS)
    print(text)
    if asked.out is not None:
        write_between(asked.out, BEGIN, text, END)


def records(names: Sequence[str]) -> dict[str, OwnTable]:
    """The sets of these packed records by name, those of a further record with its name, too: recipes of the space that
    a study has."""
    found: dict[str, OwnTable] = {}
    for record in names:
        if not (RECORDS / f"{record}.parquet").is_file():
            raise UserError(f"--records {record} is not among {RECORDS}/*.parquet")
        for name, whole in load(record).items():
            table = in_space(whole)
            if table is not None and len(table.recipes) >= FEWEST:
                found[f"{name}, {record}" if name in found else name] = table
    return found


def replayed(
    tables: Mapping[str, OwnTable],
    repeats: int,
    ours: Mapping[str, Ours],
    peers: Sequence[Peer] = PEERS,
    *,
    times: Sequence[float] = TIMES,
    processes: int = 1,
) -> list[Run]:
    """Every repeat of every side on every set, in a fixed order. Deterministic."""
    one = functools.partial(_on_set, tables, repeats, ours, [peer.name for peer in peers], tuple(times))
    if processes == 1:
        return [run for name in tables for run in one(name)]
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        return [run for runs in pool.map(one, tables) for run in runs]


def _on_set(
    tables: Mapping[str, OwnTable],
    repeats: int,
    ours: Mapping[str, Ours],
    peers: Sequence[str],
    times: Sequence[float],
    name: str,
) -> list[Run]:
    others = [table for table in tables.values() if table.name != tables[name].name]
    own = Replayed.of(tables[name], others)
    first = portfolio(others, LONGEST, [own.numbers[own.base]])
    found = []
    for repeat in range(repeats):
        for side, how in ours.items():
            for time in times:
                ended = _own_replay_ours.search(own, time, first, repeat, how)
                found.append(Run.of((name, repeat, side, time), ended.kind, ended.place, own))
                found.append(Run.of((name, repeat, f"{side}, {PICKED}", time), ended.kind, ended.picked, own))
        for peer in (one for one in PEERS if one.name in peers):
            for time, place in zip(times, _own_replay_peers.search(own, times, first, repeat, peer), strict=True):
                found.append(Run.of((name, repeat, peer.name, time), None, place, own))
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks own_replay", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--records",
        nargs="+",
        metavar="NAME",
        default=["minilm-2", "minilm-6"],
        help="packed records (default: %(default)s)",
    )
    parser.add_argument("--repeats", type=int, default=REPEATS, help="of each search on a set (default: %(default)s)")
    parser.add_argument(
        "--trial", action="store_true", help="parts of our search that are on trial, and no other search"
    )
    parser.add_argument("--processes", type=int, default=1, help="at once (default: %(default)s)")
    parser.add_argument("--out", type=Path, metavar="PAGE", help=f"a page to write the tables into, after {BEGIN}")
    return parser
