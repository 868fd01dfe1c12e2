"""The keys of `encoder.kind=static`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trainables.keys import Options, at_least, key


@dataclass(frozen=True)
class StaticStart(Options):
    """What the vectors of a static encoder's tokens are at first."""

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
