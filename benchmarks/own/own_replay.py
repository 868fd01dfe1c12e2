"""Searches replayed on recorded trainings: ours and others in the same time, with portfolios from the other sets.

    python -m benchmarks own_replay                                # the table
    python -m benchmarks own_replay --out docs/record_own.md       # and into the page

Ours is a study's own agenda on simulated time (`_replay_ours.py`); its portfolio is learned from other data under the
same encoder, like a study's first recipes.
"""

from __future__ import annotations

import functools
import multiprocessing
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.options import add_number, parser_of
from benchmarks.own import _replay_ours, _replay_peers
from benchmarks.own._portfolio import portfolio
from benchmarks.own._replay_peers import PEERS
from benchmarks.own._replay_table import Replayed, in_space
from benchmarks.own._table import RECORDS, SMALLEST_GAIN, OwnTable, load
from benchmarks.tables import check_page, titled, write_between
from trainables.errors import UserError

BEGIN, END = "<!-- own replay: begin -->", "<!-- own replay: end -->"
"""Lines of a page between which the tables are written."""
TIMES = (8.0, 16.0, 32.0)
"""Time limits of searches, in whole trainings with the base settings, summed over trainings that run at once."""
REPEATS, FEWEST, LONGEST = 20, 8, 16
"""Repeats of each search on a set; fewest recipes of a set that is used; length of the learned portfolio."""
OURS, PICKED = "ours", "ours, its finalist"
NEAR = 0.5
"""A result at most this many points below the best score is so near that nobody would search on."""
DRAWS, LEVEL = 4000, 0.95
KINDS = ("use", "base", "as it came", "open", "nothing")


def main(arguments: Sequence[str]) -> None:
    """Print the tables."""
    parser = parser_of(__name__, __doc__)
    names = ["minilm-2", "minilm-6"]
    parser.add_argument("--records", nargs="+", metavar="NAME", default=names, help="packed (default: %(default)s)")
    add_number(parser, "--repeats", REPEATS, "of each search on a set")
    add_number(parser, "--processes", 1, "at once")
    parser.add_argument("--out", type=Path, metavar="PAGE", help=f"a page to write the tables into, after {BEGIN}")
    options = parser.parse_args(arguments)
    check_page(options.out, BEGIN)
    text = page(replayed(records(options.records), options.repeats, options.processes))
    print(text)
    write_between(options.out, BEGIN, text, END)


def records(names: Sequence[str]) -> dict[str, OwnTable]:
    """Return the sets of these packed records by name, with the record's name added if the name is taken. The sets
    contain only recipes of a study's space."""
    tables: dict[str, OwnTable] = {}
    for record in names:
        if not (RECORDS / f"{record}.parquet").is_file():
            raise UserError(f"--records {record} is not among {RECORDS}/*.parquet")
        for name, whole in load(record).items():
            table = in_space(whole)
            if table is not None and len(table.recipes) >= FEWEST:
                tables[f"{name}, {record}" if name in tables else name] = table
    return tables


def replayed(tables: Mapping[str, OwnTable], repeats: int, processes: int = 1) -> list[Run]:
    """Return every repeat of every search on every set, in a fixed order. Deterministic."""
    on_set = functools.partial(_on_set, tables, repeats)
    if processes == 1:
        return [run for name in tables for run in on_set(name)]
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        return [run for runs in pool.map(on_set, tables) for run in runs]


def _on_set(tables: Mapping[str, OwnTable], repeats: int, name: str) -> list[Run]:
    others = [table for table in tables.values() if table.name != tables[name].name]
    own = Replayed.of(tables[name], others)
    alike = [table for table in others if table.record == tables[name].record]
    first = portfolio(alike, LONGEST, {own.numbers[own.base]: own.space_base.optimisation.learning_rate})
    runs = []
    for repeat in range(repeats):
        for time in TIMES:
            ended = _replay_ours.search(own, time, first, repeat)
            runs.append(Run.of((name, repeat, OURS, time), ended.kind, ended.recommended, own))
            runs.append(Run.of((name, repeat, PICKED, time), ended.kind, ended.picked, own))
        for peer in PEERS:
            for time, index in zip(TIMES, _replay_peers.search(own, TIMES, first, repeat, peer), strict=True):
                runs.append(Run.of((name, repeat, peer.name, time), None, index, own))
    return runs


@dataclass(frozen=True)
class Run:
    """One repeat of a search on a set, and its result."""

    set: str
    repeat: int
    side: str
    time: float
    """The time limit, in whole trainings with the base settings."""
    kind: str | None
    """The kind of answer of our search; None for another search."""
    regret: float
    """Points by which the result's test score is below the set's best."""
    gain: float
    """Points by which the result's test score is above the base settings."""
    scale: float
    """Points by which the best recipe is above the base settings, at least `SMALLEST_GAIN`."""

    @classmethod
    def of(cls, run: tuple[str, int, str, float], kind: str | None, index: int | None, own: Replayed) -> Run:
        """Return the run of a search. `index`: position of the chosen recipe; None for the original encoder."""
        worth = own.as_it_came[1] if index is None else float(own.truth[index])
        best = max(float(own.truth.max()), own.as_it_came[1])
        scale = max(best - float(own.truth[own.base]), SMALLEST_GAIN)
        return cls(*run, kind, best - worth, worth - float(own.truth[own.base]), scale)


def page(runs: Sequence[Run]) -> str:
    """Return a table for each time limit."""
    times = sorted({run.time for run in runs})
    return "\n\n".join(_of_time(time, [run for run in runs if run.time == time]) for time in times)


def _of_time(time: float, runs: Sequence[Run]) -> str:
    sides = {side: [run for run in runs if run.side == side] for side in dict.fromkeys(run.side for run in runs)}
    rows = [[side, *_cells(own)] for side, own in sides.items()]
    head = ["", "regret, points", "of the possible gain", f"within {NEAR:g}", "worse than the base", "answers"]
    text = titled(f"Time for {time:g} whole trainings", head, rows)
    peers = {side: _grid(own, "regret") for side, own in sides.items() if own[0].kind is None}
    if not peers:
        return text
    best = min(peers, key=lambda side: peers[side].mean())
    pairs = np.stack([_grid(sides[OURS], "regret"), peers[best]], axis=-1)
    ours_mean, best_mean = pairs.mean(axis=(0, 1))
    more = _interval(pairs[..., 0] - pairs[..., 1])
    times = f"{ours_mean / best_mean:.2f} times" if best_mean else "beyond"
    return f"{text}\n\nThe regret of {OURS} is {times} that of the best peer ({best}): {more} points more."


def _cells(runs: Sequence[Run]) -> list[str]:
    regrets = _grid(runs, "regret")
    near = np.mean([run.regret <= NEAR for run in runs])
    worse = np.mean([run.gain < 0 for run in runs])
    counts = Counter(run.kind for run in runs if run.kind is not None)
    answers = ", ".join(f"{kind} {counts[kind] / len(runs):.0%}" for kind in KINDS if counts[kind])
    return [_interval(regrets), _interval(regrets / _grid(runs, "scale")), f"{near:.0%}", f"{worse:.1%}", answers]


def _grid(runs: Sequence[Run], name: str) -> np.ndarray:  # (sets, repeats)
    by_set: dict[str, list[Run]] = {}
    for run in runs:
        by_set.setdefault(run.set, []).append(run)
    return np.array(
        [[getattr(run, name) for run in sorted(own, key=lambda run: run.repeat)] for own in by_set.values()]
    )


def _interval(grid: np.ndarray) -> str:  # (sets, repeats)
    """Return the mean of a (sets, repeats) grid and its bootstrap interval: resampled sets, and repeats in each."""
    random = np.random.default_rng(0)
    sets, repeats = grid.shape
    rows = random.integers(sets, size=(DRAWS, sets, 1))
    columns = random.integers(repeats, size=(DRAWS, sets, repeats))
    low, high = np.quantile(grid[rows, columns].mean(axis=(1, 2)), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return f"{grid.mean():.2f} [{low:.2f}, {high:.2f}]"
