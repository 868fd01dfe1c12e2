"""Linear layers by oneDNN equal torch's, in value and gradient, and are there where they are faster alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from trainables import machine
from trainables.encoders import linear
from trainables.encoders.linear import WideLinear, use_wide_linear

PROCESSORS = {
    "Zen 5": ("AuthenticAMD", "26", "fpu avx2 avx512f", True),
    "Zen 4": ("AuthenticAMD", "25", "fpu avx2 avx512f", False),
    "Zen 5 in a machine that hides it": ("AuthenticAMD", "26", "fpu avx2", False),
    "Intel": ("GenuineIntel", "6", "fpu avx2 avx512f", False),
}
onednn = pytest.mark.skipif(
    not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="this torch is built without oneDNN"
)


def write_cpuinfo(folder: Path, vendor: str, family: str, flags: str) -> Path:
    file = folder / "cpuinfo"
    core = f"vendor_id\t: {vendor}\ncpu family\t: {family}\nflags\t\t: {flags}\n\n"
    file.write_text(core + core.replace(family, "1"))  # the first core decides
    return file


@pytest.mark.parametrize(("vendor", "family", "flags", "wide"), PROCESSORS.values(), ids=PROCESSORS)
def test_which_processors(vendor: str, family: str, flags: str, wide: bool, tmp_path: Path, monkeypatch: Any):
    monkeypatch.setattr(machine, "CPUINFO", write_cpuinfo(tmp_path, vendor, family, flags))
    assert machine.wide_amd() == wide


def test_a_system_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for content in (None, "", "processor : 0\n"):
        monkeypatch.setattr(machine, "CPUINFO", tmp_path / "nothing")
        if content is not None:
            machine.CPUINFO.write_text(content)
        assert not machine.wide_amd()


def results(layer: nn.Linear, values: Tensor, gradient: Tensor) -> list[Tensor]:
    """A layer's product and gradients, of a copy of the values laid out as they are."""
    own = values.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    product = layer(own)
    product.backward(gradient.to(product.dtype))
    return [part for part in (product, own.grad, layer.weight.grad, *layer.bias_gradient()) if part is not None]


class Plain(nn.Linear):
    def bias_gradient(self) -> list[Tensor | None]:
        return [] if self.bias is None else [self.bias.grad]


class Wide(WideLinear, Plain):
    pass


def compare(shape: tuple[int, ...], out: int, bias: bool, transposed: bool = False) -> None:
    """Against float64: no farther from it than fp32 can be."""
    torch.manual_seed(0)
    size = shape[-1]
    exact, wide = Plain(size, out, bias).double(), Wide(size, out, bias)
    wide.load_state_dict(exact.state_dict())
    exact.load_state_dict(wide.state_dict())
    values = torch.randn(*shape[:-2], *shape[-2:][::-1]).mT if transposed else torch.randn(shape)
    gradient = torch.randn(*shape[:-1], out)
    for ours, theirs in zip(results(wide, values, gradient), results(exact, values.double(), gradient), strict=True):
        assert ours.shape == theirs.shape
        torch.testing.assert_close(ours.double(), theirs, rtol=0, atol=5e-6 * theirs.abs().max().item())


@onednn
@pytest.mark.parametrize("shape", [(3, 7), (4,), (256, 1), (1, 257, 384), (2, 300, 5), (512, 33), (1000, 129)])
@pytest.mark.parametrize("bias", [True, False])
def test_values_and_gradients(shape: tuple[int, ...], bias: bool):
    for out in (1, 5, 384):
        compare(shape, out, bias)


@onednn
def test_values_that_lie_otherwise_in_memory():
    compare((1, 300, 24), 12, bias=True, transposed=True)


@onednn
@pytest.mark.parametrize("wrong", ["bias", "weight"])
def test_the_comparison_notices_a_wrong_product(wrong: str, monkeypatch: pytest.MonkeyPatch):
    times = linear._multiply_block
    broken = {
        "bias": lambda left, right, bias=None: times(left, right),
        "weight": lambda left, right, bias=None: times(left, right * (1 + 1e-4), bias),
    }
    monkeypatch.setattr(linear, "_multiply_block", broken[wrong])
    with pytest.raises(AssertionError):
        compare((600, 24), 12, bias=True)


@onednn
def test_it_meets_one_number_of_rows(monkeypatch: pytest.MonkeyPatch):
    """For each that it meets it keeps memory: with any number it took two gigabytes."""
    shapes, times = set(), linear._multiply_block

    def remembered(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
        shapes.add((*left.shape, *right.shape))
        return times(left, right, bias)

    monkeypatch.setattr(linear, "_multiply_block", remembered)
    layer = WideLinear(6, 4)
    for rows in (256, 300, 511, 512, 2_000):
        layer(torch.randn(rows, 6, requires_grad=True)).sum().backward()
    assert shapes == {(256, 6, 4, 6), (256, 4, 6, 4), (4, 256, 6, 256)}


@onednn
def test_what_is_frozen_has_no_gradient():
    layer = WideLinear(6, 4).requires_grad_(False)
    values = torch.randn(300, 6, requires_grad=True)
    layer(values).sum().backward()
    torch.testing.assert_close(values.grad, layer.weight.sum(0).expand(300, 6))
    assert layer.weight.grad is None
    assert layer.bias.grad is None


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_numbers_are_torch_s(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(linear, "_multiply_block", None)  # it would raise
    layer, values = WideLinear(6, 4), torch.randn(300, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(values).dtype == torch.bfloat16
    assert layer(values[:0]).shape == (0, 4)
    layer, values = layer.to(dtype), values.to(dtype)
    assert torch.equal(layer(values), nn.functional.linear(values, layer.weight, layer.bias))


@onednn
def test_an_encoder_is_the_same(make_encoder: Any, monkeypatch: pytest.MonkeyPatch):
    sentences = ["a man sleeps", "two dogs run " * 9, "", "a boy"] * 12
    embedded, gradients = [], []
    for wide in (False, True):
        monkeypatch.setattr(linear, "wide_amd", lambda wide=wide: wide)
        encoder = make_encoder("mean")
        layers = [module for module in encoder.modules() if isinstance(module, nn.Linear)]
        assert layers
        assert all(isinstance(layer, WideLinear) == wide for layer in layers)
        embedded.append(encoder.encode(sentences))
        encoder.embed(encoder.tokenize(sentences)).square().sum().backward()
        gradients.append({name: weight.grad for name, weight in encoder.named_parameters()})
    torch.testing.assert_close(*map(torch.from_numpy, embedded), rtol=1e-5, atol=1e-5)
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], rtol=1e-4, atol=1e-4, msg=name)


def test_only_plain_layers_are_changed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(linear, "wide_amd", lambda: True)
    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", None, raising=False)
    model = nn.Sequential(nn.Linear(2, 2), Plain(2, 2), nn.LayerNorm(2))
    use_wide_linear(model)
    assert [type(module) for module in model] == [WideLinear, Plain, nn.LayerNorm]
