"""What a model of sentence-transformers is made of, as its files of settings say; no library is loaded.

left_out(recipe)      # ["2_Normalize"]: what its encoder does not take over from the model that it starts from
own_ending(config)    # Ending(normalised=True, similarity="cosine"): what a saved model has again of that
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainables.encoders import availability
from trainables.encoders.families import FAMILIES, named_family
from trainables.encoders.kinds import ENCODERS
from trainables.encoders.pooling import POOLINGS
from trainables.errors import UserError, shown
from trainables.recipe import SCENES_ENCODER, EncoderConfig, Recipe
from trainables.typed_json import parse_json

MODULES, _SETTINGS = "modules.json", "config_sentence_transformers.json"
_MODES = {"mean_tokens": "mean", "cls_token": "cls", "max_tokens": "max", "lasttoken": "last"}
"""Poolings of ours that their files name otherwise."""
_BEFORE = {"MultiVectorMask": "mean_without_cls", "WeightedLayerPooling": "first_last_mean"}
"""Modules that make a mean one of our poolings (`saved_modules.py`)."""
_SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
"""Those that sentence-transformers has."""


@dataclass(frozen=True)
class Ending:
    """What a model that was started from another has at its end as that one had it. No cosine changes by it."""

    normalised: bool = False
    """Whether embeddings have the length one: with `dot`, as indexes of vectors often take it, that is the cosine."""
    similarity: str | None = None
    """The name of the function by which the model's own `similarity` compares; None: sentence-transformers' default."""


PLAIN = Ending()


def own_ending(config: EncoderConfig) -> Ending:
    """Of the model that an encoder starts from; that of a plain transformer, and of an adapter, whose embeddings are
    others, is an empty one."""
    if config.adapter == "mlp":
        return PLAIN
    similarity = setting(config.name, _SETTINGS, {}).get("similarity_fn_name")
    return Ending("Normalize" in own_modules(config.name), similarity if similarity in _SIMILARITIES else None)


def kept_ending(config: EncoderConfig) -> list[str]:
    """In words, what a saved model has again that is not scored; empty where that is what any model has."""
    ending = own_ending(config) if _taken_apart(config) else PLAIN
    similarity = [f"similarity {ending.similarity}"] if ending.similarity not in (None, _SIMILARITIES[0]) else []
    return ["Normalize"] * ending.normalised + similarity


def _taken_apart(config: EncoderConfig) -> bool:
    """Whether it has its transformer or token vectors of a model with further modules."""
    first, kind = first_module(config.name), ENCODERS[config.kind]
    return first is not None and (kind.pools or (kind.trainable and first[0] == "StaticEmbedding"))


def left_out(recipe: Recipe) -> list[str]:
    """The modules that come after the model's transformer or token vectors, but for a pooling that is the recipe's own,
    and its prompt. Empty where the encoder is a plain transformer, or runs through all its modules."""
    name, before = recipe.encoder.name, None
    if not _taken_apart(recipe.encoder):
        return []
    found = []
    for module in _modules(name):
        what, path = _kind(module), str(module.get("path"))
        before = _BEFORE.get(what, before)
        mode = (before or pooling_mode(name, path)) if what == "Pooling" else _BEFORE.get(what)
        if what not in ("Transformer", "StaticEmbedding") and mode != recipe.pooling.mode:
            found.append(f"{path} ({mode})" if mode else path)
    settings = setting(name, _SETTINGS, {})
    prompts, usual = settings.get("prompts"), str(settings.get("default_prompt_name"))
    prompt = prompts.get(usual) if isinstance(prompts, dict) else None
    if prompt and prompt != recipe.encoder.query_prompt:
        found.append(f"its prompt {shown(prompt)}")
    return found


def own_modules(name: str) -> list[str]:
    """The kinds of its modules in order, as `Transformer` and `Pooling`; none of a plain transformer."""
    return [_kind(module) for module in _modules(name)]


def first_module(name: str) -> tuple[str, str] | None:
    """The kind and the folder of its first module; None of a plain transformer."""
    return next(((_kind(module), str(module.get("path", ""))) for module in _modules(name)), None)


def own_pooling(name: str) -> str | None:
    """The pooling that it came with, by our name; None of a plain transformer, and where it is none of ours."""
    modules = _modules(name)
    before = next((_BEFORE[kind] for kind in own_modules(name) if kind in _BEFORE), None)
    places = [str(module.get("path")) for module in modules if str(module.get("type")).endswith(".Pooling")]
    mode = before or (pooling_mode(name, places[0]) if len(places) == 1 else None)
    return mode if mode in POOLINGS else None


def fitting_poolings(name: str) -> tuple[str, ...]:
    """Poolings that suit the transformer: the mean and one token's state, the last one's where a token sees only those
    before it."""
    config = Path(name) if Path(name).exists() else place(name, "config.json")
    family = named_family(str(config.parent if config is not None and config.is_file() else name))
    known = FAMILIES[family] if family is not None and family in FAMILIES else None
    if known is not None and known.causal:
        return "last", "mean"
    return ("mean", "cls", "first_last_mean") if known is None or known.cls else ("mean", "first_last_mean")


def own_prompts(name: str) -> tuple[str | None, str | None]:
    """What it came with to be put before a query and before a document; None where there is nothing."""
    prompts = setting(name, _SETTINGS, {}).get("prompts")
    known = {key: text for key, text in prompts.items() if isinstance(text, str)} if isinstance(prompts, dict) else {}
    query, document = known.get("query"), known.get("document") or known.get("passage")
    return query or None, document or None


def pooling_mode(name: str, folder: str) -> str | None:
    """What a module of poolings takes, by our name where we have one; None for several at once."""
    said = setting(name, f"{folder}/config.json", {})
    on = [key.removeprefix("pooling_mode_") for key, value in said.items() if value is True and "_mode_" in key]
    mode = on[0] if len(on) == 1 else said.get("pooling_mode")
    return _MODES.get(mode, mode) if isinstance(mode, str) else None


def setting(name: str, file: str, missing: Any) -> Any:  # JSON is of any type
    """What a file of settings holds, or `missing`; `UserError` for one that is broken, or of another type."""
    path = place(name, file)
    try:
        found = parse_json(path.read_bytes()) if path is not None else missing
    except ValueError as error:
        raise UserError(f"{path} is no part of a sentence-transformers model ({error})") from None
    if not isinstance(found, type(missing)):
        raise UserError(f"{path} is no part of a sentence-transformers model (it holds {shown(found)})")
    return found


def _modules(name: str) -> list[dict[str, Any]]:
    return [module for module in setting(name, MODULES, []) if isinstance(module, dict)]


def _kind(module: dict[str, Any]) -> str:
    return str(module.get("type")).rpartition(".")[2]


def place(name: str, file: str) -> Path | None:
    """Where a model's file is; None where it has none, or the hub cannot be asked."""
    if name == SCENES_ENCODER or Path(name).exists():
        path = Path(name) / file
        return path if path.is_file() else None
    return availability.from_hub(name, file)
