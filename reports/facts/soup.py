"""What to ship of the recipe to use: one seed's model, or the seeds' average mixed with the original encoder.

A soup has the mean of the weights of all fresh seeds. The more of the original encoder is mixed in, the less is
forgotten. Development scores alone choose the share, so the test judges a soup as it judges a finalist. The best soup
is chosen. If a general check measures what is forgotten, then of the soups that keep `KEPT_GAIN` of the best soup's
gain over the encoder, the one with the least training is chosen. No soup is chosen if one seed is as good on average.
One seed is also shipped if the soup's gain on the test is less than `KEPT_GAIN` of the seeds' own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from reports.facts.evidence import Evidence
from reports.facts.finals_evidence import FinalsEvidence
from reports.facts.gain import Gain
from reports.facts.quantity import Quantity
from reports.facts.question import plain_quantity
from reports.facts.recipe_names import name_of
from reports.facts.results import Results
from reports.ledger import Record, split_key
from reports.ledger.finals import SOUP_SHARES, SoupVariant
from reports.statistics import Sample, compare
from reports.statistics.finals import gain_over
from reports.statistics.jackknife import jackknifed
from reports.statistics.pairing import same_seeds
from search_spaces.goals import Goal, needed
from search_spaces.own_data import GENERAL_TASK
from trainables.senteval.tasks import TASKS

KEPT_GAIN = 0.95
GENERAL = ("STSBenchmark", GENERAL_TASK)
"""Tasks that check whether a model trained on a person's data still handles general English."""
SHIPPED = "soup"
"""The name by which `python -m reports export` takes the soup."""


@dataclass(frozen=True)
class SoupScores:
    """The scores of one soup, or the mean scores of single seeds."""

    share: float
    """Weight of the trained models in the soup; the rest is the original encoder."""
    development: float | None
    """The development score: the value of the first goal that is no cost."""
    figure: float | None
    general: float | None
    """Score on the check of general English (`GENERAL`)."""


@dataclass(frozen=True)
class Ship:
    """Which model of a recipe to ship: the soup or one seed's model, with the scores that decide."""

    name: str
    """Name of the recipe."""
    seeds: int
    """Number of seeds whose models are averaged."""
    share: float | None
    """Weight of the trained models in the soup, see `SoupScores`; None if one seed's model is as good."""
    soups: tuple[SoupScores, ...]
    one_seed: SoupScores
    """Mean scores of the single seeds' models; the share is 1."""
    figure: Gain | None = None
    over_seed: Gain | None = None
    """Gain of the soup over one seed's model."""
    remade: bool = False
    """Whether soups without each single seed were scored, too. If not, intervals use the spread of other trainings."""
    gains: Mapping[str, Gain] = dataclasses.field(default_factory=dict)
    """Gains of the soup over `base`, `baseline` and `encoder`."""
    general: str | None = None
    """Task that checks general English (`GENERAL`); None if there is none."""
    untrained_general: float | None = None
    keeps: bool = False
    """Whether the soup kept `KEPT_GAIN` of the seeds' gain on the test. If not, one seed is shipped."""
    model: str | None = None
    """Folder of the soup, within the results folder."""

    @property
    def averaged(self) -> str | None:
        """Folder of the soup to ship; None if one seed is shipped."""
        return self.model if self.keeps else None


def chosen_share(
    soups: Mapping[float, float], one_seed: float, untrained: float | None, given_up: float = 0.0
) -> float | None:
    """Return the share to ship, by development scores (higher is better); None if one seed is as good. `soups`: scores
    by share. `one_seed`: mean over seeds. `given_up`: share of the best gain that less training may cost."""
    best = max(soups.values(), default=one_seed)
    if best <= one_seed:
        return None
    gain = 0.0 if untrained is None else max(0.0, best - untrained)
    return min(share for share, score in soups.items() if score >= best - given_up * gain)


class Soups:
    """The scored soups of one recipe."""

    def __init__(self, results: Results, recipe_hash: str) -> None:
        self.results, self.recipe = results, recipe_hash
        records = [each for each in results.soups if each.recipe_hash == recipe_hash and each.status == "finished"]
        whole = [record for record in records if SoupVariant.of(record.seed).without is None]
        self.seeds = _averaged(whole[0]) if whole else []
        """Fresh seeds whose models are averaged; empty while nothing is scored."""
        self.records = {record.seed: record for record in records if self._is_whole(record)}
        self.by_share = {
            share: self.records[seed] for share in SOUP_SHARES if (seed := SoupVariant(share).seed) in self.records
        }

    @property
    def trained(self) -> list[Record]:
        """The trials whose models are averaged."""
        return [record for record in self.results.finals.get(self.recipe, ()) if record.seed in self.seeds]

    def _is_whole(self, record: Record) -> bool:
        without = SoupVariant.of(record.seed).without
        return _averaged(record) == [seed for seed in self.seeds if seed != without]

    @cached_property
    def goal(self) -> Goal | None:
        """The goal whose development score chooses the share: the first goal that is no cost."""
        return next((goal for goal in self.results.measured_goals if not goal.cost), None)

    def development(self, records: Sequence[Record]) -> float | None:
        """Return the mean of `goal` over the records; None if a record lacks it."""
        return _mean_of_all([self.goal.of(record.scores, record.cost) for record in records]) if self.goal else None

    @cached_property
    def scores(self) -> dict[float, float]:
        """Development scores of the soups by share; empty until all are known, or a limit ended the study."""
        by_share = {
            share: score for share, record in self.by_share.items() if (score := self.development([record])) is not None
        }
        return by_share if len(by_share) == len(SOUP_SHARES) or self.results.info.limited else {}

    @cached_property
    def share(self) -> float | None:
        """The share of the soup to ship; None if one seed is as good, and as long as `scores` is empty."""
        one_seed, finals = self.development(self.trained), self.results.info.finals
        if one_seed is None or not self.scores:
            return None
        key = (finals.as_it_came if finals else None) or ""
        untrained = [*self.results.finals.get(key, ())] or self.results.recipes.get(key, [])
        given_up = 0.0 if self.general is None else 1 - KEPT_GAIN
        return chosen_share(self.scores, one_seed, self.development(untrained), given_up)

    @cached_property
    def general(self) -> Quantity | None:
        """Figure of the general check; None if none was scored, or a goal uses such a check."""
        scores = self.trained[0].scores if self.trained else {}
        task = next((task for task in GENERAL if task in scores and task in TASKS), None)
        if task is None or needed(self.results.goals) & {*GENERAL}:
            return None
        return plain_quantity(task, scores[task])

    @property
    def without(self) -> list[SoupVariant]:
        """The soups without one seed each, which show how far other seeds would move the chosen soup."""
        share = self.share
        return [] if share is None else [SoupVariant(share, seed) for seed in self.seeds]

    def sample(self, share: float, figure: Quantity) -> Sample | None:
        """Return the sample of a soup: jackknifed over seeds if all soups without one seed are scored; else one
        value."""
        whole = self._sample([self.by_share[share]], figure)
        variants = [SoupVariant(share, seed) for seed in self.seeds]
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
        return Evidence(dataclasses.replace(self.results, records=records)).sample(self.recipe, figure)


def shipped(finals: FinalsEvidence, recipe_hash: str, figure: Quantity) -> Ship | None:
    """Return what to ship of the recipe to use; None as long as `Soups.scores` is empty."""
    p_factor = finals.p_factor_of_pick / 2  # each end holds by itself, as in `gain_over`
    soups, seeds = Soups(finals.results, recipe_hash), finals.evidence.sample(recipe_hash, figure)
    if not soups.scores or seeds is None:
        return None

    def scores(share: float, records: Sequence[Record]) -> SoupScores:
        return SoupScores(share, soups.development(records), _mean(figure, records), _mean(soups.general, records))

    encoder = finals.recipes.get(finals.references.get("encoder", ""), [])
    ship = Ship(
        name_of(finals.results, recipe_hash),
        len(soups.seeds),
        soups.share,
        tuple(scores(share, [record]) for share, record in soups.by_share.items()),
        scores(1.0, soups.trained),
        general=soups.general.name if soups.general else None,
        untrained_general=_mean(soups.general, encoder),
    )
    sample = None if ship.share is None else soups.sample(ship.share, figure)
    if ship.share is None or sample is None:
        return ship
    borrowed, untrained = finals.borrowed(figure), _mean(figure, encoder)
    gained = 0.0 if untrained is None else max(0.0, seeds.mean - untrained)
    others = {
        name: other
        for name, other in finals.compared(figure).items()
        if finals.references[name] != recipe_hash and not finals.forbidding(recipe_hash, figure, [name])
    }
    return dataclasses.replace(
        ship,
        keeps=sample.mean >= seeds.mean - (1 - KEPT_GAIN) * gained,
        remade=sample.count > 1,
        figure=Gain.level(sample, figure, borrowed),
        over_seed=Gain.of(
            compare(sample, seeds, common=borrowed, paired=same_seeds(sample, seeds), p_factor=p_factor),
        ),
        gains={
            name: Gain.of(gain_over(sample, other, borrowed, finals.p_factor_of_pick)) for name, other in others.items()
        },
        model=soups.by_share[ship.share].checkpoint,
    )


def _averaged(record: Record) -> list[int]:
    """The seeds of the models in a soup."""
    return [split_key(key)[1] for key in record.data.get("averaged", {}).get("models", ())]


def _mean(figure: Quantity | None, records: Sequence[Record]) -> float | None:
    return _mean_of_all([figure.of(record.scores) for record in records]) if figure else None


def _mean_of_all(values: Sequence[float | None]) -> float | None:
    """The mean; None without values, and if a value is missing."""
    whole = [value for value in values if value is not None]
    return fmean(whole) if whole and len(whole) == len(values) else None
