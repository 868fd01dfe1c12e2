"""What an encoder keeps of the sentence-transformers model that it starts from, and what it leaves out or changes.

own_settings(name)      # {"pooling.mode": "mean", "encoder.max_length": None, ...}: the keys that follow the model
differences_from_original(recipe)  # ["2_Dense", "its prompt 'query: '"]: docs/encoders.md has a table of all entries
own_model_end(config)   # ModelEnd(normalised=True, similarity="cosine"): kept in a saved model
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainables.encoders.families import FAMILIES, named_family
from trainables.encoders.kinds import ENCODERS
from trainables.encoders.module_files import (
    STATIC,
    TRANSFORMER,
    default_prompt,
    file_path,
    first_module,
    layered_pooling,
    model_settings,
    module_kind,
    module_settings,
    modules,
    own_length,
    own_pooling,
    own_prompts,
    pooling_mode,
    prompts,
    transformer_settings,
)
from trainables.encoders.pooling import POOLINGS, Pooling
from trainables.errors import shown
from trainables.keys import Value
from trainables.recipe import EncoderConfig, Recipe

_SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
"""Similarity functions of sentence-transformers."""
_FOLLOWED = ("max_seq_length", "do_lower_case", "unpad_inputs")
"""Settings of a transformer that the encoder follows, or that change no embedding."""
_USUAL = {"transformer_task": "feature-extraction", "module_output_name": "token_embeddings"}
"""Values with which a setting changes no embedding. A setting that is not listed changes none if it is None."""
_TEXT = {"method": "forward", "method_output_name": "last_hidden_state"}
"""The `modality_config` of texts if token states are the usual ones."""
_COMPUTING = ("dtype", "torch_dtype", "attn_implementation", "add_pooling_layer", "model_max_length")
"""Arguments of loading that the encoder follows, or that change embeddings by rounding only: the recipe sets the
precision."""


@dataclass(frozen=True)
class ModelEnd:
    """The last steps of a model, which a model trained from it keeps when it is saved. No cosine depends on them."""

    normalised: bool = False
    """Whether embeddings have length one. The similarity `dot`, common in vector indexes, then is the cosine."""
    similarity: str | None = None
    """Name of the model's own similarity function; None: sentence-transformers' default."""


PLAIN = ModelEnd()


def pools_prompt(name: str) -> bool:
    """Whether the model pools the tokens of a prompt."""
    poolings = [module for module in modules(name) if module_kind(module) == "Pooling"]
    return all(module_settings(name, module).get("include_prompt") is not False for module in poolings)


def own_model_end(config: EncoderConfig) -> ModelEnd:
    """Return the `ModelEnd` of the model that an encoder starts from; `PLAIN` for a plain transformer, and for an MLP
    adapter, whose embeddings are new."""
    if config.adapter == "mlp":
        return PLAIN
    similarity = model_settings(config.name).get("similarity_fn_name")
    return ModelEnd(_normalised(config.name), similarity if similarity in _SIMILARITIES else None)


def kept_model_end(config: EncoderConfig) -> list[str]:
    """Return, in words, the last steps that a saved model has but scores ignore: `Normalize` and an unusual
    similarity."""
    model_end = own_model_end(config) if _uses_parts_of_model(config) else PLAIN
    similarity = [f"similarity {model_end.similarity}"] if model_end.similarity not in (None, _SIMILARITIES[0]) else []
    return ["Normalize"] * model_end.normalised + similarity


def own_settings(name: str) -> dict[str, Value]:
    """Return the recipe keys that follow a model as far as possible; for a plain transformer, values that suit it."""
    query, document = own_prompts(name)
    return {
        "encoder.name": name,
        "encoder.max_length": None,
        "encoder.query_prompt": query,
        "encoder.document_prompt": document,
        "pooling.mode": own_pooling(name) or fitting_poolings(name)[0],
    }


def original_config(
    name: str, pooling: str | None = None, max_length: int | None = None
) -> tuple[EncoderConfig, Pooling | None]:
    """Return the configuration of the encoder as sentence-transformers runs it, changed by the arguments only, and its
    pooling. The pooling is None if the model needs its own pipeline. A last normalisation is left out, because the
    cosine ignores it, and SentEval's classifiers are fitted on embeddings whose length differs."""
    own = {**own_settings(name), "encoder.query_prompt": default_prompt(name)}
    changes = {
        "encoder.max_length": max_length,
        **({} if pooling is None else {"pooling.mode": POOLINGS[pooling].name}),
    }
    recipe = Recipe().override({**own, **changes})
    whole = pooling is None and needs_pipeline(recipe)
    if not whole and (missing := differences_from_original(recipe)):
        print(f"what is scored leaves out {', '.join(missing)}", file=sys.stderr)
    return recipe.encoder, None if whole else recipe.part(Pooling)


def fitting_poolings(name: str) -> tuple[str, ...]:
    """Return the poolings that suit a transformer, the default of sentence-transformers first: `last` and `mean` if it
    is causal, else `mean`, `cls` if its texts have [CLS], and `first_last_mean`."""
    config = Path(name) if Path(name).exists() else file_path(name, "config.json")
    family = named_family(str(config.parent if config is not None and config.is_file() else name))
    entry = FAMILIES[family] if family is not None and family in FAMILIES else None
    if entry is not None and entry.causal:
        return "last", "mean"
    return ("mean", "cls", "first_last_mean") if entry is None or entry.cls else ("mean", "first_last_mean")


def needs_pipeline(recipe: Recipe) -> bool:
    """Whether the model has parts that only its own pipeline runs, and the recipe sets nothing that the pipeline would
    ignore. A norm at the end does not count: no cosine depends on it."""
    encoder, family = recipe.encoder, named_family(recipe.encoder.name)
    lengths = (None, EncoderConfig.max_length, own_length(encoder.name))
    same_input = encoder.layers is None and encoder.max_length in lengths
    _, document = own_prompts(encoder.name)
    prompted = encoder.query_prompt in (None, default_prompt(encoder.name))
    follows = same_input and prompted and encoder.document_prompt in (None, document)
    unlike = _changes_cosines(recipe) or (family is not None and family not in FAMILIES)
    return follows and first_module(encoder.name) is not None and unlike


def equals_original_model(recipe: Recipe) -> bool:
    """Whether the original encoder gives the embeddings of its original model, except for their length."""
    encoder = recipe.encoder
    if recipe.trains or not _uses_parts_of_model(encoder):
        return False
    same_input = encoder.layers is None and encoder.max_length in (None, own_length(encoder.name))
    _, document = own_prompts(encoder.name)
    prompted = (encoder.query_prompt, encoder.document_prompt) == (default_prompt(encoder.name), document)
    return same_input and prompted and not _changes_cosines(recipe)


def differences_from_original(recipe: Recipe) -> list[str]:
    """Return, in words, what an encoder does differently from the model that it starts from. Empty for a plain
    transformer, and if the encoder follows everything."""
    if _uses_parts_of_model(recipe.encoder):
        return [*_parts_left_out(recipe), *_similarity(recipe.encoder.name), *_set_otherwise(recipe.encoder)]
    return _similarity(recipe.encoder.name) if recipe.encoder.kind == "pipeline" else []


def _changes_cosines(recipe: Recipe) -> bool:
    """Whether the recipe leaves out parts of the model other than a norm at the end."""
    return any(part != _end(recipe.encoder.name) for part in _parts_left_out(recipe))


def _parts_left_out(recipe: Recipe) -> list[str]:
    """Return, in words, the parts of the model that no recipe with this kind of encoder and this pooling follows."""
    width = model_settings(recipe.encoder.name).get("truncate_dim")
    cut = [] if width is None else [f"its truncate_dim {shown(width)}"]
    return [*_modules_left_out(recipe), *_loading_left_out(recipe.encoder.name), *cut]


def _set_otherwise(encoder: EncoderConfig) -> list[str]:
    """Return, in words, the model's longest input and prompts, if the recipe has others."""
    longest = own_length(encoder.name)
    limit = "any length" if longest is None else f"{longest} tokens"
    length = [] if encoder.max_length in (None, longest) else [f"its longest input ({limit})"]
    of_recipe, own = {encoder.query_prompt, encoder.document_prompt, None}, own_prompts(encoder.name)
    missing = [f"its prompt {shown(prompt)}" for prompt in dict.fromkeys(own) if prompt not in of_recipe]
    others = [key for key, prompt in prompts(encoder.name).items() if prompt not in {*own, *of_recipe}]
    return length + missing + ([f"its prompts for {', '.join(map(shown, others))}"] if others else [])


def _uses_parts_of_model(config: EncoderConfig) -> bool:
    """Whether the encoder takes the transformer or the token vectors out of a model with modules."""
    first, kind = first_module(config.name), ENCODERS[config.kind]
    return first is not None and (kind.pools or (kind.trainable and first[0] == STATIC))


def _modules_left_out(recipe: Recipe) -> Iterator[str]:
    name, before = recipe.encoder.name, None
    first, *others = modules(name) or [{}]
    if module_kind(first) != (TRANSFORMER if ENCODERS[recipe.encoder.kind].pools else STATIC):
        yield module_kind(first)
    for module in others:
        path, layered = str(module.get("path")), layered_pooling(name, module)
        before = layered or before
        if module_kind(module) != "Pooling" and layered is None:
            yield path
            continue
        mode = before or pooling_mode(name, module)
        if mode != recipe.pooling.mode:
            yield f"{path} ({mode})" if mode else path
        elif recipe.encoder.query_prompt and POOLINGS[mode].needs_prompt and not pools_prompt(name):
            yield f"{path} (without the prompt)"


def _loading_left_out(name: str) -> Iterator[str]:
    for key, value in transformer_settings(name).items():
        if key.endswith(("_args", "_kwargs")) and isinstance(value, dict):
            yield from (f"its {key} {inner}" for inner in value if inner not in _COMPUTING)
        elif key == "modality_config" and isinstance(value, dict):
            yield from [] if value.get("text") == _TEXT else ["its modality_config"]
        elif key not in _FOLLOWED and value not in (None, _USUAL.get(key)):
            yield f"its {key} {shown(value)}"


def _similarity(name: str) -> list[str]:
    """Return, in words, the model's similarity if it is not the cosine, by which texts are scored here."""
    similarity = model_settings(name).get("similarity_fn_name")
    cosine = similarity not in _SIMILARITIES[1:] or (similarity == "dot" and _normalised(name))
    return [] if cosine else [f"its similarity {similarity} (cosines are scored)"]


def _normalised(name: str) -> bool:
    return _end(name) is not None


def _end(name: str) -> str | None:
    """Return the folder of the module that normalises embeddings at the model's end; None if there is none."""
    last: dict[str, Any] = next(reversed(modules(name)), {})
    of_sentence = (
        module_kind(last) == "Normalize"
        and module_settings(name, last).get("module_input_name", "sentence_embedding") == "sentence_embedding"
    )
    return str(last.get("path")) if of_sentence else None
