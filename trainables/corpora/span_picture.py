"""A document with its anchors and positives marked, as a picture for people.

    draw("scenes", Path("spans.png"))

Tokens are words here. Three bars show the spans of each strategy: the same anchors, other positives. In the text an
anchor is a background, a positive a line under its words.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np

from trainables.corpora.documents import texts
from trainables.corpora.spans import SpanOptions, sample_spans, shortest_document
from trainables.errors import UserError

FORMATS = (".png", ".svg", ".pdf")
SPANS = SpanOptions(anchors=2, positives=2, shortest=16, longest=80)
"""Short enough for a document that fits on a page."""
LONGEST_DOCUMENT = 500
"""A longer document is cut to so many words."""

# All lengths in points. The text is monospaced, so that a word's place follows from its letters.
_WIDTH, _MARGIN, _FONT = 720.0, 24.0, 8.5
_LETTER = 0.602 * _FONT
_LINE, _LANE, _STRIP = 17.0, 4.5, 30.0
# Of each anchor: background, lines of its positives.
_COLOURS = (("#cfe2f7", "#1f5fa8"), ("#fbdcb8", "#b85c00"), ("#d5edd0", "#2e7d32"), ("#ecd6ef", "#7b3294"))
_INK, _PALE = "#333333", "#9a9a9a"


@dataclass(frozen=True)
class _Span:
    name: str
    start: int
    end: int
    colour: str
    lane: int = 0


def draw(source: str, out: Path, *, strategy: str = "default", seed: int = 0) -> None:
    """Draw the first document of `source` that is long enough into `out` (.png, .svg or .pdf)."""
    if out.suffix.lower() not in FORMATS:
        raise UserError(f"{out} ends in none of {', '.join(FORMATS)}; name a picture file")
    spans = dataclasses.replace(SPANS, strategy=strategy)  # type: ignore[arg-type]
    words = _words(source, shortest_document(spans))
    anchors, positives = _spans(len(words), spans, seed)
    lines = _wrap(words)
    lanes = 1 + max(positive.lane for positive in positives)
    pitch = _LINE + lanes * _LANE
    strategies = get_args(get_type_hints(SpanOptions)["strategy"])
    legend = 12.0 * (len(anchors) * (1 + spans.positives))
    body = 62.0 + _STRIP * len(strategies)

    figure, axes = _page(body + legend + 30 + pitch * len(lines))
    axes.text(
        _MARGIN,
        28,
        f"One document of {len(words)} tokens: A = {spans.anchors} anchors, P = {spans.positives} positives of each, "
        f"l_min = {spans.shortest}, l_max = {spans.longest}",
        fontsize=10.5,
        weight="bold",
        color=_INK,
    )
    for number, name in enumerate(strategies):
        same = _spans(len(words), dataclasses.replace(spans, strategy=name), seed)
        _strip(axes, 46 + _STRIP * number, name, len(words), *same, chosen=name == strategy)
    _legend(axes, 50 + _STRIP * len(strategies), anchors, positives, strategy)
    _text(axes, body + legend + 24, pitch, lines, anchors, positives)

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(out, dpi=120, metadata={"Date": None} if out.suffix.lower() == ".svg" else None)
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}") from None


def _words(source: str, shortest: int) -> list[str]:
    longest = 0
    for text in texts(source):
        words = text.split()
        if len(words) >= shortest:
            return words[: max(LONGEST_DOCUMENT, shortest)]
        longest = max(longest, len(words))
    raise UserError(
        f"no document of {source!r} has {shortest} words, which the picture needs; the longest has {longest}"
    )


def _spans(n: int, spans: SpanOptions, seed: int) -> tuple[list[_Span], list[_Span]]:
    """Anchors in the order of the text, and their positives, each on a lane that is free."""
    drawn = sample_spans(np.array([n]), np.array([0]), spans, seed, 0)
    anchors: list[_Span] = []
    positives: list[_Span] = []
    for number, a in enumerate(np.argsort(drawn.anchor_start[0]).tolist()):
        pale, strong = _COLOURS[number % len(_COLOURS)]
        start = int(drawn.anchor_start[0, a])
        anchors.append(_Span(f"anchor {number + 1}", start, start + int(drawn.anchor_length[0, a]), pale))
        for p in range(spans.positives):
            start = int(drawn.positive_start[0, a, p])
            end = start + int(drawn.positive_length[0, a, p])
            lanes = {other.lane for other in positives if other.start <= end and start <= other.end}
            lane = next(lane for lane in range(len(positives) + 1) if lane not in lanes)
            positives.append(_Span(f"{number + 1}.{p + 1}", start, end, strong, lane))
    return anchors, positives


def _wrap(words: list[str]) -> list[list[tuple[int, str, float]]]:
    """Lines of (number of the word, word, left edge in points)."""
    room = int((_WIDTH - 2 * _MARGIN) / _LETTER)
    lines: list[list[tuple[int, str, float]]] = [[]]
    column = 0
    for number, word in enumerate(words):
        if column + len(word) > room and lines[-1]:
            lines.append([])
            column = 0
        lines[-1].append((number, word, _MARGIN + column * _LETTER))
        column += len(word) + 1
    return lines


def _page(height: float) -> tuple[Any, Any]:
    """A figure whose axes count points from the top left corner."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH / 72, height / 72), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, _WIDTH)
    axes.set_ylim(height, 0)
    axes.axis("off")
    return figure, axes


def _bar(axes: Any, left: float, right: float, top: float, height: float, colour: str) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((left, top), right - left, height, facecolor=colour, edgecolor="none"))


def _strip(
    axes: Any, top: float, name: str, n: int, anchors: list[_Span], positives: list[_Span], *, chosen: bool
) -> None:
    """The whole document as one line: anchors on it, positives below."""
    left = _MARGIN + 76
    scale = (_WIDTH - _MARGIN - left) / n
    axes.text(_MARGIN, top + 8, name, fontsize=9, va="center", color=_INK, weight="bold" if chosen else "normal")
    _bar(axes, left, left + n * scale, top + 4, 8, "#eeeeee")
    for anchor in anchors:
        _bar(axes, left + anchor.start * scale, left + anchor.end * scale, top + 4, 8, anchor.colour)
    for positive in positives:
        y = top + 13.5 + 4.5 * positive.lane
        _bar(axes, left + positive.start * scale, left + positive.end * scale, y, 3, positive.colour)


def _legend(axes: Any, top: float, anchors: list[_Span], positives: list[_Span], strategy: str) -> None:
    axes.text(_MARGIN, top + 6, f"below: {strategy}", fontsize=9, va="center", color=_INK, weight="bold")
    y = top + 6
    for number, anchor in enumerate(anchors):
        own = [positive for positive in positives if positive.name.startswith(f"{number + 1}.")]
        _bar(axes, _MARGIN + 110, _MARGIN + 134, y - 4, 8, anchor.colour)
        axes.text(_MARGIN + 142, y, f"{anchor.name}: {_range(anchor)}", fontsize=8.5, va="center", color=_INK)
        for positive in own:
            y += 12
            shared = max(0, min(anchor.end, positive.end) - max(anchor.start, positive.start))
            relation = f"{shared} of them in the anchor" if shared else "beside the anchor"
            _bar(axes, _MARGIN + 126, _MARGIN + 150, y - 1.5, 3, positive.colour)
            label = f"positive {positive.name}: {_range(positive)}, {relation}"
            axes.text(_MARGIN + 158, y, label, fontsize=8.5, va="center", color=_INK)
        y += 12


def _range(span: _Span) -> str:
    return f"{span.end - span.start} tokens, {span.start} to {span.end - 1}"


def _text(
    axes: Any,
    top: float,
    pitch: float,
    lines: list[list[tuple[int, str, float]]],
    anchors: list[_Span],
    positives: list[_Span],
) -> None:
    for row, line in enumerate(lines):
        y = top + row * pitch
        for anchor in anchors:
            if (edges := _extent(line, anchor)) is not None:
                _bar(axes, edges[0] - 1.5, edges[1] + 1.5, y - 8.5, 11.5, anchor.colour)
        for positive in positives:
            if (edges := _extent(line, positive)) is not None:
                bar = y + 4 + positive.lane * _LANE
                _bar(axes, edges[0], edges[1], bar, 2, positive.colour)
                if line[0][0] <= positive.end - 1 <= line[-1][0]:
                    axes.text(edges[1] + 2, bar + 1, positive.name, fontsize=6, va="center", color=positive.colour)
        for number, word, left in line:
            inside = any(span.start <= number < span.end for span in (*anchors, *positives))
            axes.text(left, y, word, fontsize=_FONT, family="DejaVu Sans Mono", color=_INK if inside else _PALE)


def _extent(line: list[tuple[int, str, float]], span: _Span) -> tuple[float, float] | None:
    """Left and right edge of the span's words on a line; None where it has none there."""
    own = [(left, left + len(word) * _LETTER) for number, word, left in line if span.start <= number < span.end]
    return (own[0][0], own[-1][1]) if own else None
