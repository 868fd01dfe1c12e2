"""Sources of positives for texts without pairs: the entries of `SOURCES`, which are values of `corpus.positives_from`.

    document = TitledText.of({"title": "The heron", "text": ["It waits in shallow water ...", "It nests in trees ..."]})
    SOURCES["title"].units(document)        # [("The heron", "It waits in shallow water ...")]

A text is cut into pieces of at most `MAX_PIECE_WORDS` words. Views of a piece are drawn anew each epoch, by DeCLUTR's
distributions (`spans.py`) in words; the longest span is half of the piece.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from trainables.corpora.layouts.spans import SpanOptions, sample_spans
from trainables.registry import Registry

MAX_PIECE_WORDS = 300
"""Most words of a piece: about as much as an encoder of 512 tokens reads."""
MIN_SPAN_WORDS = 4
"""Fewest words of a span."""
MIN_TWO_SPAN_WORDS = 4 * MIN_SPAN_WORDS
"""Fewest words of a piece with room for two spans side by side, wherever the first span is."""

Pair = tuple[str, str]
Views = Callable[[Sequence[str], np.ndarray, int, int], tuple[list[str], list[str]]]
"""Returns two views of each piece, given pieces, their numbers in the corpus, seed and epoch."""


@dataclass(frozen=True)
class TitledText:
    """A document with its title, if known, and its sections."""

    title: str | None
    sections: tuple[tuple[str, str], ...]
    """Heading and text of each section; the heading may be empty."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> TitledText:
        """Make a document from a row in normal form (`own_rows.Normal`), with `text`, maybe `title` and `heading`."""
        return cls(
            row.get("title"), tuple(zip(row.get("heading") or [""] * len(row["text"]), row["text"], strict=True))
        )

    def pieces(self) -> list[str]:
        """Return the whole text in pieces of about equal length, at most `MAX_PIECE_WORDS` words."""
        words = " ".join(text for _, text in self.sections).split()
        count = -(-len(words) // MAX_PIECE_WORDS)
        bounds = [len(words) * number // count for number in range(count + 1)]
        return [" ".join(words[start:stop]) for start, stop in pairwise(bounds)]


@dataclass(frozen=True)
class Source:
    """A way to make pairs from texts; an entry of `SOURCES`."""

    name: str
    meaning: str
    units: Callable[[TitledText], list[Pair]]
    """Returns the pairs of a document; if the source has `views`, its pieces, each paired with itself."""
    views: Views | None = None
    draws_spans: bool = False
    """Whether a view is a span of its piece, and not the whole piece."""

    @property
    def makes_search(self) -> bool:
        """Whether the two texts of a pair differ, so that a search for one text by the other can judge a model."""
        return self.views is None or self.draws_spans

    def suits(self, units: Sequence[Pair]) -> bool:
        """Whether a document with these units suits the source: there is a unit, and a long one if `draws_spans`."""
        return any(not self.draws_spans or _words(piece) >= MIN_TWO_SPAN_WORDS for piece, _ in units)


def _words(text: str) -> int:
    return len(text.split())


def _begin(text: str) -> str:
    """Return the first `MAX_PIECE_WORDS` words of a text."""
    return " ".join(text.split()[:MAX_PIECE_WORDS])


def _titled(document: TitledText) -> list[Pair]:
    return [(document.title, _begin(document.sections[0][1]))] if document.title else []


def _headed(document: TitledText) -> list[Pair]:
    """Pair each section with its heading, which follows the title: "Usage" alone does not name its subject."""
    subject = f"{document.title}: " if document.title else ""
    return [(subject + heading, _begin(text)) for heading, text in document.sections if heading]


def _whole(document: TitledText) -> list[Pair]:
    return [(piece, piece) for piece in document.pieces()]


def _long(document: TitledText) -> list[Pair]:
    return [pair for pair in _whole(document) if _words(pair[0]) >= MIN_TWO_SPAN_WORDS]


def _same(pieces: Sequence[str], numbers: np.ndarray, seed: int, epoch: int) -> tuple[list[str], list[str]]:
    return list(pieces), list(pieces)


def _spans(
    strategy: Literal["default", "adjacent"], pieces: Sequence[str], numbers: np.ndarray, seed: int, epoch: int
) -> tuple[list[str], list[str]]:
    """Draw two spans of each piece. If a piece is too short for two spans, both views are the whole piece."""
    first, second = _same(pieces, numbers, seed, epoch)
    words = [piece.split() for piece in pieces]
    lengths = np.array([len(each) for each in words])
    long = np.flatnonzero(lengths >= MIN_TWO_SPAN_WORDS)
    if not len(long):
        return first, second
    options = SpanOptions(anchors=1, positives=1, shortest=MIN_SPAN_WORDS, longest=MAX_PIECE_WORDS, strategy=strategy)
    drawn = sample_spans(lengths[long], numbers[long], options, seed, epoch)
    for side, starts, counts in (
        (first, drawn.anchor_start, drawn.anchor_length),
        (second, drawn.positive_start, drawn.positive_length),
    ):
        for index, start, count in zip(long.tolist(), starts.ravel().tolist(), counts.ravel().tolist(), strict=True):
            side[index] = " ".join(words[index][start : start + count])
    return first, second


SOURCES = Registry(
    "source of positives",
    Source("title", "a title and how its text begins", _titled),
    Source("heading", "a heading, after the title, and its section", _headed),
    Source(
        "crops",
        "two spans of a text, drawn anew each epoch (DeCLUTR)",
        _whole,
        partial(_spans, "default"),
        draws_spans=True,
    ),
    Source("neighbours", "two spans side by side", _long, partial(_spans, "adjacent"), draws_spans=True),
    Source("dropout", "a text with itself under another dropout (SimCSE)", _whole, _same),
)
"""The values of `corpus.positives_from`, in order: the first makes pairs that are most like a query and its answer."""
