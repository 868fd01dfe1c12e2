"""Refuse, before anything starts, a missing encoder and a recipe that its encoder cannot follow."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from trainables.encoders.families import FAMILIES, named_family, no_mask_token, unfit_pooling, unknown_family
from trainables.encoders.kinds import ENCODERS, Missing
from trainables.encoders.module_files import (
    STATIC,
    TRANSFORMER,
    first_module,
    model_settings,
    modules,
    setting,
    transformer_settings,
)
from trainables.encoders.pooling import Pooling
from trainables.errors import UserError, choices, shown
from trainables.lines import other_file
from trainables.recipe import SCENES_ENCODER, EncoderConfig, Recipe, keys
from trainables.registry import load
from trainables.typed_json import parse_json

_DENSE = "SentenceTransformer"
"""The `model_type` of a sentence-transformers model that gives one dense vector for each text."""
MIXED_PROMPTS = ("corpus.mix_query_prompts", "corpus.mix_document_prompts")
_WEIGHTS, _AGAIN = "model.safetensors", "copy or download the folder again, all of it"
_CONVERT = "pickled weights can run code and are not read; load the model elsewhere and call save_pretrained"
_LONGEST_HEADER = 100_000_000
"""Largest header of a safetensors file, in bytes. safetensors refuses longer ones."""
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
"""Endings of module names whose two-dimensional weights are not linear, or belong to heads that are not loaded."""


def check_encoder(config: EncoderConfig) -> None:
    """Raise `UserError`, quickly and before anything runs, if the encoder is missing."""
    missing = _missing(config)
    if missing:
        raise UserError("; ".join(missing))


def available(config: EncoderConfig) -> str | None:
    """Return why the encoder cannot be loaded, in a phrase; None if it can. Nothing is downloaded.

    An unreachable hub is tried once per process, not for each encoder.
    """
    missing = _missing(config)
    return missing[0] if missing else None


def finished_kind(name: str) -> str | None:
    """Return the kind of encoder of a finished model, given its name or folder; None if it is of no kind."""
    for kind in ENCODERS.values():
        if kind.finished is not None and load(kind.finished)(name):
            return kind.name
    return None


def check_trainable(recipe: Recipe) -> None:
    """Raise `UserError` if a recipe's encoder cannot be trained or evaluated as the recipe asks."""
    kind, encoder = ENCODERS[recipe.encoder.kind], recipe.encoder
    _check_start(encoder)
    _check_padding(recipe)
    _check_pooling(recipe)
    if encoder.adapter == "lora":
        _check_lora(encoder)
    if not recipe.optimisation.epochs or (not recipe.trains and kind.untrained == "evaluate"):
        return
    if not recipe.trains:
        trainable = choices(repr(other.name) for other in ENCODERS.values() if other.trainable)
        raise UserError(
            f"encoder.kind {kind.name!r} is for evaluation only; set optimisation.epochs to 0, train an adapter on it "
            f"(encoder.adapter 'mlp'), or take encoder.kind {trainable}"
        )
    if recipe.pooling.after != "none":
        raise UserError(
            f"pooling.after {recipe.pooling.after!r} is for evaluation only; set optimisation.epochs to 0, "
            "or pooling.after to 'none'"
        )
    if encoder.dtype == "bf16" and recipe.optimisation.precision == "fp32" and encoder.adapter != "mlp":
        raise UserError(
            "encoder.dtype 'bf16' trains in bf16, and optimisation.precision asks for 'fp32'; "
            "set encoder.dtype to 'fp32', or optimisation.precision to 'auto'"
        )
    masked = recipe.objective.mlm > 0 or _entry(recipe, "objective.name").mlm_only
    _check_prompts(recipe)
    if encoder.adapter == "mlp":
        _check_adapter(recipe, masked)
    elif (masked or _cuts_tokens(recipe)) and not kind.tokens:
        what = "masked language modelling" if masked else f"corpus.layout {recipe.corpus.layout!r}"
        raise UserError(f"{what} needs the token ids of a transformer, which encoder.kind {kind.name!r} does not give")
    elif masked:
        _check_mask_token(encoder.name)


def _check_start(encoder: EncoderConfig) -> None:
    """Refuse a local sentence-transformers model that gives no single vector, or that this kind of encoder cannot start
    from. A model on the hub is checked when it is loaded."""
    name, kind = encoder.name, ENCODERS[encoder.kind]
    first, family = first_module(name) if Path(name).exists() else None, named_family(name)
    if first is None:
        return
    made = model_settings(name).get("model_type", _DENSE)
    if made != _DENSE:
        raise UserError(f"{name!r} is a {made}, which gives no dense vector for each text; name another model")
    if kind.name == "pipeline" and encoder.adapter == "mlp" and model_settings(name).get("truncate_dim") is not None:
        raise UserError(
            f"{name!r} cuts its embeddings at the end (truncate_dim), and nothing can be saved after that; take it "
            "out of its config_sentence_transformers.json, or set encoder.adapter to 'none'"
        )
    if kind.pools and first[0] == STATIC:
        raise UserError(f"{name!r} is a static encoder; set encoder.kind to 'static', or name a transformer")
    if kind.trainable and first[0] not in (TRANSFORMER, STATIC):
        raise UserError(
            f"{name!r} begins with the module {first[0]}, which only its own pipeline runs; set encoder.kind to "
            "'pipeline', with optimisation.epochs 0 or encoder.adapter 'mlp', or name another model"
        )
    if kind.pools and family is not None and family not in FAMILIES:
        raise UserError("; ".join(unknown_family(name, family)))


def _check_adapter(recipe: Recipe, masked: bool) -> None:
    if masked:
        raise UserError(
            "masked language modelling trains the encoder, which encoder.adapter 'mlp' freezes; set objective.mlm to "
            "0, or encoder.adapter to 'none' or 'lora'"
        )
    if recipe.flat().get("corpus.mined_every") is not None:
        raise UserError(
            "corpus.mined_every mines by an encoder that changes, and encoder.adapter 'mlp' freezes it; set "
            "corpus.mined_every to none, or encoder.adapter to 'none' or 'lora'"
        )
    if _cuts_tokens(recipe):
        raise UserError(
            f"corpus.layout {recipe.corpus.layout!r} cuts texts into tokens, and the adapter 'mlp' keeps one "
            "embedding for each text; set encoder.adapter to 'none' or 'lora', or take another layout"
        )


def _check_lora(encoder: EncoderConfig) -> None:
    if not ENCODERS[encoder.kind].lora:
        raise UserError(
            f"encoder.adapter 'lora' goes into the linear layers of a transformer, and encoder.kind {encoder.kind!r} "
            "has none; set encoder.adapter to 'none' or 'mlp'"
        )
    if importlib.util.find_spec("peft") is None:
        raise UserError("encoder.adapter 'lora' needs the package peft; install it with pip install -e '.[lora]'")
    if encoder.lora_targets:
        check_named_targets(encoder)


def _cuts_tokens(recipe: Recipe) -> bool:
    """Whether the layout makes its items from the encoder's tokens, as `spans` does."""
    return bool(_entry(recipe, "corpus.layout").draws_tokens)


def _entry(recipe: Recipe, key: str) -> Any:
    """Return the registry entry that a key names, from the key's registry: this package imports no objectives."""
    names = keys()[key].names
    assert names is not None, f"{key} has a registry"
    return names[str(recipe.flat()[key])]


def _missing(config: EncoderConfig) -> Missing | None:
    kind = ENCODERS[config.kind]
    missing: Missing | None = load(kind.missing)(config)
    return missing or (incomplete(config.name) if kind.from_folder else None)


def _check_pooling(recipe: Recipe) -> None:
    """Refuse a pooling that needs [CLS] for a folder whose family has none."""
    if not ENCODERS[recipe.encoder.kind].pools or not recipe.part(Pooling).needs_cls:
        return
    family = named_family(recipe.encoder.name)
    if family is not None and family in FAMILIES and not FAMILIES[family].cls:
        raise UserError(unfit_pooling(recipe.pooling.mode, recipe.encoder.name))


def _check_prompts(recipe: Recipe) -> None:
    encoder = recipe.encoder
    query, document = encoder.query_prompt or "", encoder.document_prompt or ""
    if _cuts_tokens(recipe) and (query or document):
        raise UserError(
            f"corpus.layout {recipe.corpus.layout!r} cuts texts into tokens, and a prompt stands before a sentence; "
            "set encoder.query_prompt and encoder.document_prompt to none, or take another layout"
        )
    if encoder.adapter == "mlp" and query != document:
        raise UserError(
            "encoder.adapter 'mlp' keeps one embedding for each text, as a query; "
            "give encoder.document_prompt the text of encoder.query_prompt"
        )
    mixed = [name for name in MIXED_PROMPTS if recipe.flat().get(name) is not None]
    if mixed and (encoder.adapter == "mlp" or not ENCODERS[encoder.kind].layers):
        fixed = "encoder.adapter 'mlp'" if encoder.adapter == "mlp" else f"encoder.kind {encoder.kind!r}"
        raise UserError(f"{mixed[0]} puts texts before sentences, which {fixed} does not take; leave it out")


def _check_padding(recipe: Recipe) -> None:
    if recipe.part(Pooling).counts_padding and recipe.encoder.adapter == "mlp":
        raise UserError(
            "pooling.padding 'count' shrinks the embeddings that are trained, and encoder.adapter 'mlp' freezes them; "
            "set pooling.padding to 'ignore', or encoder.adapter to 'none' or 'lora'"
        )


def _check_mask_token(name: str) -> None:
    """Refuse masked language modelling with a local tokenizer whose files name no mask token."""
    named, has_mask = False, False
    for file in ("tokenizer_config.json", "special_tokens_map.json"):
        path = Path(name) / file
        if path.is_file():
            named = True
            try:
                has_mask |= bool(json.loads(path.read_text(encoding="utf-8"))["mask_token"])
            except LookupError:
                continue
            except (ValueError, TypeError, RecursionError):
                raise UserError(f"{path} is no JSON object; save the tokenizer again") from None
    if named and not has_mask:
        raise UserError(no_mask_token(name))


def check_targets(targets: Sequence[str], linear: Iterable[str], encoder: str) -> None:
    """Raise `UserError` unless each target is the name of a linear layer, or the end of one. peft would also take other
    layers, and would skip a name that it does not find."""
    linear = tuple(linear)
    for target in targets:
        if not any(name == target or name.endswith(f".{target}") for name in linear):
            options = choices(sorted({repr(name.rpartition(".")[2]) for name in linear}))
            raise UserError(
                f"encoder.lora_targets names {target!r}, which is no linear layer of {encoder!r}; it has {options}"
            )


def check_named_targets(config: EncoderConfig) -> None:
    """Check `encoder.lora_targets` before loading, for the built-in encoder and for folders with safetensors. Other
    encoders are not known yet; every encoder is checked again when a trial loads it."""
    names = BUILT_IN if config.name == SCENES_ENCODER else _matrices(Path(config.name))
    if names:
        check_targets(config.lora_targets, names, config.name)


def _matrices(folder: Path) -> list[str]:
    """Return the names of a model's modules whose weight has two dimensions: they may be linear layers."""
    from safetensors import SafetensorError, safe_open  # most studies do not need it

    matrices = []
    try:
        for file in sorted(folder.glob("*.safetensors")):
            with safe_open(file, "numpy") as weights:
                shapes = {name: weights.get_slice(name).get_shape() for name in weights.keys()}  # noqa: SIM118
            matrices += [name.removesuffix(".weight") for name, shape in shapes.items() if len(shape) == 2]
    except SafetensorError:  # loading reports what is wrong with the file
        return []
    return [name for name in matrices if not name.endswith(_NOT_LINEAR)]


def incomplete(name: str) -> Missing | None:
    """Return which file of a model's folder is missing, cut or wrong; None: the folder is complete, or none."""
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
    """Return, in words, what a broken file of weights is; None for a whole one. The header of a broken file has no
    offsets, or offsets beyond the file's end."""
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
