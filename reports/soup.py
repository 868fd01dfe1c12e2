"""What to ship of the recipe to use: one of its seeds' models, or their average mixed with the encoder as it came.

A soup has the mean of the weights of all fresh seeds. The more of the encoder as it came is mixed in, the less is
forgotten. Development scores alone choose the share: of the soups that keep `KEPT_GAIN` of the best soup's gain over
the encoder, the one with the least training; none where one seed is as good on average. So the test judges a soup as
it judges a finalist. One seed is shipped where the soup measured there less than `KEPT_GAIN` of the seeds' own gain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from reports.evidence import Evidence
from reports.finals_evidence import FinalsEvidence
from reports.gain import Gain
from reports.ledger import Record
from reports.ledger.finals import SOUP_SHARES, SoupOf, SoupVariant
from reports.quantity import Quantity
from reports.recipe_names import called
from reports.results import Results
from reports.statistics import Sample, compare
from reports.statistics.comparison import by_itself
from reports.statistics.jackknife import jackknifed
from reports.statistics.pairing import same_seeds

KEPT_GAIN = 0.95
SHIPPED = "soup"
"""What `python -m reports export` calls it."""


@dataclass(frozen=True)
class SoupScores:
    """One soup's."""

    share: float
    """Of the training."""
    development: float | None
    """By the first goal."""
    figure: float | None
    general: float | None
    """On the general check."""


@dataclass(frozen=True)
class Ship:
    """Which model to ship."""

    name: str
    """Of the recipe."""
    seeds: int
    """Whose models are averaged."""
    share: float | None
    """How much of the training the soup has; None where one seed is as good."""
    soups: tuple[SoupScores, ...]
    one_seed: SoupScores
    """The mean over the seeds alone; its share is 1."""
    figure: Gain | None = None
    over_seed: Gain | None = None
    """What the soup gains over one seed."""
    gains: Mapping[str, Gain] = dataclasses.field(default_factory=dict)
    """Over `base`, `baseline` and `encoder`."""
    general: str | None = None
    """The task that checks what else the encoder knew."""
    untrained_general: float | None = None
    model: str | None = None
    """The folder of the soup to ship, within the results folder; None where one seed is shipped."""


def chosen_share(soups: Mapping[float, float], one_seed: float, untrained: float | None) -> float | None:
    """By development scores, the higher the better: of each share, of one seed on average, of the encoder as it came.
    None where one seed is as good."""
    best = max(soups.values(), default=one_seed)
    if best <= one_seed:
        return None
    gain = 0.0 if untrained is None else max(0.0, best - untrained)
    return min(share for share, score in soups.items() if score >= best - (1 - KEPT_GAIN) * gain)


class Soups:
    """Those of one study, as far as they were scored."""

    def __init__(self, results: Results, made: SoupOf) -> None:
        self.results, self.made = results, made
        self.records = {
            record.seed: record
            for record in results.soups
            if record.recipe_hash == made.recipe and record.status == "finished"
        }
        self.seeds = [record for record in results.finals.get(made.recipe or "", ()) if record.seed in made.seeds]
        self.by_share = {
            share: record for share in SOUP_SHARES if (record := self.records.get(SoupVariant(share).seed)) is not None
        }

    def development(self, records: Sequence[Record]) -> float | None:
        """The mean by the first goal, the higher the better."""
        goal = next(iter(self.results.measured_goals), None)
        values = [goal.of(record.scores, record.cost) for record in records] if goal else []
        whole = [value for value in values if value is not None]
        return goal.upward(fmean(whole)) if goal and values and len(whole) == len(values) else None

    @property
    def share(self) -> float | None:
        """The chosen one; None where one seed is as good, and while not all shares are scored."""
        scores = {share: self.development([record]) for share, record in self.by_share.items()}
        known = {share: score for share, score in scores.items() if score is not None}
        one_seed = self.development(self.seeds)
        if len(known) < len(SOUP_SHARES) or one_seed is None:
            return None
        finals = self.results.info.finals
        untrained = self.results.finals.get((finals.as_it_came if finals else None) or "", [])
        untrained = untrained or self.results.recipes.get((finals.as_it_came if finals else None) or "", [])
        return chosen_share(known, one_seed, self.development(untrained))

    @property
    def without(self) -> list[SoupVariant]:
        """The soups that tell how far other seeds would move the chosen one."""
        share = self.share
        return [] if share is None else [SoupVariant(share, seed) for seed in self.made.seeds]

    def sample(self, share: float, figure: Quantity) -> Sample | None:
        """Of the soup of that share: jackknifed over its seeds where all without one are scored; else it has one."""
        whole = self._sample([self.by_share[share]], figure)
        variants = [SoupVariant(share, seed) for seed in self.made.seeds]
        records = [self.records[each.seed] for each in variants if each.seed in self.records]
        if whole is None or len(records) < len(variants):
            return whole
        without = self._sample(records, figure)
        if without is None or without.count < len(variants):
            return whole
        return dataclasses.replace(
            jackknifed(whole, without), seeds=tuple(SoupVariant.of(seed).without or 0 for seed in without.seeds)
        )

    def _sample(self, records: list[Record], figure: Quantity) -> Sample | None:
        return Evidence(dataclasses.replace(self.results, records=records)).sample(self.made.recipe or "", figure)


def shipped(finals: FinalsEvidence, figure: Quantity, general: Quantity | None, looks: float) -> Ship | None:
    """None where nothing was averaged. `general`: the check of what else the encoder knew. `looks` as in `compare`: of
    this look, times the finalists."""
    results, plan = finals.results, finals.results.info.finals
    if plan is None or plan.soup is None or plan.soup.recipe not in finals.recipes:
        return None
    soups, key = Soups(results, plan.soup), plan.soup.recipe
    seeds = finals.evidence.sample(key, figure)
    if len(soups.by_share) < len(SOUP_SHARES) or seeds is None:
        return None

    def scores(share: float, records: Sequence[Record]) -> SoupScores:
        return SoupScores(share, soups.development(records), _mean(figure, records), _mean(general, records))

    encoder = finals.recipes.get(finals.references.get("encoder", ""), [])
    ship = Ship(
        called(results, key),
        len(plan.soup.seeds),
        soups.share,
        tuple(scores(share, [record]) for share, record in soups.by_share.items()),
        scores(1.0, soups.seeds),
        general=general.name if general else None,
        untrained_general=_mean(general, encoder),
    )
    sample = None if ship.share is None else soups.sample(ship.share, figure)
    if ship.share is None or sample is None:
        return ship
    lent = finals.lent(figure)
    paired = same_seeds(sample, seeds)
    others = {name: other for name, other in finals.compared(figure).items() if finals.references[name] != key}
    untrained = _mean(figure, encoder)
    gained = 0.0 if untrained is None else max(0.0, seeds.mean - untrained)
    keeps = sample.mean >= seeds.mean - (1 - KEPT_GAIN) * gained
    return dataclasses.replace(
        ship,
        figure=Gain.of(by_itself(sample, lent)),
        over_seed=Gain.of(compare(sample, seeds, common=lent, paired=paired, looks=looks / 2)),
        gains={name: Gain.of(compare(sample, other, common=lent, looks=looks / 2)) for name, other in others.items()},
        model=soups.by_share[ship.share].checkpoint if keeps else None,
    )


def _mean(figure: Quantity | None, records: Sequence[Record]) -> float | None:
    values = [figure.of(record.scores) for record in records] if figure else []
    whole = [value for value in values if value is not None]
    return fmean(whole) if whole and len(whole) == len(values) else None
