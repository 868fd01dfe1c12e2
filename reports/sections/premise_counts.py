"""Numbers of premises by their entailments and contradictions (SupMPN, Table 1): ours beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.document import Block, Bullets, DataTable
from reports.facts.results import Results
from reports.words.markdown import DASH, count, number, short_paths, text
from search_spaces.space import PremiseCount

COUNT_CAP = 5
"""Largest stored count: it means this number or more (see `Record.data["corpus"]["premises"]`)."""
Range = tuple[int, int | None]


def write(results: Results, pictures: Path) -> list[Block]:
    """Write a line for each published number of premises, then the same numbers for corpora that the paper lacks."""
    if not results.space.premise_counts:
        return []
    ours = _ours(results)
    published = results.space.premise_counts
    lines = []
    known: set[str] = set()
    for item in published:
        matching = [source for source in ours if item.source.lower() in source.lower()]
        known.update(matching)
        counts = [_count(ours[source], item.entailments, item.contradictions) for source in matching]
        total = sum(n for n in counts if n is not None) if counts and None not in counts else None
        lines.append(
            [
                text(item.name),
                _in_words(item),
                ", ".join(text(short_paths(source)) for source in matching) or DASH,
                number(total, 0),
                number(item.published, 0),
            ]
        )
    ranges = {(item.entailments, item.contradictions): _in_words(item) for item in published}
    for source, counts_of in ours.items():
        if source not in known:
            name = text(short_paths(source))
            lines += [[DASH, words, name, number(_count(counts_of, *both), 0), DASH] for both, words in ranges.items()]
    head = ["In print", "Premises with", "Ours are of", "ours", "published"]
    notes = [
        "The paper's words are taken at their word: `exactly` is neither more nor fewer, `two, three, or four "
        "entailments and contradictions` asks each of the two numbers for that, and `or more` has no upper end.",
    ]
    if not ours:
        notes.append("No finished trial has counted its premises.")
    elif any(item.key.startswith("corpus.") for item in results.differences):
        notes.append(
            "The published counts are of the paper's data; this study's data differ, so the two do not compare."
        )
    return [DataTable(head, lines, left=3), Bullets(notes)]


def _ours(results: Results) -> dict[str, list[list[int]]]:
    """Map each source to lists `[entailments, contradictions, premises]`, from the first trial that counted them."""
    counts_by_source: dict[str, list[list[int]]] = {}
    for record in results.records:
        for source, counts in (record.data.get("corpus", {}).get("premises") or {}).items():
            counts_by_source.setdefault(source, counts)
    return counts_by_source


def _count(counts: Sequence[Sequence[int]], entailments: Range, contradictions: Range) -> int | None:
    """Return the number of premises within both ranges; None if counts, capped at `COUNT_CAP`, cannot tell."""
    if any(low > COUNT_CAP or (high is not None and high >= COUNT_CAP) for low, high in (entailments, contradictions)):
        return None
    return sum(count for e, c, count in counts if _within(e, entailments) and _within(c, contradictions))


def _within(value: int, bounds: Range) -> bool:
    low, high = bounds
    return low <= value and (high is None or value <= high)


def _in_words(item: PremiseCount) -> str:
    return f"{_range(item.entailments, 'entailment')} and {_range(item.contradictions, 'contradiction')}"


def _range(bounds: Range, noun: str) -> str:
    low, high = bounds
    if high is None:
        return f"{low} or more {noun}s"
    return f"exactly {count(low, noun)}" if low == high else f"{low} to {high} {noun}s"
