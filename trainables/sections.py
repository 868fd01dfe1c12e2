"""The sections of a recipe: the keys that do not belong to a component, including the keys that choose components."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal

from trainables.keys import Options, Range, above, at_least, between, key

SCENES = "scenes"
"""Name of the built-in corpus, for all keys that name data."""
SCENES_ENCODER = "scenes-small"
"""Name of the built-in encoder: a small transformer with the scenes vocabulary, made when it is needed."""


def _follows_settings(kind: Any) -> bool:
    """Return whether a kind of encoder (an entry of `ENCODERS`) uses the settings of transformers."""
    return bool(kind.layers)


@dataclass(frozen=True)
class EncoderConfig(Options):
    """The encoder, which turns a sentence into token states or into a finished embedding."""

    section = "encoder"

    kind: str = key(
        "transformer",
        "What makes an embedding of a sentence.",
        registry="trainables.encoders.kinds:ENCODERS",
    )
    name: str = key(
        "google/bert_uncased_L-8_H-512_A-8",
        "Hub id of a model (owner/name or owner/name@REVISION), its folder, a file of word vectors (.txt, .vec, .npy) "
        "or of static ones (.safetensors), or scenes-small.",
        label="encoder",
        is_path=True,
    )
    layers: int | None = key(
        None, "Keep only the first so many layers; none keeps all.", at_least(1), when=("kind", _follows_settings)
    )
    max_length: int | None = key(
        128,
        "Longest input in tokens, special tokens included; the rest of a sentence is cut. none takes what the model "
        "says of itself. kind=pipeline has its own.",
        at_least(4),
    )
    adapter: Literal["none", "mlp", "lora"] = key(
        "none",
        "mlp freezes the encoder and trains a perceptron with one hidden layer on its output; what it gives is the "
        "sentence embedding (CLSR). lora freezes the encoder's weights and trains two small matrices beside each of "
        "its linear layers (Hu 2022); it needs the package peft.",
    )
    query_prompt: str | None = key(
        None,
        "Text put before every anchor (premise) in training, and before every evaluated sentence except documents of "
        "a search, blanks included.",
        keep_blanks=True,
        when=("kind", _follows_settings),
    )
    document_prompt: str | None = key(
        None,
        "Text put before hypotheses, positives and negatives in training, and before documents of a search. A model "
        "is saved with both prompts.",
        keep_blanks=True,
        when=("kind", _follows_settings),
    )
    dtype: Literal["fp32", "bf16"] = key(
        "fp32",
        "The numbers in which training keeps the encoder's weights, their gradients and the optimiser's state. bf16 "
        "takes half the memory, and loses small changes; with encoder.adapter=lora only the frozen weights are bf16. "
        "Evaluation is in fp32; a saved model keeps bf16.",
        when=("kind", _follows_settings),
    )
    precision: Literal["fp32", "tf32", "bf16"] = key(
        "fp32",
        "The numbers in which the encoder computes when it is evaluated or frozen; the same for every row. tf32 is "
        "fp32 that a GPU multiplies in 19 bits; a CPU takes fp32.",
    )
    lora_rank: int = key(
        8,
        "The rank of what encoder.adapter=lora adds to a layer's weights.",
        at_least(1),
        search=(4, 8, 16, 32),
        when=("adapter", "lora".__eq__),
    )
    lora_alpha: float | None = key(
        None,
        "What encoder.adapter=lora adds is multiplied by alpha / rank; none takes twice the rank.",
        above(0.0),
        when=("adapter", "lora".__eq__),
    )
    lora_targets: tuple[str, ...] = key(
        (),
        "Where encoder.adapter=lora adds something: names of linear layers; a name stands for all layers whose full "
        "name ends in it, and an empty list for all linear layers. BERT: query,value; Llama, Qwen: q_proj,v_proj; T5: "
        "q,v; DistilBERT: q_lin,v_lin.",
        when=("adapter", "lora".__eq__),
    )


@dataclass(frozen=True)
class PoolingConfig(Options):
    """How token states become one vector: pooling, and postprocessing of finished embeddings."""

    section = "pooling"

    mode: str = key(
        "mean_without_cls",
        "How token states become one vector.",
        together=True,
        registry="trainables.encoders.pooling:POOLINGS",
        label="pooling",
    )
    after: Literal["none", "center", "whiten"] = key(
        "none",
        "What is done to finished embeddings, without training: nothing, subtract the mean of the training sentences, "
        "or whiten by their covariance. For evaluation only.",
    )


@dataclass(frozen=True)
class HeadConfig(Options):
    """A projection between the sentence embedding and the contrastive objective; dropped at test time."""

    section = "head"

    kind: str = key(
        "none",
        "The projection between embedding and objective; dropped at test time.",
        together=True,
        registry="trainables.encoders.projection:PROJECTIONS",
        label="projection head",
    )


@dataclass(frozen=True)
class CorpusConfig(Options):
    """The training data, and the layout of its batches."""

    section = "corpus"

    layout: str = key(
        "rows",
        "What a batch counts.",
        registry="trainables.corpora.layouts:LAYOUTS",
    )


@dataclass(frozen=True)
class ObjectiveConfig(Options):
    """The loss and its settings."""

    section = "objective"

    name: str = key("scl", "The loss.", registry="trainables.objectives:OBJECTIVES", label="objective")
    workers: Literal["sum", "mean"] = key(
        "sum",
        "sum: several workers give the loss of one; mean: the contrastive loss is divided by their number, as in "
        "DeCLUTR's released code.",
    )
    mlm: float = key(
        0.0,
        "Weight of masked language modelling on the anchors, beside the objective.",
        at_least(0.0),
        label="weight of MLM",
        search=Range(0.0, 1.0),
    )


LIMIT = functools.partial(
    key, None, "Use only the first so many labelled pairs, or documents; none uses all.", at_least(1)
)
"""Defines the key `corpus.limit` in the class of a layout that calls this."""
SHARE = functools.partial(
    key,
    1.0,
    "Use this share of the data, drawn once, the same for every seed: of texts with all that is paired with them, or "
    "of documents. A smaller share is part of a larger one.",
    between(0.0, 1.0),
    label="share of the data",
)
"""Defines the key `corpus.share` in the class of a layout that calls this."""
POSITIVES = functools.partial(
    key,
    None,
    "N+: at most so many positives per anchor, drawn at random; none takes all. In the layout groups it is P: exactly "
    "so many, filled where a premise has fewer.",
    at_least(1),
    label="positives per anchor",
    search=Range(1, 5),
)
"""Defines the key `objective.positives` in the class that calls this: an objective that draws positives, or a layout
that fills up groups."""
NEGATIVES = functools.partial(
    key,
    None,
    "N-: at most so many negatives per anchor, drawn at random; none takes all. In the layout groups it is Q: exactly "
    "so many hard negatives, filled where a premise has fewer.",
    at_least(1),
    label="negatives per anchor",
    search=Range(1, 5),
)
"""Defines the key `objective.negatives` in the class that calls this: an objective that draws negatives, or a layout
that fills up groups."""
STSB = "downstream/STS/STSBenchmark"
SENTEVAL_KEY = "corpus.senteval"
SENTEVAL = functools.partial(
    key,
    "senteval",
    "What training itself reads of SentEval, for optimisation.keep=best and corpus.layout=similar_pairs: a "
    "folder in SentEval's layout, or scenes. A study takes evaluation.senteval by default.",
    is_path=True,
    subfolder=STSB,
    label="SentEval's folder for training",
)
"""Defines the key `corpus.senteval` in the class that calls this: a layout that trains on SentEval, or the settings of
weights that are kept by a score."""
KEEP_BY_KEY = "optimisation.keep_by"


@dataclass(frozen=True)
class _KeptByScore(Options):
    section = "corpus"

    senteval: str = SENTEVAL(when=("keep", "best".__eq__))


@dataclass(frozen=True)
class OptimisationConfig(_KeptByScore):
    """Optimiser, schedule, batch size, number of steps, and the weights that are kept."""

    section = "optimisation"

    learning_rate: float = key(
        2e-5,
        "Highest learning rate.",
        above(0.0),
        alias="lr",
        together=True,
        search=Range(1e-5, 1e-3, log=True),
    )
    batch_size: int = key(
        64,
        "Pairs, groups, sentences or documents (see corpus.layout) in one global batch, whatever the number of "
        "workers.",
        at_least(2),
        search=(32, 64, 128, 256),
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
        "auto", "Of training; auto takes bf16 on a GPU that has it, else fp32.", changes_results=False
    )
    optimiser: str = key(
        "adamw",
        "What makes steps of gradients.",
        together=True,
        registry="trainables.training.optimisers:OPTIMISERS",
    )
    keep: Literal["last", "best", "average"] = key(
        "last",
        "Which weights of the encoder a training leaves: those of the last step; best: those with the highest "
        "development score (optimisation.keep_by); average: their mean over the last steps.",
        label="weights kept",
    )
    keep_every: int = key(
        125,
        "With optimisation.keep=best the encoder is scored after every so many steps, and after the last one.",
        at_least(1),
        when=("keep", "best".__eq__),
    )
    keep_by: tuple[str, ...] = key(
        ("STSBenchmark",),
        "With optimisation.keep=best what the encoder is scored by: the mean of these tasks' development numbers, "
        "perhaps with weights, as in mytask*2,STSBenchmark. A study takes its own goal where nothing is given, and of "
        "the goal selection STSBenchmark alone (SimCSE).",
        when=("keep", "best".__eq__),
    )
    patience: int | None = key(
        None,
        "With optimisation.keep=best a training ends once so many scores in a row were no better than the best before; "
        "none goes on to its last step.",
        at_least(1),
        when=("keep", "best".__eq__),
    )
    keep_share: float = key(
        0.25,
        "With optimisation.keep=average the mean is over this last share of the steps, at least over one.",
        between(0.0, 1.0),
        search=Range(0.05, 0.5),
        when=("keep", "average".__eq__),
    )
    chunk: Literal["auto"] | int | None = key(
        "auto",
        "Tokens, padding included, of one pass of a worker. A larger batch is embedded twice, pass by pass, and has "
        "the gradients of the whole batch (gradient cache). auto: the whole batch, in smaller passes only where it "
        "does not fit in memory; none: always the whole batch. A pass that does not fit is halved. It is part of the "
        "recipe.",
        at_least(1),
        changes_results=False,
    )

    def steps(self, an_epoch: int) -> int:
        """Return the steps of the whole training. `an_epoch`: steps of one pass over the corpus."""
        steps = self.epochs * an_epoch
        return min(steps, self.max_steps or steps)
