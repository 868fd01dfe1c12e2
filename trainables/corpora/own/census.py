"""Counts of a user's training rows: whether a model can learn from them, and which rows disagree or repeat."""

from __future__ import annotations

import dataclasses
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from trainables.corpora.layouts.positives import SOURCES, TitledText
from trainables.corpora.own.training_files import UNREAD_ROWS
from trainables.corpora.own_rows import Normal
from trainables.errors import UserError, shown

MOST_TOGETHER = 4
"""Most texts of one label in a group of a batch."""


@dataclass
class Census:
    """Counts of a user's training rows."""

    rows: int = 0
    most_positives: int = 0
    """A tenth of the anchors have this many positives or more; 1 if fewer anchors have any positive."""
    most_negatives: int = 0
    units: int = 0
    """Number of units for batches: pairs, anchors with a positive, or groups of `MOST_TOGETHER` texts of a label."""
    labels: Counter[str] = dataclasses.field(default_factory=Counter)
    sources: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """For texts without pairs: maps each source of positives that suits half of the texts to its number of units."""
    taught: int = 0
    """Number of rows with a teacher's scores."""
    scores: tuple[float, float] = (math.inf, -math.inf)
    """The lowest and the highest score of pairs with scores."""


def _top_decile(counts: Counter[int]) -> int:
    """Return the count that a tenth of the anchors reach or exceed; 1 if fewer anchors have a count above 0."""
    ordered = sorted(counts.values(), reverse=True) or [0]
    return ordered[(len(ordered) - 1) // 10] or min(1, ordered[0])


def take_census(rows: Iterable[Normal], content: str, where: str, left_out: Mapping[str, int] | None = None) -> Census:
    """Count rows (`own_rows.Normal`). `left_out` counts unusable rows by reason, for the message if there are no rows.
    `UserError` for data from which no model can learn: one class, one score, no entailment, one text."""
    census = Census()
    positives: Counter[int] = Counter()
    negatives: Counter[int] = Counter()
    answers: set[int] = set()
    suited, made = Counter[str](), Counter[str]()
    for row in rows:
        census.rows += 1
        if content == "scored":
            census.scores = min(census.scores[0], row["score"]), max(census.scores[1], row["score"])
        elif content == "labelled":
            census.labels[row["label"]] += 1
        elif content == "texts":
            document = TitledText.of(row)
            answers.add(hash(tuple(row["text"])))
            for name, source in SOURCES.items():
                units = source.units(document)
                suited[name] += source.suits(units)
                made[name] += len(units)
        elif content == "nli":
            census.labels[row["label"]] += 1
            sides = {"entailment": positives, "contradiction": negatives}
            if row["label"] in sides:
                sides[row["label"]][hash(row["premise"])] += 1
            if row["label"] == "entailment":
                answers.add(hash(row["hypothesis"]))
        else:
            anchor = hash(row["anchor"])
            positives[anchor] += len(row["positive"])
            answers.update(map(hash, row["positive"]))
            negatives[anchor] += len(row.get("negative", ()))
            census.taught += "teacher" in row
    census.most_positives, census.most_negatives = _top_decile(positives), _top_decile(negatives)
    census.units = len(positives) if positives else census.rows
    if content == "labelled":
        census.units = sum(texts // MOST_TOGETHER for texts in census.labels.values())
    if content == "texts":
        census.sources = {name: made[name] for name in SOURCES if suited[name] >= max(1, census.rows / 2)}
        census.units = min(census.sources.values(), default=0)
    if not census.rows:
        why = "; ".join(f"{count:,} {reason}" for reason, count in (left_out or {}).items() if reason != UNREAD_ROWS)
        raise UserError(f"{where} holds no rows to train on{f': {why}' if why else ''}")
    if content == "scored" and census.scores[0] == census.scores[1]:
        raise UserError(f"{where}: all scores are {census.scores[0]:g}, so nothing can be learnt from them")
    if content == "labelled" and len(census.labels) < 2:
        raise UserError(f"{where}: all labels are {shown(*census.labels)}; it takes texts of two classes at least")
    if content == "labelled" and max(census.labels.values()) < 2:
        raise UserError(f"{where}: no two texts have the same label, so there are no positives")
    if content == "texts" and len(answers) == 1 < census.rows:
        raise UserError(f"{where}: all texts are one, so nothing can be learnt from them")
    if positives and not negatives.total() and min(len(positives), len(answers)) == 1 < census.rows:
        side = "positives" if len(answers) == 1 else "anchors"
        raise UserError(f"{where}: all {side} are one text, so nothing can be learnt from them")
    if content == "nli" and not positives:
        raise UserError(f"{where} holds no pair labelled entailment, and these are the positives")
    return census


class Agreement:
    """Hashes of rows and of their labels, so that repeated and contradictory rows are counted in one pass."""

    def __init__(self) -> None:
        self._rows, self._judged = array("q"), array("q")

    def add(self, row: Normal, line: str) -> None:
        """Add a row (`own_rows.Normal`); `line` is the same row as a line of JSON."""
        self._rows.append(hash(line))
        for judged in _judgements(row):
            self._judged.extend(hash(str(side)) for side in judged)

    @property
    def repeated(self) -> int:
        """Number of rows that equal an earlier row."""
        return len(self._rows) - len({*self._rows})

    @property
    def contradicted(self) -> int:
        """Number of texts or pairs with several labels or scores, or that are both positive and negative."""
        judgements = np.unique(np.frombuffer(self._judged, np.int64).reshape(-1, 2), axis=0)
        return int((np.unique(judgements[:, 0], return_counts=True)[1] > 1).sum())


def _judgements(row: Normal) -> Iterator[tuple[object, object]]:
    """Yield each text or pair with its label, score or role. With scores, the order of two texts does not matter."""
    if "sentence1" in row:
        yield sorted((row["sentence1"], row["sentence2"])), row["score"]
    elif "label" in row:
        yield (row.get("premise"), row.get("hypothesis"), row.get("sentence")), row["label"]
    for role in ("positive", "negative"):
        yield from (((row["anchor"], text), role) for text in row.get(role, ()))
