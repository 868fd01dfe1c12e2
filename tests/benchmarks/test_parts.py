"""Which part of the time an operation is counted to, and a training with things switched off."""

from __future__ import annotations

import pytest
import torch

from benchmarks._training_ways import WAYS, attend_in_small_steps, processor_seconds
from benchmarks.parts import shares
from trainables.encoders import packed
from trainables.encoders.packing import Packing
from trainables.encoders.runs import attend
from trainables.encoders.varlen import Looks
from trainables.recipe import SCENES, Recipe


def test_each_operation_is_counted_once_and_all_add_up_to_the_whole() -> None:
    found = shares(
        {
            "aten::addmm": 5.0,
            "aten::mm": 1.0,
            "aten::bmm": 0.5,
            "aten::_scaled_dot_product_flash_attention_for_cpu": 0.5,
            "aten::gelu_": 0.25,
            "aten::native_layer_norm": 0.25,
            "aten::add_": 1.0,
            "aten::_fused_adam_": 1.0,
            "aten::never_heard_of": 0.5,
        }
    )
    assert next(iter(found)) == "matrix products"
    assert found == pytest.approx(
        {
            "matrix products": 0.6,
            "attention": 0.1,
            "GELU": 0.025,
            "layer norm": 0.025,
            "sums, products and copies": 0.1,
            "optimiser": 0.1,
            "rest": 0.05,
        }
    )


@pytest.mark.parametrize("dropout", [0.1, 0.3])
def test_attention_in_small_steps_is_ours_in_value_and_gradient(dropout: float) -> None:
    packing, looks = Packing.of((5, 5, 2, 2, 2, 1), torch.device("cpu")), Looks(dropout, scaling=0.3)
    given = [torch.randn(4, 17, 8, requires_grad=True) for _ in range(3)]
    weights = torch.randn(17, 4, 8)
    found = []
    for way in (attend, attend_in_small_steps):
        torch.manual_seed(3)
        attended = way(*given, packing, looks)
        found.append([attended, *torch.autograd.grad((attended * weights).sum(), given)])
    for ours, small in zip(*found, strict=True):
        torch.testing.assert_close(ours, small)


def test_every_way_of_a_training_takes_its_turns() -> None:
    recipe = Recipe().override({"encoder.name": "scenes-small", "corpus.nli": SCENES, "optimisation.batch_size": 8})
    before = torch.optim.AdamW, attend
    seconds = processor_seconds(recipe, steps=1, turns=2)
    assert list(seconds) == list(WAYS)
    assert all(len(found) == 2 and min(found) > 0 for found in seconds.values())
    assert (torch.optim.AdamW, packed.attend) == before, "what was switched off is on again"
