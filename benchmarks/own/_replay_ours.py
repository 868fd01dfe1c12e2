"""Our search in a replay: a study's agenda on simulated time, and the answer from its records.

The first recipes are the portfolio of the other sets. The explored seed is one of the recorded seeds. Fresh seeds are
the remaining ones, then random draws (`Replayed.fresh`). Intervals include the error that some thousand test queries
would cause. The index of a recipe is its position in the table.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import optuna

from benchmarks.own._replay_peers import Proposer
from benchmarks.own._replay_table import PLACES, WHOLE_SECONDS, Replayed
from benchmarks.own._table import REST, SHARES
from benchmarks.statistics.calibration import ITEMS_ERROR
from reports.facts.answer import KINDS, Answer
from reports.facts.answer_parts import Finalist
from reports.facts.gain import Gain
from reports.facts.looks import level_share
from reports.ledger import Record, is_fresh
from reports.ledger.finals import FIRST_FRESH_SEED, SHARE
from reports.ledger.request import FINALS, OPEN_TRIALS
from reports.statistics.finals import Judgement, borrowed_spread, judge, pick
from reports.statistics.sample import Sample
from reports.testing import made_record
from search_spaces.goals import searched
from study.rows import as_it_came
from study.search.agenda import Agenda
from study.search.budget import Budget
from study.search.design import Explored, StudyDesign
from study.search.finals import SearchFinals
from study.search.samplers import DEFAULT_SAMPLER, SAMPLERS
from study.testing.agenda import SimulatedClock, drive
from study.trial import Trial
from trainables.recipe import Recipe

GOALS = searched(("sts",))
TASK, NUMBER = "STSBenchmark", "dev_spearman_cosine"
"""Names of the task and of its number under which records store a set's development score."""
FIRST = 8
"""Number of recipes of the portfolio that are tried before the sampler's recipes."""
ITEMS = 100
"""Number of made-up test items, which give gains an error of `ITEMS_ERROR`."""


@dataclass(frozen=True)
class SearchEnd:
    """The result of a search."""

    kind: str
    """The kind of answer, as in `Answer`; `nothing` if a study would have no answer."""
    recommended: int | None
    """Position of the recommended recipe in the table; None for the original encoder."""
    picked: int | None
    """Position of the picked finalist in the table, even if no gain is shown. Equal to `recommended` without
    finalists."""


class RecordedExplorer:
    """An `Explorer` of recorded recipes."""

    def __init__(self, table: Replayed, first: Sequence[int], seed: int) -> None:
        entry = SAMPLERS[DEFAULT_SAMPLER]
        self.table = table
        self.proposer = Proposer(table, entry.build(seed), conditional=entry.conditional, first=first)
        self.proposer.tried.add(table.base)
        self.proposed: list[Explored] = []
        self.explored: list[str] = []
        self._trials: dict[str, optuna.Trial] = {}

    def has_more(self) -> bool:
        return self.proposer.has_more()

    def ask(self, share: float) -> Explored | None:
        trial, index = self.proposer.ask()
        explored = Explored(self.table.recipes[index], f"recipe {self.table.numbers[index]}")
        self._trials[explored.recipe.hash] = trial
        self.proposed.append(explored)
        self.explored.append(explored.recipe.hash)
        return explored

    def tell(self, recipe_hash: str, seed: int, record: Record | None) -> None:
        trial = self._trials.pop(recipe_hash, None)
        if trial is not None:
            self.proposer.tell(trial, None if record is None else record.scores[TASK][NUMBER])

    def tell_row(self, recipe: Recipe, name: str, records: Sequence[Record | None]) -> None:
        """Report the result of a row. All rows but the base settings are ignored, as they are not in the space."""
        record = records[0]
        if recipe.hash == self.table.space_base.hash and record is not None:
            self.proposer.add(self.table.base, record.scores[TASK][NUMBER])


def search(table: Replayed, trainings: float, first: Sequence[int], repeat: int) -> SearchEnd:
    """Run one study whose time limit lets that many whole trainings run, two at a time."""
    base, clock = table.space_base, SimulatedClock()
    untrained = as_it_came(base)
    rows = {untrained.hash: "original encoder", base.hash: "base settings"}
    fixed = [Trial(untrained, 0, rows[untrained.hash], True), Trial(base, 0, rows[base.hash], True)]
    limits = {"minutes": trainings * WHOLE_SECONDS / 60 / PLACES}
    finals = SearchFinals(*FINALS, base, rows)
    design = StudyDesign(
        fixed=fixed, base=base, goals=GOALS, recipes=OPEN_TRIALS, finals=finals, allows_parts=True, limits=limits
    )
    explorer = RecordedExplorer(table, first[:FIRST], repeat)
    agenda = Agenda(design, Budget(limits, (), PLACES, clock), (), explorer)
    outcomes = Outcomes(table, repeat)
    ran = drive(agenda, clock, outcomes)
    return answered(table, agenda, [run.record for run in ran if run.record is not None], outcomes.tests)


class Outcomes:
    """Returns a trial's time and scores from the record; equal requests give equal results."""

    def __init__(self, table: Replayed, repeat: int) -> None:
        self.table, self.repeat = table, repeat
        self.tests: dict[str, float] = {}
        """Test scores of trials on all of the data, by trial key."""

    def __call__(self, trial: Trial) -> tuple[float, Record | None]:
        """Return the seconds of a trial, and its record; None if the training failed."""
        table, seed = self.table, self.repeat % self.table.dev.shape[2]
        if not trial.recipe.trains:
            dev, self.tests[trial.key] = table.as_it_came
            return REST * WHOLE_SECONDS, _record(trial, dev, REST, 0.0)
        part = SHARES.index(float(str(trial.recipe.flat()[SHARE])))
        index = table.index_of[trial.recipe.override({SHARE: 1.0}).hash]
        scores = table.explored(index, part, seed)
        if is_fresh(trial.seed):
            number = trial.seed - FIRST_FRESH_SEED
            scores = table.fresh(index, number, seed, np.random.default_rng([self.repeat, index, number]))
        cost = float(table.costs[index, part])
        if scores is None:
            return cost * WHOLE_SECONDS, None
        self.tests[trial.key] = scores[1]
        return cost * WHOLE_SECONDS, _record(trial, scores[0], cost, cost - REST)


def _record(trial: Trial, dev: float, cost: float, training: float) -> Record:
    return made_record(
        trial.recipe.flat(),
        trial.recipe_hash,
        trial.seed,
        scores={TASK: {NUMBER: dev}},
        cost={"seconds": cost * WHOLE_SECONDS, "train_seconds": training * WHOLE_SECONDS},
    )


def answered(table: Replayed, agenda: Agenda, records: Sequence[Record], tests: Mapping[str, float]) -> SearchEnd:
    """Return a report's answer from the trials of the finals; if a limit cut the finals short, from those that ran."""
    base, untrained = table.space_base.hash, as_it_came(table.space_base).hash
    fresh = _by_recipe(record for record in records if is_fresh(record.seed))
    rows = (record for record in records if record.recipe_hash in (base, untrained) and record.seed == 0)
    explored = _by_recipe(rows)
    if base not in explored or agenda.finals is None or not (agenda.finalists is not None or agenda.limited):
        recommended = table.base if base in explored else None
        return SearchEnd("nothing", recommended, recommended)
    ready = {**fresh, base: fresh.get(base) or explored[base], untrained: explored[untrained]}
    samples = {key: _sample(table, records, tests) for key, records in ready.items()}
    borrowed_from = {**samples, base: _sample(table, [*explored[base], *fresh.get(base, ())], tests)}
    finalists = [final.recipe.hash for final in agenda.finalists or () if final.recipe.hash in fresh]
    judged = judge(
        [samples[key] for key in finalists],
        pick([[fmean(record.scores[TASK][NUMBER] for record in ready[key])] for key in finalists]) if finalists else [],
        {"base": samples[base], "encoder": samples[untrained]},
        borrowed=borrowed_spread(borrowed_from.values()),
        p_factor=1 / level_share(1),
    )
    over = judged.base_over_encoder
    picked = () if judged.picked is None else (_finalist(finalists[judged.picked], judged, judged.picked),)
    of_base = dataclasses.replace(_finalist(base), gains={"encoder": Gain.of(over)} if over else {})
    answer = Answer(KINDS[judged.answer], picked=picked, references={"base": of_base})
    recommended = table.index_of[answer.to_train.recipe] if answer.to_train else None
    return SearchEnd(
        answer.kind, recommended, recommended if judged.picked is None else table.index_of[finalists[judged.picked]]
    )


def _by_recipe(records: Iterable[Record]) -> dict[str, list[Record]]:
    recipes: dict[str, list[Record]] = {}
    for record in records:
        recipes.setdefault(record.recipe_hash, []).append(record)
    return recipes


def _sample(table: Replayed, records: Sequence[Record], tests: Mapping[str, float]) -> Sample:
    """Return a sample of test scores, with made-up effects of the test items on the recipe."""
    values = np.array([tests[record.key] for record in records])
    index = table.index_of.get(records[0].recipe_hash, len(table.recipes))
    effects = np.random.default_rng(index).standard_normal(ITEMS) * ITEMS_ERROR / math.sqrt(2 * ITEMS)
    fixed = index == len(table.recipes)
    return Sample(values, tuple(range(len(values))), fixed, np.tile(effects, (len(values), 1)), "made up")


def _finalist(recipe_hash: str, judged: Judgement | None = None, index: int = 0) -> Finalist:
    """Return a finalist with only the fields that decide the answer."""
    gains = {str(name): Gain.of(finalists[index]) for name, finalists in judged.gains.items()} if judged else {}
    return Finalist(recipe_hash, "", {}, None, (), 0, 0, None, gains)
