"""GELU in place: the same numbers, and gradients as before."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from transformers.activations import GELUActivation, NewGELUActivation

from trainables.encoders.passes import gelu, use_inplace_gelu


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_the_numbers_are_the_same_and_no_second_array_is_filled(dtype: torch.dtype) -> None:
    values = torch.randn(7, 33, dtype=dtype)
    with torch.inference_mode():
        given = values.clone()
        activated = gelu(given)
    assert activated.data_ptr() == given.data_ptr()
    assert torch.equal(activated, F.gelu(values))


def test_with_gradients_the_input_stays() -> None:
    values = torch.randn(5, 9, requires_grad=True)
    given = values * 1
    gelu(given).square().sum().backward()
    assert torch.equal(given, values)
    activated, values.grad = values.grad, None
    F.gelu(values).square().sum().backward()
    assert torch.equal(activated, values.grad)  # type: ignore[arg-type]


def test_only_the_exact_gelu_of_transformers_is_replaced(make_encoder: Any) -> None:
    model = nn.ModuleList([GELUActivation(), GELUActivation(use_gelu_python=True), NewGELUActivation()])
    before = model[1].act
    use_inplace_gelu(model)
    assert model[0].act is gelu
    assert model[1].act == before
    encoder = make_encoder("mean")
    assert [part.act for part in encoder.modules() if isinstance(part, GELUActivation)].count(gelu) > 0
