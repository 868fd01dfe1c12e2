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
"""What peft calls all linear layers."""
NAME = "default"
"""What peft calls the adapter; of this name it saves no folder of its own."""


class LoraEncoder(nn.Module):
    """A linear layer of the base gives `W x + c + (alpha / rank) B A x`, where only A (rank, in) and B (out, rank) are
    trained. A `TokenEncoder`.

    A is drawn here and B is 0, so the first embeddings are the base's, and neither counts as `fresh`. Of this module's
    own are A and B alone, and a head for masked language modelling: the base is in no state dict and gets no gradient.
    """

    base: TransformerEncoder
    """The frozen encoder, with peft's layers in it."""
    peft: PeftModel
    """The base's backbone, as peft has it."""

    def __init__(self, base: TransformerEncoder, config: EncoderConfig) -> None:
        """The base's layers are replaced by peft's, which have the same weights. Raises `UserError` where a target is
        no linear layer."""
        super().__init__()
        vars(self)["base"] = base  # past nn.Module, which would take it as a part of this
        linear = (name for name, module in base.backbone.named_modules() if isinstance(module, nn.Linear))
        check_targets(config.lora_targets, linear, config.name)
        self.base_fingerprint = base.fingerprint()
        vars(self)["peft"] = _injected(base.backbone, config)
        self.adapter = nn.ModuleDict(
            {
                place.replace(".", "/"): nn.ModuleDict({"A": layer.lora_A[NAME], "B": layer.lora_B[NAME]})
                for place, layer in base.backbone.named_modules()
                if hasattr(layer, "lora_A")
            }
        )
        self.mlm_head = base.mlm_head

    @property
    def frozen(self) -> Iterator[nn.Parameter]:
        """All that lies in the base, which a backward pass goes through."""
        return self.base.parameters()

    def __getattr__(self, name: str) -> Any:
        """Of all else that is asked of an encoder (its size, its tokens, its embeddings) the base knows the answer."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(vars(self).get("base"), name)  # a copy is asked before it has one

    def fingerprint(self) -> str:
        """Sixteen digits of the base's fingerprint, the matrices, and the factor before them."""
        used = self.peft.peft_config[NAME]
        settings = {"base": self.base_fingerprint, "scale": used.lora_alpha / used.r}
        return digest(type(self), settings, self.adapter.state_dict().items())

    def train(self, mode: bool = True) -> LoraEncoder:
        """With the base's dropout (True) or without."""
        self.base.train(mode)
        return super().train(mode)

    def save(self, folder: Path) -> None:
        """Write a `SentenceTransformer` folder with equal embeddings: the base with B A added to its weights. Beside
        it, in `adapter/`, lies the adapter alone, for `PeftModel.from_pretrained`. Takes the memory of another base
        meanwhile, and leaves this one as it is."""
        check_savable(self)
        save_with_adapter(self._merged().save, self._save_adapter, folder)

    def _merged(self) -> TransformerEncoder:
        """A copy of the base, whose layers are its own again, with these matrices in their weights."""
        base, peft = copy.deepcopy((self.base, self.peft))
        peft.float()  # bf16 weights would lose some of what is added
        base.backbone = peft.merge_and_unload()
        return base

    def _save_adapter(self, folder: Path) -> None:
        folder.mkdir()
        self.peft.save_pretrained(str(folder), save_embedding_layers=False)
        (folder / "README.md").unlink()  # peft's, with blanks to fill in; the model has a card of its own


def _injected(backbone: PreTrainedModel, config: EncoderConfig) -> PeftModel:
    """peft's model around the backbone, which it changes in place."""
    from peft import LoraConfig, get_peft_model

    alpha = 2 * config.lora_rank if config.lora_alpha is None else config.lora_alpha
    settings = LoraConfig(r=config.lora_rank, lora_alpha=alpha, target_modules=list(config.lora_targets) or ALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft asks transformers for what has a new name there
        return get_peft_model(backbone, settings, adapter_name=NAME)
