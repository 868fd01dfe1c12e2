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


def later(default: Any, check: Callable[[Any], str | None] | None = None) -> Any:
    """A field that the recipe did not always have: it enters the hash only where it differs from its default, so
    that recipes, and with them finished trials, from before keep their hash."""
    return field(default=default, metadata={"check": check, "later": True})


@dataclass(frozen=True)
class EncoderConfig:
    """What turns a sentence into token states.

    `kind="transformer"`: `name` is a hub id, a folder, or `scenes-small`.
    `kind="word_vectors"`: `name` is a GloVe text or `.npy` file; the average of the words' vectors.
    `kind="pipeline"`: `name` is a finished sentence-transformers model with its own pooling; for evaluation only.
    """

    kind: Literal["transformer", "word_vectors", "pipeline"] = "transformer"
    name: str = "google/bert_uncased_L-8_H-512_A-8"
    layers: int | None = checked(None, at_least(1))
    """Keep only the first so many layers; None keeps all."""
    max_length: int = checked(128, at_least(4))
    """Longest input in tokens, special tokens included; the rest of a sentence is cut."""
    adapter: Literal["none", "mlp"] = later("none")
    """`mlp` freezes the encoder and trains a perceptron with one hidden layer on its output; what it gives is the
    sentence embedding (CLSR)."""


@dataclass(frozen=True)
class PoolingConfig:
    """How token states become one vector."""

    mode: Literal["mean", "mean_without_cls", "cls", "max", "first_last_mean"] = "mean_without_cls"
    after: Literal["none", "center", "whiten"] = later("none")
    """What is done to finished embeddings, without training: nothing, subtract the mean of the training sentences,
    or whiten by their covariance. For evaluation only."""


@dataclass(frozen=True)
class HeadConfig:
    """A projection between the sentence embedding and the contrastive objective; dropped at test time."""

    kind: Literal["none", "linear", "mlp"] = "none"
    dim: int | None = checked(None, at_least(1))
    """Output size; None keeps the encoder's."""


@dataclass(frozen=True)
class CorpusConfig:
    """Training sentences, and how a batch is made of them."""

    nli: str = "stanfordnlp/snli"
    """Hub id, folder, file (JSONL, CSV, Parquet), several of these joined by commas, or `scenes`."""
    limit: int | None = checked(None, at_least(1))
    """Use only the first so many labelled pairs, or documents; None uses all."""
    layout: Literal["rows", "groups", "pairs", "similar_pairs", "sentences", "spans"] = later("rows")
    """What a batch counts.
    `rows`: labelled pairs in corpus order (Liao). `groups`: premises with their positives and hard negatives
    (SupMPN). `pairs`: entailed pairs (CLSR). `similar_pairs`: pairs of STS-B scored above 4 (CLSR). `sentences`: a
    sentence and itself under another dropout (unsupervised SimCSE). `spans`: documents (DeCLUTR)."""
    augmentation: Literal["none", "deletion", "synonyms", "paraphrase"] = later("none")
    """How `groups` fills missing positives: by copies of the anchor, or by changed copies of its entailments (SupMPN,
    Table A1)."""
    paraphraser: str | None = later(None)
    """Hub id or folder of a sequence-to-sequence model, for `augmentation="paraphrase"`."""
    documents: str = later("Skylion007/openwebtext")
    """For `spans`: hub id, folder, text or JSONL file, or `scenes`."""
    share: float = later(1.0, between(0.0, 1.0))
    """Use this share of the documents, drawn once, the same for every seed."""


@dataclass(frozen=True)
class SpansConfig:
    """How spans are drawn from documents (DeCLUTR, section 3.1)."""

    anchors: int = later(2, at_least(1))
    """A: anchor spans of a document."""
    positives: int = later(2, at_least(1))
    """P: positive spans of an anchor; their mean is its one positive."""
    shortest: int = later(32, at_least(1))
    """l_min, in tokens."""
    longest: int = later(512, at_least(2))
    """l_max, in tokens."""
    document: int | None = later(None, at_least(1))
    """Documents with fewer tokens are dropped; None keeps all that have room for their spans, 2 A l_max tokens."""
    strategy: Literal["default", "adjacent", "subsuming"] = later("default")
    """Where a positive may lie: overlapping, beside or within its anchor; only beside; only within."""


@dataclass(frozen=True)
class ObjectiveConfig:
    """The loss: a name in `trainables.objectives.OBJECTIVES`, and its numbers."""

    name: str = "scl"
    positives: int | None = checked(None, at_least(1))
    """N+: at most so many positives per anchor, drawn at random; None takes all. In the layout `groups` it is P:
    exactly so many, filled where a premise has fewer."""
    negatives: int | None = checked(None, at_least(1))
    """N-: at most so many negatives per anchor, drawn at random; None takes all. In the layout `groups` it is Q:
    exactly so many hard negatives, filled where a premise has fewer."""
    weight: float = checked(0.5, between(0.0, 1.0))
    """lambda in Liao 2021, eq. 3: (1 - weight) CE + weight SCL."""
    temperature: float = checked(1.0, above(0.0))
    """tau, which divides every similarity."""
    fidelity: Literal["paper", "released"] = "paper"
    """Follow the paper's text, or what the authors' released code does instead."""
    margin: float = later(5.0, above(0.0))
    """m of the triplet losses (SupMPN eq. 1 to 3), in units of Euclidean distance."""
    mlm: float = later(0.0, at_least(0.0))
    """Weight of masked language modelling on the anchors, beside the objective."""
    bank: int = later(0, at_least(0))
    """Embeddings of earlier batches that serve as further negatives, without gradient."""
    bank_warmup: int = later(0, at_least(0))
    """Steps before the memory bank is used."""


@dataclass(frozen=True)
class OptimisationConfig:
    """How the parameters move."""

    learning_rate: float = checked(2e-5, above(0.0))
    batch_size: int = checked(64, at_least(2))
    """Pairs, groups, sentences or documents (see `corpus.layout`) in one global batch, whatever the number of
    workers."""
    epochs: int = checked(1, at_least(0))
    """Passes over the corpus; 0 evaluates the encoder as it is."""
    max_steps: int | None = checked(None, at_least(1))
    """Stop after so many steps; the schedule ends there too."""
    warmup: float = checked(0.1, between(0.0, 1.0))
    """Share of the steps over which the learning rate rises linearly."""
    schedule: Literal["linear", "constant", "cosine"] = "linear"
    """What follows the warm-up."""
    weight_decay: float = checked(0.0, at_least(0.0))
    clip_norm: float | None = checked(None, above(0.0))
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """`auto` takes bf16 on a GPU that has it, else fp32."""
    optimiser: Literal["adamw", "sgd"] = later("adamw")
    """`sgd` has momentum 0.9."""


@dataclass(frozen=True)
class EvaluationConfig:
    """SentEval: which tasks, on which data, under which protocol."""

    senteval: str = "senteval"
    """Folder in SentEval's layout (it holds `downstream/`), or `scenes`."""
    tasks: tuple[str, ...] = ("sts", "transfer", "STSBenchmark")
    """Task names and groups."""
    protocol: Literal["full", "fast"] = "full"
    heat_map: str = later("none")
    """Sentences whose cosines are kept before and after training (SupMPN, Figure 2): `none`, `topics` (twelve of our
    own), or a text file with one a line."""


@dataclass(frozen=True)
class Recipe:
    """One model and its scores, but for the seed."""

    encoder: EncoderConfig = EncoderConfig()
    pooling: PoolingConfig = PoolingConfig()
    head: HeadConfig = HeadConfig()
    corpus: CorpusConfig = CorpusConfig()
    spans: SpansConfig = SpansConfig()
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

    @property
    def trains(self) -> bool:
        """Whether a trial trains anything, or evaluates the encoder as it is."""
        trainable = self.encoder.kind == "transformer" or self.encoder.adapter != "none"
        return self.optimisation.epochs > 0 and trainable

    @property
    def uses_seed(self) -> bool:
        """Whether another seed can give other scores: something is trained, or an adapter is left as it was drawn."""
        return self.trains or self.encoder.adapter != "none"

    @property
    def follows_liao(self) -> bool:
        """Whether the trial does what Liao's released code does (docs/papers.md lists it), not only the loss."""
        return self.objective.fidelity == "released" and self.objective.name in ("scl", "ce", "ce_augment")

    @classmethod
    def from_flat(cls, values: Mapping[str, Any]) -> Recipe:
        """The inverse of `flat()`, also after a trip through JSON."""
        return cls().override(values)

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits that depend on the content only."""
        values = self.flat()
        content = {key: values[key] for key in values if key not in later_keys() or values[key] != later_keys()[key]}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


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


@functools.cache
def later_keys() -> Mapping[str, Any]:
    """The flat keys that the recipe did not always have, and their defaults."""
    return {
        f"{section}.{item.name}": item.default
        for section, config in get_type_hints(Recipe).items()
        for item in dataclasses.fields(config)
        if item.metadata.get("later")
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
