"""Finals: which of a few recipes to use, what it gains, and how sure that is (docs/statistics.md).

A search chose K finalists by scores that chance had a part in. They ran again, beside the base, under as many fresh
seeds each.

- **Who is picked**: the finalist of the best mean of fresh development scores, and before it the best of those that are
  shown to be worth using, if any are; of two goals a front of at most MOST_PICKED (`pick`). A model that is lucky on
  development data is lucky on test data, too, so what is said of the pick must hold whichever finalist is picked.
- **One direction.** "Use" claims that a recipe is better, so each end of an interval holds by itself with the level of
  this look, 1/K of the error each (Dunn 1961), and of several goals 1/(K times their number): for each reference all
  low ends hold at once, and so do all high ends, however scores hang together.
- **The answer.** What costs less stands until something dearer is shown to be better: the untrained encoder needs no
  training, the base no search. A gain is shown where its interval lies above zero. "Not worth it" (`nothing_in`): it
  was measured at zero or below, or its interval lies below what another seed moves (one standard deviation). Asked in
  this order:

  1. `use`: the picked one is shown to be better than the base, and than the untrained encoder where that was scored.
  2. `keep the encoder`: neither the picked one nor the base is worth it over the untrained encoder.
  3. `keep the base`: the picked one is not worth it over the base, and the base is shown to be better than the
     untrained encoder where that was scored.
  4. `nothing yet`, else: `open` says against which references, `seeds_wanted` how many show the gain in 80 %, if it is
     as large as measured.

  So `use` is wrong, and training is advised that does not pay, in at most the level. To keep what one has is no claim:
  of all answers but `use`, `most` says how large a gain the intervals leave. Without a finalist the base alone is held
  against the encoder; of several goals what is kept is the answer for each member of the front (`told_by`).
- **Items must be fresh, too.** Development scores that were made from the very sentences that are tested choose
  recipes that are lucky with these: such a gain has no verdict.
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
from reports.statistics.spreads import OWN, Common

Reference = Literal["base", "baseline", "encoder"]
"""What finalists are compared with: what the space sets without a search, its baseline row, the untrained encoder."""
Answer = Literal["use", "keep the base", "keep the encoder", "nothing yet"]
INCUMBENTS: Mapping[Answer, Reference] = {"keep the base": "base", "keep the encoder": "encoder"}

MOST_PICKED = 5
POWER = 0.8
"""How surely planned seeds would show a gain."""
GAINS = (0.5, 1.0, 2.0)
"""Points for which the seeds are told."""
TWO_FROM = 24
"""Trainings from which a second finalist is worth its share of them, and of the level."""
RECORDED = Common(0.9**2, 3.0, lent=True)
"""What a seed moves, guessed, and of how many degrees of freedom it counts: twice the spread of recorded trainings of
two small pretrained encoders on six sets of pairs and triplets, the better half of each set's recipes (0.44 points,
0.19 to 0.60 by set; the worse half 1.3; `benchmarks/own/recorded`)."""


def pick(development: Sequence[Sequence[float]]) -> list[int]:  # (finalists, goals), the higher the better
    """The finalists in the order in which they would be used, by their means of fresh development scores: with one goal
    all, the best first; with two a front."""
    values = np.asarray(development, dtype=float)
    if values.shape[1] == 1:
        return [int(place) for place in np.argsort(-values[:, 0], kind="stable")]
    front = on_front(values)
    points, places = np.unique(values[front], axis=0, return_index=True)
    return [int(front[places[point]]) for point in spread(points)[:MOST_PICKED]]


def lent_spread(samples: Iterable[Sample]) -> Common:
    """What recipes of at most three seeds borrow: `RECORDED`, or more where samples that have two seeds scatter more
    (copies count once), but no less, as a recipe may be unlike them. Equal recipes of one seed are called better in 2 %
    of cases where they scatter three times as much as recorded, in 12 % at five times; of two or three seeds in 2 and
    4 %.
    """
    pooled = pooled_spread({sample.values.tobytes(): sample for sample in samples}.values())
    if pooled is None:
        return RECORDED
    variance, _ = RECORDED.with_own(pooled.std**2, pooled.freedom)
    return _at_least_recorded(variance)


def _at_least_recorded(variance: float) -> Common:
    return replace(RECORDED, variance=max(RECORDED.variance, variance))


def gain_over(first: Sample, second: Sample, lent: Common, looks: float = 1.0) -> Comparison:
    """The gain of `first` over `second`, under fresh seeds. Each end of its interval holds by itself with 95 %, with
    1/`looks` of the error that this leaves. `lent`: by `lent_spread`."""
    return compare(first, second, common=lent, looks=looks / 2)


@dataclass(frozen=True)
class Judgement:
    """What finals say of one figure."""

    picked: int | None
    """None without a finalist."""
    answer: Answer
    gains: Mapping[Reference, tuple[Comparison, ...]]
    """Of every finalist over each reference that was scored; for each reference all low ends hold at once, and so do
    all high ends."""
    base_over_encoder: Comparison | None
    fresh: bool
    """Whether the tested items had no part in the choice: without that there is no verdict."""
    open: tuple[Reference, ...] = ()
    """Of `nothing yet`: the references against which nothing is shown."""
    most: float | None = None
    """But of `use`: the largest gain, in points, that the data leave to any training of the finals over what is kept,
    or over the first of `open`."""


def judge(
    finalists: Sequence[Sample],
    order: Sequence[int],
    references: Mapping[Reference, Sample],
    *,
    lent: Common = OWN,
    looks: float = 1.0,
    goals: int = 1,
    fresh: bool = True,
) -> Judgement:
    """The fresh-seed test scores of finalists against those of the references; see above.

    `order`: whom to use, as `pick` gives it; of a front one at a time; empty without finalists. `references["encoder"]`
    is fixed. `lent`: by `lent_spread`. `looks`: 1 / `facts.looks.share` of this look. `goals`: how many figures are
    judged beside each other; the level is shared among them.
    """
    counts, recipes = looks * goals, max(len(finalists), 1)
    gains: dict[Reference, tuple[Comparison, ...]] = {
        name: tuple(gain_over(finalist, sample, lent, counts * recipes) for finalist in finalists)
        for name, sample in references.items()
    }
    base, encoder = references.get("base"), references.get("encoder")
    over = gain_over(base, encoder, lent, counts) if base and encoder else None
    by_finalist = [{name: each[place] for name, each in gains.items()} for place in range(len(finalists))]
    answer: Answer = "nothing yet"
    waiting: tuple[Reference, ...] = ()
    picked = next(iter(order), None)
    if fresh and base is not None:
        picked = next((finalist for finalist in order if _worth_using(by_finalist[finalist])), picked)
        moved = pooled_spread([base] if picked is None else [finalists[picked], base])
        margin = moved.std if moved else math.sqrt(lent.variance)
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
    lent: Common,
    looks: float = 1.0,
    goals: int = 1,
) -> float | None:
    """Of `nothing yet`: so many seeds of each recipe would settle it; infinity where test items are too few for any
    number. None of other answers, and where it cannot be told. As in `judge`, but `looks` of the next look, at which
    these would be judged."""
    base, picked = references.get("base"), judged.picked
    borrowed = Spread(math.sqrt(lent.variance), int(lent.freedom)) if lent.freedom else None
    spread = pooled_spread([*finalists, *references.values()]) or borrowed
    alpha = _two_sided(finalists, looks, goals)
    counts = []
    for name in judged.open:
        first = base if picked is None or judged.gains[name][picked].gain <= 0 else finalists[picked]
        counts.append(None if first is None else _seeds(first, references[name], alpha, lent, spread))
    return None if not counts or None in counts else max(seeds for seeds in counts if seeds is not None)


def least_shown(
    judged: Judgement,
    finalists: Sequence[Sample],
    references: Mapping[Reference, Sample],
    *,
    looks: float = 1.0,
    goals: int = 1,
) -> float | None:
    """Of `nothing yet`: the smallest true gain in points that the test items show in 80 % of studies, however many
    seeds there are. None of other answers, and where it cannot be told. The rest as in `seeds_wanted`."""
    first = references.get("base") if judged.picked is None else finalists[judged.picked]
    if first is None:
        return None
    alpha = _two_sided(finalists, looks, goals)
    gains = [least_gain(first, references[name], POWER, alpha=alpha) for name in judged.open]
    return max((gain for gain in gains if gain is not None), default=None)


def _two_sided(finalists: Sequence[Sample], looks: float, goals: int) -> float:
    """The error of an interval whose ends hold by themselves."""
    return 2 * (1 - CONFIDENCE) / (looks * goals * max(len(finalists), 1))


def told_by(front: Sequence[Sequence[Judgement]]) -> tuple[int, int]:  # (members, figures)
    """The member and the figure whose judgement is the answer of a front: the first that is to be used, by the first
    figure that shows it; else the first of which nothing can be told yet; else the first of all."""
    for answer in ("use", "nothing yet"):
        for figure in range(len(front[0])):
            for member, judged in enumerate(front):
                if judged[figure].answer == answer:
                    return member, figure
    return 0, 0


def shown(gain: Comparison) -> bool:
    """Whether it is better, as far as its interval goes. Never of one seed to which nothing is lent."""
    return not gain.one_seed and gain.low is not None and gain.low > 0


def nothing_in(gain: Comparison, margin: float) -> bool:
    """Whether it is not worth it: measured at zero or below, or surely smaller than the margin in points."""
    return gain.gain <= 0 or (not gain.one_seed and gain.high is not None and gain.high <= margin)


def _worth_using(gains: Mapping[Reference, Comparison]) -> bool:
    return bool(gains) and all(shown(gain) for name, gain in gains.items() if name != "baseline")


def _answer(
    gains: Mapping[Reference, Comparison], base_over_encoder: Comparison | None, margin: float
) -> tuple[Answer, tuple[Reference, ...]]:
    """From the gains of the picked one, if any: the answer, and against which references nothing is shown."""
    if _worth_using(gains):
        return "use", ()
    over_base, over_encoder = gains.get("base"), gains.get("encoder")
    trained = [comparison for comparison in (over_encoder, base_over_encoder) if comparison is not None]
    if base_over_encoder is not None and all(nothing_in(comparison, margin) for comparison in trained):
        return "keep the encoder", ()
    keeps_base = over_base is None or nothing_in(over_base, margin)
    best = base_over_encoder if keeps_base else over_encoder
    waiting: list[Reference] = [] if keeps_base or (over_base and shown(over_base)) else ["base"]
    if best is not None and not shown(best):
        waiting.append("encoder")
    return "nothing yet" if waiting else "keep the base", tuple(waiting)


def _seeds(first: Sample, second: Sample, alpha: float, lent: Common, spread: Spread | None) -> float | None:
    """How many of each show a gain as large as measured; infinity where none do, None without a gain or any spread."""
    gap = first.mean - second.mean
    if spread is None or gap <= 0:
        return None
    needed = seeds_needed(first, second, gap, POWER, alpha=alpha, common=lent, spread=spread)
    return math.inf if needed is None and pairable(first, second) else needed


@dataclass(frozen=True)
class Planned:
    """What finals can show, before they run. Seeds alone are counted: test items add to it, how much is not known."""

    gain: float
    """Points over the base that are shown in 80 % of cases."""
    needed: Mapping[float, int | None]
    """Seeds of each finalist for gains of so many points; None where no number up to MOST_SEEDS is enough."""


def finalists_for(trainings: int) -> tuple[int, int]:
    """How many finalists, and how many seeds each, where finals have room for so many trainings, those of the base
    among them; no finalist where there is room for the base alone.

    That which shows a true gain most often. In percent, of finals of the best by development scores of 14 recipes (the
    mean over 36 kinds, 150 each: gains over the base scatter around 0 by 1 to 3 points, development scores by 0.4 to
    1.5, seeds by 0.5, and test items leave an error of 0.2 to 0.85; first look; three
    seeds still stood on their own spread):

        trainings       4   6   8  10  12  16  20  24  30  40
        1 finalist     59  76  79  81  81  82  83  83  83  84
        2 finalists     -  53  53  76  80  83  84  86  86  86
        3 finalists     -   -  48  48  76  81  83  85  85  87
    """
    recipes = min(trainings // 2, 1) if trainings < TWO_FROM else 2
    return recipes, trainings // (recipes + 1)


def plan(floor: Spread, finalists: int, seeds: int, *, looks: float = 1.0) -> Planned:
    """What so many finalists show under so many seeds each. `looks` as in `judge`.

    `floor`: the spread of one seed's score, and of how many degrees of freedom it is known. At most three borrow
    `RECORDED`, or that where it is larger.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    def lacking(gain: float) -> float:
        return _foretold(floor, finalists, seeds, gain, looks) - POWER

    needed = {points: _needed(floor, finalists, points, looks) for points in GAINS}
    if seeds < 2:
        single = Sample(np.zeros(1), (0,))
        half = gain_over(single, single, _at_least_recorded(floor.std**2), looks * finalists).high or 0.0
        return Planned(half + float(ndtri(POWER)) * math.sqrt(2) * floor.std, needed)
    if not floor.std:
        return Planned(0.0, needed)
    most = floor.std
    while lacking(most) < 0:
        most *= 2
    return Planned(float(brentq(lacking, 0.0, most, xtol=1e-3 * most)), needed)


def _needed(floor: Spread, finalists: int, gain: float, looks: float) -> int | None:
    return fewest(lambda seeds: _foretold(floor, finalists, seeds, gain, looks) >= POWER)


def _foretold(floor: Spread, finalists: int, seeds: int, gain: float, looks: float) -> float:
    """The chance that a finalist's true gain over the base is shown."""
    if floor.std == 0:
        return 1.0
    single = Sample(np.zeros(1), (0,))
    alpha, lent = 2 * (1 - CONFIDENCE) / looks / finalists, _at_least_recorded(floor.std**2)
    return power(single, single, gain, seeds, alpha=alpha, common=lent, spread=floor)
