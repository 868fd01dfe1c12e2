"""The Gaussian process behind `--sampler gp`: its arithmetic, and what it asks for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from search_spaces.space import Domain
from study.search import gaussian_process
from study.search.ask_tell import AskTell, memory_study
from study.search.gaussian_process import GaussianProcessSampler, _Process
from trainables.recipe import Recipe, Value

HEAD = Domain("head.kind", choices=("none", "linear", "mlp"))
DIM = Domain("head.dim", choices=(8, 16), when=("head.kind", ("linear",)))
BATCH = Domain("optimisation.batch_size", low=8, high=12)
RATE = Domain("optimisation.learning_rate", low=1e-5, high=1e-2, log=True)


def search(domains: tuple[Domain, ...], recipes: int, score: object, seed: int = 0) -> list[dict[str, Value]]:
    """What it asks for; a few run at once."""
    ask_tell = AskTell(memory_study(GaussianProcessSampler(seed)), Recipe(), domains)
    running: list[tuple[int, dict[str, Value]]] = []
    asked = []
    for _ in range(recipes):
        running.append(ask_tell.choose())
        asked.append(running[-1][1])
        if len(running) == 3:
            number, chosen = running.pop(0)
            ask_tell.study.tell(number, score(chosen))  # type: ignore[operator]
    return asked


def test_no_recipe_of_a_finite_space_is_asked_for_twice() -> None:
    asked = search((HEAD, DIM, BATCH), 20, lambda chosen: float(chosen["optimisation.batch_size"]))
    assert len({tuple(sorted(chosen.items())) for chosen in asked}) == 20  # of (1 + 2 + 1) x 5
    for chosen in asked:
        assert ("head.dim" in chosen) == (chosen["head.kind"] == "linear")


def test_it_comes_close_to_the_best_where_random_draws_do_not() -> None:
    def lost(chosen: dict[str, Value]) -> float:
        rate = np.log10(float(str(chosen["optimisation.learning_rate"])))
        return float(abs(rate + 3.3) + (chosen["head.kind"] != "mlp"))

    best = [min(map(lost, search((RATE, HEAD, BATCH), 25, lambda one: -lost(one), seed))) for seed in range(3)]
    assert max(best) < 0.05  # 25 random draws lose 0.17 on average


def test_the_first_recipes_lie_apart_and_not_in_the_corners() -> None:
    """Farthest from each other on a line they would have 67 % of their numbers in the outer fifth."""
    numbers = (RATE, Domain("optimisation.warmup", low=0.0, high=0.3))
    starts = [search((*numbers, HEAD), gaussian_process.FIRST, lambda chosen: 0.5, seed) for seed in range(40)]
    rates = np.log10([float(str(chosen["optimisation.learning_rate"])) for start in starts for chosen in start])
    warmups = np.array([chosen["optimisation.warmup"] for start in starts for chosen in start], dtype=float)
    for on_range in ((rates + 5) / 3, warmups / 0.3):
        assert 0.12 < np.mean(np.abs(on_range - 0.5) > 0.4) < 0.28
    for start in starts:
        assert {chosen["head.kind"] for chosen in start} == set(HEAD.choices)


def test_the_slopes_of_the_fit_are_those_of_its_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(1)
    points = chance.random((12, 3))
    apart = (points[:, None] - points[None]) ** 2
    losses = []

    def caught(loss: object, start: np.ndarray, **options: object) -> object:
        losses.append(loss)
        return type("Found", (), {"x": start})

    monkeypatch.setattr(gaussian_process, "minimize", caught)
    gaussian_process._fitted(apart, chance.standard_normal(12))
    for at in (np.zeros(5), np.array([0.5, -0.4, 1.0, 0.3, -2.0])):
        slopes = losses[0](at)[1]
        for place, step in enumerate(np.eye(5) * 1e-6):
            assert (losses[0](at + step)[0] - losses[0](at - step)[0]) / 2e-6 == pytest.approx(slopes[place], abs=1e-5)


def test_the_expected_improvement_is_the_integral(monkeypatch: pytest.MonkeyPatch) -> None:
    process = _Process(np.zeros((1, 1, 1)), np.zeros(1), np.array([0.0, 0.0, np.log(0.1)]))
    far = np.array([[[1e4]]])  # a point of which nothing is known: mean 0, variance 1
    for best in (-1.0, 0.0, 2.0, 6.0):
        wanted = quad(lambda value, best=best: (value - best) * norm.pdf(value), best, best + 20, epsabs=0)[0]
        assert process.improvement(far, best)[0] == pytest.approx(np.log(wanted), abs=1e-6)
    assert process.improvement(far, 30.0)[0] > process.improvement(far, 31.0)[0] > -np.inf


def test_how_bad_a_bad_recipe_is_changes_little() -> None:
    y = np.array([50.0, 51.0, 52.0, 53.0, 54.0, 10.0])
    worse = np.array([50.0, 51.0, 52.0, 53.0, 54.0, -1000.0])
    assert gaussian_process._tamed(y)[:5].tolist() == y[:5].tolist()
    assert 0 < gaussian_process._tamed(y)[5] - gaussian_process._tamed(worse)[5] < 50
