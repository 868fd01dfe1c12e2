"""Packed passes: the tokens of many sentences in one row, without padding. Each sentence attends only to itself.

Linear layers, norms and dropout see real tokens only. Attention uses transformers' attention interface, under the name
`PACKED`, and gets a `Packing`. Token positions restart with each sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from transformers import AttentionInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from trainables.encoders.dropout import factors
from trainables.encoders.families import first_position
from trainables.encoders.packing import AttentionSettings, Packing
from trainables.encoders.varlen import fastest_attention, repeat_shared_heads
from trainables.to_device import to_device

PACKED = "packed_sentences"


def packed_states(
    backbone: PreTrainedModel, tokens: Sequence[Sequence[int]], every_layer: bool, padding_id: int, *, rounded: bool
) -> tuple[tuple[Tensor, ...], Tensor]:
    """Return the token states of one packed pass, and each sentence's number of tokens, (sentences,), on the CPU.

    Each tensor of states is (tokens, dim), one sentence after the other: those of the last layer, or with `every_layer`
    of the embeddings and all layers. `rounded`: sentences of the token `padding_id` fill the row up (`Packing.pack`);
    their states are not returned.
    """
    device = next(backbone.parameters()).device
    packing = Packing.pack([len(row) for row in tokens], device, rounded=rounded)
    output = backbone(
        input_ids=to_device(packing.ids(tokens, padding_id), device),
        position_ids=to_device(packing.positions(first_position(backbone)), device),
        output_hidden_states=every_layer,
        packing=packing,
    )
    states = output.hidden_states if every_layer else (output.last_hidden_state,)
    lengths = torch.tensor(packing.lengths[: packing.real_sentences])
    real = int(lengths.sum())
    return tuple(state[0, :real] for state in states), lengths


def attention(
    module: nn.Module,
    query: Tensor,  # (1, heads, tokens, size)
    key: Tensor,  # (1, heads, tokens, size); fewer heads where several queries share one
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    packing: Packing | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    """Return (1, tokens, heads, size), for transformers' attention interface. Without `packing` this is the usual
    attention of a padded pass."""
    if packing is None:
        output, _ = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **more
        )
        return output, None
    causal = more.get("is_causal")
    causal = getattr(module, "is_causal", False) if causal is None else causal
    window = more.get("sliding_window")
    cuts = window is not None and window < packing.longest
    settings = AttentionSettings(dropout, causal, window if cuts else None, scaling)
    attend = fastest_attention(value, packing, settings, attend_in_runs)
    return attend(query, key, value, packing, settings).unsqueeze(0), None


def attend_in_runs(query: Tensor, key: Tensor, value: Tensor, packing: Packing, settings: AttentionSettings) -> Tensor:
    """Attend with one product per run of neighbouring sentences of equal length. Used if no kernel of `varlen.py`
    fits."""
    query, key, value = (part.squeeze(0) for part in repeat_shared_heads(query, key, value))
    if settings.dropout:  # torch's kernel has none on a CPU
        dropped: Tensor = _RunAttention.apply(query, key, value, packing, settings)
        return dropped
    attended = []
    for run in zip(*map(packing.by_run, (query, key, value)), strict=True):
        # torch's kernel takes a quarter less time with heads after sentences
        queries, keys, values = (part.transpose(0, 1) for part in run)
        mask = settings.mask(queries.shape[2], query.device)
        output = F.scaled_dot_product_attention(queries, keys, values, mask, scale=settings.scaling)
        attended.append(output.transpose(1, 2).flatten(0, 1))
    return torch.cat(attended)


class _RunAttention(torch.autograd.Function):
    """Attention with dropout in each run, from (heads, tokens, size) to (tokens, heads, size).

    Forwards and backwards are one step of autograd each, which for sentences of a dozen tokens costs less than many
    small ones. On a CPU all is computed in fp32, also if the rest is in bf16: small products are slower in 16 bits.
    """

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, packing: Packing, settings: AttentionSettings
    ) -> Tensor:
        heads, tokens, size = query.shape
        dtype = torch.float32 if (value.device.type, value.dtype) == ("cpu", torch.bfloat16) else value.dtype
        attended = value.new_empty(tokens, heads, size)
        ctx.scaling = settings.scaling or size**-0.5
        saved: list[Tensor] = []
        with _without_autocast(value.device):
            for *run, target in zip(*map(packing.by_run, (query, key, value, attended.transpose(0, 1))), strict=True):
                q, k, v = (_gathered(part, dtype) for part in run)
                scores = torch.baddbmm(q.new_empty(()), q, k.mT, beta=0, alpha=ctx.scaling)
                visible = settings.mask(q.shape[1], q.device)
                if visible is not None:
                    scores.masked_fill_(~visible, -torch.inf)
                weights = scores.softmax(-1)
                mask = factors(weights.shape, settings.dropout, weights.device, dtype)
                target.copy_(((weights * mask) @ v).view(target.shape))
                if any(ctx.needs_input_grad):  # else a run's tensors are freed at once
                    saved += [q, k, v, weights, mask]
        ctx.save_for_backward(*saved)
        ctx.packing, ctx.dtypes = packing, [part.dtype for part in (query, key, value)]
        return attended

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        # in the memory layout of a linear layer's output, whose gradient they are part of
        gradients = [gradient.new_empty(gradient.shape, dtype=dtype).transpose(0, 1) for dtype in ctx.dtypes]
        saved = iter(ctx.saved_tensors)
        with _without_autocast(gradient.device):
            for run, *targets in zip(*map(ctx.packing.by_run, (gradient.transpose(0, 1), *gradients)), strict=True):
                q, k, v, weights, mask = (next(saved) for _ in range(5))
                own = _gathered(run, q.dtype)
                of_weights = (own @ v.mT).mul_(mask)
                of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype)
                nothing = q.new_empty(())
                of_queries = torch.baddbmm(nothing, of_scores, k, beta=0, alpha=ctx.scaling)
                of_keys = torch.baddbmm(nothing, of_scores.mT, q, beta=0, alpha=ctx.scaling)
                of_values = (weights * mask).mT @ own
                for computed, target in zip((of_queries, of_keys, of_values), targets, strict=True):
                    target.copy_(computed.view(target.shape))
        return (*gradients, None, None)


def _without_autocast(device: torch.device) -> torch.autocast:
    """Let products keep their inputs' types inside the block. Does nothing for a device without autocast."""
    return torch.autocast(device.type if torch.amp.is_autocast_available(device.type) else "cpu", enabled=False)


def _gathered(run: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a run of sentences as (heads x sentences, length, size), for one batched product."""
    return run.new_empty(run.shape, dtype=dtype).copy_(run).flatten(0, 1)


def _mask(*arguments: Any, attention_mask: Tensor | None = None, **more: Any) -> Tensor | None:
    """Return the mask of a padded pass; None for a packed pass, which needs none."""
    mask: Tensor | None = (
        None if attention_mask is None else sdpa_mask(*arguments, attention_mask=attention_mask, **more)
    )
    return mask


AttentionInterface.register(PACKED, attention)
AttentionMaskInterface.register(PACKED, _mask)
