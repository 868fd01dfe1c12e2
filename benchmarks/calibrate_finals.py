"""How often a search's answer is wrong: whole searches with finals, made up and replayed from a record.

    python -m benchmarks calibrate_finals
    python -m benchmarks calibrate_finals --searches 1000 --only "equal, one model"
    python -m benchmarks calibrate_finals --record benchmarks/recorded/frozen_grid-minilm.parquet

A search tries RECIPES by one seed's development score and the best fifth by a second one's, runs the best by both
again beside the base under fresh seeds, picks one of them, and says what `reports.statistics.finals` says at a first
look. In a replay, recipes have the spreads of the record, and a seed moves development and test score by a pair of
them that was recorded together. The control judges the picked one by one spread pooled over all finalists, no test
items, a level of 5 % and no flag for items.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from scipy.special import stdtrit

from benchmarks.calibration import ALPHA, Rate
from reports.looks import share
from reports.statistics.finals import Answer, Judgement, Reference, base_seeds, judge, pick, shown
from reports.statistics.power import pooled_spread
from reports.statistics.sample import Array, Sample
from study.search.finals import semifinalists

RECIPES, FINALISTS, SEEDS = 40, 3, 5
ITEMS = 300
"""Test items; only the error that they leave matters."""
PLANTED = 3.0
"""Noise floors."""
SEED = 6
"""Of the made-up searches. The rules were settled on others."""
BASE = 0
"""The number of the base; explored recipes have those from 1 on."""


class World(Protocol):
    """Recipes with true gains over the base, which may be trained under any number of seeds."""

    gains: Array  # (1 + recipes,), of test scores; the base's is 0
    as_good: float
    """A recipe is as good as the best where it gains so many points less at most."""

    def train(self, recipe: int) -> tuple[float, float, Array | None]:
        """Development score, test score and the effects (items,) of test items, under one more seed."""
        ...


@dataclass(frozen=True)
class Kind:
    """A kind of search. Points; `spreads` are the noise floors, those of explored recipes in turn."""

    name: str
    good: int = 0
    """So many of the explored recipes are better, all by PLANTED times the spread pooled over them and the base."""
    base_spread: float = 1.0
    spreads: tuple[float, ...] = (1.0,)
    together: float = 0.8
    """The correlation of a seed's development and test score."""
    items_error: float = 0.3
    """Of a gain, by the choice of test items: its standard deviation."""
    shared_items: bool = False
    """Development scores are made from the test items."""
    heavy: bool = False
    """Seeds move scores by Student's t of 4 degrees."""
    encoder: float | None = None
    """How far the encoder as it came lies above the base; None where it is not scored."""
    finalists: int = FINALISTS
    seeds: int = SEEDS


def _kinds() -> Iterator[Kind]:
    yield Kind("equal, seeds move both scores alike", together=0.95)
    yield Kind("equal, scores of a seed are unrelated", together=0.0)
    yield Kind("equal, unequal spreads", spreads=(0.15, 0.15, 0.15, 2.3))
    yield Kind("equal, a quiet base", base_spread=0.15, together=0.95)
    yield Kind("equal, a noisy base", base_spread=2.3, spreads=(0.15,), together=0.95)
    yield Kind("equal, heavy tails", heavy=True, together=0.95)
    yield Kind("equal, few items", items_error=0.85, together=0.95)
    yield Kind("equal, chosen by the test items", 0, 0.2, (0.2,), items_error=0.85, shared_items=True)
    yield Kind("equal, 3 seeds", seeds=3, together=0.95)
    yield Kind("equal, 8 finalists of 3 seeds", finalists=8, seeds=3, together=0.95)
    yield Kind("training does nothing", encoder=0.0)
    yield Kind("training harms", encoder=3.0)
    yield Kind("4 of 40 better", good=4, encoder=-2.0)
    yield Kind("4 of 40 better, scores unrelated", good=4, together=0.0)
    yield Kind("4 of 40 better, heavy tails", good=4, heavy=True)
    yield Kind("4 of 40 better, unequal spreads", good=4, spreads=(0.5, 1.5))
    yield Kind("4 of 40 better, few items", good=4, items_error=0.85)
    yield Kind("1 of 40 better", good=1)
    yield Kind("4 of 40 better, 3 seeds", good=4, seeds=3)


KINDS = {kind.name: kind for kind in _kinds()}


class MadeUp:
    """Scores out of normal errors: of the seed, of the items for a recipe, of the items for one of its seeds."""

    as_good = 0.0

    def __init__(self, kind: Kind, random: np.random.Generator) -> None:
        self.kind, self.random = kind, random
        self.spreads = np.array([kind.base_spread, *(kind.spreads[i % len(kind.spreads)] for i in range(RECIPES))])
        self.gains = planted(self.spreads, kind.good, random)
        self.own = random.standard_normal((1 + RECIPES, ITEMS)) * kind.items_error / math.sqrt(3 * ITEMS)
        self.own_development = random.standard_normal(1 + RECIPES) * kind.items_error / math.sqrt(3)

    def train(self, recipe: int) -> tuple[float, float, Array | None]:
        kind, random = self.kind, self.random
        moves = random.standard_normal(2)
        if kind.heavy:
            moves /= math.sqrt(random.chisquare(4) / 2)
        test, development = moves[0], kind.together * moves[0] + math.sqrt(1 - kind.together**2) * moves[1]
        items = self.own[recipe] + random.standard_normal(ITEMS) * kind.items_error / math.sqrt(6 * ITEMS)
        luck = items.sum() if kind.shared_items else self.own_development[recipe]
        true, spread = self.gains[recipe], self.spreads[recipe]
        return true + spread * development + luck, true + spread * test + items.sum(), items - items.mean()


@dataclass(frozen=True, eq=False)
class Recorded:
    """Means, spreads and scatter of one goal in a record."""

    means: Array  # (recipes, 2), development and test
    spreads: Array  # (recipes, 2)
    moves: Array  # (any, 2), of recipes with most seeds, in units of their spreads

    @classmethod
    def read(cls, path: Path) -> dict[str, Recorded]:
        """By goal. `UserError` for a file that is no record."""
        from study.replay.recorded import read_record

        record = read_record(path)
        found = {}
        for place, goal in enumerate(record.goals):
            scores = np.stack([record.development[:, :, -1, place], record.test[:, :, -1, place]], axis=2)
            counts = np.isfinite(scores).all(axis=2).sum(axis=1)
            known = scores[counts >= 3]
            means, spreads = np.nanmean(known, axis=1), np.nanstd(known, axis=1, ddof=1)
            most = (counts[counts >= 3] == counts.max()) & (spreads > 0).all(axis=1)
            moves = (known[most] - means[most][:, None]) / spreads[most][:, None]
            moves = moves[:, np.isfinite(moves).all(axis=(0, 2))] * math.sqrt(counts.max() / (counts.max() - 1))
            found[goal] = cls(means, spreads, moves.reshape(-1, 2))
        return found


class Replay:
    """Recipes drawn from a record: as they are, beside a base of the best tenth, or made equal but for good ones."""

    def __init__(self, recorded: Recorded, good: int | None, random: np.random.Generator) -> None:
        self.recorded, self.random = recorded, random
        self.places = random.choice(len(recorded.means), 1 + RECIPES, replace=False)
        self.as_good = 0.0
        if good is None:
            self.as_good = float(np.median(recorded.spreads[:, 1]))
            best = np.argsort(-recorded.means[:, 0])[: len(recorded.means) // 10]
            self.places[BASE] = random.choice(np.setdiff1d(best, self.places[1:]))
            self.means = recorded.means[self.places] - recorded.means[self.places[BASE]]
        else:
            gains = planted(recorded.spreads[self.places, 1], good, random)
            self.means = np.stack([gains, gains], axis=1)
        self.gains = self.means[:, 1]

    def train(self, recipe: int) -> tuple[float, float, Array | None]:
        moves = self.recorded.moves[self.random.integers(len(self.recorded.moves))]
        development, test = self.means[recipe] + moves * self.recorded.spreads[self.places[recipe]]
        return float(development), float(test), None


def planted(spreads: Array, good: int, random: np.random.Generator) -> Array:
    """(1 + recipes,) True gains over the base, from the spreads of the base and the recipes."""
    gains = np.zeros(1 + RECIPES)
    places = random.choice(np.arange(1, 1 + RECIPES), good, replace=False)
    gains[places] = PLANTED * math.sqrt(float(np.mean(spreads[[BASE, *places]] ** 2)))
    return gains


@dataclass
class Found:
    """What came of the searches of one kind."""

    wrong: Rate = field(default_factory=Rate)
    """The picked one is called better than the base, and is not."""
    covered: Rate = field(default_factory=Rate)
    """The picked one's true gain over the base, by its interval at a first look."""
    all_covered: Rate = field(default_factory=Rate)
    """The true gains of all finalists at once."""
    at_95: Rate = field(default_factory=Rate)
    """The same with the whole level, as if nobody ever looked again."""
    tried: Rate = field(default_factory=Rate)
    """A best recipe is among the finalists."""
    named: Rate = field(default_factory=Rate)
    """And picked, or one as good."""
    shown: Rate = field(default_factory=Rate)
    """And the answer is to use it."""
    control: Rate = field(default_factory=Rate)
    answers: dict[Answer, Rate] = field(
        default_factory=lambda: {
            "use": Rate(),
            "keep the base": Rate(),
            "keep the encoder": Rate(),
            "nothing yet": Rate(),
        }
    )


def search(world: World, kind: Kind, found: Found) -> Judgement:
    """One search: explored, run again, judged, and told against the truth."""
    explored = np.array([world.train(recipe)[0] for recipe in range(1, 1 + RECIPES)])
    best = (np.argsort(-explored) + 1).tolist()
    if again := best[: semifinalists(RECIPES, kind.finalists)]:
        means = {recipe: (explored[recipe - 1] + world.train(recipe)[0]) / 2 for recipe in again}
        best = sorted(again, key=lambda recipe: -means[recipe])
    chosen = best[: kind.finalists]
    ran = [_sample(world, recipe, kind.seeds) for recipe in chosen]
    base, _ = _sample(world, BASE, base_seeds(kind.finalists, kind.seeds))
    references: dict[Reference, Sample] = {"base": base}
    if kind.encoder is not None:
        effects = None if base.effects is None else np.zeros((1, base.effects.shape[1]))
        references["encoder"] = Sample(np.array([kind.encoder]), (0,), True, effects, base.items)
    samples = [sample for sample, _ in ran]
    order = pick([[development] for _, development in ran])
    judged = judge(samples, order, references, looks=1 / share(1), fresh=not kind.shared_items)
    picked = judged.picked
    truths, good = world.gains[chosen], world.gains[1:].max() - world.as_good
    covers = _covers(judged, truths, ALPHA * share(1))
    found.wrong.add([judged.fresh and shown(judged.gains["base"][picked]) and truths[picked] <= 0])
    found.covered.add([covers[picked]])
    found.all_covered.add([all(covers)])
    found.at_95.add([all(_covers(judged, truths, ALPHA))])
    found.control.add([_control(samples, picked, base) and truths[picked] <= 0])
    for answer, rate in found.answers.items():
        rate.add([judged.answer == answer])
    if good > 0:
        found.tried.add([truths.max() >= good])
        found.named.add([truths[picked] >= good])
        found.shown.add([truths[picked] >= good and judged.answer == "use"])
    return judged


def _sample(world: World, recipe: int, seeds: int) -> tuple[Sample, float]:
    """Test scores under fresh seeds, and the mean of development scores."""
    ran = [world.train(recipe) for _ in range(seeds)]
    effects = [effect for _, _, effect in ran if effect is not None]
    values = np.array([test for _, test, _ in ran])
    development = math.fsum(one for one, _, _ in ran) / seeds
    return Sample(values, tuple(range(seeds)), False, np.stack(effects) if effects else None, "made up"), development


def _covers(judged: Judgement, truths: Array, level: float) -> list[bool]:
    """Whether the interval of each finalist's gain over the base holds its truth, with that level for all of them."""
    gains = zip(judged.gains["base"], truths, strict=True)
    return [
        gain.error is not None and abs(gain.gain - true) <= gain.error.half_width(level / len(truths))
        for gain, true in gains
    ]


def _control(finalists: Sequence[Sample], picked: int, base: Sample) -> bool:
    spread = pooled_spread([*finalists, base])
    assert spread is not None
    error = spread.std * math.sqrt(1 / finalists[picked].count + 1 / base.count)
    return finalists[picked].mean - base.mean > float(stdtrit(spread.freedom, 0.975)) * error


def calibrate(kind: Kind, searches: int, recorded: Recorded | None = None, *, as_recorded: bool = False) -> Found:
    """So many searches of one kind, made up or replayed. Deterministic."""
    found = Found()
    for number in range(searches):
        random = np.random.default_rng([SEED, number])
        world = (
            MadeUp(kind, random) if recorded is None else Replay(recorded, None if as_recorded else kind.good, random)
        )
        search(world, kind, found)
    return found


def row_of_table(name: str, found: Found) -> str:
    """A line of the table."""
    cells = [found.wrong, found.covered, found.all_covered, found.at_95, found.tried, found.named, found.shown]
    answers = " / ".join(f"{100 * rate.value:.0f}" for rate in found.answers.values())
    return f"| {' | '.join([name, *map(str, cells), answers, str(found.control)])} |"


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks calibrate_finals", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--searches", type=int, default=1000, help="of each kind")
    parser.add_argument("--only", choices=list(KINDS), help="one kind of search")
    parser.add_argument("--record", type=Path, metavar="FILE", help="replay a packed record instead")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    print(
        "| searches | called better, and is not | interval of the picked one covers | all cover at once | "
        "with the whole 5 % | a best one is tried again | it is picked | it is shown | "
        "use / base / encoder / nothing yet | control |"
    )
    print("| --- |" + " ---: |" * 9)
    if options.record is None:
        for name in [options.only] if options.only else KINDS:
            print(row_of_table(name, calibrate(KINDS[name], options.searches)), flush=True)
    else:
        for goal, recorded in Recorded.read(options.record).items():
            for name, good in (("equal", 0), ("4 of 40 better", 4), ("as recorded, a good base", None)):
                kind = Kind(name, good=good or 0)
                found = calibrate(kind, options.searches, recorded, as_recorded=good is None)
                print(row_of_table(f"{goal}, {name}", found), flush=True)
    print(
        f"\nPercent, with Monte Carlo errors; {options.searches} searches a kind, "
        f"{(time.perf_counter() - started) / 60:.1f} minutes."
    )
