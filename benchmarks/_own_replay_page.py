"""What the replays say, as tables in markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks._own_page import markdown
from benchmarks._own_replay_table import Replayed
from benchmarks._own_table import SMALLEST_GAIN

NEAR = 0.5
"""Points from the best that nobody would search on for."""
DRAWS, LEVEL = 4000, 0.95
KINDS = ("use", "base", "as it came", "open", "nothing")


@dataclass(frozen=True)
class Run:
    """One repeat of a search on a set, and where it ended."""

    set: str
    repeat: int
    side: str
    time: float
    """In whole trainings."""
    kind: str | None
    """Of the answer; None for a peer."""
    regret: float
    """Points that its recipe lacks of the set's best."""
    gain: float
    """Points that the recipe gains over the base settings."""
    scale: float
    """Points that the best recipe gains over the base settings, or `SMALLEST_GAIN`."""

    @classmethod
    def of(cls, known: tuple[str, int, str, float], kind: str | None, place: int | None, own: Replayed) -> Run:
        """`place`: of the recipe to use; None for the encoder as it came."""
        worth = own.as_it_came[1] if place is None else float(own.truth[place])
        best = max(float(own.truth.max()), own.as_it_came[1])
        scale = max(best - float(own.truth[own.base]), SMALLEST_GAIN)
        return cls(*known, kind, best - worth, worth - float(own.truth[own.base]), scale)


def page(runs: Sequence[Run], ours: str) -> str:
    """A table for each time. `ours` names the side that is compared with the best peer."""
    times = sorted({run.time for run in runs})
    return "\n\n".join(_of_time(time, [run for run in runs if run.time == time], ours) for time in times)


def _of_time(time: float, runs: Sequence[Run], ours: str) -> str:
    sides = {side: [run for run in runs if run.side == side] for side in dict.fromkeys(run.side for run in runs)}
    rows = [[side, *_cells(own)] for side, own in sides.items()]
    head = ["", "regret, points", "of the possible gain", f"within {NEAR:g}", "worse than the base", "answers"]
    text = markdown(f"Time for {time:g} whole trainings", head, rows)
    peers = {side: _grid(own, "regret") for side, own in sides.items() if own[0].kind is None}
    if not peers:
        return text
    best = min(peers, key=lambda side: peers[side].mean())
    pairs = np.stack([_grid(sides[ours], "regret"), peers[best]], axis=-1)
    ours_mean, best_mean = pairs.mean(axis=(0, 1))
    more = _interval(pairs[..., 0] - pairs[..., 1])
    times = f"{ours_mean / best_mean:.2f} times" if best_mean else "beyond"
    return f"{text}\n\nThe regret of {ours} is {times} that of the best peer ({best}): {more} points more."


def _cells(runs: Sequence[Run]) -> list[str]:
    found = []
    for name in ("regret", "units"):
        grid = _grid(runs, "regret")
        if name == "units":
            grid = grid / _grid(runs, "scale")
        found.append(_interval(grid))
    near = np.mean([run.regret <= NEAR for run in runs])
    worse = np.mean([run.gain < 0 for run in runs])
    counts = Counter(run.kind for run in runs if run.kind is not None)
    answers = ", ".join(f"{kind} {counts[kind] / len(runs):.0%}" for kind in KINDS if counts[kind])
    return [*found, f"{near:.0%}", f"{worse:.1%}", answers]


def _grid(runs: Sequence[Run], name: str) -> np.ndarray:  # (sets, repeats)
    by_set: dict[str, list[Run]] = {}
    for run in runs:
        by_set.setdefault(run.set, []).append(run)
    return np.array(
        [[getattr(run, name) for run in sorted(own, key=lambda run: run.repeat)] for own in by_set.values()]
    )


def _interval(grid: np.ndarray) -> str:  # (sets, repeats)
    """The mean, and where it lies where sets are drawn again, and of each its repeats."""
    random = np.random.default_rng(0)
    sets, repeats = grid.shape
    rows = random.integers(sets, size=(DRAWS, sets, 1))
    columns = random.integers(repeats, size=(DRAWS, sets, repeats))
    low, high = np.quantile(grid[rows, columns].mean(axis=(1, 2)), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return f"{grid.mean():.2f} [{low:.2f}, {high:.2f}]"
