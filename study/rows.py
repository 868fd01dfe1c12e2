"""The rows of a space that run, and the inputs that they need beyond their overrides, such as a checkpoint."""

from __future__ import annotations

from fnmatch import fnmatchcase

from search_spaces.own_data import WITHOUT_TRAINING
from search_spaces.space import Row, Space
from trainables.corpora.augment import Augmentation
from trainables.encoders import available
from trainables.encoders.availability import WORD_VECTORS, too_few_layers
from trainables.encoders.own_modules import needs_pipeline, own_settings
from trainables.errors import UserError, choices
from trainables.files import expanded
from trainables.recipe import SCENES, SCENES_ENCODER, EncoderConfig, Recipe, Value, changed


def chosen_rows(space: Space, only: tuple[str, ...]) -> tuple[Row, ...]:
    """Return the rows that `--only` selects; each word is a label, or a pattern as for files (`*-SCL`)."""
    labels = [row.label for row in space.rows]
    labels_of = {
        word: {word} if word in labels else {label for label in labels if fnmatchcase(label, word)} for word in only
    }
    unknown = [word for word, matching in labels_of.items() if not matching]
    if unknown:
        raise UserError(f"--only {unknown[0]!r} is no row of {space.name!r}; its rows are {choices(labels)}")
    chosen = {label for matching in labels_of.values() for label in matching}
    return tuple(row for row in space.rows if not only or row.label in chosen)


def chosen_row(space: Space, label: str) -> Row:
    """Return the row that `--recipe` names."""
    if label not in space.labels:
        raise UserError(f"--recipe {label!r} is no row of {space.name!r}; its rows are {choices(space.labels)}")
    return space.row(label)


def given_models(space: Space, assignments: tuple[str, ...]) -> dict[str, str]:
    """Return the models that `--evaluate` names, by row label."""
    labels = {row.label for row in space.rows}
    models = {}
    for text in assignments:
        label, equals, model = text.rpartition("=")
        if not equals or not model:
            raise UserError(f"--evaluate {text!r} is not ROW=MODEL; name a row, and a model's folder or hub id")
        if label not in labels:
            raise UserError(f"--evaluate {label!r} is no row of {space.name!r}; its rows are {choices(sorted(labels))}")
        models[label] = absolute(model)
    return models


def inputs_of(
    row: Row, base: Recipe, model: str | None, word_vectors: str | None, scale: str
) -> dict[str, Value] | str:
    """Return the settings that a row needs beyond its overrides, or the reason why an input is not available."""
    if row.as_it_came and model is None:
        made = base.preferring(row.overrides)
        return changed(made.flat(), as_it_came(made).flat())
    if row.needs == "word_vectors":
        model = model or (str(expanded(word_vectors).absolute()) if word_vectors else None)
        return {"encoder.name": model} if model else "no word vectors were given (`--word-vectors`)"
    if row.needs != "checkpoint" and model is not None:  # a row that is usually trained is only evaluated
        return {**_kind(row, model), "optimisation.epochs": 0, "encoder.adapter": "none"}
    if row.needs in ("wordnet", "paraphraser"):
        try:
            base.preferring(row.overrides).part(Augmentation).check()
        except UserError as error:
            return str(error)
    if row.needs != "checkpoint":
        unfit = too_few_layers(base.preferring(row.overrides).encoder) if "encoder.layers" in row.overrides else None
        return unfit or {}
    if model is not None:
        return _kind(row, model)
    if "encoder.name" not in row.overrides:
        return "no public checkpoint is known; give one with `--evaluate ROW=MODEL`"
    if scale == "laptop":
        return "its model is not fetched at the scale laptop; give one with `--evaluate ROW=MODEL`"
    return available(base.preferring(row.overrides).encoder) or {}


def _kind(row: Row, model: str) -> dict[str, Value]:
    """Return the encoder keys for a given model. A finished sentence-transformers model keeps its own pooling, unless
    the row trains layers or an adapter."""
    if model.endswith(WORD_VECTORS):
        return {"encoder.kind": "word_vectors", "encoder.name": model}
    finished = available(EncoderConfig(kind="pipeline", name=model)) is None
    if row.overrides.get("encoder.kind") == "static":
        return {"encoder.name": model}
    adapted = row.overrides.get("encoder.adapter", "none") != "none"
    trains_layers = row.overrides.get("encoder.kind") == "transformer" or adapted
    kind = "pipeline" if finished and not trains_layers else "transformer"
    return {"encoder.kind": kind, "encoder.name": model}


def as_it_came(base: Recipe) -> Recipe:
    """Return the original encoder of the base: with the base's layers, longest input, prompts and precision, and with
    the model's own pooling, else the pooling that sentence-transformers would choose. A finished model with modules
    that our encoder lacks runs through its own pipeline, if the pipeline supports the base's settings."""
    name = base.encoder.name
    untrained = base.preferring(WITHOUT_TRAINING)
    if base.encoder.kind != "transformer":
        return untrained
    untrained = untrained.preferring({"pooling.mode": own_settings(name)["pooling.mode"], "pooling.padding": "ignore"})
    whole = needs_pipeline(untrained) and available(EncoderConfig(kind="pipeline", name=name)) is None
    return untrained.preferring({"encoder.kind": "pipeline"}) if whole else untrained


def absolute(text: str) -> str:
    """Return existing paths as absolute ones, as workers run in other folders. Hub ids and built-in names are kept."""
    if text in (SCENES, SCENES_ENCODER):
        return text
    parts = [expanded(part.strip()) for part in text.split(",")]
    if all(part.exists() for part in parts):
        return ",".join(str(part.absolute()) for part in parts)
    return text
