"""Whether an encoder's folder has what loading reads, as far as small files and heads of files tell."""

from __future__ import annotations

from pathlib import Path

from trainables.encoders.kinds import Missing
from trainables.encoders.module_files import TRANSFORMER, first_module, modules, setting, transformer_settings
from trainables.errors import shown
from trainables.lines import other_file
from trainables.typed_json import parse_json

_WEIGHTS, _AGAIN = "model.safetensors", "copy or download the folder again, all of it"
_CONVERT = "pickled weights can run code and are not read; load the model elsewhere and call save_pretrained"
_LONGEST_HEADER = 100_000_000
"""Bytes; safetensors reads no longer one."""


def incomplete(name: str) -> Missing | None:
    """What of a model's folder is missing, cut or wrong; None of what is no folder."""
    if not Path(name).is_dir():
        return None
    kind, folder = first_module(name) or (TRANSFORMER, "")
    listed_modules, first = modules(name), Path(name) / folder
    weights = [Path(name) / str(module.get("path", "")) / _WEIGHTS for module in listed_modules]
    if kind == TRANSFORMER:
        index = {} if (first / _WEIGHTS).is_file() else setting(name, f"{Path(folder) / _WEIGHTS}.index.json", {})
        shards = index.get("weight_map")
        named = sorted({*map(str, shards.values())}) if isinstance(shards, dict) else [_WEIGHTS]
        needed = [*(["config.json"] if listed_modules else []), *named]
        lacking = next((file for file in needed if not (first / file).is_file()), None)
        if lacking is not None and not (first / "adapter_config.json").is_file():
            pickled = lacking == _WEIGHTS and any(first.glob("pytorch_model*"))
            return f"{str(first)!r} has no {lacking}", _CONVERT if pickled else _AGAIN
        longest = transformer_settings(name).get("max_seq_length")
        if longest is not None and not (type(longest) is int and longest > 0):
            return f"max_seq_length of {name!r} is {shown(longest)}", "make it a whole number above 0, or null"
        weights += [first / file for file in named]
    broken = ((file, _broken(file)) for file in dict.fromkeys(weights) if file.is_file())
    return next(((f"{file} is {what}", _AGAIN) for file, what in broken if what), None)


def _broken(weights: Path) -> str | None:
    """What a file is whose header does not say where its weights lie, or says more than there are."""
    size = weights.stat().st_size
    with weights.open("rb") as stream:
        head = stream.read(8)
        length = int.from_bytes(head, "little")
        text = stream.read(length if length <= _LONGEST_HEADER else 99)
    try:
        tensors = [held for name, held in parse_json(text).items() if name != "__metadata__"]
        whole = 8 + length + max((held["data_offsets"][1] for held in tensors), default=0) <= size
    except (ValueError, LookupError, TypeError, AttributeError):
        whole = False
    return None if whole else other_file(head + text[:99]) or "no file of safetensors, or not all of one"
