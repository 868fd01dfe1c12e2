"""CSV and TSV: one reader and one dialect, held to what pandas writes and to files that nobody quoted."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas
import pytest

from trainables.corpora.tables import open_table
from trainables.errors import UserError
from trainables.lines import LONGEST_LINE

TEXTS = [
    "plain",
    "two\nlines",
    'a "word" of it',
    '"all of it"',
    "tab\there",
    "a, b; c | d",
    "\r\n ends",
    'x"\n\t"y',
    "",
]


def rows(file: Path) -> list[tuple[str, ...]]:
    table = open_table(file)
    return [tuple(row.values()) for _, row in table.read(table.columns)]


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_what_pandas_writes_is_read_as_it_was(columns: int, delimiter: str, tmp_path: Path) -> None:
    texts = {f"c{number}": TEXTS[number:] + TEXTS[:number] for number in range(columns)}
    table = pandas.DataFrame(texts).replace("\r\n ends", "ends")  # universal newlines of pandas' own text file
    file = tmp_path / ("mine.tsv" if delimiter == "\t" else "mine.csv")
    table.to_csv(file, sep=delimiter, index=False, quoting=csv.QUOTE_ALL if columns == 1 else csv.QUOTE_MINIMAL)
    expected = [row for row in table.itertuples(index=False, name=None) if any(row)]
    assert rows(file) == expected
    if columns > 1:
        (tmp_path / "tabs.csv").write_text(file.read_text())
        assert rows(tmp_path / "tabs.csv") == expected


@pytest.mark.parametrize(
    "line",
    [
        'he said "go"\tand she "went"',
        '"go on" he says\tsay "go"',
        '"never closed\tand here',
        '"opened here\tand closed there"',
        '"opened\tx',
        'x\t"',
        '5" long\t6"',
    ],
)
def test_tabs_without_quoting_stand_as_they_are(line: str, tmp_path: Path) -> None:
    """Also where a later line closes what this one only seems to open."""
    (tmp_path / "mine.tsv").write_text(f'a\tb\n{line}\none\ttwo\nlast "word"\tof it\n')
    assert rows(tmp_path / "mine.tsv") == [tuple(line.split("\t")), ("one", "two"), ('last "word"', "of it")]


def test_many_quotes_that_nothing_closes_are_read_in_one_pass(tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text("a\tb\n" + '"x\ty\n' * 20_000)
    assert rows(tmp_path / "mine.tsv") == [('"x', "y")] * 20_000


def test_errors_name_the_line_that_a_row_begins_in(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text('a,b\n"two\nlines",x\n"three\nmore\nlines"\n')
    with pytest.raises(UserError, match=r"mine.csv, line 4: one column where the header has 2"):
        rows(tmp_path / "mine.csv")
    (tmp_path / "mine.csv").write_text('a,b\nx,y\n"go" he says,y\n')
    with pytest.raises(UserError, match=r"mine.csv, line 3: not CSV .* expected after '\"'"):
        rows(tmp_path / "mine.csv")


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_a_missing_quote_does_not_swallow_rows(columns: int, tmp_path: Path) -> None:
    """A field over many lines that look like rows is refused; other long fields stand: texts, lists, code."""
    rest = ",x" * (columns - 1)
    swallowed = "".join(f"text {number}{rest}\n" for number in range(19))
    fields = {
        "rows": f"opened{rest}\n{swallowed}closed here",
        "fewer rows": f"opened{rest}\n{swallowed[: swallowed.rindex('text')]}closed here",
        "a text": "A line, and more of it,\nthen others; one, or two.\n" * 20,
        "a list": "name, value,\n" * 40 + "end",
        "plain lines": "a line without them\n" * 40,
    }
    for name, field in fields.items():
        (tmp_path / "mine.csv").write_text(f'{",".join("abc"[:columns])}\nfirst{rest}\n"{field}"{rest}\n')
        if name == "rows" and columns > 1:
            with pytest.raises(UserError, match="line 3: one field runs over 21 lines that look like rows; is"):
                rows(tmp_path / "mine.csv")
        else:
            assert rows(tmp_path / "mine.csv")[1] == (field, *["x"] * (columns - 1))
    (tmp_path / "mine.csv").write_text(f'{",".join("abc"[:columns])}\n"opened{rest}\n{swallowed}')
    with pytest.raises(UserError, match=r"line 2: not CSV .a double quote opens a field here, and none closes it"):
        rows(tmp_path / "mine.csv")


def test_a_field_is_as_long_as_a_line_may_be(tmp_path: Path) -> None:
    assert csv.field_size_limit() == LONGEST_LINE
    long = "two\nlines " * 20_000
    for name, delimiter in ("mine.csv", ","), ("mine.tsv", "\t"):
        (tmp_path / name).write_text(f'a{delimiter}b\n"{long}"{delimiter}x\n')
        assert rows(tmp_path / name) == [(long, "x")]
    try:
        csv.field_size_limit(1000)
        with pytest.raises(UserError, match=r"line 2: not CSV .field larger than field limit"):
            rows(tmp_path / "mine.csv")
    finally:
        csv.field_size_limit(LONGEST_LINE)


@pytest.mark.parametrize("line", ["sep=;", "SEP=;", '"sep=;"'])
def test_a_first_line_that_names_the_delimiter_is_no_header(line: str, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(f"{line}\r\nquestion, long;answer, long, too\r\na;b\r\n")
    assert open_table(tmp_path / "mine.csv").columns == ("question, long", "answer, long, too")
    assert rows(tmp_path / "mine.csv") == [("a", "b")]
    (tmp_path / "mine.csv").write_text("sep=:\na:b\n")
    with pytest.raises(UserError, match="line 1: sep=:: columns stand between commas, semicolons, tabs or bars"):
        rows(tmp_path / "mine.csv")


def test_what_stands_in_quotes_in_the_header_is_no_delimiter(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text('"a, b, c";d\nx;y\n')
    assert open_table(tmp_path / "mine.csv").columns == ("a, b, c", "d")
