"""The precision of an encoder's computation, and whether this processor is fast in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Literal

import torch
from torch import nn

from trainables.encoders.kinds import Precision
from trainables.machine import native_bf16

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
"""The values of `encoder.dtype`."""


Numbers = torch.dtype | Literal["tf32"]
"""Type of an encoder's matrix products: "tf32" is fp32 that a GPU multiplies in 19 bits."""


def resolve_precision(precision: Precision, device: torch.device | str) -> torch.dtype:
    """Return the type for a precision on a device: `auto` is bf16 on a GPU that does not emulate it, else fp32."""
    hardware = torch.device(device).type == "cuda" and native_bf16(device)
    return torch.bfloat16 if precision == "bf16" or (precision == "auto" and hardware) else torch.float32


def resolve_evaluation_precision(precision: Precision, device: torch.device | str) -> Numbers:
    """Return the type for an evaluation precision on a device; a CPU has no TF32."""
    return (
        "tf32" if precision == "tf32" and torch.device(device).type == "cuda" else resolve_precision(precision, device)
    )


@contextlib.contextmanager
def _tf32() -> Iterator[None]:
    products = torch.backends.cuda.matmul
    before, products.allow_tf32 = products.allow_tf32, True
    try:
        yield
    finally:
        products.allow_tf32 = before


def computing(device: torch.device, numbers: Numbers) -> contextlib.AbstractContextManager[object]:
    """Return a context in which matrix products are computed in `numbers`."""
    if isinstance(numbers, str):
        return _tf32()
    return contextlib.nullcontext() if numbers == torch.float32 else torch.autocast(device.type, dtype=numbers)


def slow_bf16(precision: str, device: torch.device | str, key: str = "optimisation.precision") -> str | None:
    """Return a warning, in a sentence, that bf16 would be emulated on this machine; None if it is native or not set.

    `key` is the recipe key of the precision: `optimisation.precision`, `encoder.precision` or `encoder.dtype`.
    """
    if precision != "bf16" or native_bf16(device) is not False:
        return None
    remedy = f"{key}=fp32, or auto" if key == "optimisation.precision" else f"{key}=fp32"
    what = "GPU" if torch.device(device).type == "cuda" else "processor"
    return (
        f"{key} is bf16, which this {what} has no instructions for: it can be ten times slower than fp32; use {remedy}"
    )


@contextlib.contextmanager
def full_weights(model: nn.Module) -> Iterator[None]:
    """Convert bf16 weights to fp32 inside the block, as a model is evaluated and saved. Afterwards they have the old
    type and values again, and the optimiser still refers to them."""
    low = [parameter for parameter in model.parameters() if parameter.dtype == torch.bfloat16]
    _convert(low, torch.float32)
    try:
        yield
    finally:
        _convert(low, torch.bfloat16)


def _convert(parameters: list[nn.Parameter], dtype: torch.dtype) -> None:
    with torch.inference_mode(False):  # else they could no longer be trained
        for parameter in parameters:
            parameter.data = parameter.data.to(dtype)
