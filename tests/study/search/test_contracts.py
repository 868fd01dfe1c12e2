"""Every sampler and scheduler keeps its contract; those of plugins: `tests/project/test_contributing.py`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from study.cli.options import parse
from study.plan import read_request
from study.search.samplers import SAMPLERS, SamplerEntry
from study.search.schedulers import SCHEDULERS, NeverStops, SchedulerEntry
from study.testing.search import SamplerContract, SchedulerContract
from trainables.errors import UserError

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")


class TestSamplers(SamplerContract):
    @pytest.fixture(params=SAMPLERS)
    def entry(self, request: pytest.FixtureRequest) -> SamplerEntry:
        return SAMPLERS[request.param]


class TestSchedulers(SchedulerContract):
    @pytest.fixture(params=SCHEDULERS)
    def entry(self, request: pytest.FixtureRequest) -> SchedulerEntry:
        return SCHEDULERS[request.param]


def test_the_contracts_can_fail() -> None:
    import optuna

    unseeded = SamplerEntry("unseeded", lambda seed: optuna.samplers.RandomSampler(), "draws what it likes")
    with pytest.raises(AssertionError):
        SamplerContract().test_a_seed_decides_the_draws(unseeded)
    lazy = SchedulerEntry("lazy", NeverStops, "says that it stops trials, and never does")
    with pytest.raises(AssertionError):
        SchedulerContract().test_every_rung_is_answered_and_the_best_trial_goes_on(lazy)


@pytest.fixture
def single() -> Iterator[None]:
    SCHEDULERS.add(SchedulerEntry("single", NeverStops, "judges by one score"))
    yield
    SCHEDULERS.remove("single")


@pytest.mark.usefixtures("single")
@pytest.mark.parametrize(
    ("space", "options", "text"),
    [
        ("scl_tau", ("--sampler", "tpee"), "there is no sampler 'tpee'; did you mean 'tpe'"),
        ("scl_tau", ("--scheduler", "ahsa"), "there is no scheduler 'ahsa'; did you mean 'asha'"),
        ("contrastive_all", ("--scheduler", "single"), "--scheduler single judges by one score"),
    ],
)
def test_what_does_not_fit_is_refused(space: str, options: tuple[str, ...], text: str) -> None:
    with pytest.raises(UserError, match=text):
        read_request(parse(["--space", space, "--search", "optuna", *options]))
