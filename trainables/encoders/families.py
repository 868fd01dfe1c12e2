"""The families of transformers and their differences: one entry each, named by `model_type` in a model's config.json.

To add one, write an entry here or in a plugin file, and a tiny model of it in `tests/families.py`. Importing this
module is light; the functions at its end take a loaded model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainables.encoders.kinds import Missing
from trainables.encoders.pooling import POOLINGS
from trainables.errors import UserError, choices, shown
from trainables.recipe import EncoderConfig
from trainables.registry import Registry

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Family:
    """A family of transformers, such as BERT: an entry of `FAMILIES`."""

    name: str
    """Name of the family: `model_type` in config.json."""
    layers: str | None
    """Path of attributes from the model to its list of layers; None: the layers cannot be cut."""
    loader: str = "AutoModel"
    """Class of transformers that loads the model without a head."""
    cls: bool = True
    """Whether a text starts with a token that represents the whole text, [CLS] or <s>."""
    causal: bool = False
    """Whether a token does not attend to later tokens."""
    after_padding: bool = False
    """Whether the first position is the padding token's id plus one, as in RoBERTa, and not 0."""
    mlm_head: tuple[str, ...] = ()
    """Attributes of the masked language model that form its head, in order of computation; (): unknown."""


_ROBERTA = ("lm_head",)

FAMILIES = Registry(
    "family of transformers",
    Family("albert", None, mlm_head=("predictions",)),
    Family("bert", "encoder.layer", mlm_head=("cls",)),
    Family("camembert", "encoder.layer", after_padding=True, mlm_head=_ROBERTA),
    Family("deberta-v2", "encoder.layer", mlm_head=("cls",)),
    Family(
        "distilbert",
        "transformer.layer",
        mlm_head=("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector"),
    ),
    Family("electra", "encoder.layer", mlm_head=("generator_predictions", "generator_lm_head")),
    Family("modernbert", "layers", mlm_head=("head", "decoder")),
    Family("mpnet", "encoder.layer", after_padding=True, mlm_head=_ROBERTA),
    Family("roberta", "encoder.layer", after_padding=True, mlm_head=_ROBERTA),
    Family("xlm-roberta", "encoder.layer", after_padding=True, mlm_head=_ROBERTA),
    # T5's encoder only.
    Family("t5", "encoder.block", "AutoModelForTextEncoding", cls=False),
    Family("mt5", "encoder.block", "AutoModelForTextEncoding", cls=False),
    Family("umt5", "encoder.block", "AutoModelForTextEncoding", cls=False),
    # Decoder language models.
    Family("llama", "layers", cls=False, causal=True),
    Family("mistral", "layers", cls=False, causal=True),
    Family("qwen2", "layers", cls=False, causal=True),
    Family("qwen3", "layers", cls=False, causal=True),
)
"""The families that `encoder.kind=transformer` takes."""
_WIDTH = ("hidden_size", "d_model", "n_embd", "dim")
_LAYERS = ("num_hidden_layers", "n_layers", "num_layers")
"""Keys of the number of layers in config.json: for most families, for DistilBERT and for T5."""


def named_family(name: str) -> str | None:
    """Return the family in the config.json of a model's folder; None if there is no such folder, file or entry."""
    family = _configured(Path(name)).get("model_type")
    return family if isinstance(family, str) else None


def cuttable_layers(folder: Path) -> int | None:
    """Return the number of layers that `encoder.layers` may cut, 0 if the model cannot be cut; None if its config.json
    has no number."""
    config = _configured(folder)
    family = config.get("model_type")
    if isinstance(family, str) and family in FAMILIES and FAMILIES[family].layers is None:
        return 0
    return next((config[name] for name in _LAYERS if isinstance(config.get(name), int)), None)


def width(folder: Path) -> int | None:
    """Return the size of the model's token states; None if its config.json has no size."""
    config = _configured(folder)
    return next((config[name] for name in _WIDTH if isinstance(config.get(name), int)), None)


def unfit_layers(config: EncoderConfig, layers: int) -> str | None:
    """Return, in a sentence, why the first `config.layers` layers cannot be kept; None if they can. `layers` is the
    number from `cuttable_layers`."""
    if config.layers is None or config.layers <= layers:
        return None
    has = f"{layers} layers" if layers else "layers that cannot be cut"
    return f"encoder.layers is {config.layers}, but {config.name!r} has {has}"


def _configured(folder: Path) -> dict[str, Any]:
    """Return the content of config.json; {} if it is missing or cannot be read, which loading reports."""
    for file in (folder / "config.json", folder / "0_Transformer" / "config.json"):
        if file.is_file():
            try:
                config = json.loads(file.read_text(encoding="utf-8"))
            except (ValueError, RecursionError):
                return {}
            return config if isinstance(config, dict) else {}
    return {}


def unknown_family(name: str, family: str) -> Missing:
    """Return the message that the encoder `name` is of a family without an entry, and what a user can do."""
    return (
        f"the encoder {name!r} is of the family {shown(family)}, which is not known here",
        f"the families are {', '.join(FAMILIES)}, and a plugin can add one",
    )


def unfit_pooling(mode: str, name: str) -> str:
    """Return, in a sentence, that a pooling needs [CLS] but the model's texts have none."""
    fitting = choices(repr(pooling.name) for pooling in POOLINGS.values() if not pooling.needs_cls)
    return f"pooling.mode {mode!r} needs a [CLS] token, which {name!r} has not; take pooling.mode {fitting}"


def no_mask_token(name: str) -> str:
    """Return, in a sentence, that masked language modelling needs a mask token and the tokenizer has none."""
    return (
        f"masked language modelling needs a mask token, which the tokenizer of {name!r} has not; "
        "set objective.mlm to 0, or name another encoder"
    )


def family_of(backbone: PreTrainedModel) -> Family:
    """Return the entry of `FAMILIES` for a loaded model."""
    return FAMILIES[backbone.config.model_type]


def layer_list(backbone: PreTrainedModel) -> nn.ModuleList | None:
    """Return the model's layers; None if they cannot be cut."""
    path = family_of(backbone).layers
    part: Any = backbone
    for name in path.split(".") if path else ():
        part = getattr(part, name)
    return part if path else None


def longest_input(config: Mapping[str, Any]) -> int | None:
    """Return the longest input in tokens by a model's config.json, special tokens included; None: no limit, as in T5.

    DeBERTa and decoders could take more than their configuration allows, but sentence-transformers would cut there.
    """
    positions, family = config.get("max_position_embeddings"), config.get("model_type")
    if not isinstance(positions, int):
        return None
    if not isinstance(family, str) or family not in FAMILIES or not FAMILIES[family].after_padding:
        return positions
    padding = config.get("pad_token_id", 1)
    if type(padding) is not int:
        raise UserError(
            f"a model of the family {family} counts positions from its token of padding, and its config.json has "
            f"pad_token_id {shown(padding)}; write the token's number there, as its tokenizer has it"
        )
    return positions - padding - 1


def first_position(backbone: PreTrainedModel) -> int:
    """Return the position of a sentence's first token."""
    return int(backbone.embeddings.padding_idx) + 1 if family_of(backbone).after_padding else 0


def packs(backbone: PreTrainedModel) -> bool:
    """Whether the attention uses transformers' attention interface, so that many sentences can be packed into one row.
    If not, passes are padded."""
    return bool(backbone._supports_attention_backend)
