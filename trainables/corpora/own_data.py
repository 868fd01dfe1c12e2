"""What a person's own training files hold, told from their columns and first rows, and read in one normal form each.

    found = find_kind(["pairs.csv"])                 # Source: kind "pairs", and how its rows are read
    for row in found.rows(Counter()):                # {"anchor": ..., "positive": ...}, one for each row of the files
        ...

Six kinds are known. Columns of other names are said by `--columns`, labels of other names by `--labels`.

    pairs       anchor, positive (query, question, pos, answer); or two columns of text, whatever they are called
    triplets    the same with negatives: negative, negative_1, ..., neg
    nli         premise, hypothesis (sentence1, sentence2), label: entailment, neutral, contradiction
    scored      sentence1, sentence2, score
    labelled    sentence (text), label: texts of equal labels are positives of each other
    sentences   one column of text, or a .txt file with a sentence on each line
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from trainables.corpora.column_doubts import brief, by_order, headless, misspelt
from trainables.corpora.columns import Labels, texts_in
from trainables.corpora.tables import Record, find_tables, open_table
from trainables.corpora.text_lines import numbered_lines
from trainables.errors import UserError, choices, listed, meant, shown
from trainables.files import expanded
from trainables.labels import LABELS
from trainables.tabular import NAMES, SEVERAL, as_label, as_number, is_graded, roles_of

Kind = Literal["pairs", "triplets", "nli", "scored", "labelled", "sentences"]
Normal = dict[str, Any]
"""A row in its kind's normal form; a value is a text, a list of texts or a number."""

IN_WORDS: Mapping[Kind, str] = {
    "pairs": "pairs",
    "triplets": "anchors with positives and negatives",
    "nli": "premises and hypotheses labelled entailment, neutral or contradiction",
    "scored": "pairs with scores",
    "labelled": "labelled texts",
    "sentences": "plain sentences",
}
_MAY_NAME = (*NAMES, "premise", "hypothesis")
"""What `--columns` may name."""
_PEEKED = 1000
"""Rows that are looked at to tell what a column holds."""
MOST_TOGETHER = 4
"""Texts of one label that stand together in a batch, at most."""
_SPACED = 0.5
"""A column without a name that is known is of texts where this share of its values have a space within."""


@dataclass(frozen=True)
class Source:
    """One or several files of one kind."""

    kind: Kind
    tables: tuple[_Table, ...]
    labels: str | None = None
    """What `--labels` says."""

    def rows(self, left_out: Counter[str]) -> Iterator[Normal]:
        """Each row of the files that can be trained on; `left_out` counts the others, by why. `UserError` with file and
        line for a row that is broken."""
        labels = Labels(self.labels)
        for table in self.tables:
            for where, record in table.records():
                row = _READERS[self.kind](record, table.columns, where, labels)
                if row is None:
                    left_out["without a label"] += 1
                else:
                    yield row
        labels.check_numbers(self.name)

    @property
    def name(self) -> str:
        """The files, for a sentence."""
        return ", ".join(table.name for table in self.tables)

    @property
    def read_as(self) -> str:
        """`pairs: anchor = question, positive = answer`; only what they hold where they have no columns."""
        said = dict.fromkeys(", ".join(_read_as(table)) for table in self.tables if not _is_lines(table.place))
        return f"{IN_WORDS[self.kind]}{': ' * bool(said)}{' or '.join(said)}"

    @property
    def doubts(self) -> list[str]:
        """Sentences on what may have been read wrongly."""
        return [doubt for table in self.tables for doubt in table.doubts]


def _read_as(table: _Table) -> Iterator[str]:
    for role, names in table.columns.items():
        yield f"{role} = {listed(names)}"


@dataclass(frozen=True)
class _Table:
    name: str
    kind: Kind
    columns: Mapping[str, tuple[str, ...]]
    """Role to the names of its columns."""
    place: Path | str
    doubts: tuple[str, ...] = ()
    """Sentences on what may have been read wrongly."""

    def records(self) -> Iterator[tuple[str, Record]]:
        if _is_lines(self.place):
            lines = numbered_lines(Path(self.place))
            return ((f"{self.name}, line {number}", {"text": line}) for number, line in lines if line.strip())
        return open_table(self.place).read([name for names in self.columns.values() for name in names])


def find_kind(sources: Sequence[str], columns: str | None = None, labels: str | None = None) -> Source:
    """What files, folders or hub ids hold, which must be one kind of data; `columns` and `labels` are `--columns` and
    `--labels`. `UserError` where it cannot be told, and where there is nothing."""
    asked = _asked(columns)
    tables = [_table(place, asked) for source in sources for place in _places(source)]
    kinds = {table.kind: table for table in tables}
    kind = tables[0].kind
    if kinds.keys() <= {"pairs", "triplets"}:
        kind = "triplets" if "triplets" in kinds else kind
    elif len(kinds) > 1:
        said = [f"{table.name} holds {IN_WORDS[each]}" for each, table in kinds.items()]
        raise UserError(f"--train takes one kind of data, and {' while '.join(said[:2])}; give the files of one kind")
    if labels is not None and kind != "nli":
        raise UserError(
            f"--labels names the labels of premises and hypotheses, and {tables[0].name} holds {IN_WORDS[kind]}"
        )
    return Source(kind, tuple(tables), labels)


def _places(source: str) -> list[Path | str]:
    path = expanded(source)
    return [path] if _is_lines(path) and path.is_file() else find_tables(source)


def _is_lines(place: Path | str) -> bool:
    """Whether it is a file without columns, a sentence a line."""
    return isinstance(place, Path) and place.name.endswith((".txt", ".txt.gz"))


def _table(place: Path | str, asked: Mapping[str, tuple[str, ...]] | None) -> _Table:
    if _is_lines(place):
        if asked:
            raise UserError(f"{place} is read as a sentence on each line and has no columns; leave --columns out")
        return _Table(str(place), "sentences", {"sentence": ("text",)}, place)
    table = open_table(place)
    if not table.columns:
        raise UserError(f"{table.name} holds no rows")
    if asked is not None:
        missing = [name for names in asked.values() for name in names if name not in table.columns]
        if missing:
            raise UserError(
                f"{table.name}: no column {missing[0]!r}, which --columns names (found: {listed(table.columns)}); "
                f"{meant(missing[0], table.columns)}give names that are there"
            )
        roles = dict(asked)
    else:
        roles = roles_of(table.columns)
        judged = next((role for role in ("label", "score") if role in roles), None)
        if judged and roles.keys() >= {"anchor", "positive"}:
            raise UserError(
                f"{table.name}: beside {roles['anchor'][0]!r} and {roles['positive'][0]!r} stands "
                f"{roles[judged][0]!r}, which may say that some are wrong; name it, as in --columns "
                f"sentence1={roles['anchor'][0]},sentence2={roles['positive'][0]},score={roles[judged][0]}, or leave "
                "it out, as in --columns "
                f"anchor={roles['anchor'][0]},positive={roles['positive'][0]}"
            )

    def peek(names: Sequence[str]) -> list[Record]:
        return [record for _, record in islice(table.read(names), _PEEKED)]

    kind, doubts = _kind(roles, peek), []
    no_header = headless(table) if asked is None and kind is None else None
    if kind is None:
        kind = _unnamed(table.columns, roles, peek)
        if no_header:
            doubts.append(no_header)
        elif kind == "pairs":
            doubts.append(by_order(table))
    if kind is None:
        near = "".join(meant(column, [name]) for column, name in misspelt(table.columns))
        raise UserError(
            f"{table.first}: what its columns mean is not known (found: {listed(table.columns)}); "
            f"{f'{no_header}; else ' if no_header else near}say it, as in "
            "--columns anchor=YOURS,positive=YOURS, or sentence1=YOURS,sentence2=YOURS,score=YOURS, or "
            "sentence=YOURS,label=YOURS"
        )
    return _Table(table.name, kind, {role: roles[role] for role in _TAKEN[kind] if role in roles}, place, (*doubts,))


def row_in_words(row: Normal) -> str:
    """`"How do I …" -> "Open …"`: the first text of each side, then what was judged of them."""
    values = [value[0] if isinstance(value, list) else value for value in row.values() if value != []]
    return " -> ".join(dict.fromkeys(map(brief, values)))


_TAKEN: Mapping[Kind, tuple[str, ...]] = {
    "pairs": ("anchor", "positive"),
    "triplets": ("anchor", "positive", "negative"),
    "nli": ("sentence1", "sentence2", "label"),
    "scored": ("sentence1", "sentence2", "score"),
    "labelled": ("sentence", "label"),
    "sentences": ("sentence",),
}
"""The roles of each kind's columns."""


def _asked(said: str | None) -> dict[str, tuple[str, ...]] | None:
    """What `--columns` says: `anchor=question,positive=answer`."""
    if said is None:
        return None
    found: dict[str, tuple[str, ...]] = {}
    for part in said.split(","):
        role, equals, column = (piece.strip() for piece in part.partition("="))
        if not equals or not column or role not in _MAY_NAME:
            raise UserError(
                f"--columns {said!r}: {part.strip()!r} is not NAME=COLUMN, where NAME is {choices(_MAY_NAME)}"
            )
        role = {"premise": "sentence1", "hypothesis": "sentence2"}.get(role, role)
        if role in found and role not in SEVERAL:
            raise UserError(
                f"--columns {said!r} names two columns for one thing; only positive and negative may be several"
            )
        found[role] = (*found.get(role, ()), column)
    return found


def _kind(roles: dict[str, tuple[str, ...]], peek: Any) -> Kind | None:
    """By the roles; `peek` gives the first rows, where a label may be one of three or a number."""
    if roles.keys() >= {"anchor", "positive"}:
        return "triplets" if "negative" in roles else "pairs"
    if roles.keys() >= {"sentence1", "sentence2"}:
        if "score" in roles:
            return "scored"
        if "label" not in roles:
            roles["anchor"], roles["positive"] = roles["sentence1"], roles["sentence2"]
            return "triplets" if "negative" in roles else "pairs"
        if is_graded([record.get(roles["label"][0]) for record in peek(roles["label"])]):
            roles["score"] = roles["label"]
            return "scored"
        return "nli"
    if roles.keys() >= {"sentence", "label"}:
        return "labelled"
    return None


def _unnamed(columns: Sequence[str], roles: dict[str, tuple[str, ...]], peek: Any) -> Kind | None:
    """Where names do not tell: one column of text is sentences, two of text are pairs."""
    if len(columns) > 2 or any(not _is_prose([record.get(name) for record in peek(columns)]) for name in columns):
        return None
    if len(columns) == 1:
        roles["sentence"] = (columns[0],)
        return "sentences"
    roles["anchor"], roles["positive"] = (columns[0],), (columns[1],)
    return "pairs"


def _is_prose(values: Sequence[object]) -> bool:
    spaced = [isinstance(value, str) and " " in value.strip() for value in values]
    return bool(spaced) and spaced.count(True) >= _SPACED * len(spaced)


Columns = Mapping[str, tuple[str, ...]]


def _text(record: Record, column: str, where: str) -> str:
    """The one text of a column."""
    found = texts_in(record, column, where)
    if len(found) != 1:
        raise UserError(f"{where}: {column} {'holds several texts' if found else 'is empty'}, and it needs one")
    return found[0]


def _pair(record: Record, columns: Columns, where: str, labels: Labels) -> Normal:
    (anchor,) = columns["anchor"]
    sides = {
        role: [text for name in columns[role] for text in texts_in(record, name, where)]
        for role in ("positive", "negative")
        if role in columns
    }
    if not sides["positive"]:
        raise UserError(f"{where}: {choices(columns['positive'])} is empty")
    return {"anchor": _text(record, anchor, where), **sides}


def _labelled_pair(record: Record, columns: Columns, where: str, labels: Labels) -> Normal | None:
    (first,), (second,), (name,) = columns["sentence1"], columns["sentence2"], columns["label"]
    code = labels.code(record.get(name), where)
    if code is None:
        return None
    premise, hypothesis = _text(record, first, where), _text(record, second, where)
    return {"premise": premise, "hypothesis": hypothesis, "label": LABELS[code]}


def _scored_pair(record: Record, columns: Columns, where: str, labels: Labels) -> Normal:
    (first,), (second,), (name,) = columns["sentence1"], columns["sentence2"], columns["score"]
    score = as_number(record.get(name))
    if score is None:
        raise UserError(f"{where}: {name} is {shown(record.get(name))}, and a score is a number")
    return {
        "sentence1": _text(record, first, where),
        "sentence2": _text(record, second, where),
        "score": score,
    }


def _labelled_text(record: Record, columns: Columns, where: str, labels: Labels) -> Normal | None:
    (sentence,), (name,) = columns["sentence"], columns["label"]
    found = as_label(record.get(name))
    return None if found is None else {"sentence": _text(record, sentence, where), "label": found}


def _sentence(record: Record, columns: Columns, where: str, labels: Labels) -> Normal:
    (name,) = columns["sentence"]
    text = _text(record, name, where)
    return {"anchor": text, "positive": [text]}


_READERS = {
    "pairs": _pair,
    "triplets": _pair,
    "nli": _labelled_pair,
    "scored": _scored_pair,
    "labelled": _labelled_text,
    "sentences": _sentence,
}
"""From a record to its kind's normal form; None for one without a label."""
assert _READERS.keys() == set(get_args(Kind))


def texts(row: Normal) -> list[str]:
    """All texts of a row, the anchor first."""
    both = [
        row[name] for name in ("anchor", "premise", "sentence1", "sentence", "hypothesis", "sentence2") if name in row
    ]
    return [*both, *row.get("positive", ()), *row.get("negative", ())]


@dataclass
class Census:
    """What a corpus counts, row by row."""

    rows: int = 0
    most_positives: int = 0
    """Of one anchor, as far as a tenth of them have so many; 1 where fewer have any. Where an anchor has fewer than are
    asked for, copies and other anchors' texts fill in."""
    most_negatives: int = 0
    units: int = 0
    """What a batch counts, at least: pairs, anchors with a positive, or groups of `MOST_TOGETHER` texts of a label."""
    labels: Counter[str] = dataclasses.field(default_factory=Counter)
    scores: tuple[float, float] = (math.inf, -math.inf)
    """The lowest and the highest."""


def _usual_most(counts: Counter[int]) -> int:
    """What a tenth of the anchors reach, by how many each has."""
    ordered = sorted(counts.values(), reverse=True) or [0]
    return ordered[(len(ordered) - 1) // 10] or min(1, ordered[0])


def take_census(rows: Iterable[Normal], kind: Kind, where: str) -> Census:
    """Count rows in normal form. `UserError` for data that nothing can be learnt from: one class, one score, nothing
    entailed."""
    found = Census()
    positives: Counter[int] = Counter()
    negatives: Counter[int] = Counter()
    for row in rows:
        found.rows += 1
        if kind == "scored":
            found.scores = min(found.scores[0], row["score"]), max(found.scores[1], row["score"])
        elif kind == "labelled":
            found.labels[row["label"]] += 1
        elif kind == "nli":
            found.labels[row["label"]] += 1
            sides = {"entailment": positives, "contradiction": negatives}
            if row["label"] in sides:
                sides[row["label"]][hash(row["premise"])] += 1
        else:
            anchor = hash(row["anchor"])
            positives[anchor] += len(row["positive"])
            negatives[anchor] += len(row.get("negative", ()))
    found.most_positives, found.most_negatives = _usual_most(positives), _usual_most(negatives)
    found.units = len(positives) if positives else found.rows
    if kind == "labelled":
        found.units = sum(texts // MOST_TOGETHER for texts in found.labels.values())
    if not found.rows:
        raise UserError(f"{where} holds no rows to train on")
    if kind == "scored" and found.scores[0] == found.scores[1]:
        raise UserError(f"{where}: all scores are {found.scores[0]:g}, so nothing can be learnt from them")
    if kind == "labelled" and len(found.labels) < 2:
        raise UserError(f"{where}: all labels are {shown(*found.labels)}; it takes texts of two classes at least")
    if kind == "labelled" and max(found.labels.values()) < 2:
        raise UserError(f"{where}: no two texts have the same label, so there are no positives")
    if kind == "nli" and not positives:
        raise UserError(f"{where} holds no pair labelled entailment, and these are the positives")
    return found
