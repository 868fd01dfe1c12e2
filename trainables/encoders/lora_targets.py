"""Which linear layers `encoder.lora_targets` names: asked of a loaded model, and before that of a folder's weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from trainables.errors import UserError, choices
from trainables.recipe import SCENES_ENCODER, EncoderConfig

_IN_A_LAYER = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
BUILT_IN = tuple(f"encoder.layer.{layer}.{name}" for layer in range(2) for name in _IN_A_LAYER)
"""The linear layers of the built-in encoder."""
_NOT_LINEAR = ("embeddings", "embed_tokens", "shared", "relative_attention_bias", "lm_head", "decoder")
"""How names of other weights with two dimensions end, and those of heads that are not loaded."""


def check_targets(targets: Sequence[str], linear: Iterable[str], encoder: str) -> None:
    """Each target must be the name of a linear layer, or the end of one: peft would take other layers, too, and leave
    out a name that it does not find."""
    linear = tuple(linear)
    for target in targets:
        if not any(name == target or name.endswith(f".{target}") for name in linear):
            options = choices(sorted({repr(name.rpartition(".")[2]) for name in linear}))
            raise UserError(
                f"encoder.lora_targets names {target!r}, which is no linear layer of {encoder!r}; it has {options}"
            )


def check_named_targets(config: EncoderConfig) -> None:
    """The same before anything is loaded, for the built-in encoder and for folders with safetensors; of others nothing
    is known yet. What this lets pass is checked again when a trial loads the encoder."""
    names = BUILT_IN if config.name == SCENES_ENCODER else _matrices(Path(config.name))
    if names:
        check_targets(config.lora_targets, names, config.name)


def _matrices(folder: Path) -> list[str]:
    """Modules of a model's folder that have a weight with two dimensions and may be linear layers."""
    from safetensors import SafetensorError, safe_open  # most studies do not need it

    matrices = []
    try:
        for file in sorted(folder.glob("*.safetensors")):
            with safe_open(file, "numpy") as weights:
                shapes = {name: weights.get_slice(name).get_shape() for name in weights.keys()}  # noqa: SIM118
            matrices += [name.removesuffix(".weight") for name, shape in shapes.items() if len(shape) == 2]
    except SafetensorError:  # loading says what is wrong with the file
        return []
    return [name for name in matrices if not name.endswith(_NOT_LINEAR)]
