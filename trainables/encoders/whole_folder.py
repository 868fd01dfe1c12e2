"""Whether an encoder's folder has what loading reads, as far as small files and heads of files tell."""

from __future__ import annotations

from pathlib import Path

from trainables.encoders.kinds import Missing
from trainables.encoders.module_files import TRANSFORMER, first_module, modules, setting, transformer_settings
from trainables.errors import shown
from trainables.lines import other_file
from trainables.typed_json import parse_json

_WEIGHTS, _AGAIN = "model.safetensors", "copy or download the folder again, all of it"
_CONVERT = "weights are not read of a pickle, which can run code: load it elsewhere and call save_pretrained"


def incomplete(name: str) -> Missing | None:
    """What of a model's folder is missing, cut or wrong; None of what is no folder."""
    if not Path(name).is_dir():
        return None
    kind, folder = first_module(name) or (TRANSFORMER, "")
    own, inner = modules(name), Path(name) / folder
    weights = [file for part in own or [{}] for file in (Path(name) / str(part.get("path", ""))).glob("*.safetensors")]
    if kind == TRANSFORMER:
        shards = setting(name, f"{Path(folder) / _WEIGHTS}.index.json", {}).get("weight_map")
        named = sorted({*map(str, shards.values())}) if isinstance(shards, dict) else []
        needed = [*(["config.json"] if own else []), *(named or [_WEIGHTS])]
        lacking = next((file for file in needed if not (inner / file).is_file()), None)
        if lacking is not None and not (inner / "adapter_config.json").is_file():
            pickled = lacking == _WEIGHTS and (inner / "pytorch_model.bin").is_file()
            return f"{str(inner)!r} has no {lacking}", _CONVERT if pickled else _AGAIN
        longest = transformer_settings(name).get("max_seq_length")
        if longest is not None and not (type(longest) is int and longest > 0):
            return f"max_seq_length of {name!r} is {shown(longest)}", "make it a whole number above 0, or null"
    broken = ((file, _broken(file)) for file in sorted(weights) if file.is_file())
    return next(((f"{file} is {what}", _AGAIN) for file, what in broken if what), None)


def _broken(weights: Path) -> str | None:
    """What a file is whose header does not say where its weights lie, or says more than there are."""
    size = weights.stat().st_size
    with weights.open("rb") as stream:
        head = stream.read(8)
        length = int.from_bytes(head, "little")
        text = stream.read(min(length, size))
    try:
        tensors = [held for name, held in parse_json(text).items() if name != "__metadata__"]
        whole = 8 + length + max((held["data_offsets"][1] for held in tensors), default=0) <= size
    except (ValueError, LookupError, TypeError, AttributeError):
        whole = False
    return None if whole else other_file(head + text[:99]) or "no file of safetensors, or not all of one"
