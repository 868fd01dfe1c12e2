"""A file of a user's own task: a table with named columns, in any form that training data may have
(`corpora/tables.py`): CSV, TSV, JSONL, JSON, Parquet, packed or not.

    sentence<TAB>label                       a sentence and its class
    sentence1<TAB>sentence2<TAB>label        a pair and its class
    sentence1<TAB>sentence2<TAB>score        a pair and how similar its sentences are
    anchor<TAB>positive<TAB>negative         a triplet; or a query (`query`) with several positives and negatives, as
                                             further columns (`negative_2`), or in JSONL as lists

Other common names of these columns are accepted, too (`trainables.tabular`), further columns are ignored. Two columns
of texts without such names are an anchor and its positive; a text and a topic are a sentence and its label. Examples
stay in the order of their files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from trainables.corpora import tables
from trainables.corpora.tables import Record
from trainables.errors import UserError, listed, shown
from trainables.senteval.examples import FileLimit, JudgedDocuments, Split, Target
from trainables.tabular import (
    OTHER_POSITIVE,
    PEEKED_ROWS,
    RoleColumns,
    alternatives_of,
    are_ambiguous,
    as_label,
    check_one_vocabulary,
    check_text,
    guessed_roles,
    has_any,
    roles_of,
    score_within,
    single_spaced,
    texts_of,
)

Line = tuple[str, Record]
"""Where a line is, for messages, and its values by column."""
GRADES = {1: "positive", 0: "negative"}
"""The role of columns whose texts have this relevance to the query."""

_PAIR = ("anchor", "positive")
_TEXTS = ("anchor", "positive", "negative", "sentence", "sentence1", "sentence2")
MAX_SHARE_LEFT_OUT = 0.1
"""Largest share of a file's lines to leave out because no classifier is fitted to their labels."""


def open_table(path: Path) -> TaskTable:
    """Return the table in a file; raise `UserError` if there is none, or if it has no line."""
    (location,) = tables.find_tables(str(path))
    table = tables.open_table(location, 1)
    held = FileLimit(path)
    lines = []
    for where, values in table.read(table.columns):
        held.add(sum(len(str(value)) for value in values.values()))
        lines.append((where, values))
    if not lines:
        raise UserError(f"{path} holds no example")
    columns = tuple(dict.fromkeys(chain.from_iterable(values for _, values in lines)))
    guessed = guessed_roles(columns, [values for _, values in lines[:PEEKED_ROWS]])
    named = roles_of(columns).keys() & {*_TEXTS, "label", "score"}
    is_read = "label" in guessed or ("anchor" in guessed and not named)
    return TaskTable(path, columns, lines, guessed if is_read else {})


@dataclass(frozen=True)
class TaskTable:
    """A table in a file of a user's task; it has at least one line."""

    path: Path
    columns: tuple[str, ...]
    """Columns of all lines; a line may lack some."""
    lines: list[Line]
    guessed: RoleColumns = field(default_factory=dict)
    """Two columns with unknown names, by the role that is guessed for them, as in training data: an anchor and its
    positive by their order, or a text and its label by the label's name."""

    def drop_incomplete(self, target: Target) -> tuple[TaskTable, list[str]]:
        """Return the table without lines that lack a column which the target needs, and messages that count such lines.
        Raises `UserError` if no line is left."""
        sides = ("anchor", "positive", "negative") if target == "documents" and self.has("anchor") else self._sides
        judged = {"scores": "score" if self.has("score") else "label", "classes": "label"}.get(target, "")
        needed = [role for role in (*sides, judged) if self.has(role)]
        lacks = [next(filter(None, (self._lacks(line, role, target) for role in needed)), "") for line in self.lines]
        roles = {role: self.roles[role] for role in needed}
        alternatives = alternatives_of(roles, self.columns, [values for _, values in self.lines]) if any(lacks) else ()
        for (where, values), role in zip(self.lines, lacks, strict=True):
            if role:
                check_one_vocabulary(role, values, roles, alternatives, where)
        of = f"of {len(self.lines):,} rows in {self.path} have no"
        notes = [f"{count:,} {of} {role}, and are left out" for role, count in Counter(lacks).items() if role]
        if self.guessed:
            first, second = (repr(name) for (name,) in self.guessed.values())
            sides = ("text", "label", "its name") if "label" in self.guessed else (*_PAIR, "their order")
            notes.append(
                "{}: {} is read as the {}, {} as its {}, by {}".format(self.path, first, sides[0], second, *sides[1:])
            )
        if all(lacks):
            raise UserError(f"{self.path} holds no example: {'; '.join(notes)}")
        return replace(self, lines=[line for line, role in zip(self.lines, lacks, strict=True) if not role]), notes

    def _lacks(self, line: Line, role: str, target: Target) -> str:
        """Return what a line lacks of this role: the role, or a positive that differs from its anchor; else nothing."""
        if role == "label" and target == "classes":
            return role if self._label(line) is None else ""
        if not has_any(line[1], self.roles[role], numbers=role not in _TEXTS):
            return role
        first = {"positive": "anchor", "sentence2": "sentence1"}.get(role, "")
        if target != "documents" or not self.has(first):
            return ""
        query, texts = ({*map(single_spaced, self._side(line, self.roles[name]))} for name in (first, role))
        return OTHER_POSITIVE if texts <= query else ""

    def sentences(self) -> tuple[list[str], list[str] | None]:
        """Return the lines' sentences, and their second sentences (None: the file has no column for these)."""
        left, *right = map(self._sentences, self._sides)
        return left, right[0] if right else None

    def labels(self) -> tuple[str, ...]:
        return tuple(sorted({label for line in self.lines if (label := self._label(line)) is not None}))

    def keep_labels(self, labels: Sequence[str]) -> tuple[TaskTable, list[str]]:
        """Return the table without lines of other labels than `labels`, to which classifiers are fitted, and a message
        that counts such lines. If they are more than `MAX_SHARE_LEFT_OUT`, all stay, because `labels` then are of
        another file."""
        numbers = self._numbers(labels)
        labelled = [(line, str(self._label(line))) for line in self.lines]
        others = Counter(label for _, label in labelled if label not in numbers)
        if not others or others.total() > MAX_SHARE_LEFT_OUT * len(labelled):
            return self, []
        note = f"{others.total():,} of {len(labelled):,} rows in {self.path} have labels that nothing is fitted to"
        lines = [line for line, label in labelled if label in numbers]
        return replace(self, lines=lines), [f"{note} ({listed(sorted(others))}), and are left out"]

    def _numbers(self, labels: Sequence[str]) -> dict[str, int]:
        return {str(as_label(label, str(self.path))): number for number, label in enumerate(labels)}

    def classes(self, labels: Sequence[str]) -> np.ndarray:  # (lines,)
        numbers, names = self._numbers(labels), [str(self._label(line)) for line in self.lines]
        other = Counter(label for label in names if label not in numbers)
        if other:
            where, _ = self.lines[next(index for index, label in enumerate(names) if label in other)]
            more = f", nor are those of {other.total() - 1:,} more rows" if other.total() > 1 else ""
            raise UserError(
                f"{where}: label {shown(next(iter(other)))} is none of {listed(labels)}{more}; leave such rows "
                "out, or train on some, too"
            )
        return np.array([numbers[label] for label in names], dtype=np.int64)

    def scores(self, scale: tuple[float, float]) -> np.ndarray:  # (lines,)
        (column,) = self.roles.get("score") or self.roles.get("label") or ("score",)
        return np.array([score_within(values.get(column), where, scale, column) for where, values in self.lines])

    def queries(self, among_all: bool) -> Split:
        """Return each anchor or query with the texts that are judged for it. `among_all`: each query only once, with
        the texts of all its lines, and without itself. Equal texts are one document."""
        # In pairs without a label the first sentence is the query, the second its document.
        paired = not self.has("anchor")
        (anchor,) = self._columns("sentence1" if paired else "anchor")
        sides = (
            {1: self._columns("sentence2")} if paired else {g: self.roles.get(role, ()) for g, role in GRADES.items()}
        )
        indices: dict[str, int] = {}
        items: list[tuple[str, dict[int, int]]] = []
        merged: dict[str, dict[int, int]] = {}
        for line in self.lines:
            text = self._sentence(line, anchor)
            if not among_all or text not in merged:
                items.append((text, merged.setdefault(text, {}) if among_all else {}))
            grades = merged[text] if among_all else items[-1][1]
            for grade, columns in sides.items():
                texts = list(self._side(line, columns))
                if not texts and (columns or grade):
                    raise UserError(f"{line[0]}: no {GRADES[grade]!r}; the columns are {listed([*line[1]])}")
                for document in texts:
                    if grade and document == text:
                        continue
                    if grades.setdefault(indices.setdefault(document, len(indices)), grade) != grade:
                        raise UserError(f"{line[0]}: {shown(document)} is both a positive and a negative")
        own = [number if (number := indices.get(text, -1)) not in judged else -1 for text, judged in items]
        judged = [grades for _, grades in items]
        documents = JudgedDocuments([*indices], judged, np.array(own if among_all else [-1] * len(items)))
        return Split([text for text, _ in items], None, documents.relevant, documents=documents)

    def _side(self, line: Line, columns: Sequence[str]) -> Iterator[str]:
        """Yield a line's texts in these columns, without empty ones."""
        where, values = line
        for column in columns:
            for text in texts_of(values.get(column)):
                yield self._sentence((where, {column: text}), column)

    @cached_property
    def max_texts_per_line(self) -> tuple[int, int]:
        """The largest numbers of positives and of negatives of one line, among lines that have both."""
        whole, _ = self.drop_incomplete("documents")
        positives, negatives = (
            max(sum(1 for _ in self._side(line, self.roles.get(role, ()))) for line in whole.lines)
            for role in GRADES.values()
        )
        return positives, negatives

    @cached_property
    def paired(self) -> bool:
        """Whether the lines are pairs of sentences."""
        return self.has("sentence1", "sentence2")

    @cached_property
    def pair_labels(self) -> tuple[str, ...]:
        """The labels of pairs, in order; empty if pairs have scores or no labels."""
        return () if self.has("score") or not self.has("label") else self.drop_incomplete("classes")[0].labels()

    @cached_property
    def roles(self) -> RoleColumns:
        """The columns of the file by role, such as `anchor` or `label`."""
        return {**roles_of(self.columns), **self.guessed}

    def has(self, *roles: str) -> bool:
        """Whether the file has columns of all these roles, such as `anchor` or `label`."""
        return self.roles.keys() >= {*roles}

    @property
    def _sides(self) -> tuple[str, ...]:
        """The roles of the file's columns of sentences: one role, or two for pairs."""
        return ("sentence1" if self.has("sentence1") else "sentence", *(["sentence2"] * self.has("sentence2")))

    def _columns(self, role: str) -> tuple[str, ...]:
        """Return the columns of a role; if there are none, the role's name, for a message."""
        return self.roles.get(role, (role,))

    def _sentences(self, role: str) -> list[str]:
        (column,) = self._columns(role)
        return [self._sentence(line, column) for line in self.lines]

    def _sentence(self, line: Line, column: str) -> str:
        where, values = line
        value = values.get(column)
        if value is None:
            raise UserError(f"{where}: no {column!r}; the columns are {listed([*values])}")
        if not isinstance(value, str):
            raise UserError(f"{where}: {column!r} is {shown(value)}, not text")
        check_text(value, repr(column), where)
        return single_spaced(value)

    @cached_property
    def _unlabelled(self) -> tuple[str, ...]:
        """Values of pairs that mean no label: -, and -1 if names show that the labels are of NLI or similar data."""
        if not self.paired:
            return ()
        labels = [values.get(self.roles["label"][0]) for _, values in self.lines]
        return ("-",) if are_ambiguous(self.roles, labels) else ("-", "-1")

    def _label(self, line: Line) -> str | None:
        """Return a line's class, which may be a number; None if there is none."""
        (column,) = self._columns("label")
        value = line[1].get(column)
        if column not in self.columns:
            raise UserError(f"{line[0]}: no {column!r}; the columns are {listed([*line[1]])}")
        label = as_label(value, line[0])
        return None if label in self._unlabelled else label
