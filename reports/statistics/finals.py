"""Finals: which of a few recipes to use, what it gains, and how sure that is.

A search chose K finalists by scores that chance had a part in. They ran again, beside the base, under seeds that had no
say in the choice.

- **Who is picked**: the finalist of the best mean of fresh development scores, and before it the best of those that are
  shown to be worth using, if any are; of two goals a front of at most MOST_PICKED (`pick`). A model that is lucky on
  development data is lucky on test data, too, so the pick is no neutral choice, and what is said of it must hold
  whichever finalist is picked.
- **Gains** over each reference are those of `compare`, each at 1/K of the level (Dunn 1961): for each reference all
  K intervals hold at once, however scores hang together. Spreads are a recipe's own or drawn to the others', never one
  pooled spread. Gains over the reference share its error, but a bar that knows this (Dunnett 1955) lies only 1 to 2 %
  lower for three finalists.
- **The answer.** What costs less stands until something dearer is shown to be better: the encoder as it came needs no
  training, the base no search. A gain is shown where its interval lies above zero. "Not worth it" (`nothing_in`): it
  was measured at zero or below, or its interval lies below one noise floor. Asked in this order:

  1. `use`: the picked one is shown to be better than the base, and than the encoder as it came where that was scored.
  2. `keep the encoder`: neither the picked one nor the base is worth it over the encoder as it came.
  3. `keep the base`: the picked one is not worth it over the base, and the base is shown to be better than the encoder
     as it came where that was scored.
  4. `nothing yet`, else: `open` says against which references, `seeds` how many show the gain in 80 %, if it is as
     large as measured.

  So `use` is wrong, and training is advised that does not pay, in at most the level. To keep what one has is no claim:
  of all answers but `use`, `most` says how large a gain the intervals leave.
- **Of several goals** each member of the front is judged by every goal's figure, at 1/(K times their number) of the
  level, so that all intervals of all finalists hold at once: `use` is wrong of any member by any goal in at most the
  level. What is kept, is kept only where that is the answer for each member by each figure (`told_by`).
- **Items must be fresh, too.** Development scores that were made from the very sentences that are tested choose
  recipes that are lucky with these. Such a gain is measured "on the data it was chosen by", and has no verdict.
- **The noise floor** is the standard deviation of one seed's test score, pooled over the recipes where Bartlett's test
  finds their spreads alike and seeds are enough to know it (`FEWEST_FREEDOM`); else none is known, and a gain is held
  against the spreads of the two that it compares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reports.statistics.comparison import Comparison, compare
from reports.statistics.fronts import on_front, spread
from reports.statistics.measured import CONFIDENCE
from reports.statistics.power import Spread, fewest, pooled_spread, power, seeds_needed
from reports.statistics.sample import Sample, pairable
from reports.statistics.spreads import Common, common_spread

Reference = Literal["base", "baseline", "encoder"]
"""What finalists are compared with: what the space sets without a search, its baseline row, the encoder as it came."""
Answer = Literal["use", "keep the base", "keep the encoder", "nothing yet"]
KEPT: Mapping[Answer, Reference] = {"keep the base": "base", "keep the encoder": "encoder"}

MOST_PICKED = 5
POWER = 0.8
"""How surely planned seeds would show a gain."""
GAINS = (0.5, 1.0, 2.0)
"""Points for which the seeds are told."""
UNLIKE = 0.05
"""Spreads are no longer alike where chance makes them so unequal less often than that."""
FEWEST_FREEDOM = 8
"""Of a noise floor: the 95 % interval of a standard deviation then lies within a factor of two of it."""


def pick(development: Sequence[Sequence[float]]) -> list[int]:  # (finalists, goals), the higher the better
    """The finalists in the order in which they would be used, by their means of fresh development scores: with one goal
    all, the best first; with two a front."""
    values = np.asarray(development, dtype=float)
    if values.shape[1] == 1:
        return [int(place) for place in np.argsort(-values[:, 0], kind="stable")]
    front = on_front(values)
    points, places = np.unique(values[front], axis=0, return_index=True)
    return [int(front[places[point]]) for point in spread(points)[:MOST_PICKED]]


@dataclass(frozen=True)
class NoiseFloor:
    """How far seeds move one test score, in points."""

    std: float | None
    """Pooled over recipes, where they are alike in it and that is known well enough; else None."""
    freedom: int
    by_recipe: tuple[float | None, ...]
    """In the order given; None for one seed, and where no seed changes anything."""

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> NoiseFloor:
        """Of recipes; copies count once."""
        once = list({sample.values.tobytes(): sample for sample in samples if sample.std is not None}.values())
        pooled = pooled_spread(once)
        known = pooled is not None and pooled.freedom >= FEWEST_FREEDOM and (len(once) == 1 or _alike(once))
        by_recipe = tuple(sample.std for sample in samples)
        return cls(pooled.std if pooled and known else None, pooled.freedom if pooled else 0, by_recipe)

    @property
    def known(self) -> tuple[float, ...]:
        """Recipe by recipe, of those that have one."""
        return tuple(std for std in self.by_recipe if std is not None)

    def under(self, first: Sample, second: Sample) -> float:
        """The floor for the gain of one recipe over another, or else their own spread; 0 if that is not known."""
        own = pooled_spread([first, second])
        return self.std if self.std is not None else own.std if own else 0.0


def _alike(samples: Sequence[Sample]) -> bool:
    """By Bartlett's test (1937), which takes heavy tails for unlike spreads: then no floor is told, which is safe."""
    from scipy.special import chdtrc

    variances = np.array([(sample.std or 0.0) ** 2 for sample in samples])
    if variances.min() == 0:
        return bool(variances.max() == 0)
    freedom = np.array([sample.count - 1.0 for sample in samples])
    total, pooled = freedom.sum(), np.average(variances, weights=freedom)
    unlike = (freedom * np.log(pooled / variances)).sum()
    unlike /= 1 + ((1 / freedom).sum() - 1 / total) / (3 * (len(samples) - 1))
    return bool(chdtrc(len(samples) - 1, max(unlike, 0.0)) > UNLIKE)


@dataclass(frozen=True)
class Judgement:
    """What finals say of one figure."""

    picked: int
    answer: Answer
    gains: Mapping[Reference, tuple[Comparison, ...]]
    """Of every finalist over each reference that was scored; for each reference the intervals hold all at once."""
    base_over_encoder: Comparison | None
    floor: NoiseFloor
    fresh: bool
    """Whether the tested items had no part in the choice: without that there is no verdict."""
    open: tuple[Reference, ...] = ()
    """Of `nothing yet`: the references against which nothing is shown."""
    most: float | None = None
    """But of `use`: the largest gain, in points, that the data leave to any training of the finals over what is kept,
    or over the first of `open`."""
    seeds: float | None = None
    """Of `nothing yet`: so many of each recipe would settle it; infinity where test items are too few for any number.
    None where that cannot be told."""


def judge(
    finalists: Sequence[Sample],
    order: Sequence[int],
    references: Mapping[Reference, Sample],
    *,
    others: Sequence[Sample] = (),
    looks: float = 1.0,
    later: float | None = None,
    goals: int = 1,
    fresh: bool = True,
) -> Judgement:
    """The fresh-seed test scores of finalists against those of the references; see above.

    `order`: whom to use, as `pick` gives it; of a front one at a time. `references["encoder"]` is fixed. `others`: the
    study's other recipes, whose spreads say something about those of the finalists. `looks`: 1 / `reports.looks.share`
    of this look, `later`: of the next one, at which more seeds would be judged. `goals`: how many figures are judged
    beside each other; the level is shared among them.
    """
    trained = [*finalists, *(sample for sample in references.values() if not sample.fixed), *others]
    common, counts = common_spread(trained), looks * goals
    gains: dict[Reference, tuple[Comparison, ...]] = {
        name: tuple(compare(one, sample, common=common, looks=counts * len(finalists)) for one in finalists)
        for name, sample in references.items()
    }
    base, encoder = references.get("base"), references.get("encoder")
    over = compare(base, encoder, common=common, looks=counts) if base and encoder else None
    floor = NoiseFloor.of(trained)
    by_finalist = [{name: each[place] for name, each in gains.items()} for place in range(len(finalists))]
    answer: Answer = "nothing yet"
    waiting: tuple[Reference, ...] = ()
    picked = order[0]
    if fresh and base is not None:
        picked = next((one for one in order if _worth_using(by_finalist[one])), picked)
        answer, waiting = _answer(by_finalist[picked], over, floor.under(finalists[picked], base))
    if answer == "use":
        return Judgement(picked, answer, gains, over, floor, fresh)
    against = KEPT.get(answer) or next(iter(waiting), None)
    left = [*(gains[against] if against else ()), *([over] if over and against == "encoder" else [])]
    highs = [gain.high for gain in left if gain.high is not None]
    alpha = (1 - CONFIDENCE) / ((later or looks) * goals * len(finalists))
    pairs = [(finalists[picked] if gains[name][picked].gain > 0 else base, references[name]) for name in waiting]
    wanted = [_seeds(first, second, alpha, common, trained) for first, second in pairs if first is not None]
    return Judgement(
        picked,
        answer,
        gains,
        over,
        floor,
        fresh,
        waiting,
        max(highs, default=None),
        None if not wanted or None in wanted else max(one for one in wanted if one is not None),
    )


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
    """Whether it is better, as far as its interval goes. Never with one seed."""
    return gain.p is not None and gain.low is not None and gain.low > 0


def nothing_in(gain: Comparison, margin: float) -> bool:
    """Whether it is not worth it: measured at zero or below, or surely smaller than the margin in points."""
    return gain.p is not None and (gain.gain <= 0 or (gain.high is not None and gain.high <= margin))


def _worth_using(gains: Mapping[Reference, Comparison]) -> bool:
    return all(shown(gain) for name, gain in gains.items() if name != "baseline")


def _answer(
    gains: Mapping[Reference, Comparison], base_over_encoder: Comparison | None, margin: float
) -> tuple[Answer, tuple[Reference, ...]]:
    """From the gains of the picked one: the answer, and against which references nothing is shown."""
    if _worth_using(gains):
        return "use", ()
    over_base, over_encoder = gains["base"], gains.get("encoder")
    if over_encoder and base_over_encoder and all(nothing_in(one, margin) for one in (over_encoder, base_over_encoder)):
        return "keep the encoder", ()
    kept = nothing_in(over_base, margin)
    trained = base_over_encoder if kept else over_encoder
    waiting: list[Reference] = [] if kept or shown(over_base) else ["base"]
    if trained is not None and not shown(trained):
        waiting.append("encoder")
    return "nothing yet" if waiting else "keep the base", tuple(waiting)


def _seeds(first: Sample, second: Sample, alpha: float, common: Common, others: Sequence[Sample]) -> float | None:
    """How many of each show a gain as large as measured; infinity where none do, None without a gain or any spread."""
    spread, gap = pooled_spread(others), first.mean - second.mean
    if spread is None or gap <= 0:
        return None
    needed = seeds_needed(first, second, gap, POWER, alpha=alpha, common=common, spread=spread)
    return math.inf if needed is None and pairable(first, second) else needed


@dataclass(frozen=True)
class Planned:
    """What finals can show, before they run. Seeds alone are counted: test items add to it, how much is not known."""

    gain: float
    """Points over the base that are shown in 80 % of cases."""
    needed: Mapping[float, int | None]
    """Seeds of each finalist for gains of so many points; None where no number up to MOST_SEEDS is enough."""


def base_seeds(finalists: int, seeds: int) -> int:
    """The base has a part in every comparison, so it runs more often: by the square root of their number (Dunnett), and
    a fifth more, since its spread is its own, drawn to no other."""
    return math.ceil(1.2 * seeds * math.sqrt(finalists))


TWO_FROM = 24
"""Trainings from which a second finalist is worth its share of them, and of the level."""


def finalists_for(trainings: int) -> tuple[int, int]:
    """How many finalists, and how many seeds each, where finals have room for so many trainings, those of the base
    among them; no finalist where there is room for the base alone.

    That which shows a true gain most often. In percent, of finals of the best by development scores of 14 recipes (the
    mean over 36 kinds: gains that scatter by 1 to 3 points, development scores by 0.4 to 1.5, seeds by 0.5, and test
    items that leave an error of 0.2 to 0.85):

        trainings       4   6   8  10  12  16  20  24  30  40
        1 finalist     24  38  42  44  45  46  47  47  48  48
        2 finalists     -  21  21  37  42  45  46  48  49  50
        3 finalists     -   -  19  19  35  41  44  46  47  48
    """
    recipes = min(trainings // 2, 1) if trainings < TWO_FROM else 2
    return recipes, trainings // (recipes + 1)


def plan(floor: Spread, finalists: int, seeds: int, *, looks: float = 1.0) -> Planned:
    """What so many finalists show under so many seeds each. `looks` as in `judge`.

    `floor`: the spread of one seed's score, and of how many degrees of freedom it is known.
    """
    from scipy.optimize import brentq

    def lacking(gain: float) -> float:
        return _foretold(floor, finalists, seeds, gain, looks) - POWER

    most = floor.std
    while most and lacking(most) < 0:
        most *= 2
    gain = float(brentq(lacking, 0.0, most, xtol=1e-3 * most)) if most else 0.0
    needed = {wanted: _needed(floor, finalists, wanted, looks) for wanted in GAINS}
    return Planned(gain, needed)


def _needed(floor: Spread, finalists: int, gain: float, looks: float) -> int | None:
    return fewest(lambda seeds: _foretold(floor, finalists, seeds, gain, looks) >= POWER)


def _foretold(floor: Spread, finalists: int, seeds: int, gain: float, looks: float) -> float:
    """The chance that a finalist's true gain over the base is shown."""
    if floor.std == 0:
        return 1.0
    one = Sample(np.zeros(1), (0,))
    counts = seeds, base_seeds(finalists, seeds)
    common = Common(floor.std**2, max(finalists - 1.0, 0.0))  # as `common_spread` of recipes whose spreads are alike
    return power(one, one, gain, counts, alpha=(1 - CONFIDENCE) / looks / finalists, common=common, spread=floor)
