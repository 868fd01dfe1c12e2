"""A temperature that is trained with the encoder."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.conftest import ROWS, pairs_of
from tests.gloo_worker import Interrupting, model_of
from tests.objective_batches import EXACT, build, grouped, options
from tests.trainables.objectives.test_widths import batch_for
from trainables.corpora.samplers import RowSampler
from trainables.keys import keys_of
from trainables.objectives import OBJECTIVES
from trainables.objectives.learned_temperature import LearnedTemperature
from trainables.recipe import Recipe
from trainables.training.distributed import Workers
from trainables.training.loop import Interrupted, Watcher, build_optimiser, train

TEMPERED = [name for name in OBJECTIVES if "temperature_start" in keys_of(OBJECTIVES[name])]
CHANGES = {"objective.name": "scl", "objective.temperature": "learned", "objective.temperature_start": 0.2}


@pytest.mark.parametrize("name", TEMPERED)
class TestEachLoss:
    def test_is_that_of_the_same_number(self, name: str):
        batch = batch_for(name, 8)
        given = replace(batch, temperature=torch.tensor(0.3, dtype=torch.float64))
        learned, fixed = build(options(name, temperature="learned")), build(options(name, temperature=0.3))
        ours, theirs = learned(given).value, fixed(batch_for(name, 8)).value
        torch.testing.assert_close(ours, theirs, **EXACT)

    def test_its_gradient_is_that_of_differences(self, name: str):
        objective = build(options(name, temperature="learned"))

        def loss(temperature: torch.Tensor) -> torch.Tensor:
            return objective(replace(batch_for(name, 8), temperature=temperature)).value

        tau = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(loss, (tau,))
        assert torch.autograd.grad(loss(tau), tau)[0] != 0


def test_parts_of_a_loss_have_its_gradient(monkeypatch: pytest.MonkeyPatch):
    """Where the scores are computed again for the backward pass."""
    objective, gradients = build(options("mnrl", temperature="learned")), []
    for most in (2**24, 40):
        monkeypatch.setattr("trainables.objectives.kernel.NUMBERS_AT_ONCE", most)
        tau = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
        value = objective(replace(grouped(6, positives=1), temperature=tau)).value
        gradients.append(torch.autograd.grad(value, tau)[0])
    torch.testing.assert_close(gradients[0], gradients[1], **EXACT)


class TestBounds:
    def test_it_never_leaves_them_and_comes_back(self):
        learned = LearnedTemperature(0.1, rate=1.0, low=0.05, high=0.2)
        optimiser = torch.optim.SGD(learned.parameters(), lr=10.0)
        assert learned().item() == pytest.approx(0.1)
        for up, expected in ((False, 0.05), (False, 0.05), (True, 0.2), (True, 0.2), (False, 0.05)):
            optimiser.zero_grad()
            (-learned().log() if up else learned().log()).backward()
            optimiser.step()
            assert learned().item() == pytest.approx(expected)


class TestTraining:
    def trained(self, watcher: Watcher | None = None, resume: Path | None = None, **more: Any) -> Any:
        model = model_of({**CHANGES, **more})
        recipe = Recipe().preferring(
            {"optimisation.batch_size": 5, "optimisation.learning_rate": 1e-3, "optimisation.warmup": 0.0}
        )
        train(model, RowSampler(pairs_of(ROWS), 5), recipe, 3, watcher or Watcher(), Workers(), resume)
        return model

    def test_it_has_a_rate_of_its_own_and_its_course_is_told(self):
        temperatures: list[float] = []

        class Reading(Watcher):
            def step(self, step: int, scalars: dict[str, float]) -> None:
                temperatures.append(scalars["temperature"])

        moved = {}
        for rate in (0.001, 0.01):
            temperatures.clear()
            model = self.trained(Reading(), **{"objective.temperature_rate": rate})
            assert temperatures[0] == pytest.approx(0.2)
            assert len(temperatures) == 3
            assert len(set(temperatures)) == 3
            # The first step of AdamW is as long as the rate.
            moved[rate] = abs(math.log(temperatures[1] / temperatures[0]))
            assert model.temperature().item() != temperatures[-1]
        assert moved == pytest.approx({0.001: 0.001, 0.01: 0.01}, rel=1e-3)

    def test_it_goes_on_after_a_break(self, tmp_path: Path):
        whole = self.trained().temperature().item()
        with pytest.raises(Interrupted):
            self.trained(Interrupting(2, Workers(), tmp_path))
        assert self.trained(resume=tmp_path).temperature().item() == whole

    def test_it_has_no_weight_decay(self):
        model = model_of(CHANGES)
        *rest, own = build_optimiser(model, Recipe()).param_groups
        assert own["params"] == [model.temperature.log]  # type: ignore[union-attr]
        assert own["weight_decay"] == 0.0
        assert all(p is not own["params"][0] for group in rest for p in group["params"])

    def test_a_fixed_one_leaves_everything_as_it_was(self):
        model = model_of({"objective.name": "mnrl", "corpus.layout": "pairs"})
        assert model.temperature is None
        assert not [name for name in model.state_dict() if "temperature" in name]
        assert len(build_optimiser(model, Recipe()).param_groups) == 2
