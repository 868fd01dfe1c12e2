"""How often the statistics of reports are wrong, on made-up studies whose truth is known.

    python -m benchmarks calibration
    python -m benchmarks calibration --studies 200 --only "5 rows, nulls"

Scores are from a model of studies: each recipe has a true score, each seed changes it, and test items are easy or hard
for all recipes, for one recipe, and for one of its seeds. The functions of reports judge these studies. The last column
is a control: the verdicts of a t test on the spread between seeds alone, pooled over rows.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit
from scipy.stats import rankdata

from benchmarks.options import add_number, parser_of
from benchmarks.tables import head, row
from reports.facts.looks import level_share
from reports.statistics.collapse import collapsed
from reports.statistics.comparison import Comparison, compare, interaction, items_part
from reports.statistics.equivalence import tost
from reports.statistics.families import Field, best_set, holm, rank_intervals
from reports.statistics.influence import group_effects
from reports.statistics.pairing import pair_by_seed, same_seeds
from reports.statistics.power import pooled_spread, power
from reports.statistics.sample import Array, Sample
from reports.statistics.spreads import common_spread
from trainables.senteval.effects import accuracy_effects, correlation_effects

Figure = Literal["accuracy", "spearman"]
ALPHA = 0.05
FOLDS, MOST = 10, 10
MARGIN = 6.0
"""In points. Recipes that differ by less are equivalent. A gain of exactly the margin must not be called equivalent."""
SEED = 2
"""Seed of the made-up studies. The methods were chosen on studies of other seeds, so they are not tuned to these."""
CHANCE = 50.0
"""Score, in points, of a collapsed training."""
ITEMS_ERROR, QUIET = 0.85, 0.15
"""In points: a gain's standard error from 1,000 test items, and a spread over seeds that is small beside it."""
UNLIKE = 0.1
"""Share of the variance over items that is a recipe's own. The share that is a seed's own is half as large."""
LATER = 12
"""Number of seeds for which power is predicted from the first seeds, before further seeds are trained."""


@dataclass(frozen=True)
class StudyKind:
    """A kind of made-up study. Row 0 is the baseline. `truths` (true scores) and `spreads` over seeds are in points."""

    name: str
    truths: tuple[float, ...]
    spreads: tuple[float, ...]
    seeds: tuple[int, ...]
    items: int = 1000
    figure: Figure = "accuracy"
    common_share: float = 0.0
    """Share of the variance over seeds that comes from changes which a seed makes to all rows alike."""
    folds: int | None = None
    collapses: float = 0.0
    """Probability that a seed of a row, not of the baseline, scores at chance. Truths do not include such seeds."""
    item_group_size: int = 1
    """Number of items that are drawn together: they share half of their easiness."""


def _kinds() -> Iterator[StudyKind]:
    nulls, five = (80.0,) * 5, (1.0,) * 5
    planted = (80.0, 80.0, 80.0, 80.0, 83.0)
    yield StudyKind("5 rows, nulls", nulls, five, (3,) * 5)
    yield StudyKind("18 rows, nulls", (80.0,) * 18, (1.0,) * 18, (3,) * 18)
    yield StudyKind("5 rows, one planted", planted, five, (3,) * 5)
    yield StudyKind("18 rows, six planted", (80.0,) * 12 + (83.0,) * 6, (1.0,) * 18, (3,) * 18)
    unequal = (2.29, 0.1, 0.15, 0.2, 0.15)
    yield StudyKind("unequal spreads, nulls", nulls, unequal, (5,) * 5)
    yield StudyKind("unequal spreads, 3 seeds", nulls, unequal, (3,) * 5)
    yield StudyKind("unequal spreads, one planted", planted, unequal, (5,) * 5)
    yield StudyKind("200 items, nulls", nulls, five, (3,) * 5, items=200)
    yield StudyKind("200 items, 18 rows, nulls", (80.0,) * 18, (0.3,) * 18, (3,) * 18, items=200)
    yield StudyKind("2 to 10 seeds, nulls", nulls, five, (3, 2, 10, 4, 6))
    yield StudyKind("2 to 10 seeds, one planted", planted, five, (10, 2, 4, 6, 5))
    yield StudyKind("seeds together, nulls", nulls, (1.5,) * 5, (6,) * 5, common_share=0.8)
    yield StudyKind("seeds together, one planted", planted, (1.5,) * 5, (6,) * 5, common_share=0.8)
    yield StudyKind("10-fold, nulls", nulls, five, (3,) * 5, folds=FOLDS)
    sts = functools.partial(StudyKind, figure="spearman", items=400)
    yield sts("STS, nulls", (70.0,) * 5, five, (3,) * 5)
    yield sts("STS, one planted", (70.0,) * 4 + (77.0,), five, (3,) * 5)
    yield sts("STS, unequal spreads", (70.0,) * 5, unequal, (4,) * 5)
    yield StudyKind("one seed of ten collapses", nulls, (0.5,) * 5, (5,) * 5, collapses=0.1)
    for items in (200, 1000):
        yield StudyKind(f"{items} items in tens", nulls, (0.3,) * 5, (3,) * 5, items=items, item_group_size=10)
    for times, rows, seeds in itertools.product((2.0, 4.3), (4, 17), (2, 3, 5)):
        name = f"{rows} rows scatter {times:g} items' errors, {seeds} seeds"
        spreads = (QUIET, *(times * ITEMS_ERROR,) * rows)
        yield StudyKind(name, (80.0,) * (rows + 1), spreads, (seeds,) * (rows + 1))
    for seeds in (2, 3):
        yield StudyKind(f"one of 4 rows scatters, {seeds} seeds", nulls, (*(QUIET,) * 4, 2.29), (seeds,) * 5)
    yield StudyKind("unequal spreads, 2 seeds", nulls, unequal, (2,) * 5)
    yield StudyKind("unequal spreads, 17 rows, 2 seeds", (80.0,) * 18, (2.29, *(QUIET,) * 17), (2,) * 18)


KINDS = {kind.name: kind for kind in _kinds()}


@dataclass
class Rate:
    """The rate of true cases, with its Monte Carlo error over studies, as cases of one study are correlated."""

    shares: list[float] = field(default_factory=list)

    def add(self, cases: Sequence[bool | float]) -> None:
        """Add the cases of one study: whether something holds, or its probability."""
        if len(cases):
            self.shares.append(float(np.mean(cases)))

    @property
    def value(self) -> float:
        """The rate between 0 and 1; NaN without cases."""
        return float(np.mean(self.shares)) if self.shares else math.nan

    @property
    def error(self) -> float:
        """The standard error of the value."""
        return float(np.std(self.shares)) / math.sqrt(max(len(self.shares), 1)) if self.shares else math.nan

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} ± {100 * self.error:.1f}" if self.shares else "-"


@dataclass
class VerdictRates:
    """Rates over the studies of one kind: how often the statement at each field is true, or the mean of a
    probability."""

    covered: Rate = field(default_factory=Rate)
    """True gains over the baseline that are inside their 95 % intervals."""
    false_verdicts: Rate = field(default_factory=Rate)
    """Reports with any false verdict on a row."""
    best_kept: Rate = field(default_factory=Rate)
    ranks_kept: Rate = field(default_factory=Rate)
    equal: Rate = field(default_factory=Rate)
    """True gains as large as the margin that are called equivalent."""
    predicted: Rate = field(default_factory=Rate)
    """Predicted power to detect the one true gain, with LATER seeds."""
    detected: Rate = field(default_factory=Rate)
    large: Rate = field(default_factory=Rate)
    """Power for gains of three times the larger of both spreads over seeds, with Holm's correction over the report."""
    large_at_first: Rate = field(default_factory=Rate)
    """The same as `large`, at the lower significance level of the first of several looks (judgements) at a study."""
    paired: Rate = field(default_factory=Rate)
    control: Rate = field(default_factory=Rate)
    """Reports with any false verdict by the control, a t test."""


@dataclass(frozen=True)
class RepeatedLooks:
    """Rates of false verdicts if a study is judged (a look) after each seed from `first` to 10, until a verdict."""

    first: int
    shared: Rate = field(default_factory=Rate)
    """Studies with any verdict at any look, where each look has its share of the significance level."""
    whole: Rate = field(default_factory=Rate)
    """The control: the same, where each look has the whole significance level."""

    def __str__(self) -> str:
        return row(f"after each of {self.first} to {MOST} seeds", self.shared, self.whole)


def look_again(first: int, studies: int) -> RepeatedLooks:
    """Return the rates for studies of five equal rows that are extended seed by seed. Deterministic."""
    rates = RepeatedLooks(first)
    for number in range(studies):
        study = MadeUpStudy(KINDS["5 rows, nulls"], np.random.default_rng([SEED, number, first]))
        least = []
        for seeds in range(first, MOST + 1):
            adjusted = holm([gain.p for gain in _gains(study.samples((seeds,) * 5))])
            least.append(min(p for p in adjusted if p is not None))
        rates.whole.add([min(least) <= ALPHA])
        rates.shared.add([any(p <= ALPHA * level_share(look) for look, p in enumerate(least, 1))])
    return rates


def row_of_table(name: str, rates: VerdictRates) -> str:
    """Return the line of the table for this kind of study. Numbers that the kind does not measure are dashes."""
    power = f"{rates.predicted}, {rates.detected}" if rates.detected.shares else "-"
    large = f"{rates.large}, {rates.large_at_first}"
    sets = rates.best_kept, rates.ranks_kept, rates.equal
    return row(name, rates.covered, rates.false_verdicts, *sets, power, large, rates.paired, rates.control)


def calibrate(kind: StudyKind, studies: int) -> VerdictRates:
    """Judge made-up studies of one kind, and return the rates. Deterministic."""
    rates = VerdictRates()
    for number in range(studies):
        _judge(kind, MadeUpStudy(kind, np.random.default_rng([SEED, number, len(kind.name)])), rates)
    return rates


def _judge(kind: StudyKind, study: MadeUpStudy, rates: VerdictRates) -> None:
    samples = study.samples(kind.seeds)
    truths = np.array(kind.truths)
    gains = _gains(samples)
    rates.paired.add([gains[-1].paired])
    rates.covered.add([covers(gain, truth - truths[0]) for gain, truth in zip(gains, truths[1:], strict=True)])
    rates.false_verdicts.add([_any_false(_verdicts(gains), truths)])
    chances = [_chance(gains, index, kind) for index in range(len(gains)) if truths[index + 1] == truths[0]]
    rates.large.add([p <= ALPHA for p in chances])
    rates.large_at_first.add([p <= ALPHA * level_share(1) for p in chances])
    rates.control.add([_any_false(_control_verdicts(samples), truths)])
    field = Field.of(samples, common_spread(samples))
    rates.best_kept.add([best_set(field)[int(truths.argmax())] is True])
    ranks = rank_intervals(field)
    true_ranks = [(1 + int((truths > truth).sum()), int((truths >= truth).sum())) for truth in truths]
    kept = [
        interval and interval[0] <= a and b <= interval[1] for interval, (a, b) in zip(ranks, true_ranks, strict=True)
    ]
    rates.ranks_kept.add([all(kept)])
    same = [gain for gain, truth in zip(gains, truths[1:], strict=True) if truth == truths[0]]
    rates.equal.add([(tost(gain, MARGIN, around=MARGIN) or 0.0) <= ALPHA for gain in same])
    if (truths > truths[0]).sum() == 1:
        _foretell(kind, study, samples, gains, rates)


def _chance(gains: list[Comparison], index: int, kind: StudyKind) -> float:
    """Return Holm's p value of a row if its gain were larger by 3 spreads over seeds; 1 if that gain is not above 0."""
    gain, lead = gains[index], gains[index].gain + 3 * max(kind.spreads[0], kind.spreads[index + 1])
    if gain.error is None or lead <= 0:
        return 1.0
    p = holm([gain.error.p_value(lead) if other is gain else other.p for other in gains])[index]
    return 1.0 if p is None else p


def _foretell(
    kind: StudyKind, study: MadeUpStudy, samples: list[Sample], gains: list[Comparison], rates: VerdictRates
) -> None:
    """Add to `rates` the predicted power for the one true gain with more seeds, and whether these seeds show it."""
    best = int(np.argmax(kind.truths))
    effect, alpha = kind.truths[best] - kind.truths[0], ALPHA / (len(samples) - 1)
    paired = gains[best - 1].paired
    common = common_spread(samples)
    rates.predicted.add([power(samples[best], samples[0], effect, LATER, alpha=alpha, common=common)])
    later = study.samples([LATER if index in (0, best) else count for index, count in enumerate(kind.seeds)])
    again = compare(later[best], later[0], common=common_spread(later), paired=paired)
    rates.detected.add([again.gain > 0 and (again.p or 0.0) <= alpha])


def _gains(samples: list[Sample]) -> list[Comparison]:
    """Return the comparison of every row with the baseline, paired by seed where reports would pair."""
    baseline, rows = samples[0], samples[1:]
    paired = pair_by_seed(baseline, rows)
    common = common_spread(samples)
    return [compare(row, baseline, common=common, paired=paired and same_seeds(row, baseline)) for row in rows]


def covers(gain: Comparison, truth: float) -> bool:
    """Return whether the interval contains the true gain."""
    return gain.low is not None and gain.high is not None and gain.low <= truth <= gain.high


def _verdicts(gains: list[Comparison]) -> list[int]:
    """Return each row's verdict after Holm's correction: 1 above the baseline, -1 below, 0 not shown."""
    adjusted = holm([gain.p for gain in gains])
    return [
        int(math.copysign(1, gain.gain)) if p is not None and p <= ALPHA else 0
        for gain, p in zip(gains, adjusted, strict=True)
    ]


def _control_verdicts(samples: list[Sample]) -> list[int]:
    """Return the control's verdicts: a t test with one spread for all rows, no test items, Bonferroni's correction."""
    spread, rows = pooled_spread(samples), samples[1:]
    assert spread is not None
    bar = float(stdtrit(spread.freedom, 1 - ALPHA / (2 * len(rows)))) * spread.std
    gaps = [(row.mean - samples[0].mean) / math.sqrt(1 / row.count + 1 / samples[0].count) for row in rows]
    return [int(math.copysign(1, gap)) if abs(gap) > bar else 0 for gap in gaps]


def _any_false(verdicts: list[int], truths: Array) -> bool:
    """Return whether any verdict of above or below the baseline is false."""
    return any(
        verdict and verdict != np.sign(truth - truths[0]) for verdict, truth in zip(verdicts, truths[1:], strict=True)
    )


class MadeUpStudy:
    """One made-up study, which can be extended by further seeds on the same test items."""

    def __init__(self, kind: StudyKind, random: np.random.Generator) -> None:
        self.kind, self.random = kind, random
        rows, items = len(kind.truths), kind.items
        self.easy = self._over_items()  # how easy an item is for all recipes
        self.own = np.stack([self._over_items() for _ in range(rows)])  # how much easier it is for each recipe
        self.gold = random.standard_normal(items)
        self.common = random.standard_normal(LATER)  # how much each seed moves all rows
        self.training = random.standard_normal(rows)  # a recipe's luck with the items that folds trained on
        self.rows: list[list[tuple[float, Array]]] = [[] for _ in range(rows)]

    def _over_items(self) -> Array:
        """Return standard normal values, (items,). Values that are drawn together have a correlation of 0.5."""
        items, size = self.kind.items, self.kind.item_group_size
        own = self.random.standard_normal(items)
        if size == 1:
            return own
        return math.sqrt(0.5) * (own + np.repeat(self.random.standard_normal(items // size), size))

    def samples(self, seeds: Sequence[int]) -> list[Sample]:
        """Return a sample of every row with seeds. `seeds`: number per row. Scores of earlier calls are kept."""
        samples = []
        for index, count in enumerate(seeds):
            if not count:
                continue
            drawn = self.rows[index]
            while len(drawn) < count:
                drawn.append(self._score(index, len(drawn)))
            values, effects = (np.stack(part) for part in zip(*drawn[:count], strict=True))
            kept = ~collapsed(values, CHANCE)
            seeds = tuple(int(seed) for seed in np.flatnonzero(kept))
            samples.append(Sample(values[kept], seeds, False, effects[kept], "made up"))
        return samples

    def _score(self, index: int, seed: int) -> tuple[float, Array]:
        """Return a trained model's score, and the effects of the items on it."""
        kind = self.kind
        moved = (
            math.sqrt(kind.common_share) * self.common[seed]
            + math.sqrt(1 - kind.common_share) * self.random.standard_normal()
        )
        truth = (kind.truths[index] + kind.spreads[index] * moved) / 100
        if index and kind.collapses and self.random.random() < kind.collapses:
            truth = CHANCE / 100
        luck = math.sqrt(1 - 1.5 * UNLIKE) * self.easy + math.sqrt(UNLIKE) * self.own[index]
        luck = luck + math.sqrt(UNLIKE / 2) * self._over_items()
        if kind.figure == "accuracy":
            hits = luck < ndtri(truth)
            shared = _shared_training(kind) * self.training[index] if kind.folds else 0.0
            effects = accuracy_effects(hits, kind.folds)
            grouped = group_effects(effects, np.arange(kind.items) // kind.item_group_size)
            assert grouped is not None
            return 100 * float(hits.mean()) + shared, grouped
        slope = float(np.interp(truth, *_slopes()))
        cosines = slope * self.gold + math.sqrt(1 - slope**2) * luck
        parts = _parts(kind.items)
        gold = _graded(self.gold)
        sizes = [part.stop - part.start for part in parts]
        scores = [_spearman(cosines[part], gold[part]) for part in parts]
        score = 100 * float(np.average(scores, weights=sizes))
        return score, correlation_effects(cosines, gold, sizes, "spearman", "wmean")


def _parts(items: int) -> list[slice]:
    """Return three sub-corpora of unequal sizes."""
    ends = [0, items // 8, items // 2, items]
    return [slice(start, end) for start, end in itertools.pairwise(ends)]


def _graded(gold: Array) -> Array:
    """Return standard normal values as human scores: 0 to 5 in steps of 0.2, with ties."""
    return np.asarray(np.round(ndtr(gold) * 25) / 5)


def _spearman(cosines: Array, gold: Array) -> float:
    ranks = cosines.argsort().argsort()  # no two cosines are equal
    return float(np.corrcoef(ranks, rankdata(gold))[0, 1])


@functools.cache
def _slopes() -> tuple[Array, Array]:
    """Return Spearman's correlations with graded scores in an infinite population, and their slopes, each (grid,)."""
    gold = ndtri((np.arange(20_000) + 0.5) / 20_000)
    grades = rankdata(_graded(gold)) / len(gold) - 0.5
    slopes = np.linspace(0, 0.999, 400)
    covariances = [float((ndtr(slope * gold / math.sqrt(2 - slope**2)) * grades).mean()) for slope in slopes]
    return np.array(covariances) / math.sqrt(grades.var() / 12), slopes


@functools.cache
def _shared_training(kind: StudyKind) -> float:
    """Return the standard deviation, in points, that a recipe's folds share through their training items.

    As Nadeau and Bengio assume: k * n_test / n_train of the variance over items; half of a difference's for each.
    """
    large = replace(kind, items=100_000, folds=None, truths=kind.truths[:2], spreads=(0.0, 0.0))
    first, second = MadeUpStudy(large, np.random.default_rng(0)).samples((3, 3))
    of_one_item = (items_part(first, second).variance - interaction(first, second)) * large.items
    return math.sqrt(of_one_item / kind.items * FOLDS / (FOLDS - 1) / 2)


def main(arguments: Sequence[str]) -> None:
    """Judge the made-up studies and print the table of error rates."""
    parser = parser_of(__name__, __doc__)
    add_number(parser, "--studies", 1000, "made-up studies of each kind")
    parser.add_argument("--only", choices=list(KINDS), help="one kind of study")
    options = parser.parse_args(arguments)
    columns = ("studies", "interval covers", "any false verdict", "best in set", "ranks hold")
    powers = ("power foretold, found", "power for 3 spreads, at a first look")
    print(head(*columns, "called equal at the margin", *powers, "paired by seed", "control: any false verdict"))
    for name in [options.only] if options.only else KINDS:
        print(row_of_table(name, calibrate(KINDS[name], options.studies)), flush=True)
    if not options.only:
        print("\n" + head("looked at", "any false verdict", "each look with the whole level"))
        for first in (3, 2):
            print(look_again(first, options.studies), flush=True)
    print(f"\nPercent, with Monte Carlo errors; {options.studies} studies a kind.")
