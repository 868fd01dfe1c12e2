"""The recipe: everything that defines one trained model, in one frozen, validated, hashed value.

It is the vocabulary of the whole project. Each section is a small dataclass; `flat()` gives the dotted keys
(`objective.temperature`) that Ray Tune, Optuna, `--set` and the tables use. `trainables/keys.py` says what a key says
of itself. This module imports nothing heavy.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from trainables.errors import UserError
from trainables.keys import Key, Value, above, at_least, between, describe, find, key, parse, validate

__all__ = ["SCENES", "SCENES_ENCODER", "Recipe", "Value", "keys", "parse_assignment"]

SCENES = "scenes"
"""Names the built-in corpus wherever a recipe asks for data."""
SCENES_ENCODER = "scenes-small"
"""Names the built-in encoder: a small transformer with the scenes vocabulary, made on the spot."""


@dataclass(frozen=True)
class EncoderConfig:
    """What turns a sentence into token states, or into a finished embedding."""

    kind: str = key(
        "transformer",
        "transformer: trained here, with a pooling of ours; word_vectors: the average of the words' vectors; pipeline: "
        "a finished sentence-transformers model with its own pooling, for evaluation only.",
        registry="trainables.encoders.kinds:ENCODERS",
    )
    name: str = key(
        "google/bert_uncased_L-8_H-512_A-8",
        "Hub id or folder of a model, a file of word vectors (.txt, .vec, .npy), or scenes-small.",
        label="encoder",
        place=True,
    )
    layers: int | None = key(None, "Keep only the first so many layers; none keeps all.", at_least(1))
    max_length: int = key(
        128, "Longest input in tokens, special tokens included; the rest of a sentence is cut.", at_least(4)
    )
    adapter: Literal["none", "mlp", "lora"] = key(
        "none",
        "mlp freezes the encoder and trains a perceptron with one hidden layer on its output; what it gives is the "
        "sentence embedding (CLSR). lora freezes the encoder's weights and trains two small matrices beside each of "
        "its linear layers (Hu 2022); it needs the package peft.",
        since=1,
    )
    query_prompt: str | None = key(
        None,
        "Text put before every anchor (premise) in training, and before every sentence that is evaluated: SentEval's "
        "tasks know no documents. It is joined as it is, blanks included.",
        since=3,
        exact=True,
    )
    document_prompt: str | None = key(
        None,
        "Text put before what is compared with an anchor in training (hypotheses, positives, negatives); none puts "
        "nothing there. It is saved with the model, as encoder.query_prompt is.",
        since=3,
        exact=True,
    )
    dtype: Literal["fp32", "bf16"] = key(
        "fp32",
        "In which numbers the encoder's weights are kept while it is trained, their gradients and the optimiser's "
        "state. bf16 takes half the memory, trains in bf16, and loses small changes. With encoder.adapter=lora only "
        "the frozen weights are bf16. The encoder is evaluated and saved in fp32, with 4 bytes for each weight.",
        since=3,
    )
    precision: Literal["fp32", "bf16"] = key(
        "fp32",
        "In which numbers the encoder computes where it is not trained: when it is evaluated, and as a frozen base; "
        "the same for every row.",
        since=2,
    )
    lora_rank: int = key(
        8, "With encoder.adapter=lora: the rank of what is added to a layer's weights.", at_least(1), since=3
    )
    lora_alpha: float | None = key(
        None,
        "With encoder.adapter=lora: what is added is multiplied by alpha / rank; none takes twice the rank.",
        above(0.0),
        since=3,
    )
    lora_targets: tuple[str, ...] = key(
        (),
        "With encoder.adapter=lora: names of linear layers; a name stands for all layers whose full name ends in it, "
        "and an empty list for all linear layers. BERT: query,value; Llama, Qwen: q_proj,v_proj; T5: q,v; "
        "DistilBERT: q_lin,v_lin.",
        since=3,
    )


@dataclass(frozen=True)
class PoolingConfig:
    """How token states become one vector."""

    mode: str = key(
        "mean_without_cls",
        "How token states become one vector. mean: the mean over all tokens; mean_without_cls: over all but the first, "
        "[CLS]; cls: the state of [CLS]; max: the largest value of each dimension; last: the state of the last token, "
        "for decoders; first_last_mean: the mean over the tokens of the first layer's and the last layer's states.",
        together=True,
        registry="trainables.encoders.pooling:POOLINGS",
        label="pooling",
    )
    after: Literal["none", "center", "whiten"] = key(
        "none",
        "What is done to finished embeddings, without training: nothing, subtract the mean of the training sentences, "
        "or whiten by their covariance. For evaluation only.",
        since=1,
    )
    padding: Literal["ignore", "count"] | None = key(
        None,
        "count: padding counts in the mean, as in Liao's released code: training divides by the padded length, "
        "inference averages padded positions in. For pooling.mode mean_without_cls. none: as objective.fidelity says.",
        since=2,
    )


@dataclass(frozen=True)
class HeadConfig:
    """A projection between the sentence embedding and the contrastive objective; dropped at test time."""

    kind: str = key(
        "none",
        "The projection between embedding and objective; dropped at test time.",
        together=True,
        registry="trainables.encoders.projection:PROJECTIONS",
        label="projection head",
    )
    dim: int | None = key(
        None,
        "Output size of the projection head; none keeps the encoder's.",
        at_least(1),
        together=True,
        label="output size of the projection head",
    )


@dataclass(frozen=True)
class CorpusConfig:
    """Training sentences, and how a batch is made of them."""

    nli: str = key(
        "stanfordnlp/snli",
        "Hub id, folder, file, several of these joined by commas, or scenes.",
        place=True,
        label="training pairs",
    )
    columns: str | None = key(
        None,
        "The columns of corpus.nli, where they have names of their own: premise=text_a,hypothesis=text_b,label=y, or "
        "anchor=question,positive=answer,negative=wrong for triplets.",
        since=2,
    )
    labels: str | None = key(
        None,
        "What corpus.nli calls the three labels, where they have names of their own: "
        "entailment=yes,neutral=maybe,contradiction=no.",
        since=2,
    )
    limit: int | None = key(
        None, "Use only the first so many labelled pairs, or documents; none uses all.", at_least(1)
    )
    layout: str = key(
        "rows",
        "What a batch counts: rows of labelled pairs in corpus order (Liao), groups of a premise with its positives "
        "and hard negatives (SupMPN), entailed pairs (CLSR), similar_pairs of STS-B scored above 4 (CLSR), sentences "
        "with themselves under another dropout (unsupervised SimCSE), spans of documents (DeCLUTR).",
        since=1,
        registry="trainables.corpora.layouts:LAYOUTS",
    )
    augmentation: str = key(
        "none",
        "How the layout groups fills missing positives: none by copies of the anchor, else by changed copies of its "
        "entailments (SupMPN, Table A1).",
        since=1,
        registry="trainables.corpora.augment:AUGMENTATIONS",
    )
    paraphraser: str | None = key(
        None,
        "Hub id or folder of a sequence-to-sequence model, for corpus.augmentation=paraphrase.",
        since=1,
        place=True,
    )
    documents: str = key(
        "Skylion007/openwebtext",
        "For the layout spans: hub id, folder, text or JSONL file, or scenes.",
        since=1,
        place=True,
    )
    senteval: str | None = key(
        None,
        "What training itself reads of SentEval: a folder in its layout, or scenes. For the layout similar_pairs and "
        "for optimisation.keep=best; a study takes evaluation.senteval where it is none.",
        since=4,
        place=True,
    )
    share: float = key(
        1.0,
        "Use this share of the documents, drawn once, the same for every seed.",
        between(0.0, 1.0),
        since=1,
        label="share of the documents",
    )


@dataclass(frozen=True)
class SpansConfig:
    """How spans are drawn from documents (DeCLUTR, section 3.1)."""

    anchors: int = key(2, "A: anchor spans of a document.", at_least(1), since=1, label="A (anchors a document)")
    positives: int = key(
        2,
        "P: positive spans of an anchor; their mean is its one positive.",
        at_least(1),
        since=1,
        label="P (positives an anchor)",
    )
    shortest: int = key(32, "l_min, in tokens.", at_least(1), since=1)
    longest: int = key(512, "l_max, in tokens.", at_least(2), since=1)
    document: int | None = key(
        None,
        "Documents with fewer tokens are dropped; none keeps all that have room for their spans, 2 A l_max tokens.",
        at_least(1),
        since=1,
    )
    strategy: Literal["default", "adjacent", "subsuming"] = key(
        "default",
        "Where a positive may lie: overlapping, beside or within its anchor; only beside; only within.",
        since=1,
        label="sampling strategy",
    )
    places: Literal["apart", "blocks"] | None = key(
        None,
        "Where anchors lie: apart, anywhere at least l_max tokens from each other; blocks, each within a block of "
        "l_max tokens, as in DeCLUTR's released code. none: as objective.fidelity says.",
        since=2,
    )


@dataclass(frozen=True)
class ObjectiveConfig:
    """The loss, and its numbers."""

    name: str = key("scl", "The loss.", registry="trainables.objectives:OBJECTIVES", label="objective")
    positives: int | None = key(
        None,
        "N+: at most so many positives per anchor, drawn at random; none takes all. In the layout groups it is P: "
        "exactly so many, filled where a premise has fewer.",
        at_least(1),
        label="positives per anchor",
    )
    negatives: int | None = key(
        None,
        "N-: at most so many negatives per anchor, drawn at random; none takes all. In the layout groups it is Q: "
        "exactly so many hard negatives, filled where a premise has fewer.",
        at_least(1),
        label="negatives per anchor",
    )
    weight: float = key(
        0.5,
        "lambda in Liao 2021, eq. 3: (1 - weight) CE + weight SCL.",
        between(0.0, 1.0),
        alias="lambda",
        label="lambda (weight of the contrastive loss)",
    )
    temperature: float = key(
        1.0, "tau, which divides every similarity.", above(0.0), alias="tau", together=True, label="tau (temperature)"
    )
    fidelity: Literal["paper", "released"] = key(
        "paper",
        "Follow the paper's text, or what the authors' released code does instead. It sets keys that are left at their "
        "defaults; `trainables/fidelity.py` says which.",
    )
    false_negatives: Literal["mask", "keep"] | None = key(
        None,
        "mask: a candidate whose text is the anchor's own or one of its positives' is no negative; keep: it is one. "
        "none: as objective.fidelity says.",
        since=2,
    )
    anchors: Literal["premises", "rows"] | None = key(
        None,
        "Of Liao's objectives. premises: each premise with a positive is an anchor once; rows: each entailed row is, "
        "its own hypothesis is among its positives, and objective.negatives has no effect, as in the released code. "
        "none: as objective.fidelity says.",
        since=2,
    )
    own_positives: Literal["leave_out", "score_zero"] | None = key(
        None,
        "Of SupMPN: an anchor's other positives are left out of the denominator, or each adds exp(0) = 1 to it, as in "
        "the released code. none: as objective.fidelity says.",
        since=2,
    )
    workers: Literal["sum", "mean"] | None = key(
        None,
        "sum: several workers give the loss of one; mean: the contrastive loss is divided by their number, as in "
        "DeCLUTR's released code. none: as objective.fidelity says.",
        since=2,
    )
    margin: float = key(
        5.0,
        "m of the triplet losses (SupMPN eq. 1 to 3), in units of Euclidean distance.",
        above(0.0),
        since=1,
    )
    mlm: float = key(
        0.0,
        "Weight of masked language modelling on the anchors, beside the objective.",
        at_least(0.0),
        since=1,
        label="weight of MLM",
    )
    bank: int = key(
        0,
        "Embeddings of earlier batches that serve as further negatives, without gradient.",
        at_least(0),
        since=1,
        label="size of the memory bank",
    )
    bank_warmup: int = key(0, "Steps before the memory bank is used.", at_least(0), since=1)


@dataclass(frozen=True)
class OptimisationConfig:
    """How the parameters move."""

    learning_rate: float = key(2e-5, "Highest learning rate.", above(0.0), alias="lr", together=True)
    batch_size: int = key(
        64,
        "Pairs, groups, sentences or documents (see corpus.layout) in one global batch, whatever the number of "
        "workers.",
        at_least(2),
    )
    epochs: int = key(1, "Passes over the corpus; 0 evaluates the encoder as it is.", at_least(0))
    max_steps: int | None = key(None, "Stop after so many steps; the schedule ends there too.", at_least(1))
    warmup: float = key(
        0.1, "Share of the steps over which the learning rate rises linearly.", between(0.0, 1.0), together=True
    )
    schedule: Literal["linear", "constant", "cosine"] = key("linear", "What follows the warm-up.", together=True)
    weight_decay: float = key(0.0, "Weight decay, on matrices only.", at_least(0.0), together=True)
    clip_norm: float | None = key(None, "Largest norm of the gradient; none does not clip.", above(0.0), together=True)
    precision: Literal["auto", "fp32", "bf16"] = key(
        "auto", "Of training; auto takes bf16 on a GPU that has it, else fp32.", measures=False
    )
    optimiser: Literal["adamw", "sgd"] = key("adamw", "sgd has momentum 0.9.", since=1, together=True)
    keep: Literal["last", "best", "average"] = key(
        "last",
        "Which weights of the encoder a training leaves: those of the last step; best: those with the highest score on "
        "the development part of STSBenchmark (SimCSE); average: their mean over the last steps.",
        since=3,
        label="weights kept",
    )
    keep_every: int = key(
        125,
        "With optimisation.keep=best the encoder is scored after every so many steps, and after the last one.",
        at_least(1),
        since=3,
    )
    keep_share: float = key(
        0.25,
        "With optimisation.keep=average the mean is over this last share of the steps, at least over one.",
        between(0.0, 1.0),
        since=3,
    )
    chunk: Literal["auto"] | int | None = key(
        "auto",
        "Tokens, padding included, of one pass of a worker, at least one sentence. A batch with more is embedded "
        "twice, pass by pass, and has the gradients of the whole batch (gradient cache). auto: the whole batch at once "
        "where it fits in memory; else smaller passes, chosen by itself. A pass that does not fit is halved, whatever "
        "was asked. none: always the whole batch at once. It is part of the recipe: a study that was begun with "
        "another value begins anew.",
        at_least(1),
        since=3,
        measures=False,
    )

    def steps(self, an_epoch: int) -> int:
        """Steps of the whole training, where a pass over the corpus has so many."""
        steps = self.epochs * an_epoch
        return min(steps, self.max_steps or steps)


@dataclass(frozen=True)
class Recipe:
    """One trained model, but for the seed. How it is scored is no part of it (`trainables.evaluation_config`)."""

    encoder: EncoderConfig = EncoderConfig()
    pooling: PoolingConfig = PoolingConfig()
    head: HeadConfig = HeadConfig()
    corpus: CorpusConfig = CorpusConfig()
    spans: SpansConfig = SpansConfig()
    objective: ObjectiveConfig = ObjectiveConfig()
    optimisation: OptimisationConfig = OptimisationConfig()

    def __post_init__(self) -> None:
        for item in keys().values():
            section, _, name = item.name.partition(".")
            config = getattr(self, section)
            value = getattr(config, name)
            valid = validate(item, value)
            if valid is not value:
                object.__setattr__(config, name, valid)

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
        for given, value in overrides.items():
            section, _, name = find(Recipe, given).name.partition(".")
            changes.setdefault(section, {})[name] = tuple(value) if isinstance(value, list) else value
        return dataclasses.replace(
            self,
            **{section: dataclasses.replace(getattr(self, section), **items) for section, items in changes.items()},
        )

    @property
    def trains(self) -> bool:
        """Whether a trial trains anything, or evaluates the encoder as it is."""
        kinds = keys()["encoder.kind"].names
        assert kinds is not None
        trainable = self.encoder.adapter != "none" or kinds[self.encoder.kind].trainable
        return self.optimisation.epochs > 0 and trainable

    @property
    def uses_seed(self) -> bool:
        """Whether another seed can give other scores: something is trained, or an adapter is left as it was drawn.
        LoRA without training adds nothing to the encoder."""
        return self.trains or self.encoder.adapter == "mlp"

    @classmethod
    def from_flat(cls, values: Mapping[str, Any]) -> Recipe:
        """The inverse of `flat()`, also after a trip through JSON."""
        return cls().override(values)

    @cached_property
    def hash(self) -> str:
        """Twelve hexadecimal digits that depend on the content only."""
        values = self.flat()
        known = keys()
        content = {
            name: value for name, value in values.items() if not known[name].since or value != known[name].default
        }
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def keys() -> Mapping[str, Key]:
    """Every flat key of a recipe, and what it says of itself."""
    return describe(Recipe)


def parse_assignment(text: str) -> tuple[str, Value]:
    """`"objective.temperature=0.5"`, or `"tau=0.5"`, to a flat key and a typed value."""
    name, equals, raw = text.partition("=")
    if not equals:
        raise UserError(f"--set {text!r} has no '='; write it as KEY=VALUE, e.g. objective.temperature=0.5")
    item = find(Recipe, name.strip())
    return item.name, parse(item, raw if item.exact else raw.strip())
