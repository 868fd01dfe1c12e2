"""Which part of the time an operation is counted to."""

from __future__ import annotations

import pytest

from benchmarks.parts import shares


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
