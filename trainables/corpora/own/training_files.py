"""A user's own training files: their content, found from columns and first rows, and their rows in normal form.

    files = training_files(["pairs.csv"])            # content "pairs", and how its rows are read
    for row in files.rows(Counter()):                # {"anchor": ..., "positive": ...}, one for each row of the files
        ...

`CONTENTS` lists the kinds of content. `--columns` names other columns, and `--labels` other labels.

    pairs       anchor, positive (query, question, pos, answer); or two columns of text with any names
    triplets    the same with negatives: negative, negative_1, ..., neg
    nli         premise, hypothesis (sentence1, sentence2), label: entailment, neutral, contradiction
    scored      sentence1, sentence2, score
    labelled    sentence (text), label: texts of equal labels are positives of each other
    texts       one column of text, optionally with title and heading, or text files (`text_files.py`)
"""

from __future__ import annotations

import filecmp
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from trainables.corpora.columns import Labels
from trainables.corpora.own.columns import Reading, interpret, named_roles
from trainables.corpora.own_rows import CONTENTS, Normal, read_row
from trainables.corpora.tables import find_tables, has_tables, open_table
from trainables.corpora.text_files import divided, is_table, is_text_file, open_texts, text_files
from trainables.errors import UserError, listed
from trainables.files import expanded
from trainables.tabular import RoleColumns, check_one_vocabulary

MOST_ROWS = 1_000_000
"""Default of `--max-rows`, the most rows read from all files together. Reading that many takes a minute."""
LEAST_SCORES, MAX_SCALE_RATIO = 20, 4
"""Fewest scores of a file that are compared with those of another; largest ratio of their largest scores."""
UNREAD_ROWS = "after the most that are read"
"""Reason in `left_out` if there are rows after the last row read; these are not counted."""


@dataclass(frozen=True)
class TrainingFiles:
    """One or several files with one content."""

    content: str
    readings: tuple[Reading, ...]
    most_rows: int

    def rows(self, left_out: Counter[str]) -> Iterator[Normal]:
        """Yield the usable rows of all files; `left_out` counts the other rows by reason. `UserError` with file and
        line for a broken row."""
        return (row for _, row in self.located(left_out))

    def located(self, left_out: Counter[str]) -> Iterator[tuple[str, Normal]]:
        """Yield (where, row) for each row that `rows` yields; `where` is the file and the first line of the row."""
        labels = {names: Labels(names) for names in (each.labels for each in self.readings)}
        scores: dict[str, list[float]] = {}
        records = ((each, where, record) for each in self.readings for where, record in each.records())
        for each, where, record in islice(records, self.most_rows):
            row = read_row(self.content, record, each.columns, where, labels[each.labels])
            if isinstance(row, str):
                check_one_vocabulary(row, record, each.columns, each.alternatives, where)
                left_out[f"with no {row}"] += 1
            else:
                if "score" in row:
                    scores.setdefault(each.table.name, []).append(row["score"])
                yield where, row
        if next(records, None) is not None:
            left_out[UNREAD_ROWS] += 1
        for reader in labels.values():
            reader.check_numbers(self.name)
        _check_scales(scores)

    @property
    def name(self) -> str:
        """Names of the files, for a message."""
        return ", ".join(each.table.name for each in self.readings)

    @property
    def read_as(self) -> str:
        """How columns are read: `pairs: anchor = question, positive = answer; not used: split`."""
        readings = dict.fromkeys(
            ", ".join(f"{role} = {listed(names)}" for role, names in each.columns.items())
            for each in self.readings
            if each.table.columns
        )
        unused = [*dict.fromkeys(name for each in self.readings for name in each.unused)]
        beside = f"; not used: {listed(unused)}" if unused else ""
        blocks = [text for each in self.readings if not each.table.columns and (text := divided(Path(each.table.name)))]
        how = " or ".join([*readings, *blocks])
        return f"{CONTENTS[self.content].words}{': ' * bool(how)}{how}{beside}"

    @property
    def doubts(self) -> list[str]:
        """Warnings about columns that may have been read wrongly."""
        return [doubt for each in self.readings for doubt in each.doubts]


def training_files(
    sources: Sequence[str], columns: str | None = None, labels: str | None = None, most_rows: int | None = None
) -> TrainingFiles:
    """Find the one content that all files, folders or data sets of the hub must have. `columns`, `labels`
    and `most_rows` are `--columns`, `--labels` and `--max-rows`. `UserError` if the content is unclear or there are no
    rows."""
    named, most_rows = named_roles(columns), most_rows or MOST_ROWS
    locations = [location for source in sources for location in _locations(source)]
    for number, location in enumerate(locations):
        other = next((other for other in locations[:number] if _same(location, other)), None)
        if other is not None:
            problem = "is given twice" if location == other else f"has the same content as {other}"
            raise UserError(f"--train: {location} {problem}, and its rows would count twice; leave one of them out")
    readings = [_reading(location, named, labels, most_rows) for location in locations]
    by_content = {each.content: each for each in readings}
    content = readings[0].content
    if named is None:
        _check_order(readings)
    if by_content.keys() <= {"pairs", "triplets"}:
        content = "triplets" if "triplets" in by_content else content
    elif len(by_content) > 1:
        held = [f"{each.table.name} holds {CONTENTS[content].words}" for content, each in by_content.items()]
        raise UserError(f"--train takes one kind of data, and {' while '.join(held[:2])}; give the files of one kind")
    if labels is not None and content != "nli":
        raise UserError(
            "--labels names the labels of premises and hypotheses, and "
            f"{readings[0].table.name} holds {CONTENTS[content].words}"
        )
    return TrainingFiles(content, tuple(readings), most_rows)


def _check_order(readings: Sequence[Reading]) -> None:
    """Raise `UserError` if two files have the same columns in another order, and it decides what these mean."""
    firsts: dict[tuple[tuple[str, ...], ...], Reading] = {}
    for each in readings:
        anchor, positive = (each.columns.get(role, ()) for role in ("anchor", "positive"))
        first = firsts.get((positive, anchor)) if anchor != positive else None
        if first:
            names = listed([*positive, *anchor])
            raise UserError(
                f"--train: {first.table.name} and {each.table.name} have the columns {names} in another order; say "
                f"which is which, as in --columns anchor={positive[0]},positive={anchor[0]}"
            )
        firsts.setdefault((anchor, positive), each)


def _check_scales(scores: Mapping[str, Sequence[float]]) -> None:
    """Raise `UserError` if the largest scores of two files, of `LEAST_SCORES` that differ, are of two scales."""
    largest = {name: max(map(abs, own)) for name, own in scores.items() if len(own) >= LEAST_SCORES and len({*own}) > 1}
    least, most = (pick(largest, key=largest.__getitem__, default="") for pick in (min, max))
    if least and largest[most] > MAX_SCALE_RATIO * largest[least]:
        ranges = " and ".join(f"{name} from {min(scores[name]):g} to {max(scores[name]):g}" for name in (most, least))
        raise UserError(
            f"--train: the scores of {ranges} may be of two scales; bring them to one, or join the files if it is one"
        )


def _locations(source: str) -> list[Path | str]:
    path = expanded(source)
    return [path] if _without_columns(path) else find_tables(source)


def _same(location: Path | str, other: Path | str) -> bool:
    """Whether two locations are equal, or files with equal bytes."""
    files = isinstance(location, Path) and isinstance(other, Path) and location.is_file() and other.is_file()
    return location == other or (files and filecmp.cmp(location, other, shallow=False))


def _without_columns(location: Path) -> bool:
    """Whether a location is a text file that is no table, or a folder with text files and no tables."""
    if not location.is_dir():
        return location.is_file() and is_text_file(location) and not is_table(location)
    return not has_tables(location) and bool(text_files(location))


def _reading(location: Path | str, named: RoleColumns | None, labels: str | None, most_rows: int) -> Reading:
    if isinstance(location, Path) and _without_columns(location):
        if named:
            raise UserError(f"{location} is read as texts alone and has no columns; leave --columns out")
        columns = {"sentence": ("text",), "title": ("title",), "heading": ("heading",)}
        return Reading(open_texts(location), "texts", columns)
    table = open_table(location, most_rows)
    if not table.columns:
        raise UserError(f"{table.name} holds no rows")
    return interpret(table, named, labels)
