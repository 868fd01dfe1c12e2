"""Packed rows as a GPU gets them: attention in every way, filling, compiled layers."""

from __future__ import annotations

import itertools
from itertools import groupby
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.conftest import SENTENCES
from trainables.encoders import packing as packing_module
from trainables.encoders import passes, varlen
from trainables.encoders.dropout import factors
from trainables.encoders.packed import attend_in_runs, packed_states
from trainables.encoders.packing import AttentionSettings, Packing, rounded_length
from trainables.encoders.varlen import attend_in_tiles, fastest_attention, flash, memory_efficient

CPU = torch.device("cpu")
LENGTHS = (7, 5, 5, 3, 1)


def parts(shared: int = 1) -> list[Tensor]:
    """Queries, keys and values of a row, (1, heads, tokens, size)."""
    torch.manual_seed(0)
    heads = (4, 4 // shared, 4 // shared)
    return [torch.randn(1, count, sum(LENGTHS), 8, requires_grad=True) for count in heads]


def alone(settings: AttentionSettings, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Sentence by sentence and head by head, from the definition in float64, weight by weight, with the numbers that
    dropout draws next."""
    scaling = settings.scaling or query.shape[-1] ** -0.5
    attended = torch.zeros(sum(LENGTHS), 4, 8, dtype=torch.float64)
    start = 0
    for length, same in groupby(LENGTHS):
        count = len(list(same))
        drawn = factors((4, count, length, length), settings.dropout, CPU, torch.float32).double()
        for head, sentence, i in itertools.product(range(4), range(count), range(length)):
            other, begin = head * key.shape[1] // 4, start + sentence * length
            near = range(length) if settings.window is None else range(i - settings.window + 1, i + settings.window)
            visible = [j for j in near if 0 <= j < length and not (settings.causal and j > i)]
            q = query[0, head, begin + i].double() * scaling
            weights = torch.stack([q @ key[0, other, begin + j].double() for j in visible]).softmax(0)
            for j, weight in zip(visible, weights, strict=True):
                kept = drawn[head, sentence, i, j]
                attended[begin + i, head] += weight * kept * value[0, other, begin + j].double()
        start += count * length
    return attended


@pytest.mark.parametrize("shared", [1, 2])
@pytest.mark.parametrize(
    "settings",
    [
        AttentionSettings(),
        AttentionSettings(scaling=0.3, causal=True),
        AttentionSettings(window=2),
        AttentionSettings(window=3, causal=True),
    ],
)
def test_attention_in_runs_is_that_of_each_sentence_alone(settings: AttentionSettings, shared: int):
    given = parts(shared)
    attended, expected = attend_in_runs(*given, Packing.pack(LENGTHS, CPU), settings), alone(settings, *given)
    torch.testing.assert_close(attended.double(), expected, rtol=1.3e-6, atol=1e-5)
    weights = torch.randn(expected.shape)
    for mine, right in zip(
        torch.autograd.grad((attended * weights).sum(), given),
        torch.autograd.grad((expected * weights).sum(), given),
        strict=True,
    ):
        torch.testing.assert_close(mine, right)


class TestAttentionWithDropout:
    """What trains on a CPU."""

    @pytest.mark.parametrize(
        ("causal", "window", "shared"), [(False, None, 1), (True, None, 2), (False, 3, 2), (True, 3, 1)]
    )
    @pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 1e-5), (torch.bfloat16, 2e-2)])
    def test_it_is_the_definition_in_value_and_gradient(
        self, dtype: torch.dtype, close: float, causal: bool, window: int | None, shared: int
    ):
        given = [part.detach().to(dtype).requires_grad_() for part in parts(shared)]
        settings = AttentionSettings(0.3, causal, window, 0.4)
        weights = torch.randn(sum(LENGTHS), 4, 8)
        torch.manual_seed(5)
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
            attended = attend_in_runs(*given, Packing.pack(LENGTHS, CPU), settings)
        assert attended.dtype == dtype
        gradients = torch.autograd.grad((attended.float() * weights).sum(), given)
        torch.manual_seed(5)
        expected = alone(settings, *given)
        torch.testing.assert_close(attended.double(), expected, atol=close, rtol=close)
        for mine, right in zip(gradients, torch.autograd.grad((expected * weights).sum(), given), strict=True):
            torch.testing.assert_close(mine, right, atol=2 * close, rtol=2 * close)

    def test_without_a_gradient_it_draws_the_same(self):
        given, settings, attended = parts(), AttentionSettings(0.3), []
        for mode in (torch.enable_grad, torch.no_grad):
            torch.manual_seed(5)
            with mode():
                attended.append(attend_in_runs(*given, Packing.pack(LENGTHS, CPU), settings))
        torch.manual_seed(6)
        other = attend_in_runs(*given, Packing.pack(LENGTHS, CPU), settings)
        assert torch.equal(*attended)
        assert not torch.equal(attended[0], other), "another seed drops others"

    def test_a_second_derivative_is_refused(self):
        given = parts()
        (gradient,) = torch.autograd.grad(
            attend_in_runs(*given, Packing.pack(LENGTHS, CPU), AttentionSettings(0.3)).square().sum(),
            given[0],
            create_graph=True,
        )
        with pytest.raises(RuntimeError, match="once_differentiable"):
            gradient.sum().backward()


@pytest.mark.parametrize(
    ("dtype", "settings", "longest", "size", "device", "capability", "expected"),
    [
        (torch.bfloat16, AttentionSettings(), 60, 64, "cpu", (9, 0), attend_in_runs),
        (torch.bfloat16, AttentionSettings(), 60, 64, "cuda", (9, 0), attend_in_tiles),
        (torch.bfloat16, AttentionSettings(window=4), 128, 64, "cuda", (9, 0), attend_in_tiles),
        (torch.float32, AttentionSettings(), 60, 32, "cuda", (8, 0), attend_in_tiles),
        (torch.float32, AttentionSettings(), 60, 32, "cuda", (7, 5), memory_efficient),
        (torch.bfloat16, AttentionSettings(), 60, 64, "cuda", (7, 5), attend_in_runs),
        (torch.bfloat16, AttentionSettings(window=4), 129, 64, "cuda", (9, 0), flash),
        (torch.bfloat16, AttentionSettings(), 128, 128, "cuda", (9, 0), flash),
        (torch.bfloat16, AttentionSettings(), 60, 48, "cuda", (9, 0), flash),
        (torch.bfloat16, AttentionSettings(), 60, 20, "cuda", (9, 0), attend_in_runs),
        (torch.float32, AttentionSettings(), 60, 64, "cuda", (9, 0), memory_efficient),
        (torch.float32, AttentionSettings(), 128, 32, "cuda", (9, 0), memory_efficient),
        (torch.float32, AttentionSettings(window=4), 129, 64, "cuda", (9, 0), attend_in_runs),
    ],
)
def test_the_fastest_way(
    monkeypatch: pytest.MonkeyPatch,
    dtype: torch.dtype,
    settings: AttentionSettings,
    longest: int,
    size: int,
    device: str,
    capability: tuple[int, int],
    expected: Any,
):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    monkeypatch.setattr(varlen, "_triton_compiles", lambda: True)
    monkeypatch.setattr(packing_module, "to_device", lambda tensor, device: tensor)
    packing = Packing.pack((longest, 3), torch.device(device))
    value = SimpleNamespace(device=torch.device(device), dtype=dtype, shape=(1, 4, longest + 3, size))
    assert fastest_attention(value, packing, settings, attend_in_runs) is expected  # type: ignore[arg-type]


class TestARoundedRow:
    def test_sizes_are_few_and_little_is_lost(self):
        sizes = {rounded_length(tokens) for tokens in range(1, 65_537)}
        assert all(tokens <= rounded_length(tokens) <= max(64, tokens * 9 / 8 + 64) for tokens in range(1, 65_537))
        assert len({size for size in sizes if 32_768 < size <= 65_536}) == 8
        assert len(sizes) < 70
        assert max(sizes) == 65_536, "a full pass stays within its bound"

    @pytest.mark.parametrize("lengths", [(3, 2), (64,), (60, 4), (63,), (40, 1)])
    def test_its_filling_is_made_of_short_sentences(self, lengths: tuple[int, ...]):
        packing = Packing.pack(lengths, CPU, rounded=True)
        assert sum(packing.lengths) == rounded_length(sum(lengths))
        assert packing.lengths[: packing.real_sentences] == lengths
        assert all(0 < length <= max(lengths) for length in packing.lengths)
        assert packing.offsets.tolist() == [0, *torch.tensor(packing.lengths).cumsum(0).tolist()]

    def test_it_changes_neither_states_nor_gradients(self, make_encoder: Any):
        encoder = make_encoder()
        tokens = encoder.tokenize(SENTENCES)
        attended = []
        for rounded in (False, True):
            encoder.zero_grad()
            states, lengths = packed_states(
                encoder.backbone, tokens, True, encoder.tokenizer.pad_token_id, rounded=rounded
            )
            (states[-1] ** 2).sum().backward()
            gradients = [parameter.grad.clone() for parameter in encoder.backbone.parameters()]
            attended.append([*states, lengths, *gradients])
        for plain, filled in zip(*attended, strict=True):
            torch.testing.assert_close(filled, plain, atol=2e-5, rtol=1e-4)

    def test_its_ids_and_positions(self):
        packing = Packing.pack((3, 2), CPU, rounded=True)
        ids, positions = packing.ids([[7, 8, 9], [5, 6]], padding_id=1), packing.positions(first=2)
        assert ids.shape == positions.shape == (1, 64)
        assert ids[0, :6].tolist() == [7, 8, 9, 5, 6, 1]
        assert set(ids[0, 5:].tolist()) == {1}
        assert positions[0, :8].tolist() == [2, 3, 4, 2, 3, 2, 3, 4]


@pytest.mark.parametrize(
    ("kernel", "settings"),
    [
        (flash, AttentionSettings(dropout=0.1)),
        (flash, AttentionSettings(causal=True, window=3)),
        (memory_efficient, AttentionSettings(dropout=0.1)),
        (memory_efficient, AttentionSettings(causal=True)),
    ],
)
def test_the_kernels_of_torch_take_what_they_are_given(kernel: Any, settings: AttentionSettings):
    """They are called by names that are torch's own affair: here their arguments, forwards and backwards, on tensors
    without numbers; what they compute is in `tests/project/test_gpu.py`."""
    precision = torch.bfloat16 if kernel is flash else torch.float32
    given = [torch.randn(1, 4, 18, 8, device="meta", dtype=precision, requires_grad=True) for _ in range(3)]
    attended = kernel(*given, Packing.pack((9, 7, 2), torch.device("meta")), settings)
    assert (attended.shape, attended.dtype) == ((18, 4, 8), precision)
    gradients = torch.autograd.grad(attended.sum(), given)
    assert [gradient.shape for gradient in gradients] == [part.shape for part in given]


def test_a_packed_pass_reads_nothing_back(make_encoder: Any, monkeypatch: pytest.MonkeyPatch):
    """Tensors of the device "meta" have no numbers: to read one, or to ask which are not 0, is an error."""
    encoder = make_encoder().train()
    tokens = encoder.tokenize(SENTENCES)
    monkeypatch.setitem(passes.TOKENS_PER_PASS, "meta", 50)
    encoder.to("meta")
    embedded = encoder.embed(tokens)
    embedded.square().mean().backward()
    assert embedded.shape == (len(SENTENCES), encoder.dim)
    assert all(parameter.grad is not None for parameter in encoder.parameters())
