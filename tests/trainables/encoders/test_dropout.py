"""Dropout on a CPU: the right share, the right expectation, the same again from the same state."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import nn

from trainables.encoders.dropout import LEVELS, QuickDropout, dropout, use_quick_dropout

MANY = 400_000


@pytest.mark.parametrize("probability", [0.1, 0.25, 0.5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_so_many_are_dropped_and_the_rest_makes_up_for_them(probability: float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    dropped = dropout(torch.ones(MANY, dtype=dtype), probability)
    share = float((dropped == 0).double().mean())
    four_errors = 4 * (probability * (1 - probability) / MANY) ** 0.5
    assert abs(share - probability) < four_errors
    (kept,) = dropped[dropped != 0].unique().tolist()
    rounded = round(probability * LEVELS) / LEVELS
    assert kept == pytest.approx(1 / (1 - rounded), rel=1e-2 if dtype == torch.bfloat16 else 1e-6)


@pytest.mark.parametrize("probability", [0.1, 0.15])
def test_in_bf16_the_scale_is_not_rounded(probability: float) -> None:
    """Of the result each is, up and down alike; of the scale they would all lean one way."""
    torch.manual_seed(0)
    values = (torch.rand(MANY) + 1).bfloat16()
    dropped = dropout(values, probability)
    stays = dropped != 0
    scale = float((dropped[stays].double() / values[stays].double()).mean())
    assert scale == pytest.approx(1 / (1 - round(probability * LEVELS) / LEVELS), rel=2e-4)


def test_neighbours_are_drawn_apart() -> None:
    """Four elements share a draw of 64 bits: whether one is dropped says nothing of the next."""
    torch.manual_seed(0)
    dropped = (dropout(torch.ones(MANY), 0.5) == 0).double()
    for distance in (1, 2, 3, 4, 5):
        together = float((dropped[distance:] * dropped[:-distance]).mean())
        assert abs(together - 0.25) < 4 * (0.25 * 0.75 / MANY) ** 0.5


@example(shape=[3], probability=1 - 2**-53, seed=0)
@given(shape=st.lists(st.integers(0, 7), min_size=1, max_size=3), probability=st.floats(0, 1), seed=st.integers(0, 99))
def test_the_gradient_passes_where_the_value_does(shape: list[int], probability: float, seed: int) -> None:
    torch.manual_seed(seed)
    values = torch.ones(shape, dtype=torch.float64, requires_grad=True)
    dropped = dropout(values, probability)
    dropped.sum().backward()
    assert values.grad is not None
    assert torch.equal(values.grad, dropped.detach())  # the derivative of x * mask is the mask


def test_a_saved_state_draws_the_same_again() -> None:
    torch.manual_seed(3)
    state, values = torch.get_rng_state(), torch.ones(1001)
    first, second = dropout(values, 0.1), dropout(values, 0.1)
    torch.set_rng_state(state)
    assert torch.equal(dropout(values, 0.1), first)
    assert not torch.equal(first, second)


def test_a_model_is_quickened_and_evaluates_as_before() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.0), nn.AlphaDropout(0.5)))
    use_quick_dropout(model)
    kinds = [type(module) for module in model.modules()]
    assert kinds.count(QuickDropout) == 2
    assert nn.Dropout not in kinds
    assert nn.AlphaDropout in kinds  # another thing by another name
    values = torch.randn(4, 8)
    model.eval()
    assert torch.equal(model(values), model[0](values))
    assert not torch.equal(model.train()(values), model(values))
