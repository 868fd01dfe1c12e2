"""LoRA (Hu 2022): a frozen transformer, and two small trained matrices beside each of its linear layers, by `peft`."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import nn

from trainables.encoders.check import check_targets
from trainables.encoders.contract import check_savable
from trainables.encoders.export import save_with_adapter
from trainables.encoders.fingerprint import digest
from trainables.encoders.transformer import TransformerEncoder
from trainables.recipe import EncoderConfig

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel

ALL = "all-linear"
"""peft's name for all linear layers."""
NAME = "default"
"""peft's name for the adapter. With this name no subfolder is saved."""


class LoraEncoder(nn.Module):
    """A `TokenEncoder` whose linear layers compute `W x + c + (alpha / rank) B A x`. Only A (rank, in) and B (out,
    rank) are trained.

    A is random at first and B is 0, so untrained embeddings are the base's, and neither matrix counts as `fresh`. The
    module owns only A, B, and a head for masked language modelling: the base is in no state dict and gets no gradient.
    """

    base: TransformerEncoder
    """The frozen encoder, with peft's layers in it."""
    peft: PeftModel
    """The base's backbone, wrapped by peft."""

    def __init__(self, base: TransformerEncoder, config: EncoderConfig) -> None:
        """Replace the base's layers by peft's, with the same weights. Raises `UserError` if a target is no linear
        layer."""
        super().__init__()
        vars(self)["base"] = base  # bypasses nn.Module, which would register a submodule
        linear = (name for name, module in base.backbone.named_modules() if isinstance(module, nn.Linear))
        check_targets(config.lora_targets, linear, config.name)
        self.base_fingerprint = base.fingerprint()
        vars(self)["peft"] = _injected(base.backbone, config)
        self.adapter = nn.ModuleDict(
            {
                name.replace(".", "/"): nn.ModuleDict({"A": layer.lora_A[NAME], "B": layer.lora_B[NAME]})
                for name, layer in base.backbone.named_modules()
                if hasattr(layer, "lora_A")
            }
        )
        self.mlm_head = base.mlm_head

    @property
    def frozen(self) -> Iterator[nn.Parameter]:
        """The parameters of the base, which are not trained but which a backward pass goes through."""
        return self.base.parameters()

    def __getattr__(self, name: str) -> Any:
        """Read attributes that this class lacks (size, tokens, embeddings) from the base."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(vars(self).get("base"), name)  # a copy is read before it has a base

    def fingerprint(self) -> str:
        """Return sixteen hexadecimal digits of the base's fingerprint, the matrices, and their scale."""
        used = self.peft.peft_config[NAME]
        settings = {"base": self.base_fingerprint, "scale": used.lora_alpha / used.r}
        return digest(type(self), settings, self.adapter.state_dict().items())

    def train(self, mode: bool = True) -> LoraEncoder:
        """Turn the base's dropout on (True) or off."""
        self.base.train(mode)
        return super().train(mode)

    def save(self, folder: Path) -> None:
        """Write a `SentenceTransformer` folder with equal embeddings: the base with B A added to its weights. Its
        subfolder `adapter/` contains the adapter alone, for `PeftModel.from_pretrained`. Takes the memory of a second
        base, and does not change this encoder."""
        check_savable(self)
        save_with_adapter(self._merged().save, self._save_adapter, folder)

    def _merged(self) -> TransformerEncoder:
        """Return a copy of the base without peft's layers, the matrices added to its weights."""
        base, peft = copy.deepcopy((self.base, self.peft))
        peft.float()  # bf16 weights would lose digits of the sum
        base.backbone = peft.merge_and_unload()
        return base

    def _save_adapter(self, folder: Path) -> None:
        folder.mkdir()
        self.peft.save_pretrained(str(folder), save_embedding_layers=False)
        (folder / "README.md").unlink()  # peft's template; the model has its own card


def _injected(backbone: PreTrainedModel, config: EncoderConfig) -> PeftModel:
    """Put peft's LoRA layers into the backbone in place, and return peft's model around it."""
    from peft import LoraConfig, get_peft_model

    alpha = 2 * config.lora_rank if config.lora_alpha is None else config.lora_alpha
    settings = LoraConfig(r=config.lora_rank, lora_alpha=alpha, target_modules=list(config.lora_targets) or ALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft uses old names of transformers
        return get_peft_model(backbone, settings, adapter_name=NAME)
