"""The recipe: everything that defines one model and its scores, in one frozen, validated, hashed value.

It is the vocabulary that all rooms share. Each section is a small dataclass; `flat()` gives the
dotted keys (`objective.temperature`) that Ray Tune, Optuna, `--set` and the tables use.
This module imports nothing heavy.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import hashlib
import json
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from trainables.errors import UserError, choices

Value = Union[str, int, float, bool, None, tuple[str, ...]]

SCENES = "scenes"
"""Names the built-in corpus wherever a recipe asks for data."""
SCENES_ENCODER = "scenes-small"
"""Names the built-in encoder: a small transformer with the scenes vocabulary, made on the spot."""


def at_least(low: float) -> Callable[[Any], str | None]:
    return lambda value: None if value >= low else f"must be at least {low:g}"


def above(low: float) -> Callable[[Any], str | None]:
    return lambda value: None if value > low else f"must be above {low:g}"


def between(low: float, high: float) -> Callable[[Any], str | None]:
    return lambda value: None if low <= value <= high else f"must lie between {low:g} and {high:g}"


def checked(default: Any, check: Callable[[Any], str | None]) -> Any:
    """A dataclass field whose value, unless None, must pass `check`."""
    return field(default=default, metadata={"check": check})


@dataclass(frozen=True)
class EncoderConfig:
    """What turns a sentence into token states.

    `kind="transformer"`: `name` is a hub id, a folder, or `scenes-small`.
    `kind="word_vectors"`: `name` is a GloVe text or `.npy` file; the average of the words' vectors.
    """

    kind: Literal["transformer", "word_vectors"] = "transformer"
    name: str = "google/bert_uncased_L-8_H-512_A-8"
    layers: int | None = checked(None, at_least(1))
    """Keep only the first so many layers; None keeps all."""
    max_length: int = checked(128, at_least(4))
    """Longest input in tokens, special tokens included; the rest of a sentence is cut."""


@dataclass(frozen=True)
class PoolingConfig:
    """How token states become one vector."""

    mode: Literal["mean", "mean_without_cls", "cls", "max", "first_last_mean"] = "mean_without_cls"


@dataclass(frozen=True)
class HeadConfig:
    """A projection between the sentence embedding and the contrastive objective; dropped at test time."""

    kind: Literal["none", "linear", "mlp"] = "none"
    dim: int | None = checked(None, at_least(1))
    """Output size; None keeps the encoder's."""


@dataclass(frozen=True)
class CorpusConfig:
    """Training sentences: premise, hypothesis, label."""

    nli: str = "stanfordnlp/snli"
    """Hub id, folder, file (JSONL, CSV, Parquet), several of those joined by commas, or `scenes`."""
    limit: int | None = checked(None, at_least(1))
    """Use only the first so many labelled pairs; None uses all."""


@dataclass(frozen=True)
class ObjectiveConfig:
    """The loss. Liao 2021 eq. 3: (1 - weight) CE + weight SCL."""

    name: str = "scl"
    positives: int | None = checked(None, at_least(1))
    """N+: at most so many positives per anchor, drawn at random; None takes all."""
    negatives: int | None = checked(None, at_least(1))
    """N-: at most so many negatives per anchor, drawn at random; None takes all."""
    weight: float = checked(0.5, between(0.0, 1.0))
    """lambda in eq. 3."""
    temperature: float = checked(1.0, above(0.0))
    """tau in eq. 2."""
    fidelity: Literal["paper", "released"] = "paper"
    """Follow the paper's text, or what the authors' released code does instead."""


@dataclass(frozen=True)
class OptimisationConfig:
    """How the parameters move."""

    learning_rate: float = checked(2e-5, above(0.0))
    batch_size: int = checked(64, at_least(2))
    """Sentence pairs in one global batch, whatever the number of workers."""
    epochs: int = checked(1, at_least(0))
    """Passes over the corpus; 0 evaluates the encoder as it is."""
    max_steps: int | None = checked(None, at_least(1))
    """Stop after so many steps; the schedule ends there too."""
    warmup: float = checked(0.1, between(0.0, 1.0))
    """Share of the steps over which the learning rate rises linearly."""
    schedule: Literal["linear", "constant"] = "linear"
    """What follows the warm-up."""
    weight_decay: float = checked(0.0, at_least(0.0))
    clip_norm: float | None = checked(None, above(0.0))
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """`auto` takes bf16 on a GPU that has it, else fp32."""


@dataclass(frozen=True)
class EvaluationConfig:
    """SentEval: which tasks, on which data, under which protocol."""

    senteval: str = "senteval"
    """Folder in SentEval's layout (it holds `downstream/`), or `scenes`."""
    tasks: tuple[str, ...] = ("sts", "transfer", "STSBenchmark")
    """Task names and groups."""
    protocol: Literal["full", "fast"] = "full"


@dataclass(frozen=True)
class Recipe:
    """One model and its scores, but for the seed."""

    encoder: EncoderConfig = EncoderConfig()
    pooling: PoolingConfig = PoolingConfig()
    head: HeadConfig = HeadConfig()
    corpus: CorpusConfig = CorpusConfig()
    objective: ObjectiveConfig = ObjectiveConfig()
    optimisation: OptimisationConfig = OptimisationConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    def __post_init__(self) -> None:
        for section in dataclasses.fields(self):
            _validate(section.name, getattr(self, section.name))

    def flat(self) -> dict[str, Value]:
        """`{"objective.temperature": 1.0, ...}`, one key for every field."""
        return {
            f"{section.name}.{item.name}": getattr(getattr(self, section.name), item.name)
            for section in dataclasses.fields(self)
            for item in dataclasses.fields(getattr(self, section.name))
        }

    def override(self, overrides: Mapping[str, Any]) -> Recipe:
        """A recipe with some flat keys replaced. Unknown keys and bad values raise `UserError`."""
        changes: dict[str, dict[str, Any]] = {}
        for key, value in overrides.items():
            section, name = _split(key)
            changes.setdefault(section, {})[name] = tuple(value) if isinstance(value, list) else value
        return dataclasses.replace(
            self,
            **{section: dataclasses.replace(getattr(self, section), **items) for section, items in changes.items()},
        )

    @classmethod
    def from_flat(cls, values: Mapping[str, Any]) -> Recipe:
        """The inverse of `flat()`, also after a trip through JSON."""
        return cls().override(values)

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits that depend on the content only."""
        content = json.dumps(self.flat(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()[:12]


def parse_assignment(text: str) -> tuple[str, Value]:
    """`"objective.temperature=0.5"` to a key and a typed value; `none` is None, tuples split at commas."""
    key, equals, raw = text.partition("=")
    if not equals:
        raise UserError(f"--set {text!r} has no '='; write it as KEY=VALUE, e.g. objective.temperature=0.5")
    key = key.strip()
    _split(key)
    return key, _parse(key, raw.strip())


@functools.cache
def key_types() -> Mapping[str, Any]:
    """The type annotation of every flat key."""
    return {
        f"{section}.{name}": hint
        for section, config in get_type_hints(Recipe).items()
        for name, hint in get_type_hints(config).items()
    }


def _split(key: str) -> tuple[str, str]:
    known = key_types()
    if key not in known:
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
        raise UserError(f"{key!r} is not a key of a recipe; {hint}")
    section, _, name = key.partition(".")
    return section, name


def _parse(key: str, raw: str) -> Value:
    hint = key_types()[key]
    options = _options(hint)
    if raw.lower() == "none" and type(None) in options and "none" not in _literals(options):
        return None
    if tuple in [get_origin(option) for option in options]:
        return tuple(part.strip() for part in raw.split(",") if part.strip())
    for kind in (int, float):
        if kind in options:
            try:
                return kind(raw)
            except ValueError:
                raise UserError(f"{key} must be {_describe(hint)}, not {raw!r}") from None
    return raw


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _literals(options: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(value for option in options if get_origin(option) is Literal for value in get_args(option))


def _describe(hint: Any) -> str:
    names = {int: "a whole number", float: "a number", str: "text", type(None): "none"}
    options = _options(hint)
    literals = _literals(options)
    rest = [names[option] for option in options if option in names]
    tuples = ["a list of names" for option in options if get_origin(option) is tuple]
    return choices([*map(repr, literals), *rest, *tuples])


def _validate(section: str, config: Any) -> None:
    for item in dataclasses.fields(config):
        key, value = f"{section}.{item.name}", getattr(config, item.name)
        hint = key_types()[key]
        if float in _options(hint) and type(value) is int:
            value = float(value)
            object.__setattr__(config, item.name, value)  # 1 and 1.0 must hash alike
        if not _fits(value, _options(hint)):
            raise UserError(f"{key} must be {_describe(hint)}, not {value!r}")
        check = item.metadata.get("check")
        problem = check(value) if check and value is not None else None
        if problem:
            raise UserError(f"{key} {problem}, not {value!r}")


def _fits(value: Any, options: tuple[Any, ...]) -> bool:
    if isinstance(value, bool):
        return bool in options
    if value in _literals(options):
        return True
    if isinstance(value, tuple):
        return any(get_origin(option) is tuple for option in options) and all(isinstance(v, str) for v in value)
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return type(value) in options
