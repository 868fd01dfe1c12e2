"""Racing: which seeds run next, from any order of arrivals, and what a study makes of it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from reports.facts.seed_race import RecipeRace
from reports.sections.racing import why
from reports.statistics.sequential import PILOT, Entrant, race_for_best
from study.search.seed_race import SeedRace

LEAST, MOST = 1, 5


def truth(recipes: int, goals: int, seed: int) -> dict[str, np.ndarray]:
    """By name (seeds, goals) scores."""
    chance = np.random.default_rng(seed)
    values = chance.normal(0, 2, (recipes, 1, goals)) + chance.normal(0, 1, (recipes, MOST, goals))
    return {f"r{number}": own for number, own in enumerate(values)}


def run(
    scores: dict[str, np.ndarray], order: random.Random, *, places: int, killed: float = 0.0, rows: int = 3
) -> tuple[SeedRace, list[tuple[str, int]]]:
    """A race to its end. Trials end in random order; with the chance `killed` all that is not done is forgotten."""
    done: dict[tuple[str, int], list[float]] = {}
    begun: list[tuple[str, int]] = []

    def fresh() -> SeedRace:
        race = SeedRace(LEAST, MOST, next(iter(scores.values())).shape[1], baseline="r0")
        for number, name in enumerate(scores):
            race.enter(name, row=number < rows)
        for (name, seed), values in order.sample(sorted(done.items()), len(done)):
            race.tell(name, seed, values)
        return race

    for name, own in scores.items():
        for seed in range(LEAST):
            done[name, seed] = list(own[seed])
    race, running = fresh(), set()
    for _ in range(10_000):
        if order.random() < killed:
            race, running = fresh(), set()
        trials = race.next_trials(places, running)
        assert not running & set(trials)
        assert not done.keys() & set(trials)
        begun += trials
        running |= set(trials)
        if not running:
            return race, begun
        for trial in order.sample(sorted(running), order.randint(1, len(running))):
            running.discard(trial)
            done[trial] = list(scores[trial[0]][trial[1]])
            race.tell(*trial, done[trial])
    raise AssertionError("the race does not end")


@pytest.mark.slow
@pytest.mark.parametrize("goals", [1, 2])
@pytest.mark.parametrize("places", [2, 30])
def test_any_order_and_any_restart_leads_to_the_same_end(goals: int, places: int) -> None:
    for number in range(2):
        scores = truth(6, goals, number)
        straight, _ = run(scores, random.Random(0), places=1)
        race, begun = run(scores, random.Random(number), places=places, killed=0.2)
        ends = [
            {name: {question: (standing.state, standing.seeds) for question, standing in raced.courses.items()}
             for name, raced in each.raced().items()}
            for each in (straight, race)
        ]  # fmt: skip
        assert ends[0] == ends[1]
        assert all(LEAST <= seed < MOST for _, seed in begun)
        assert all(LEAST <= raced.seeds_run <= MOST for raced in race.raced().values())
        assert all(raced.seeds <= raced.seeds_run for raced in race.raced().values())
        assert sum(map(race.open, scores)) == 0


def test_only_the_seeds_that_were_run_decide() -> None:
    """So all scores of a finished study give the race that a study would have run."""
    for number in range(2):
        scores = truth(12, 1, number)
        race, _ = run(scores, random.Random(number), places=1, rows=0)
        whole = race_for_best({name: Entrant(own) for name, own in scores.items()}, LEAST, MOST)
        assert {name: course.seeds for name, course in whole.items()} == {
            name: raced.seeds_run for name, raced in race.raced().items()
        }


def test_a_round_is_wanted_at_once_and_idle_places_run_ahead() -> None:
    race = SeedRace(2, 10)
    for name, values in {"a": [50.0, 51.0], "b": [50.5, 50.4], "far": [10.0, 10.2]}.items():
        race.enter(name)
        for seed, value in enumerate(values):
            race.tell(name, seed, [value])
    first = race.next_trials(1)
    assert {seed for _, seed in first} == {2}
    more = race.next_trials(12, first)
    assert len(first) + len(more) == 12
    assert max(seed for _, seed in more) > 2


def test_before_a_round_is_judged_the_best_run_ahead() -> None:
    race = SeedRace(1, 3)
    for number in range(40):
        race.enter(f"r{number}")
        race.tell(f"r{number}", 0, [50.0 + number])
    pilots = race.next_trials(1)
    assert {name for name, _ in pilots} == {f"r{number}" for number in range(40 - PILOT, 40)}
    ahead = {name for name, _ in race.next_trials(4 * PILOT, pilots)}
    assert ahead <= {f"r{number}" for number in range(40 - 3 * PILOT, 40)}


def test_far_behind_recipes_stop_and_close_ones_go_on() -> None:
    chance = np.random.default_rng(0)
    levels = {f"far {number}": 20.0 + number for number in range(8)} | {"a": 60.0}
    scores = {name: level + chance.normal(0, 0.5, (MOST, 1)) for name, level in levels.items()}
    scores["b"] = scores["a"] + chance.normal(0, 0.1, (MOST, 1))
    race, _ = run(scores, random.Random(0), places=1, rows=0)
    raced = race.raced()
    assert raced["a"].seeds_run == raced["b"].seeds_run == MOST
    assert all(raced[f"far {number}"].seeds_run <= 2 for number in range(8))
    assert all(raced[f"far {number}"].lost for number in range(8))
    assert "cannot be the best" in why(raced["far 0"], str)


def test_a_failed_seed_ends_a_recipes_race_and_no_other() -> None:
    race = SeedRace(1, 4)
    for name in "abc":
        race.enter(name)
        race.tell(name, 0, [50.0])
    for name in "abc":
        race.tell(name, 1, None if name == "a" else [50.0 + (name == "b")])
    assert {name for name, _ in race.next_trials(10)} == {"b", "c"}
    assert race.open("a") == 0
    assert "failed" in why(race.raced()["a"], str)


def test_what_no_seed_changes_is_run_once() -> None:
    race = SeedRace(1, 4)
    race.enter("fixed", fixed=True)
    race.tell("fixed", 0, [50.0])
    for name in "abc":
        race.enter(name)
        race.tell(name, 0, [50.0 + ord(name) / 1000])
    assert "fixed" not in {name for name, _ in race.next_trials(50)}


def test_why_says_something_of_every_recipe() -> None:
    race, _ = run(truth(8, 2, 1), random.Random(1), places=2)
    for raced in race.raced().values():
        assert isinstance(raced, RecipeRace)
        assert "seed" in why(raced, str) or "beat it" in why(raced, str)
