"""Tests that every sampler and every scheduler must pass. They run over the registries; tests of your own inherit them:

class TestMine(SamplerContract):
    @pytest.fixture
    def entry(self) -> SamplerEntry:
        return SAMPLERS["mine"]
"""

from __future__ import annotations

import random

from search_spaces.domain_values import contains
from search_spaces.space import Domain
from study.search.ask_tell import AskTell, memory_study
from study.search.samplers import SamplerEntry
from study.search.schedulers import SchedulerEntry, Setting
from trainables.recipe import Recipe, Value
from trainables.training.rungs import DEFAULT_RUNGS

DOMAINS = (
    Domain("objective.temperature", low=0.01, high=2.0, log=True),
    Domain("optimisation.batch_size", low=8, high=64),
    Domain("head.kind", choices=("none", "linear")),
    Domain("head.dim", choices=(8, 16), when=("head.kind", ("linear",))),
)
TRIALS = 20
FEW = 12
"""A number of trials larger than the number that any sampler here draws at random before it uses results."""


class SamplerContract:
    """Tests of a sampler; they need a fixture `entry`."""

    def test_it_says_what_it_is(self, entry: SamplerEntry) -> None:
        assert entry.name
        assert entry.meaning

    def test_what_it_draws_lies_in_the_domains_that_apply(self, entry: SamplerEntry) -> None:
        for drawn in _draws(entry, seed=3):
            applying = DOMAINS if drawn["head.kind"] == "linear" else DOMAINS[:3]
            assert {*drawn} == {domain.key for domain in applying}
            assert all(contains(domain, drawn[domain.key]) for domain in applying)

    def test_a_seed_decides_the_draws(self, entry: SamplerEntry) -> None:
        first, same, other = (_draws(entry, seed, trials=FEW) for seed in (1, 1, 2))
        assert first == same != other

    def test_it_goes_on_where_trials_were_stopped_or_failed(self, entry: SamplerEntry) -> None:
        assert len(_draws(entry, seed=5, stopped=True)) == TRIALS

    def test_it_bears_finished_trials_of_elsewhere(self, entry: SamplerEntry) -> None:
        assert len(_draws(entry, seed=6, trials=3, elsewhere=TRIALS)) == 3


class SchedulerContract:
    """Tests of a scheduler; they need a fixture `entry`."""

    def test_it_says_what_it_is(self, entry: SchedulerEntry) -> None:
        assert entry.name
        assert entry.meaning

    def test_every_rung_is_answered_and_the_best_trial_goes_on(self, entry: SchedulerEntry) -> None:
        """`TRIALS` trials of random quality, rung by rung; a score far above all others is never stopped."""
        stopped = _stopped(entry)
        assert bool(stopped) == entry.stops
        assert TRIALS not in stopped

    def test_it_judges_several_goals_if_it_says_so(self, entry: SchedulerEntry) -> None:
        """The better a trial is in one goal, the worse in the other; one trial is best in both."""
        if entry.several_goals:
            stopped = _stopped(entry, goals=2)
            assert bool(stopped) == entry.stops
            assert TRIALS not in stopped

    def test_the_same_trials_get_the_same_answers(self, entry: SchedulerEntry) -> None:
        assert _stopped(entry) == _stopped(entry)


def _draws(
    entry: SamplerEntry, seed: int, *, trials: int = TRIALS, stopped: bool = False, elsewhere: int = 0
) -> list[dict[str, Value]]:
    """Return the values that a search draws in this many trials, each scored by its temperature. `stopped`: two thirds
    of the trials are stopped, and one in ten fails. `elsewhere`: finished trials that Optuna did not propose."""
    base = Recipe().override({"optimisation.batch_size": 8})
    ask_tell = AskTell(memory_study(entry.build(seed)), base, DOMAINS, conditional=entry.conditional)
    values = random.Random(seed)
    for _ in range(elsewhere):
        temperature, size = values.uniform(0.01, 2.0), values.randint(8, 64)
        point: dict[str, Value] = {
            "objective.temperature": temperature,
            "optimisation.batch_size": size,
            "head.kind": "none",
        }
        ask_tell.add(point, [temperature])
    drawn = []
    for trial in range(trials):
        drawing, chosen = ask_tell.draw()
        drawn.append(chosen)
        recipe = base.override(chosen)
        assert ask_tell.begin(drawing.number, recipe, [0])
        score = float(str(chosen["objective.temperature"]))
        ends = not stopped or trial % 3 == 0
        ask_tell.tell(
            recipe.hash,
            0,
            [score] if ends and not (stopped and trial % 10 == 9) else None,
            pruned=not ends,
            rungs=[(1, [score / 2])],
        )
    return drawn


def _stopped(entry: SchedulerEntry, goals: int = 1) -> set[int]:
    """Return the numbers of the trials that the scheduler stops. Trial number `TRIALS` is the best by far."""
    scheduler = entry.build(Setting(DEFAULT_RUNGS.ladder, goals))
    draw = random.Random(0)
    quality = {number: draw.random() for number in range(TRIALS)} | {TRIALS: 100.0}
    stopped: set[int] = set()
    for rung in range(1, len(DEFAULT_RUNGS.amounts) + 1):
        for number in sorted(set(quality) - stopped):
            other = quality[number] if number == TRIALS else 1 - quality[number]
            goes_on = scheduler.goes_on(f"t{number}", rung, [quality[number] + rung, other + rung][:goals])
            assert isinstance(goes_on, bool)
            if not goes_on:
                stopped.add(number)
    return stopped
