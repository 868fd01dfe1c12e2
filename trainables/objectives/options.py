"""Keys that several objectives share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trainables.keys import Options, Range, Value, above, at_least, key
from trainables.objectives.temperature import Temperature
from trainables.objectives.widths import Widths

KEEP_FALSE_NEGATIVES: Mapping[str, Value] = {"objective.false_negatives": "keep"}
"""A setting of all authors' released code, which does not compare texts."""


@dataclass(frozen=True)
class TextMask(Options):
    """The key `false_negatives` of objectives that contrast texts."""

    section = "objective"

    false_negatives: Literal["mask", "keep", "guide", "self"] = key(
        "mask",
        "mask: a candidate whose text is the anchor's own or one of its positives' is no negative; keep: it is one. In "
        "a softmax also guide: nor is a candidate that a frozen encoder, the guide, finds nearer to the anchor than a "
        "positive of it (GISTEmbed); self: nor is one that the trained model itself finds nearer (Qwen3-Embedding).",
    )


FILTERS = ("guide", "self")
"""Values of `false_negatives` that also remove candidates by their scores."""


@dataclass(frozen=True)
class Softmax(Temperature, TextMask, Widths):
    """Keys of objectives that contrast in a softmax."""

    guide: str | None = key(
        None,
        "Hub id or folder of the frozen encoder that finds false negatives, with its own pooling.",
        is_path=True,
        when=("false_negatives", "guide".__eq__),
    )
    filter_margin: float | None = key(
        None,
        "A candidate is no negative where its cosine with the anchor is above that of the anchor's positive by more "
        "than this; below 0 those a little farther are masked too. none takes 0 with a guide (GISTEmbed, whose margin "
        "has the other sign), and 0.1 with self (Qwen3-Embedding).",
        label="margin of the filter",
        search=Range(-0.2, 0.2),
        when=("false_negatives", FILTERS.__contains__),
    )
    filter_by: Literal["absolute", "relative"] = key(
        "absolute",
        "Whether objective.filter_margin is a cosine, or a share of the positive's.",
        when=("false_negatives", FILTERS.__contains__),
    )
    bank: int = key(
        0,
        "Embeddings of earlier batches that serve as further negatives, without gradient.",
        at_least(0),
        label="size of the memory bank",
        search=(0, 256, 1024, 4096),
    )
    bank_warmup: int = key(0, "Steps before the memory bank is used.", at_least(0), when=("bank", bool))


@dataclass(frozen=True)
class Margin(TextMask):
    """Keys of the triplet losses."""

    margin: float = key(
        5.0,
        "m of the triplet losses (SupMPN eq. 1 to 3), in units of Euclidean distance.",
        above(0.0),
        search=Range(0.1, 10.0, log=True),
    )
