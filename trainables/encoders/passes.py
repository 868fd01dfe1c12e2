"""Tokens through a transformer: passes without padding, or with little, and the states that come out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.activations import GELUActivation

from trainables.encoders.dropout import quicken
from trainables.encoders.families import packs
from trainables.encoders.linear import widen
from trainables.encoders.packed import PACKED, packed_states
from trainables.encoders.packing import joined
from trainables.to_device import to_device

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# One forward pass holds at most so many tokens, padding included.
TOKENS_PER_PASS = {"cpu": 4096, "cuda": 65536}


class Passes:
    """How token ids go through a transformer: packed where its attention can be told about it, else padded."""

    def __init__(self, backbone: PreTrainedModel, filler: int) -> None:
        """`filler`: the token that fills short sentences up in a padded pass, and on a GPU the row of a packed one."""
        self.backbone = backbone
        self.filler = filler
        self.packed = packs(backbone)
        if self.packed:
            backbone.set_attn_implementation(PACKED)
        quicken(backbone)
        spare(backbone)
        widen(backbone)

    @property
    def _device(self) -> torch.device:
        return next(self.backbone.parameters()).device

    def cut(self, lengths: Sequence[int], most: int | None = None, *, packed: bool = True) -> list[list[int]]:
        """Indices of sentences by their lengths, longest first, in passes of at most `most` tokens, padding included,
        but for a sentence that is longer; None: as many as the device works on well at once."""
        most = most or TOKENS_PER_PASS[self._device.type]
        return full_passes(lengths, most) if self.packed and packed else length_buckets(lengths, most)

    def states(self, tokens: Sequence[Sequence[int]], every_layer: bool = False) -> tuple[tuple[Tensor, ...], Tensor]:
        """Token states of one pass, and how many tokens each sentence has, (sentences,), on the CPU; for use inside
        `computing`.

        The states are those of the last layer, or with `every_layer` of the embeddings and all layers, each (tokens,
        dim), one sentence after the other, in fp32: a mean over many bf16 numbers loses digits.
        """
        if self.packed:
            states, lengths = packed_states(
                self.backbone, tokens, every_layer, self.filler, rounded=self._device.type == "cuda"
            )
        else:
            lengths = torch.tensor([len(row) for row in tokens])
            states = joined(_padded_states(self.backbone, tokens, self.filler, every_layer)[0], lengths)
        return _in_fp32(states), lengths

    def padded_states(self, tokens: Sequence[Sequence[int]]) -> tuple[tuple[Tensor, ...], Tensor]:
        """The last layer's of a padded pass, (sentences, longest, dim), with what the model makes of padding; and the
        mask of real tokens, (sentences, longest)."""
        states, mask = _padded_states(self.backbone, tokens, self.filler, every_layer=False)
        return _in_fp32(states), mask


def _in_fp32(states: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(state.float() if state.dtype == torch.bfloat16 else state for state in states)


def _padded_states(
    backbone: PreTrainedModel, tokens: Sequence[Sequence[int]], filler: int, every_layer: bool
) -> tuple[tuple[Tensor, ...], Tensor]:
    device = next(backbone.parameters()).device
    ids = to_device(padded(tokens, filler), device)
    mask = to_device(padded([[1] * len(row) for row in tokens], 0), device)
    output = backbone(input_ids=ids, attention_mask=mask, output_hidden_states=every_layer)
    return output.hidden_states if every_layer else (output.last_hidden_state,), mask


def padded(rows: Sequence[Sequence[int]], filler: int) -> Tensor:  # (rows, longest) int64
    """Rows of numbers as one tensor, the short ones filled up."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows])


def full_passes(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Indices longest first, cut into passes of at most `most` tokens in all, or of one sentence that is longer."""
    passes: list[list[int]] = []
    room = 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if lengths[index] > room or not passes:
            passes.append([])
            room = most
        passes[-1].append(index)
        room -= lengths[index]
    return passes


def length_buckets(lengths: Sequence[int], tokens_per_pass: int) -> list[list[int]]:
    """Indices longest first, cut into passes that hold few padding tokens and at most `tokens_per_pass` in all.

    A pass ends where the next sentence is shorter than three quarters of its longest one, unless the pass is
    still so small that one more would cost more than the padding.
    """
    buckets: list[list[int]] = []
    longest = 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        current = buckets[-1] if buckets else []
        full = (len(current) + 1) * longest > tokens_per_pass
        wasteful = lengths[index] < 0.75 * longest and len(current) * longest >= tokens_per_pass // 8
        if not current or full or wasteful:
            buckets.append([index])
            longest = lengths[index]
        else:
            current.append(index)
    return buckets


def spare(model: nn.Module) -> None:
    """Have a model of transformers write its GELU over its input, which comes from a linear layer and is read by nobody
    else, where no gradient is asked for. Memory that is not asked for anew need not be filled with pages: an encoding
    takes a fifteenth less time on a CPU. Numbers are the same to the last bit."""
    for module in model.modules():
        if isinstance(module, GELUActivation) and module.act is F.gelu:
            module.act = gelu


def gelu(values: Tensor) -> Tensor:
    """`F.gelu`. Without gradients `values` are lost."""
    activated: Tensor = F.gelu(values) if torch.is_grad_enabled() else torch.ops.aten.gelu_(values)
    return activated
