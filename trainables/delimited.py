"""Rows of CSV and TSV files by the names in their header: one reader for corpora and for tasks.

    for number, row in csv_rows(lines, refuse):     # 2, {"premise": "a dog", "hypothesis": "an animal"}

`lines` are numbered and keep their ends; `refuse` makes the error for a line's number and a problem. Blank lines are
passed over, before the header too. A column without a name cannot be asked for, so there may be several.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, dropwhile

from trainables.errors import UserError, reason, shown

Refuse = Callable[[int, str], UserError]
Lines = Iterable[tuple[int, str]]


def csv_rows(lines: Lines, refuse: Refuse) -> Iterator[tuple[int, dict[str, str]]]:
    """With commas, semicolons or tabs between columns, whichever the header has most of. Each row, and the number of
    the line that it begins in; it may go over several."""
    lines = dropwhile(lambda numbered: not numbered[1].strip(",;\t \r\n"), lines)
    first, header = next(lines, (1, ""))
    texts = chain([header], (line for _, line in lines))
    reader = csv.reader(texts, delimiter=max(",;\t", key=header.count), strict=True)

    def records() -> Iterator[tuple[int, list[str]]]:
        while True:
            number = first + reader.line_num
            try:
                fields = next(reader, None)
            except csv.Error as error:
                raise refuse(number, f"not CSV ({_true_reason(error)})") from None
            if fields is None:
                return
            yield number, fields

    return _named(records(), refuse)


def tsv_rows(lines: Lines, refuse: Refuse, field: Callable[[str], str] = str) -> Iterator[tuple[int, dict[str, str]]]:
    """A row a line; `field` is what becomes of the text between two tabs."""
    return _named(((number, [field(one) for one in line.rstrip("\r\n").split("\t")]) for number, line in lines), refuse)


def named_twice(columns: Sequence[str]) -> str | None:
    """The problem where two columns have one name: which of them is meant cannot be known."""
    twice = next((name for place, name in enumerate(columns) if name and name in columns[:place]), None)
    return f"two columns are named {shown(twice)}; rename one, or take it out" if twice else None


def _named(records: Iterable[tuple[int, list[str]]], refuse: Refuse) -> Iterator[tuple[int, dict[str, str]]]:
    columns: list[str] = []
    for number, fields in records:
        if not any(field.strip() for field in fields):
            continue
        if not columns:
            columns = [name.strip() for name in fields]
            problem = named_twice(columns)
            if problem:
                raise refuse(number, problem)
        elif len(fields) != len(columns):
            found = f"{len(fields)} columns" if len(fields) > 1 else "one column"
            raise refuse(number, f"{found} where the header has {len(columns)}")
        else:
            yield number, dict(zip(columns, fields, strict=True))


def _true_reason(error: csv.Error) -> str:
    return "a carriage return within a line; end all lines alike" if "new-line" in str(error) else reason(error)
