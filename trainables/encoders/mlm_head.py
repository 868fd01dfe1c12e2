"""Masked language modelling as a further loss of an encoder: the model's own head predicts hidden tokens."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AutoModelForMaskedLM, PreTrainedModel, PreTrainedTokenizerBase

from trainables.encoders.families import FAMILIES, family_of, no_mask_token
from trainables.encoders.linear import use_wide_linear
from trainables.encoders.loading import SAFE_ARGUMENTS, load_safely, quieten, transformer_location
from trainables.encoders.passes import Passes
from trainables.encoders.precision import computing
from trainables.errors import UserError
from trainables.recipe import SCENES_ENCODER
from trainables.to_device import to_device

CHOSEN, HIDDEN, REPLACED = 0.15, 0.8, 0.1
IGNORED = -100
"""Label of a token that is not predicted."""


class MLMHead(nn.Module):
    """The head that predicts hidden tokens from an encoder's states, and its loss.

    The head is the checkpoint's. If there is none, it is newly initialised from torch's current seed. Output embeddings
    share the input embeddings' weights if the architecture does so. The encoder's backbone is no submodule. Raises
    `UserError` for a tokenizer without a mask token and for an architecture without a known head.
    """

    def __init__(
        self, backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str, precision: torch.dtype
    ) -> None:
        """`name` is the encoder's name, `precision` the training precision."""
        super().__init__()
        if tokenizer.mask_token_id is None:
            raise UserError(no_mask_token(name))
        self._passes = Passes(backbone, tokenizer.pad_token_id)
        self.tokenizer = tokenizer
        self.precision = precision
        self.head, self.fresh = _head(backbone, name)
        use_wide_linear(self.head)

    @property
    def device(self) -> torch.device:
        return next(self._passes.backbone.parameters()).device

    def loss(
        self, tokens: Sequence[Sequence[int]], generator: torch.Generator, share: Sequence[int]
    ) -> tuple[Tensor, int]:
        """Return the cross-entropy in nats, summed over this worker's hidden tokens, and the number of all hidden
        tokens.

        `tokens` is the whole batch, special tokens included, and `share` the indices of this worker's items. The sums
        of all workers, each divided by the number of all hidden tokens, add up to the loss of a single worker. Masks
        come from `generator` alone, so workers with equal seeds hide the same tokens.
        """
        parts, count = self.parts(tokens, generator, share)
        total = torch.zeros((), device=self.device, requires_grad=True)  # an empty share needs a backward pass, too
        with computing(self.device, self.precision):  # one context for all passes, as in `TransformerEncoder.embed`
            for part in parts:
                total = total + part()
        return total, count

    def parts(
        self,
        tokens: Sequence[Sequence[int]],
        generator: torch.Generator,
        share: Sequence[int],
        most: int | None = None,
    ) -> tuple[list[Callable[[], Tensor]], int]:
        """Return one function for each pass of at most `most` tokens, and the number of all hidden tokens. The
        functions' results add up to the sum that `loss` returns."""
        masked, labels = mask_tokens(tokens, self.tokenizer, generator)
        own = [i for i in share if any(label != IGNORED for label in labels[i])]
        passes = [[own[i] for i in indices] for indices in self._passes.cut([len(masked[i]) for i in own], most)]
        parts: list[Callable[[], Tensor]] = [
            functools.partial(self._guess, [masked[i] for i in rows], [labels[i] for i in rows]) for rows in passes
        ]
        return parts, sum(label != IGNORED for row in labels for label in row)

    def _guess(self, tokens: list[list[int]], labels: list[list[int]]) -> Tensor:  # ()
        with computing(self.device, self.precision):
            states, _ = self._passes.states(tokens)
            targets = torch.tensor([label for row in labels for label in row])
            hidden = (targets != IGNORED).nonzero().squeeze(1)  # on the CPU, without waiting for the device
            masked = states[-1][to_device(hidden, self.device)]
            logits = self.head(masked)  # (hidden tokens, vocabulary): the vocabulary is large
            logits = logits.float() if logits.dtype == torch.bfloat16 else logits
            return F.cross_entropy(logits, to_device(targets[hidden], self.device), reduction="sum")


def mask_tokens(
    tokens: Sequence[Sequence[int]], tokenizer: PreTrainedTokenizerBase, generator: torch.Generator
) -> tuple[list[list[int]], list[list[int]]]:
    """Hide tokens as BERT does. Returns the tokens with some hidden, and labels of the same shape.

    Each token that is not special is chosen independently with probability 0.15. If no token of an item is chosen, the
    token with the lowest random number is. A chosen token becomes the mask token with probability 0.8, a random
    ordinary token with 0.1, and otherwise stays. Its label is the original token; all other labels are `IGNORED`.
    """
    lengths = torch.tensor([len(ids) for ids in tokens], dtype=torch.long)
    flat = torch.tensor([token for ids in tokens for token in ids], dtype=torch.long)
    special = torch.tensor(tokenizer.all_special_ids, dtype=torch.long)
    vocabulary = torch.arange(len(tokenizer))
    ordinary = vocabulary[~torch.isin(vocabulary, special)]

    never = 2.0
    draw = torch.rand(len(flat), generator=generator).masked_fill(torch.isin(flat, special), never)
    item = torch.repeat_interleave(lengths)
    lowest = torch.full((len(tokens),), never).scatter_reduce(0, item, draw, "amin")[item]
    chosen = (draw < CHOSEN) | ((draw == lowest) & (draw < never))

    fate = torch.rand(len(flat), generator=generator)
    other = ordinary[torch.randint(len(ordinary), (len(flat),), generator=generator)]
    masked = flat.clone()
    hide, replace = chosen & (fate < HIDDEN), chosen & (fate >= HIDDEN) & (fate < HIDDEN + REPLACED)
    masked[hide] = tokenizer.mask_token_id
    masked[replace] = other[replace]
    labels = flat.masked_fill(~chosen, IGNORED)
    sizes = lengths.tolist()
    return [part.tolist() for part in masked.split(sizes)], [part.tolist() for part in labels.split(sizes)]


def _head(backbone: PreTrainedModel, name: str) -> tuple[nn.Module, tuple[str, ...]]:
    """Return the head of the masked language model `name`, tied to `backbone`, and the names of its newly initialised
    parameters."""
    family = family_of(backbone)
    if not getattr(backbone.config, "legacy", True):  # DeBERTa's newer head also needs the embeddings
        raise UserError(
            f"masked language modelling knows the older form of DeBERTa's head, and {name!r} has the newer one "
            "(legacy=false in its config.json); set objective.mlm to 0, or name another encoder"
        )
    if not family.mlm_head:
        options = ", ".join(family.name for family in FAMILIES.values() if family.mlm_head)
        raise UserError(
            f"masked language modelling knows the heads of {options}, but {name!r} is of the family {family.name!r}"
        )
    quieten()
    if name == SCENES_ENCODER:
        model = AutoModelForMaskedLM.from_config(backbone.config)
        missing = {key for key, _ in model.named_parameters()}
    else:
        location, revision = transformer_location(name)
        model, report = load_safely(
            name,
            lambda: AutoModelForMaskedLM.from_pretrained(
                location, revision=revision, dtype=torch.float32, **SAFE_ARGUMENTS, output_loading_info=True
            ),
        )
        missing = set(report["missing_keys"])
    setattr(model, model.base_model_prefix, backbone)
    model.tie_weights()
    parts = {part: getattr(model, part) for part in family.mlm_head}
    head = nn.Sequential(*parts.values())
    own = {id(parameter) for parameter in backbone.parameters()}  # tied parameters are not the head's own
    fresh = [
        f"{number}.{key}"
        for number, (part, module) in enumerate(parts.items())
        for key, parameter in module.named_parameters()
        if f"{part}.{key}" in missing and id(parameter) not in own
    ]
    return head, tuple(fresh)
