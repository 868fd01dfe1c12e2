"""Kinds of content of a user's training data (pairs, triplets, ...), and rows of each content in normal form: a dict
with the same keys whatever the columns are called.

    row = read_row("pairs", {"question": "q", "answer": "a"}, {"anchor": ("question",), "positive": ("answer",)}, where,
                   Labels(None))        # {"anchor": "q", "positive": ["a"]}; for a row with an empty cell, its role

To add a content: an entry of `CONTENTS`, its columns in `own/columns.py`, its counts in `own/census.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from trainables.corpora import teacher_scores
from trainables.corpora.columns import Labels
from trainables.corpora.tables import Record
from trainables.errors import UserError, point_hint, shown
from trainables.labels import LABELS
from trainables.tabular import OTHER_POSITIVE, RoleColumns, as_label, as_number, has_any, one_text, texts_in

Normal = dict[str, Any]
"""A row in normal form: values by role, whatever the columns are called. A value is a text, texts or a number."""
_BRIEF = 40
"""Most characters of a text in a message."""


@dataclass(frozen=True)
class Content:
    """A kind of training data; an entry of `CONTENTS`."""

    words: str
    """Name of such rows in messages."""
    read: Callable[[Record, RoleColumns, str, Labels], Normal | str]
    """Returns a record as a row in normal form, or the role of a missing value. Needed columns must be filled."""
    needed: tuple[str, ...]
    """Roles of the columns that every row needs."""
    optional: tuple[str, ...] = ()

    @property
    def roles(self) -> tuple[str, ...]:
        return self.needed + self.optional


def read_row(content: str, record: Record, columns: RoleColumns, where: str, labels: Labels) -> Normal | str:
    """Return a record as a row in normal form (`Normal`), or the role of a needed column that is empty. `UserError` for
    a value that cannot be used."""
    for role in CONTENTS[content].needed:
        if not has_any(record, columns[role], numbers=role == "score"):
            return role
    return CONTENTS[content].read(record, columns, where, labels)


def texts(row: Normal) -> list[str]:
    """Return all texts of a row, the anchor first."""
    both = [
        row[name] for name in ("anchor", "premise", "sentence1", "sentence", "hypothesis", "sentence2") if name in row
    ]
    titles = [row["title"]] if "title" in row else []
    return [*both, *titles, *row.get("text", ()), *row.get("positive", ()), *row.get("negative", ())]


def keep_texts(row: Normal, stays: Sequence[bool]) -> Normal:
    """Return a row without some positives and negatives, and without their teacher's scores. `stays`: whether each text
    of `texts(row)` stays."""
    positives, negatives = (len(row.get(side, ())) for side in teacher_scores.SIDES)
    of_side = dict(zip(teacher_scores.SIDES, (stays[1 : 1 + positives], stays[1 + positives :]), strict=True))
    if "teacher" in row:
        of_side["teacher"] = stays[1:] if len(row["teacher"]) == positives + negatives else of_side["negative"]
    made = {**row, **{role: [*compress(row[role], own)] for role, own in of_side.items() if role in row}}
    return {role: value for role, value in made.items() if role != "teacher" or value}


def row_in_words(row: Normal) -> str:
    """Return a row in words, `"How do I …" -> "Open …"`: the first text of each side, then the label or score."""
    values = [value[0] if isinstance(value, list) else value for value in row.values() if value != []]
    return " -> ".join(dict.fromkeys(brief(value) for value in values if value != ""))


def brief(text: object) -> str:
    """Return a text in quotes, cut short, or a number as text, for a line that shows a row."""
    if not isinstance(text, str):
        return f"{text:g}" if isinstance(text, float) else str(text)
    plain = " ".join(text.split())
    return f'"{plain}"' if len(plain) <= _BRIEF else f'"{plain[: _BRIEF - 2].rstrip()} …"'


def read_anchored(record: Record, columns: RoleColumns, where: str) -> Normal:
    """Return a row of an anchor, with its positives and negatives if these have columns."""
    (anchor,) = columns["anchor"]
    row: Normal = {"anchor": one_text(record, anchor, where)}
    for role in teacher_scores.SIDES:
        if role in columns:
            row[role] = [text for name in columns[role] for text in texts_in(record, name, where)]
    return row


def read_labelled_pair(record: Record, columns: RoleColumns, where: str, labels: Labels) -> Normal | str:
    (first,), (second,), (name,) = columns["sentence1"], columns["sentence2"], columns["label"]
    code = labels.code(record.get(name), where)
    if code is None:
        return "label"
    premise, hypothesis = one_text(record, first, where), one_text(record, second, where)
    return {"premise": premise, "hypothesis": hypothesis, "label": LABELS[code]}


def _read_pair(record: Record, columns: RoleColumns, where: str, labels: Labels) -> Normal | str:
    (anchor,) = columns["anchor"]
    if columns["anchor"] == columns["positive"]:  # a set: all texts have one meaning
        first, *others = texts_in(record, anchor, where)
        unlike = [text for text in others if text != first]
        return {"anchor": first, "positive": unlike} if unlike else OTHER_POSITIVE if others else "positive"
    row = read_anchored(record, columns, where)
    teacher = teacher_scores.read_teacher(record, columns, where)
    unlike = [text for text in row["positive"] if text != row["anchor"]]
    if not unlike:
        return OTHER_POSITIVE
    return {**row, "teacher": teacher} if teacher else {**row, "positive": unlike}


def _read_scored_pair(record: Record, columns: RoleColumns, where: str, labels: Labels) -> Normal:
    (first,), (second,), (name,) = columns["sentence1"], columns["sentence2"], columns["score"]
    cell = record.get(name)
    score = as_number(cell)
    if score is None:
        raise UserError(f"{where}: {name} is {shown(cell)}, and a score is a number{point_hint(cell)}")
    return {"sentence1": one_text(record, first, where), "sentence2": one_text(record, second, where), "score": score}


def _read_labelled_text(record: Record, columns: RoleColumns, where: str, labels: Labels) -> Normal:
    (sentence,), (name,) = columns["sentence"], columns["label"]
    return {"sentence": one_text(record, sentence, where), "label": as_label(record.get(name), where)}


def _read_document(record: Record, columns: RoleColumns, where: str, labels: Labels) -> Normal:
    """Return the title, and the text or the texts of the sections, with their headings."""
    (name,) = columns["sentence"]
    texts = texts_in(record, name, where)
    titles, headings = columns.get("title", ()), columns.get("heading", ())
    row: Normal = {"title": one_text(record, titles[0], where)} if has_any(record, titles) else {}
    if headings and isinstance(cell := record.get(headings[0]), list):  # a section may have no heading
        row["heading"] = [str(each or "").strip() for each in cell]
    elif has_any(record, headings):
        row["heading"] = [one_text(record, headings[0], where)]
    if len(row.get("heading", texts)) != len(texts):
        raise UserError(f"{where}: it has {len(row['heading'])} headings and {len(texts)} texts; give one for each")
    return {**row, "text": texts}


CONTENTS: Mapping[str, Content] = {
    "pairs": Content("pairs", _read_pair, ("anchor", "positive")),
    "triplets": Content(
        "anchors with positives and negatives", _read_pair, ("anchor", "positive"), ("negative", *teacher_scores.ROLES)
    ),
    "nli": Content(
        "premises and hypotheses labelled entailment, neutral or contradiction",
        read_labelled_pair,
        ("sentence1", "sentence2", "label"),
    ),
    "scored": Content("pairs with scores", _read_scored_pair, ("sentence1", "sentence2", "score")),
    "labelled": Content("labelled texts", _read_labelled_text, ("sentence", "label")),
    "texts": Content("texts alone", _read_document, ("sentence",), ("title", "heading")),
}
