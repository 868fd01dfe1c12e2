"""The kinds of encoders: an entry each. To add one: a class that is a `BaseEncoder` (see `contract.py`), or a
`TrainableEncoder` if training can have it, a function that loads it, and an entry here or in a plugin file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from trainables.encoders.contract import BaseEncoder
from trainables.encoders.pooling import Pooling
from trainables.keys import Options, at_least, key
from trainables.recipe import EncoderConfig
from trainables.registry import Registry

Precision = Literal["auto", "fp32", "tf32", "bf16"]


@dataclass(frozen=True)
class EncoderRequest:
    """What a loader is given."""

    config: EncoderConfig
    pooling: Pooling | None = None
    """None: the model's own where it has one, else the mean."""
    device: str | None = None
    """None: a GPU where there is one."""
    masked_lm: bool = False
    """Whether training needs a head for masked language modelling."""
    training_precision: Precision = "auto"
    """In which `embed` computes; auto is bf16 on a GPU that has it, else fp32."""
    evaluation_precision: Precision = "fp32"
    """In which `encode` computes."""
    options: Options | None = None
    """The keys of its kind, where it has some."""


Missing = tuple[str, str]
"""Why an encoder cannot be had, and what would work."""


@dataclass(frozen=True)
class EncoderKind:
    """An entry of `ENCODERS`."""

    name: str
    loader: Callable[[EncoderRequest], BaseEncoder] | str
    """From a request to the encoder, or `"module:function"`. Raises `UserError` where it cannot be had."""
    missing: Callable[[EncoderConfig], Missing | None] | str
    """Why the encoder cannot be had, None if it can, or `"module:function"`. Asked before anything starts: it is quick,
    downloads nothing, and imports nothing heavy."""
    trainable: bool = False
    """Whether training changes its weights, and it is a `TrainableEncoder`; on others only an adapter is trained."""
    pools: bool = False
    """Whether `pooling.mode` decides how token states become a vector; if not, it has a pooling of its own."""
    layers: bool = False
    """Whether it follows a transformer's settings: `encoder.layers`, `encoder.dtype` and the prompts."""
    from_folder: bool = False
    """Whether transformers or sentence-transformers wrote its folders, so that what they lack is checked."""
    tokens: bool = False
    """Whether it is a `TokenEncoder`, so that spans and masked language modelling are possible."""
    lora: bool = False
    """Whether it is a `TransformerEncoder`, into whose linear layers `encoder.adapter=lora` can be put."""
    options: type[Options] | None = None
    """Keys of its own, which a loader finds in `EncoderRequest.options`."""
    meaning: str = ""
    """What it is, as `--keys` prints it."""
    untrained: Literal["evaluate", "refuse"] = "refuse"
    """What a recipe with epochs means for one that is not trainable: it is evaluated as it is, or refused."""
    finished: Callable[[str], bool] | str | None = None
    """Whether a name or folder is a finished model of this kind, so that a row can be given it to evaluate; or
    `"module:function"`. None: never guessed."""


@dataclass(frozen=True)
class StaticStart(Options):
    """The keys of the kind `static`: what the vectors of a static encoder's tokens are at first."""

    section = "encoder"

    start: Literal["weights", "random"] = key(
        "weights",
        "What a static encoder's token vectors are at first. weights: those of encoder.name, of a transformer its word "
        "embeddings; random: drawn with the seed, and encoder.name gives the tokenizer alone.",
        label="start of the token vectors",
    )
    dim: int = key(
        256,
        "Numbers of a token's vector that is drawn, and so of an embedding.",
        at_least(1),
        label="size of the token vectors",
        search=(128, 256, 512, 1024),
        when=("start", "random".__eq__),
    )


_AVAILABILITY = "trainables.encoders.availability"

ENCODERS = Registry(
    "kind of encoder",
    EncoderKind(
        "transformer",
        "trainables.encoders.pretrained:load_transformer",
        f"{_AVAILABILITY}:missing_transformer",
        trainable=True,
        pools=True,
        layers=True,
        from_folder=True,
        tokens=True,
        lora=True,
        meaning="trained here, with a pooling of ours",
    ),
    EncoderKind(
        "static",
        "trainables.encoders.static:load_static",
        "trainables.encoders.static_files:missing_static",
        trainable=True,
        from_folder=True,
        options=StaticStart,
        meaning="the mean of the tokens' vectors, trained here",
    ),
    EncoderKind(
        "word_vectors",
        "trainables.encoders.word_vectors:load_word_vectors",
        f"{_AVAILABILITY}:missing_word_vectors",
        untrained="evaluate",
        meaning="the average of the words' vectors, for evaluation only",
        finished=f"{_AVAILABILITY}:is_word_vectors",
    ),
    EncoderKind(
        "tf_idf",
        "trainables.encoders.tf_idf:load_tf_idf",
        f"{_AVAILABILITY}:missing_tf_idf",
        untrained="evaluate",
        meaning="TF-IDF of letters that follow each other, for evaluation only; encoder.name: a file of texts",
    ),
    EncoderKind(
        "pipeline",
        "trainables.encoders.pipeline:load_pipeline",
        f"{_AVAILABILITY}:missing_pipeline",
        from_folder=True,
        finished=f"{_AVAILABILITY}:is_pipeline",
        meaning="a finished sentence-transformers model with its own pooling, for evaluation only",
    ),
)
"""The values of `encoder.kind`."""
