"""The finals of a search as evidence: their trials, the gains between recipes, and the flags that forbid a verdict.

Everything here is for the trials that a study has at one time; `reports/facts/answer.py` makes the answer from it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from reports.facts.answer_parts import Check, Remembered, TaskGain
from reports.facts.cached import cached
from reports.facts.evidence import Evidence
from reports.facts.gain import Gain
from reports.facts.guards import Flag
from reports.facts.looks import level_share, look_number
from reports.facts.quantity import Quantity
from reports.facts.question import candidate_figures, has_no_test, without_tasks
from reports.facts.recipe_names import name_of
from reports.facts.remembered import OVERLAP, on_unseen, same_verdict
from reports.facts.results import Results
from reports.ledger import Record
from reports.statistics import Sample
from reports.statistics.comparison import Comparison
from reports.statistics.finals import Reference, borrowed_spread, gain_over
from reports.statistics.spreads import FEW_SEEDS, NO_BORROWED_SPREAD, CommonSpread
from search_spaces.goals import needed
from trainables.senteval.tasks import kind_of

PERCENT = 200.0
"""Largest range of a figure that counts as in percent, in points; `borrowed_spread` is only for such figures."""

VARIED = frozenset({"steps", "tokens", "caps", "seeds"})
"""Guards that forbid no verdict here, because a search varies on purpose what they check: the question is which
settings to use, and reports print their cost."""


class FinalsEvidence:
    """The trials that an answer is based on, as samples and gains."""

    def __init__(self, results: Results, ready: Mapping[str, Sequence[Record]]) -> None:
        self.results, self.ready = results, ready
        records = [record for own in ready.values() for record in own if record.status == "finished"]
        self.evidence = Evidence(dataclasses.replace(results, records=records))
        self.recipes = self.evidence.results.recipes
        finals = results.info.finals
        assert finals is not None
        without = [key for key in finals.finalists if key not in ready]
        self.failed = tuple(name_of(results, key) for key in without if key in results.failed_finals)
        self.left_out = tuple(name_of(results, key) for key in without if key not in results.failed_finals)
        named = {"base": finals.base, "encoder": finals.as_it_came, "baseline": finals.baseline}
        self.references = {name: key for name, key in named.items() if key is not None and key in self.recipes}
        if self.references.get("baseline") in {self.references.get("base"), self.references.get("encoder")}:
            del self.references["baseline"]
        self.finalists = [key for key in finals.finalists if key in self.recipes]
        self.p_factor = 1 / level_share(look_number(results, "finals"))

    @property
    def first(self) -> Record:
        """One trial of the finals; all other trials were scored on the same tasks."""
        return next(iter(self.recipes.values()))[0]

    @property
    def p_factor_of_pick(self) -> float:
        """Factor on p-values for statements on the recipe that was picked among the finalists."""
        return self.p_factor * max(len(self.finalists), 1)

    @cached_property
    def figure(self) -> Quantity | None:
        """The first figure of `candidate_figures` of which all finalists and the base have a test value; None without
        these recipes. Tasks that are not fresh are left out, if others remain."""
        compared = [*self.finalists, *(key for name, key in self.references.items() if name == "base")]
        if not compared:
            return None
        figures = [
            part
            for part in candidate_figures(self.results, self.first.scores, self.chosen_by)
            if all(self.evidence.sample(key, part) for key in compared)
        ]
        return without_tasks(figures[0], self.chosen_by) if figures else None

    @cached_property
    def needs(self) -> frozenset[str]:
        return needed(self.results.goals)

    def development(self, recipe_hash: str) -> tuple[float | None, ...]:
        """Return the mean over fresh seeds of each measured goal, such that higher is better."""
        goals, results = self.results.measured_goals, self.evidence.results
        scores = [results.goal(self.recipes[recipe_hash], goal) for goal in goals]
        return tuple(goal.upward(score.mean) if score else None for goal, score in zip(goals, scores, strict=True))

    @cached_property
    def chosen_by(self) -> frozenset[str]:
        """Tasks whose tested items gave the goals' development scores: by nested cross-validation, or because a task's
        development part is its test part."""
        scored = self.needs & self.first.scores.keys()
        return frozenset(task for task in scored if self._tests_choose(self.first, task))

    def chosen_on(self, recipe_hash: str) -> int | None:
        """Return the number of development items in the recipe's first trial."""
        return self.results.predictions.development_items(self.recipes[recipe_hash][0], self.needs)

    def _tests_choose(self, record: Record, task: str) -> bool:
        if has_no_test(task):
            return True
        predictions = self.evidence.results.predictions
        dev, tested = (predictions.of_task(record, part) for part in (f"dev.{task}", task))
        return dev is not None and tested is not None and dev.items_digest == tested.items_digest != ""

    def samples(self, figure: Quantity, recipes: Iterable[str]) -> list[Sample]:
        """Return the samples of the recipes that have the figure."""
        return [sample for key in recipes if (sample := self.evidence.sample(key, figure)) is not None]

    @cached
    def borrowed(self, figure: Quantity) -> CommonSpread:
        """Return the spread that is assumed for recipes of at most three seeds (`borrowed_spread`): from the finals,
        and all seeds of the base and of rows, which no score chose. `NO_BORROWED_SPREAD` for figures not in percent."""
        least, most = figure.ends
        if most - least > PERCENT:
            return NO_BORROWED_SPREAD
        rows = {*self.results.labels, self.references.get("base")}
        searched = [
            record for record in self.results.records if record.recipe_hash in rows and record.status == "finished"
        ]
        records = {record.key: record for record in [*searched, *self.evidence.results.records]}
        every = Evidence(dataclasses.replace(self.results, records=[*records.values()]))
        return borrowed_spread(filter(None, (every.sample(key, figure) for key in every.results.recipes)))

    def borrowed_std(self, figure: Quantity) -> float | None:
        """Return the standard deviation that is assumed for recipes of at most three seeds; None if none needs it."""
        if all(sample.fixed or sample.count > FEW_SEEDS for sample in self.samples(figure, self.recipes)):
            return None
        return math.sqrt(self.borrowed(figure).variance) or None

    def gain(self, first: str, second: str, figure: Quantity, p_factor: float) -> Comparison | None:
        """Return the gain of one recipe over another, by hash; None if one of them lacks the figure."""
        own, other = self.evidence.sample(first, figure), self.evidence.sample(second, figure)
        return None if own is None or other is None else gain_over(own, other, self.borrowed(figure), p_factor)

    def level(self, recipe_hash: str, figure: Quantity) -> Gain | None:
        """Return the figure of a recipe, with its interval."""
        sample = self.evidence.sample(recipe_hash, figure)
        return None if sample is None else Gain.level(sample, figure, self.borrowed(figure))

    def compared(self, figure: Quantity) -> dict[Reference, Sample]:
        """Return the samples of the references that have the figure."""
        names: tuple[Reference, ...] = ("base", "encoder", "baseline")
        samples = {name: self.evidence.sample(self.references.get(name, ""), figure) for name in names}
        return {name: sample for name, sample in samples.items() if sample is not None}

    def forbidding(
        self, recipe_hash: str, figure: Quantity, over: Collection[str] = ("base", "encoder"), gains_at_once: int = 1
    ) -> list[Flag]:
        """Return the flags that forbid a verdict on the recipe against the references `over`, except flags on what the
        search varies. `gains_at_once`: number of gains whose intervals hold at once."""
        searched = {domain.key.partition(".")[0] for domain in self.results.space.domains}
        varied = VARIED | ({"encoder"} & searched) | ({"data"} if searched & {"corpus", "spans"} else frozenset())
        others = [key for name, key in self.references.items() if name in over]
        by_other = {other: self.evidence.between(recipe_hash, other, figure) for other in others}
        return [
            flag
            for other, flags in by_other.items()
            for flag in flags
            if flag.guard not in varied
            and not (flag.guard == OVERLAP and self._unseen(recipe_hash, other, figure, gains_at_once))
        ]

    @cached
    def _unseen(self, first: str, second: str, figure: Quantity, gains_at_once: int) -> tuple[int, Comparison] | None:
        """Return the number of test items that training saw, and the gain on the others; None if it has another
        verdict."""
        p_factor = self.p_factor_of_pick * gains_at_once
        gain, unseen = self.gain(first, second, figure, p_factor), on_unseen(self.evidence, first, second, figure)
        if gain is None or unseen is None:
            return None
        left = gain_over(unseen.own, unseen.other, self.borrowed(figure), p_factor)
        return (unseen.seen, left) if same_verdict(gain, left) else None

    def remembered(self, recipe_hash: str, figure: Quantity, gains_at_once: int) -> Remembered | None:
        """Return the gain over the encoder on unseen test items, if it is shown; None also if training saw no more of
        the test than the encoder. `gains_at_once` as in `forbidding`."""
        encoder = self.references.get("encoder", "")
        guards = {flag.guard for flag in self.evidence.between(recipe_hash, encoder, figure)} if encoder else set()
        unseen = self._unseen(recipe_hash, encoder, figure, gains_at_once) if OVERLAP in guards else None
        if unseen is None or (gain := Gain.of(unseen[1])).low is None or gain.low <= 0:
            return None
        return Remembered(unseen[0], gain)

    def checked(self, recipe_hash: str, figure: Quantity) -> Check | None:
        """Return the recipe's gains in a second score of the same embeddings (`TaskKind.checking_number`), for which
        nothing is fitted: a gain that comes from the classifier alone is not repeated there. All low ends of intervals
        hold at once, and so do all high ends. None if a task of the figure has no second score."""
        kinds = {task: kind_of(task) for task in figure.tasks}
        if any(number != kinds[task].main or not kinds[task].checking_number for task, number in figure.weights):
            return None
        other = Quantity(
            ", ".join(f"{task} {kinds[task].checking_number}" for task in sorted(kinds)),
            {(task, kinds[task].checking_number): weight for (task, _), weight in figure.weights.items()},
        )
        level, against = self.level(recipe_hash, other), self.compared(other)
        against = {name: sample for name, sample in against.items() if self.references[name] != recipe_hash}
        if level is None:
            return None
        p_factor = self.p_factor * max(1, len(against.keys() - {"baseline"}))  # the baseline decides nothing
        gains = {name: self.gain(recipe_hash, self.references[name], other, p_factor) for name in against}
        gained: dict[str, Gain] = {name: Gain.of(gain) for name, gain in gains.items() if gain}
        return Check(
            recipe_hash, other.name, tuple(sorted({kind.checking_number for kind in kinds.values()})), level, gained
        )

    def by_task(self, recipe_hash: str, tasks: Iterable[Quantity], over: Sequence[str]) -> list[TaskGain]:
        """Return gains by task, the lowest first; the intervals of all of them hold at once."""
        measured = [
            (task, name)
            for task in tasks
            for name in over
            if all(self.evidence.sample(key, task) for key in (recipe_hash, self.references[name]))
        ]
        pairs = [pair for pair in measured if not self.forbidding(recipe_hash, pair[0], [pair[1]], len(measured))]
        gains = [
            self.gain(recipe_hash, self.references[name], task, self.p_factor * len(pairs)) for task, name in pairs
        ]
        gained = [
            TaskGain(task.name, name, Gain.of(gain)) for (task, name), gain in zip(pairs, gains, strict=True) if gain
        ]
        return sorted(gained, key=lambda other: (other.gain.gain, other.task, other.over))


def noise(samples: Iterable[Sample], measured_alone: bool = False) -> tuple[float, ...]:
    """Return the standard deviations over seeds, of samples with two seeds, or if `measured_alone` with four."""
    fewest = FEW_SEEDS + 1 if measured_alone else 2
    return tuple(sample.std for sample in samples if sample.std is not None and sample.count >= fewest)
