"""The order that a study's agenda goes by is that of its report."""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from reports.facts.best_model import ranking
from reports.facts.results import Results
from reports.ledger import Record, StudyInfo, fresh_seeds
from reports.ledger.finals import PART_SEED
from reports.testing import made_record
from search_spaces import load_space
from study.search.budget import Budget
from study.search.design import Explored, StudyDesign
from study.search.progress import StudyProgress
from study.search.seed_race import StudySeedRace
from study.trial import Trial
from tests.study.search.test_agenda import Rates
from trainables.recipe import Recipe

SPACE = load_space("contrastive_all")
BASE = SPACE.recipe("laptop", SPACE.scored("laptop"))
GOALS = [(), ("sts",), ("sts", "seconds"), ("sts", "transfer"), ("sts*2", "transfer")]
LIMITS = [{}, {"seconds": 100.0}, {"peak_memory_mb": 500.0, "worker_hours": 3.0}]


@functools.cache
def made_up(study: int, seeds: int) -> list[Record]:
    """Twelve recipes, some of them copies of the one before, by their scores alone or in effect, stopped, or without
    one of the scores, and some far behind under one seed; in every other study all the others have as many. What ran on
    a part or under a fresh seed is better than all else."""
    records: list[Record] = []
    chance = random.Random(study)
    before: dict[int, Record] = {}
    for number in range(12):
        recipe = BASE.override({"optimisation.learning_rate": 1e-5 * (1 + number)})
        lacks = chance.random() < 0.1
        copied, loss = before if chance.random() < 0.3 else {}, chance.choice((1.0, 2.0))
        before = {}
        behind = number % 4 == 3
        count = 1 if behind else seeds if study % 2 else chance.randint(1, seeds)
        for seed in [*range(count), PART_SEED, fresh_seeds(1)[0]]:
            above = 100.0 * (seed >= PART_SEED) - 30.0 * behind
            scores = {
                "STSBenchmark": {"dev_spearman_cosine": above + chance.uniform(50, 60), "spearman_cosine": 1.0},
                "MR": {"dev_accuracy": above + chance.uniform(70, 80), "accuracy": chance.random()},
            }
            if seed in copied:
                scores = copied[seed].scores
            elif lacks:
                del scores["MR"]
            status = "pruned" if chance.random() < 0.05 and not study % 2 else "finished"
            training = {"rungs": [{"rung": 1, "step": 1, "tokens": 1, "seconds": 1.0, "scores": {"sts": 1.0}}]}
            cost = {"seconds": chance.uniform(60, 120), "peak_memory_mb": chance.uniform(400, 600)}
            record = made_record(recipe.flat(), recipe.hash, seed, status, scores=scores, cost=cost)
            training = {"loss": loss} | (training if chance.random() < 0.2 else {})
            before[seed] = dataclasses.replace(record, training=training)
        records += before.values()
    return records


def results_of(
    records: Sequence[Record], goals: Sequence[str], limits: dict[str, float], seeds: int, most: int
) -> Results:
    explored = [*dict.fromkeys(record.recipe_hash for record in records)]
    info = StudyInfo(
        SPACE.name, search="optuna", goals=[*goals], limits=limits, explored=explored, base=dict(BASE.flat()),
        seeds=[*range(seeds)], most_seeds=most,
    )  # fmt: skip
    space = dataclasses.replace(SPACE, goals=tuple(goals))
    own = [record for record in records if record.seed < PART_SEED]
    return Results(Path("nowhere"), info, space, own)


@pytest.mark.parametrize(
    ("goals", "limits", "raced"),
    [(goals, LIMITS[(row + raced) % len(LIMITS)], raced) for row, goals in enumerate(GOALS) for raced in (False, True)],
    ids=str,
)
def test_the_best_are_those_of_the_report(goals: tuple[str, ...], limits: dict[str, float], raced: bool) -> None:
    """In whatever order their trials ended, or their files lie."""
    shared, lost = set[int](), 0
    for study in range(6):
        records = made_up(study, seeds=4 if raced else 2)
        seeds = 1 if raced else 2
        results = results_of(records, goals, limits, seeds, most=4 if raced else seeds)
        race = None
        if raced:
            known = {record.key: record for record in records}
            race = StudySeedRace([], range(seeds), 4, results.goals, None, known)
            for record in results.records:
                race.enter(Trial(Recipe.from_flat(record.recipe), 0, ""))
        explorer = Rates((), [Explored(recipe, "") for recipe in results.followed.values()])
        design = StudyDesign(fixed=[], base=BASE, goals=results.goals, seeds=range(seeds), limits=limits)
        mixed = random.Random(study).sample(records, len(records))
        progress = StudyProgress(design, Budget({}), mixed, explorer, race)
        assert progress.ranked() == ranking(results)
        lost += sum(each.lost for each in progress.ranked())
        keys = [*results.recipes]
        assert [*map(progress.standings.counted_as, keys)] == [*map(results.counted_as, keys)]
        shared |= {index for index, groups in enumerate(results.shared_trials) if groups}
    assert shared == {0, 1}, "one in effect, and a copied trial"
    assert bool(lost) == raced or len(goals) > 1
