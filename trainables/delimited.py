"""Reader of CSV and TSV rows, by the names in the header, with one dialect for training data and tasks.

    for number, row in delimited_rows(lines, refuse):     # 2, {"premise": "a dog", "hypothesis": "an animal"}

`lines` are pairs of number and line, with line ends. `refuse` makes the error from a line's number and a problem. Blank
lines are skipped, also before the header. Several columns may have no name, as they are never looked up.

A quoted field, with quotes inside doubled, may contain delimiters and line breaks. Many programs write tab-separated
fields without quoting. So a line with tabs is split at each tab if its quotes are invalid, or if only the plain split
gives the header's number of columns.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import dropwhile

from trainables.errors import UserError, reason, shown
from trainables.lines import LONGEST_LINE
from trainables.tabular import roles_of

Refuse = Callable[[int, str], UserError]
Lines = Iterable[tuple[int, str]]

_DELIMITERS = ",;\t|"
MAX_FIELD_LINES = 20
"""A field of more lines is refused if most of these look like rows: a quote that is missing would swallow them."""
_WORD = re.compile(r"[\w-]*")
_SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
"""A first line that specifies the delimiter for spreadsheets."""

_PROBLEMS = {
    "new-line": "a carriage return within a line; end all lines alike",
    "unexpected end": "a double quote opens a field here, and none closes it",
}
"""Maps a part of an error of `csv` to what it means."""

csv.field_size_limit(LONGEST_LINE)  # for the whole process; a field over several lines has the limit of one line


def delimited_rows(lines: Lines, refuse: Refuse, delimiter: str | None = None) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each row's first line, and the row by column. A first line like `sep=;` sets the delimiter.
    Otherwise it is `delimiter`, unless the header lacks this and has known names between other delimiters. Then, or
    without `delimiter`, it is the header's most frequent delimiter."""
    ahead = _Lookahead(dropwhile(lambda numbered: not numbered[1].strip(f"{_DELIMITERS} \r\n"), lines))
    columns: list[str] = []
    settled = False
    for number, line in ahead:
        if not columns and (separator := _SEPARATOR.fullmatch(line)):
            delimiter, settled = separator[1], True
            if delimiter not in _DELIMITERS:
                raise refuse(number, f"{line.strip()}: columns stand between commas, semicolons, tabs or bars alone")
            continue
        if delimiter is None:
            delimiter = _frequent_delimiter(line)
        elif not settled and delimiter not in line:
            delimiter = delimiter_of(line) or delimiter
        settled = True
        fields = _fields(number, line, ahead, delimiter, len(columns), refuse)
        if not any(field.strip() for field in fields):
            continue
        if not columns:
            columns = [name.strip() for name in fields]
            problem = named_twice(columns)
            if problem:
                raise refuse(number, problem)
        elif len(fields) != len(columns):
            has = f"{len(fields)} columns" if len(fields) > 1 else "one column"
            more = len(fields) > len(columns) and delimiter != "\t"
            quoted = f"; a text or number with {delimiter!r} in it stands in double quotes" if more else ""
            raise refuse(number, f"{has} where the header has {len(columns)}{quoted}")
        else:
            yield number, dict(zip(columns, fields, strict=True))


def delimiter_of(header: str) -> str | None:
    """Return the delimiter of a header with at least one known column name; None if the line is no such header."""
    most = _frequent_delimiter(header)
    names = [name.strip('" \r\n') for name in header.split(most)]
    return most if len(names) > 1 and all(map(_WORD.fullmatch, names)) and roles_of(names) else None


def outside_quotes(line: str) -> str:
    return re.sub('"[^"]*"', "", line)


def _frequent_delimiter(header: str) -> str:
    return max(_DELIMITERS, key=outside_quotes(header).count)


def named_twice(columns: Sequence[str]) -> str | None:
    """Return the problem if two columns have the same name, which makes the name ambiguous."""
    twice = next((name for index, name in enumerate(columns) if name and name in columns[:index]), None)
    return f"two columns are named {shown(twice)}; rename one, or take it out" if twice else None


class _Lookahead:
    """Iterator of lines; lines that were read ahead can be put back."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self._lines, self._back = lines, deque[tuple[int, str]]()

    def __iter__(self) -> _Lookahead:
        return self

    def __next__(self) -> tuple[int, str]:
        return self._back.popleft() if self._back else next(self._lines)

    def put_back(self, lines: Sequence[tuple[int, str]]) -> None:
        self._back.extendleft(reversed(lines))


def _fields(number: int, line: str, ahead: _Lookahead, delimiter: str, columns: int, refuse: Refuse) -> list[str]:
    """Return the fields of a row, which may continue on further lines. `columns`: number in the header, 0 before it."""
    text = line.rstrip("\r\n")
    if '"' not in text and "\r" not in text:
        return text.split(delimiter)
    further: list[tuple[int, str]] = []

    def texts() -> Iterator[str]:
        yield line
        for following in ahead:
            further.append(following)
            yield following[1]

    fields: list[str] = []
    try:
        fields = next(csv.reader(texts(), delimiter=delimiter, strict=True))
    except csv.Error as error:
        if delimiter != "\t":
            why = next((words for part, words in _PROBLEMS.items() if part in str(error)), reason(error))
            raise refuse(number, f"not CSV ({why})") from None
    plain = text.split("\t")
    if delimiter == "\t" and (not fields or len(fields) != (columns or len(fields)) == len(plain)):
        ahead.put_back(further)
        fields = [_unquoted(field) for field in plain]
    if columns > 1 and len(further) >= MAX_FIELD_LINES:
        for lines in (field.split("\n") for field in fields):
            if _holds_rows(lines, delimiter, columns):
                over = f"one field runs over {len(lines):,} lines that look like rows"
                raise refuse(number, f"{over}; is a quote missing? If not, save the table as JSON lines")
    return fields


def _holds_rows(lines: Sequence[str], delimiter: str, columns: int) -> bool:
    """Whether the lines of one field are many, and most of them have as many filled columns as the table."""
    parts = [line.split(delimiter) for line in lines[1:-1]]
    rows = sum(len(own) == columns and all(map(str.strip, own)) for own in parts)
    return len(lines) > MAX_FIELD_LINES and rows > 0.8 * len(parts)


def _unquoted(field: str) -> str:
    inner = field[1:-1]
    quoted = len(field) > 1 and field[0] == field[-1] == '"' and '"' not in inner.replace('""', "")
    return inner.replace('""', '"') if quoted else field
