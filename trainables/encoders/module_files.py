"""Read the settings of a sentence-transformers model, in a folder or on the hub, without loading a library.

modules(name)           # [{"type": "...Transformer", "path": ""}, ...]; [] for a plain transformer
own_length(name)        # 256, the longest input in tokens
own_prompts(name)       # ("query: ", "passage: ")
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainables.encoders import availability
from trainables.encoders.families import longest_input
from trainables.encoders.pooling import POOLINGS
from trainables.errors import UserError, shown
from trainables.recipe import SCENES_ENCODER
from trainables.typed_json import parse_json

MODULES, _SETTINGS = "modules.json", "config_sentence_transformers.json"
TRANSFORMER, STATIC = "Transformer", "StaticEmbedding"
"""Class names of the first module in models whose parts can be trained."""
_OF_TRANSFORMERS = tuple(
    f"sentence_{family}_config.json"
    for family in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
"""Possible names of the file of a transformer module's settings; the name in current versions comes first."""
NO_LIMIT = 10**9
"""A tokenizer whose longest input is above this number has no limit."""


def modules(name: str) -> list[dict[str, Any]]:
    """Return the entries of a model's list of modules; [] for a plain transformer."""
    return [module for module in setting(name, MODULES, []) if isinstance(module, dict)]


def module_kind(module: Mapping[str, Any]) -> str:
    return str(module.get("type")).rpartition(".")[2]


def first_module(name: str) -> tuple[str, str] | None:
    """Return the kind and the folder of a model's first module; None for a plain transformer."""
    return next(((module_kind(module), str(module.get("path", ""))) for module in modules(name)), None)


def module_settings(name: str, module: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a module after the first one."""
    return dict(setting(name, f"{module.get('path')}/config.json", {}))


def model_settings(name: str) -> dict[str, Any]:
    """Return the settings of the whole model, such as prompts and similarity."""
    return dict(setting(name, _SETTINGS, {}))


def transformer_settings(name: str) -> dict[str, Any]:
    """Return the settings for loading a model's transformer and passing texts to it."""
    kind, folder = first_module(name) or ("", "")
    files = (str(Path(folder) / file) for file in _OF_TRANSFORMERS) if kind == TRANSFORMER else ()
    return next((held for file in files if (held := setting(name, file, {}))), {})


def own_length(name: str) -> int | None:
    """Return the longest input that a model itself allows, in tokens, special tokens included; None: no limit."""
    kind, folder = first_module(name) or ("", "")
    if kind == STATIC:
        cut = setting(name, str(Path(folder) / "tokenizer.json"), {}).get("truncation")
        return cut.get("max_length") if isinstance(cut, dict) else None
    stated, config = stated_length(name), setting(name, str(Path(folder) / "config.json"), {})
    usual = setting(name, str(Path(folder) / "tokenizer_config.json"), {}).get("model_max_length")
    lengths = (usual if stated is None else stated, longest_input(config))
    return min((length for length in lengths if isinstance(length, int) and length < NO_LIMIT), default=None)


def stated_length(name: str) -> int | None:
    """Return the longest input in a model's own settings, which take precedence over its tokenizer's; None if unset."""
    held = transformer_settings(name)
    handed = held.get("processor_kwargs") or held.get("tokenizer_args")
    length = handed.get("model_max_length") if isinstance(handed, dict) else None
    length = held.get("max_seq_length") if length is None else length
    return length if isinstance(length, int) and length > 0 else None


def lower_cases(name: str) -> bool:
    """Whether a model lower-cases texts, whatever its tokenizer does."""
    return transformer_settings(name).get("do_lower_case") is True


def own_prompts(name: str) -> tuple[str | None, str | None]:
    """Return a model's own prompts for queries and for documents; None for a missing prompt. Its default prompt counts
    as the query prompt, since every scored text but documents is a query."""
    by_name = prompts(name)
    return default_prompt(name) or by_name.get("query"), by_name.get("document") or by_name.get("passage")


def default_prompt(name: str) -> str | None:
    """Return the prompt that a model puts before texts by default; None if it has none."""
    return prompts(name).get(str(model_settings(name).get("default_prompt_name")))


def prompts(name: str) -> dict[str, str]:
    """Return a model's prompts by name, without empty ones."""
    held = model_settings(name).get("prompts")
    items = held.items() if isinstance(held, dict) else ()
    return {key: text for key, text in items if isinstance(text, str) and text}


def own_pooling(name: str) -> str | None:
    """Return a model's own pooling, by its name in `POOLINGS`; None for a plain transformer or another pooling."""
    parts = modules(name)
    before = next(filter(None, (layered_pooling(name, module) for module in parts)), None)
    poolings = [module for module in parts if module_kind(module) == "Pooling"]
    mode = before or (pooling_mode(name, poolings[0]) if len(poolings) == 1 else None)
    return mode if mode in POOLINGS else None


def pooling_mode(name: str, module: Mapping[str, Any]) -> str | None:
    """Return the mode of a module `Pooling`, by its name in `POOLINGS` if it has one; None for several modes."""
    settings = module_settings(name, module)
    on = [key.removeprefix("pooling_mode_") for key, value in settings.items() if value is True and "_mode_" in key]
    mode = settings.get("pooling_mode", on or "mean")
    mode = mode[0] if isinstance(mode, list) and len(mode) == 1 else mode
    if not isinstance(mode, str):
        return None
    first_wins = reversed([*POOLINGS.values()])  # a plugin's pooling replaces no stock mode
    ours = {pooling.stock: pooling.name for pooling in first_wins if pooling.module_before is None}
    older = mode.removesuffix("_tokens").removesuffix("_token")  # names in the older format of flags
    return ours.get(mode) or ours.get(older) or mode


def layered_pooling(name: str, module: Mapping[str, Any]) -> str | None:
    """Return the pooling of `POOLINGS` that a module and the mean after it form together; None if there is none."""
    kind, settings = module_kind(module), module_settings(name, module)

    def weights(tensor: str) -> list[float]:
        from safetensors.numpy import load_file

        file = file_path(name, f"{module.get('path')}/model.safetensors")
        numbers: list[float] = [] if file is None else load_file(file)[tensor].tolist()
        return numbers

    poolings = (pooling for pooling in POOLINGS.values() if pooling.module_before == kind)
    return next((pooling.name for pooling in poolings if pooling.matches_module(settings, weights)), None)


def setting(name: str, file: str, missing: Any) -> Any:  # JSON is of any type
    """Return the content of a model's JSON file, or `missing` if there is no file. Raises `UserError` if the file is
    broken or its content is not of the type of `missing`."""
    path = file_path(name, file)
    try:
        content = parse_json(path.read_bytes()) if path is not None else missing
    except ValueError as error:
        raise UserError(f"{path} is no part of a sentence-transformers model ({error})") from None
    if not isinstance(content, type(missing)):
        raise UserError(f"{path} is no part of a sentence-transformers model (it holds {shown(content)})")
    return content


def file_path(name: str, file: str) -> Path | None:
    """Return the path of a model's file; None if it is missing or the hub cannot be reached."""
    if name == SCENES_ENCODER or Path(name).exists():
        path = Path(name) / file
        return path if path.is_file() else None
    return availability.from_hub(name, file)
