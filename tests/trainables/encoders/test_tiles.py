"""Our attention in programs of Triton; without a GPU they are interpreted (tests/conftest.py)."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.conftest import slow_case
from trainables.encoders.packed import attend_in_runs
from trainables.encoders.packing import AttentionSettings, Packing, Tiles

pytest.importorskip("triton", reason="Triton has no package for this machine")
from trainables.encoders.tiles import attend

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
HEADS, SIZE = 2, 16


def parts_of(tokens: int) -> list[Tensor]:  # (heads, tokens, size) each, laid out as linear layers leave them
    torch.manual_seed(0)
    return [torch.randn(tokens, HEADS, SIZE, device=DEVICE).transpose(0, 1).requires_grad_() for _ in range(3)]


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [(60, 33, 33, 7, 1), slow_case((13,) * 9), (1,)])
@pytest.mark.parametrize(("causal", "window"), [(False, None), (True, None), (False, 5), (True, 5)])
def test_value_and_gradient_are_those_of_the_runs(lengths: tuple[int, ...], causal: bool, window: int | None):
    parts = parts_of(sum(lengths))
    cut = Tiles.cut(lengths, 64, DEVICE)
    settings = AttentionSettings(causal=causal, window=window)
    mine = attend(*parts, cut, settings)
    right = attend_in_runs(*(part.unsqueeze(0) for part in parts), Packing.pack(lengths, DEVICE), settings)
    torch.testing.assert_close(mine, right, atol=1e-5, rtol=1e-5)
    weights = torch.randn_like(right)
    gradients = (torch.autograd.grad((attended * weights).sum(), parts) for attended in (mine, right))
    torch.testing.assert_close(*gradients, atol=1e-5, rtol=1e-5)


def test_dropout_keeps_the_mean_and_its_gradient_is_that_of_what_was_kept():
    lengths = (16,) * 8
    cut = Tiles.cut(lengths, 64, DEVICE)
    query, key, _ = parts_of(128)

    def weights_of(query: Tensor, key: Tensor) -> Tensor:
        """Weights after dropout, (heads, tokens, tokens of the sentence): what makes of an identity itself."""
        torch.manual_seed(1)
        identity = torch.eye(SIZE, device=DEVICE).repeat(8, 1).expand(HEADS, 128, SIZE)
        return attend(query, key, identity, cut, AttentionSettings(dropout=0.25)).transpose(0, 1)

    with torch.no_grad():
        kept = weights_of(query, key)
        whole = torch.stack(
            [
                (query[:, start : start + 16] @ key[:, start : start + 16].mT * SIZE**-0.5).softmax(-1)
                for start in range(0, 128, 16)
            ],
            dim=1,
        ).flatten(1, 2)
    factors = kept / whole
    assert ((factors - 4 / 3).abs() < 1e-4).logical_or(factors == 0).all()
    assert 0.7 < (factors > 0).float().mean() < 0.8
    assert not torch.equal(factors[0] > 0, factors[1] > 0)

    upstream = torch.randn_like(kept)
    mine = torch.autograd.grad((weights_of(query, key) * upstream).sum(), (query, key))
    scores = torch.stack(
        [query[:, start : start + 16] @ key[:, start : start + 16].mT for start in range(0, 128, 16)], dim=1
    )
    dropped = (scores * SIZE**-0.5).softmax(-1).flatten(1, 2) * factors.round(decimals=4)
    right = torch.autograd.grad((dropped * upstream).sum(), (query, key))
    torch.testing.assert_close(mine, right, atol=1e-3, rtol=1e-3)


def test_tiles_hold_whole_sentences():
    cut = Tiles.cut((60, 33, 33, 7, 1), 64, DEVICE)
    assert cut.begins.tolist() == [0, 60, 93, 134]
    assert torch.bincount(cut.sentence).tolist() == [60, 33, 33, 7, 1]
