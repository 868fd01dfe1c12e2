"""Finals: which of a few recipes to use, how much it gains, and how sure the gain is (docs/statistics.md).

A search chose K finalists by scores that contain chance. Finalists and base ran again, each under the same number of
fresh seeds.

- **Who is picked**: the finalist with the best mean of fresh development scores. Finalists that are shown to be worth
  using come before all others. With two goals, a front of at most MOST_PICKED (`pick`). A model that is lucky on
  development data is lucky on test data, too, so statements on the pick must hold whichever finalist is picked.
- **One direction.** "Use" claims that a recipe is better, so each end of an interval holds by itself with the level of
  this look, 1/K of the error each (Dunn 1961), and with several goals 1/(K times their number). So for each reference
  all low ends hold at once, and so do all high ends, however scores are correlated.
- **The answer.** The cheaper choice is kept until a dearer one is shown to be better: the original encoder needs no
  training, the base no search. A gain is shown if its interval is above zero. A gain is "not worth it" (`not_worth_it`)
  if it was measured at zero or below, or if its interval is below the effect of another seed (one standard deviation).
  Checked in this order:

  1. `use`: the picked recipe is shown to be better than the base, and than the original encoder if that was scored.
  2. `keep the encoder`: neither the picked recipe nor the base is worth it over the original encoder.
  3. `keep the base`: the picked recipe is not worth it over the base, and the base is shown to be better than the
     original encoder if that was scored.
  4. `nothing yet`, otherwise: `open` lists the references against which nothing is shown. `seeds_wanted` returns how
     many seeds show the gain in 80 % of cases, if it is as large as measured.

  So a false `use`, which advises training that does not pay, has at most the probability of the level. To keep the
  base or the encoder is no claim: for all answers but `use`, `most` is the largest gain that the intervals allow.
  Without a finalist only the base is compared with the encoder. With several goals, the base or the encoder is kept
  only if that is the answer for each member of the front (`deciding_judgement`).
- **Items must be fresh, too.** Development scores from the very sentences that are tested choose recipes that are
  lucky with these sentences: such a gain has no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from reports.statistics.comparison import Comparison, compare
from reports.statistics.fronts import on_front, spread
from reports.statistics.measured import CONFIDENCE
from reports.statistics.power import Spread, fewest, least_gain, pooled_spread, power, seeds_needed
from reports.statistics.sample import Sample, pairable
from reports.statistics.spreads import NO_BORROWED_SPREAD, CommonSpread

Reference = Literal["base", "baseline", "encoder"]
"""Recipes that finalists are compared with: the base settings, the space's baseline row, the original encoder."""
Answer = Literal["use", "keep the base", "keep the encoder", "nothing yet"]
INCUMBENTS: Mapping[Answer, Reference] = {"keep the base": "base", "keep the encoder": "encoder"}

MOST_PICKED = 5
POWER = 0.8
"""Probability with which planned seeds show a gain."""
GAINS = (0.5, 1.0, 2.0)
"""Gains in points for which a plan computes the needed seeds."""
TWO_FINALISTS_FROM = 24
"""Smallest number of trainings with which a second finalist is worth its share of trainings and of the error level."""
RECORDED_SPREAD = CommonSpread(0.9**2, 3.0, for_few_seeds_only=True)
"""Assumed variance of one seed, and its degrees of freedom. Its root, 0.9 points, is twice the standard deviation of
recorded trainings: two small pretrained encoders on six sets of pairs and triplets, the better half of each set's
recipes (0.44 points; by set 0.19 to 0.60; the worse half 1.3; `benchmarks/own/recorded`)."""


def pick(development: Sequence[Sequence[float]]) -> list[int]:  # (finalists, goals), the higher the better
    """Return the finalists' indices in the order of use, by their means of fresh development scores: with one goal all
    finalists, the best first; with two goals a front."""
    values = np.asarray(development, dtype=float)
    if values.shape[1] == 1:
        return [int(index) for index in np.argsort(-values[:, 0], kind="stable")]
    front = on_front(values)
    points, indices = np.unique(values[front], axis=0, return_index=True)
    return [int(front[indices[point]]) for point in spread(points)[:MOST_PICKED]]


def borrowed_spread(samples: Iterable[Sample]) -> CommonSpread:
    """Return the spread that is assumed for recipes of at most three seeds: `RECORDED_SPREAD`, or more if samples of
    two seeds scatter more (copies once); never less, as a recipe may scatter more than they do. Equal recipes of one
    seed are called better in 2 % of cases if they scatter three times as much as recorded, in 12 % at five times; of
    two or three seeds in 2 and 4 %."""
    pooled = pooled_spread({sample.values.tobytes(): sample for sample in samples}.values())
    if pooled is None:
        return RECORDED_SPREAD
    variance, _ = RECORDED_SPREAD.with_own(pooled.std**2, pooled.freedom)
    return _at_least_recorded(variance)


def _at_least_recorded(variance: float) -> CommonSpread:
    return replace(RECORDED_SPREAD, variance=max(RECORDED_SPREAD.variance, variance))


def gain_over(first: Sample, second: Sample, borrowed: CommonSpread, p_factor: float = 1.0) -> Comparison:
    """Return the gain of `first` over `second`, under fresh seeds. Each end of its interval holds by itself with 95 %,
    or, with a `p_factor`, with an error of 5 % / `p_factor`. `borrowed`: from `borrowed_spread`."""
    return compare(first, second, common=borrowed, p_factor=p_factor / 2)


@dataclass(frozen=True)
class Judgement:
    """The result of finals in one figure: the answer, and the gains that it follows from."""

    picked: int | None
    """Index of the picked finalist; None without finalists."""
    answer: Answer
    gains: Mapping[Reference, tuple[Comparison, ...]]
    """Gains of every finalist over each scored reference. Per reference all low ends of intervals hold at once, and so
    do all high ends."""
    base_over_encoder: Comparison | None
    fresh: bool
    """Whether the tested items had no part in the choice of recipes. If they had, there is no verdict."""
    open: tuple[Reference, ...] = ()
    """If the answer is `nothing yet`: the references against which no gain is shown."""
    most: float | None = None
    """Unless the answer is `use`: the largest gain, in points, of any training of the finals that the intervals allow,
    over what is kept or over the first of `open`."""


def judge(
    finalists: Sequence[Sample],
    order: Sequence[int],
    references: Mapping[Reference, Sample],
    *,
    borrowed: CommonSpread = NO_BORROWED_SPREAD,
    p_factor: float = 1.0,
    goals: int = 1,
    fresh: bool = True,
) -> Judgement:
    """Judge the finalists' test scores under fresh seeds against the references. The module's docstring has the rules.

    `order`: the finalists' indices in the order of use, from `pick`; for a front, one index per call; empty without
    finalists. `references["encoder"]` is fixed. `borrowed`: from `borrowed_spread`. `p_factor`: 1 /
    `facts.looks.level_share` of this look. `goals`: number of figures that are judged together and share the level.
    """
    joint_factor, recipes = p_factor * goals, max(len(finalists), 1)
    gains: dict[Reference, tuple[Comparison, ...]] = {
        name: tuple(gain_over(finalist, sample, borrowed, joint_factor * recipes) for finalist in finalists)
        for name, sample in references.items()
    }
    base, encoder = references.get("base"), references.get("encoder")
    over = gain_over(base, encoder, borrowed, joint_factor) if base and encoder else None
    by_finalist = [{name: each[index] for name, each in gains.items()} for index in range(len(finalists))]
    answer: Answer = "nothing yet"
    waiting: tuple[Reference, ...] = ()
    picked = next(iter(order), None)
    if fresh and base is not None:
        picked = next((finalist for finalist in order if _worth_using(by_finalist[finalist])), picked)
        moved = pooled_spread([base] if picked is None else [finalists[picked], base])
        margin = moved.std if moved else math.sqrt(borrowed.variance)
        answer, waiting = _answer({} if picked is None else by_finalist[picked], over, margin)
    if answer == "use":
        return Judgement(picked, answer, gains, over, fresh)
    against = INCUMBENTS.get(answer) or next(iter(waiting), None)
    left = [*(gains[against] if against else ()), *([over] if over and against == "encoder" else [])]
    highs = [gain.high for gain in left if gain.high is not None]
    return Judgement(picked, answer, gains, over, fresh, waiting, max(highs, default=None))


def seeds_wanted(
    judged: Judgement,
    finalists: Sequence[Sample],
    references: Mapping[Reference, Sample],
    *,
    borrowed: CommonSpread,
    p_factor: float = 1.0,
    goals: int = 1,
) -> float | None:
    """If the answer is `nothing yet`, return how many seeds of each recipe would settle it; infinity if test items are
    too few for any number. None for other answers, and if the number is unknown. Parameters as in `judge`, but
    `p_factor` is of the next look, at which these seeds would be judged."""
    base, picked = references.get("base"), judged.picked
    assumed = Spread(math.sqrt(borrowed.variance), int(borrowed.freedom)) if borrowed.freedom else None
    spread = pooled_spread([*finalists, *references.values()]) or assumed
    alpha = _two_sided(finalists, p_factor, goals)
    counts = []
    for name in judged.open:
        first = base if picked is None or judged.gains[name][picked].gain <= 0 else finalists[picked]
        counts.append(None if first is None else _seeds(first, references[name], alpha, borrowed, spread))
    return None if not counts or None in counts else max(seeds for seeds in counts if seeds is not None)


def least_shown(
    judged: Judgement,
    finalists: Sequence[Sample],
    references: Mapping[Reference, Sample],
    *,
    p_factor: float = 1.0,
    goals: int = 1,
) -> float | None:
    """If the answer is `nothing yet`, return the smallest true gain in points that the test items show in 80 % of
    studies, with any number of seeds. None for other answers, and if it is unknown. Parameters as in `seeds_wanted`."""
    first = references.get("base") if judged.picked is None else finalists[judged.picked]
    if first is None:
        return None
    alpha = _two_sided(finalists, p_factor, goals)
    gains = [least_gain(first, references[name], POWER, alpha=alpha) for name in judged.open]
    return max((gain for gain in gains if gain is not None), default=None)


def _two_sided(finalists: Sequence[Sample], p_factor: float, goals: int) -> float:
    """Return the error of a two-sided interval of which each end holds by itself."""
    return 2 * (1 - CONFIDENCE) / (p_factor * goals * max(len(finalists), 1))


def deciding_judgement(front: Sequence[Sequence[Judgement]]) -> tuple[int, int]:  # (members, figures)
    """Return the member and the figure whose judgement is the answer of a front: the first `use`, by the first figure
    that has one; else the first `nothing yet`; else the first of all."""
    for answer in ("use", "nothing yet"):
        for figure in range(len(front[0])):
            for member, judged in enumerate(front):
                if judged[figure].answer == answer:
                    return member, figure
    return 0, 0


def is_shown(gain: Comparison) -> bool:
    """Whether the gain is above zero by its interval. False with one seed and no assumed spread."""
    return not gain.one_seed and gain.low is not None and gain.low > 0


def not_worth_it(gain: Comparison, margin: float) -> bool:
    """Whether the gain is not worth it: measured at zero or below, or surely no larger than the margin in points."""
    return gain.gain <= 0 or (not gain.one_seed and gain.high is not None and gain.high <= margin)


def _worth_using(gains: Mapping[Reference, Comparison]) -> bool:
    return bool(gains) and all(is_shown(gain) for name, gain in gains.items() if name != "baseline")


def _answer(
    gains: Mapping[Reference, Comparison], base_over_encoder: Comparison | None, margin: float
) -> tuple[Answer, tuple[Reference, ...]]:
    """Return the answer, and the references against which nothing is shown. `gains`: of the picked recipe, if any."""
    if _worth_using(gains):
        return "use", ()
    over_base, over_encoder = gains.get("base"), gains.get("encoder")
    trained = [comparison for comparison in (over_encoder, base_over_encoder) if comparison is not None]
    if base_over_encoder is not None and all(not_worth_it(comparison, margin) for comparison in trained):
        return "keep the encoder", ()
    keeps_base = over_base is None or not_worth_it(over_base, margin)
    best = base_over_encoder if keeps_base else over_encoder
    waiting: list[Reference] = [] if keeps_base or (over_base and is_shown(over_base)) else ["base"]
    if best is not None and not is_shown(best):
        waiting.append("encoder")
    return "nothing yet" if waiting else "keep the base", tuple(waiting)


def _seeds(first: Sample, second: Sample, alpha: float, borrowed: CommonSpread, spread: Spread | None) -> float | None:
    """Return the seeds of each recipe that show a gain as measured; infinity if none do; None if unknown or no gain."""
    gap = first.mean - second.mean
    if spread is None or gap <= 0:
        return None
    needed = seeds_needed(first, second, gap, POWER, alpha=alpha, common=borrowed, spread=spread)
    return math.inf if needed is None and pairable(first, second) else needed


@dataclass(frozen=True)
class Planned:
    """What finals can show, planned before they run. It counts only the variance over seeds; that over items is
    unknown."""

    gain: float
    """Gain over the base, in points, that is shown in 80 % of cases."""
    needed: Mapping[float, int | None]
    """By gain in points, the number of seeds of each finalist that shows it; None if it is above MOST_SEEDS."""


def finalists_for(trainings: int) -> tuple[int, int]:
    """Return the number of finalists, and of seeds each, for this many trainings, including those of the base. No
    finalist if there is room for the base alone.

    The choice shows a true gain most often in simulated finals; the table has percentages of finals. Finalists are the
    best of 14 recipes by development scores (36 kinds of search, 150 finals each: gains over the base scatter around 0
    by 1 to 3 points, development scores by 0.4 to 1.5, seeds by 0.5; test items leave an error of 0.2 to 0.85; judged
    at the first look; three seeds used their own spread):

        trainings       4   6   8  10  12  16  20  24  30  40
        1 finalist     59  76  79  81  81  82  83  83  83  84
        2 finalists     -  53  53  76  80  83  84  86  86  86
        3 finalists     -   -  48  48  76  81  83  85  85  87
    """
    recipes = min(trainings // 2, 1) if trainings < TWO_FINALISTS_FROM else 2
    return recipes, trainings // (recipes + 1)


def plan(floor: Spread, finalists: int, seeds: int, *, p_factor: float = 1.0) -> Planned:
    """Return what this many finalists can show under this many seeds each. `p_factor` as in `judge`.

    `floor`: the spread of one seed's score, and its degrees of freedom. For recipes of at most three seeds the larger
    of `RECORDED_SPREAD` and `floor` is assumed.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    def lacking(gain: float) -> float:
        return _foretold(floor, finalists, seeds, gain, p_factor) - POWER

    needed = {points: _needed(floor, finalists, points, p_factor) for points in GAINS}
    if seeds < 2:
        single = Sample(np.zeros(1), (0,))
        half = gain_over(single, single, _at_least_recorded(floor.std**2), p_factor * finalists).high or 0.0
        return Planned(half + float(ndtri(POWER)) * math.sqrt(2) * floor.std, needed)
    if not floor.std:
        return Planned(0.0, needed)
    most = floor.std
    while lacking(most) < 0:
        most *= 2
    return Planned(float(brentq(lacking, 0.0, most, xtol=1e-3 * most)), needed)


def _needed(floor: Spread, finalists: int, gain: float, p_factor: float) -> int | None:
    return fewest(lambda seeds: _foretold(floor, finalists, seeds, gain, p_factor) >= POWER)


def _foretold(floor: Spread, finalists: int, seeds: int, gain: float, p_factor: float) -> float:
    """Return the chance that a finalist's true gain over the base is shown."""
    if floor.std == 0:
        return 1.0
    single = Sample(np.zeros(1), (0,))
    alpha, borrowed = 2 * (1 - CONFIDENCE) / p_factor / finalists, _at_least_recorded(floor.std**2)
    return power(single, single, gain, seeds, alpha=alpha, common=borrowed, spread=floor)
