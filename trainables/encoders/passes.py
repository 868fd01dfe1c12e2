"""Forward passes of a transformer, without padding or with little, and the token states that they return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.activations import GELUActivation

from trainables.encoders.dropout import use_quick_dropout
from trainables.encoders.families import packs
from trainables.encoders.linear import use_wide_linear
from trainables.encoders.packed import PACKED, packed_states
from trainables.encoders.packing import unpad_states
from trainables.to_device import to_device

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# Most tokens of one forward pass, padding included.
TOKENS_PER_PASS = {"cpu": 4096, "cuda": 65536}


class Passes:
    """Passes of token ids through a transformer: packed if its attention supports that, else padded."""

    def __init__(self, backbone: PreTrainedModel, padding_id: int) -> None:
        """`padding_id`: the padding token of padded passes and, on a GPU, of packed rows."""
        self.backbone = backbone
        self.padding_id = padding_id
        self.packed = packs(backbone)
        if self.packed:
            backbone.set_attn_implementation(PACKED)
        use_quick_dropout(backbone)
        use_inplace_gelu(backbone)
        use_wide_linear(backbone)

    @property
    def _device(self) -> torch.device:
        return next(self.backbone.parameters()).device

    def cut(self, lengths: Sequence[int], most: int | None = None, *, packed: bool = True) -> list[list[int]]:
        """Return the indices of sentences, longest first, in passes of at most `most` tokens, padding included (None:
        as many as the device handles well at once). A longer sentence is a pass of its own."""
        most = most or TOKENS_PER_PASS[self._device.type]
        return full_passes(lengths, most) if self.packed and packed else length_buckets(lengths, most)

    def states(self, tokens: Sequence[Sequence[int]], every_layer: bool = False) -> tuple[tuple[Tensor, ...], Tensor]:
        """Return the token states of one pass, and each sentence's number of tokens, (sentences,), on the CPU. Call it
        inside `computing`.

        The states are those of the last layer, or with `every_layer` of the embeddings and all layers, each (tokens,
        dim), one sentence after the other, in fp32: a mean over many bf16 numbers loses digits.
        """
        if self.packed:
            states, lengths = packed_states(
                self.backbone, tokens, every_layer, self.padding_id, rounded=self._device.type == "cuda"
            )
        else:
            lengths = torch.tensor([len(row) for row in tokens])
            states = unpad_states(_padded_states(self.backbone, tokens, self.padding_id, every_layer)[0], lengths)
        return _in_fp32(states), lengths

    def padded_states(self, tokens: Sequence[Sequence[int]]) -> tuple[tuple[Tensor, ...], Tensor]:
        """Return the last layer's states of a padded pass, (sentences, longest, dim), those of padding included; and
        the mask of real tokens, (sentences, longest)."""
        states, mask = _padded_states(self.backbone, tokens, self.padding_id, every_layer=False)
        return _in_fp32(states), mask


def _in_fp32(states: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(state.float() if state.dtype == torch.bfloat16 else state for state in states)


def _padded_states(
    backbone: PreTrainedModel, tokens: Sequence[Sequence[int]], padding_id: int, every_layer: bool
) -> tuple[tuple[Tensor, ...], Tensor]:
    device = next(backbone.parameters()).device
    ids = to_device(padded(tokens, padding_id), device)
    mask = to_device(padded([[1] * len(row) for row in tokens], 0), device)
    output = backbone(input_ids=ids, attention_mask=mask, output_hidden_states=every_layer)
    return output.hidden_states if every_layer else (output.last_hidden_state,), mask


def padded(rows: Sequence[Sequence[int]], fill_value: int) -> Tensor:  # (rows, longest) int64
    """Return rows of numbers as one tensor; `fill_value` pads short rows."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[fill_value] * (longest - len(row))] for row in rows])


def full_passes(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Return the indices of sentences, longest first, in passes of at most `most` tokens, or of one longer sentence."""
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
    """Return indices, longest first, cut into passes with little padding and at most `tokens_per_pass` tokens.

    A pass ends where the next sentence is shorter than three quarters of its longest one, unless the pass is so small
    that a further pass would cost more than the padding.
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


def use_inplace_gelu(model: nn.Module) -> None:
    """Make the GELU of a model of transformers overwrite its input if no gradient is needed: the input comes from a
    linear layer and is not used again. Without new memory pages an encoding takes a fifteenth less time on a CPU.
    Results are equal to the last bit."""
    for module in model.modules():
        if isinstance(module, GELUActivation) and module.act is F.gelu:
            module.act = gelu


def gelu(values: Tensor) -> Tensor:
    """Return `F.gelu(values)`. Without gradients `values` are overwritten."""
    activated: Tensor = F.gelu(values) if torch.is_grad_enabled() else torch.ops.aten.gelu_(values)
    return activated
