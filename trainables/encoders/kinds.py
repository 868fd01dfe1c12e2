"""The kinds of encoders, one entry each. To add one, write a class that is a `BaseEncoder` (see `contract.py`), or a
`TrainableEncoder` if it can be trained, a function that loads it, and an entry here or in a plugin file."""

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
    """The argument of the function that loads an encoder."""

    config: EncoderConfig
    pooling: Pooling | None = None
    """The requested pooling; None: the model's own pooling if it has one, else the mean."""
    device: str | None = None
    """Name of the device; None: a GPU if there is one."""
    masked_lm: bool = False
    """Whether training needs a head for masked language modelling."""
    training_precision: Precision = "auto"
    """Precision of `embed`, which is for training; auto is bf16 on a GPU with bf16, else fp32."""
    evaluation_precision: Precision = "fp32"
    """Precision of `encode`, which is for evaluation."""
    options: Options | None = None
    """Values of the keys that only the encoder's kind has; None: it has none, or the defaults."""


Missing = tuple[str, str]
"""Why an encoder cannot be loaded, and what the user can do."""


@dataclass(frozen=True)
class EncoderKind:
    """A kind of encoder: an entry of `ENCODERS`."""

    name: str
    loader: Callable[[EncoderRequest], BaseEncoder] | str
    """Function that loads an encoder, or its `"module:function"`. Raises `UserError` if it cannot be loaded."""
    missing: Callable[[EncoderConfig], Missing | None] | str
    """Function, or its `"module:function"`, that returns why the encoder cannot be loaded, None if it can. Called
    before anything starts: it must be quick, download nothing, and import nothing heavy."""
    trainable: bool = False
    """Whether the encoder is a `TrainableEncoder` whose weights are trained; on others only an adapter is trained."""
    pools: bool = False
    """Whether `pooling.mode` decides how token states become a vector; if not, the encoder has its own pooling."""
    layers: bool = False
    """Whether the encoder follows a transformer's settings: `encoder.layers`, `encoder.dtype` and the prompts."""
    from_folder: bool = False
    """Whether the encoder is a folder of transformers or sentence-transformers, which is checked for missing files."""
    tokens: bool = False
    """Whether the encoder is a `TokenEncoder`, so that spans and masked language modelling are possible."""
    lora: bool = False
    """Whether the encoder is a `TransformerEncoder`, whose linear layers can take `encoder.adapter=lora`."""
    options: type[Options] | None = None
    """The keys of this kind, which a loader finds in `EncoderRequest.options`."""
    meaning: str = ""
    """Description of the kind, which `--keys` prints."""
    untrained: Literal["evaluate", "refuse"] = "refuse"
    """What happens to a recipe with epochs if the kind is not trainable: evaluated untrained, or refused."""
    finished: Callable[[str], bool] | str | None = None
    """Function, or its `"module:function"`, that returns whether a name or folder is a finished model of this kind,
    which a row can evaluate. None: no name is taken for a model of this kind."""


@dataclass(frozen=True)
class StaticStart(Options):
    """The keys of the kind `static`: the initial vectors of its tokens."""

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
