"""Tables of rows, read in one way from local files, from folders of `datasets.save_to_disk` and from the hub.

    for location in find_tables("mine.jsonl,owner/name"):
        table = open_table(location)
        for where, record in table.read(["premise", "hypothesis"]):   # "mine.jsonl, line 1", {"premise": ...}

`datasets` reads data with declared types: the hub, its own folders, and the names of labels in Parquet's metadata. Text
files are read here, row by row, because `datasets` guesses their types (in CSV, "n/a" and "None" become missing values;
in JSON, a date becomes a time), fills rows that are too short, does not report the broken line of a file, and keeps a
copy of each file in its cache.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from trainables.corpora.hub import check_data_set, is_data_set, is_saved, load_data_set
from trainables.delimited import delimited_rows, named_twice
from trainables.errors import UserError, choices, listed, reason
from trainables.files import expanded
from trainables.lines import other_file
from trainables.tabular import as_number, roles_of
from trainables.text_lines import (
    TOO_MUCH_UNPACKED,
    check_object,
    json_array,
    json_value,
    most_unpacked,
    numbered_lines,
    refusal,
)

Record = Mapping[str, Any]
FORMS = "JSONL, JSON, CSV, TSV, Parquet or a folder of datasets.save_to_disk"
_ROWS_AT_ONCE = 1000
_FORM = "a JSON file is a list of rows, or a row a line, as pandas writes by to_json(orient='records', lines=True)"
_BROKEN = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, MemoryError)
"""Errors of pyarrow and datasets for a damaged file, as they trust the sizes and descriptions in the file."""


@dataclass(frozen=True)
class OpenTable:
    """A table that can be read: one file, folder or hub data set."""

    name: str
    columns: tuple[str, ...]
    """Columns of all rows; a row may lack some. Empty if the table has no rows, or is text without columns."""
    first: str
    """Location of the first row, such as `a.csv, line 2`, for messages."""
    read: Callable[[Sequence[str]], Iterator[tuple[str, Record]]]
    """Yields location and record of each row, given the columns to read; a record may have further columns. Numbered
    labels are replaced by their names if the table defines names."""


def find_tables(source: str) -> list[Path | str]:
    """Return the tables that `source` names, in order: files and folders of `datasets.save_to_disk` as paths, data sets
    of the hub as text.

    `source` is one of these, a folder with train files, or several joined by commas. `UserError` if it names no table.
    """
    return [location for part in sources(source) for location in _find(part)]


def sources(text: str) -> list[str]:
    """Split a text at commas; an existing path is one source, even with commas in its name."""
    return [text] if expanded(text).exists() else [part.strip() for part in text.split(",")]


def open_table(location: Path | str, most: int | None = None) -> OpenTable:
    """Open the table at a location from `find_tables`. If columns must be collected from the rows (JSON), only the
    first `most` rows are used; None: all. `UserError` if the table cannot be read."""
    if isinstance(location, str):
        return _open_dataset(load_data_set(location), location, f"data set {location!r}")
    if location.is_dir():
        return _open_folder(location)
    if location.stat().st_size == 0:
        raise UserError(f"{location} is empty; it needs rows")
    return READERS[_suffix(location)](location, most)


def _find(part: str) -> list[Path | str]:
    path = expanded(part)
    if path.is_dir():
        return [*_in_folder(path)]
    if path.is_file():
        if _suffix(path) not in READERS:
            raise UserError(
                f"{path} is no {choices(READERS)} file, so it cannot be read as a table; save it as one of these: a "
                "spreadsheet as CSV (UTF-8), a table of pandas by to_parquet, what is packed otherwise by gzip"
            )
        if not os.access(path, os.R_OK):
            raise UserError(f"{path} may not be read by this user")
        return [path]
    if is_data_set(part):
        return [part]
    looked = "" if path.is_absolute() else f" in {Path.cwd()}"
    raise UserError(
        f"no such file or folder: {part!r}{looked}; give a hub id (owner/name, or owner/name:configuration:split), "
        f"a folder or files ({FORMS})"
    )


def check_tables(source: str) -> None:
    """Raise `UserError` if a file or a data set of the hub does not exist; rows are not fetched."""
    for location in find_tables(source):
        if isinstance(location, str):
            check_data_set(location)


def has_tables(folder: Path) -> bool:
    """Whether `datasets.save_to_disk` made the folder, or it contains tables with `train` in their names."""
    return is_saved(folder) or bool(_train_files(folder))


def _train_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*train*") if file.is_file() and _suffix(file) in READERS)


def _in_folder(folder: Path) -> list[Path]:
    """Return the tables of a folder. If `datasets` saved the folder: the folder itself, or its train split. Otherwise
    its train files in JSONL, CSV and Parquet; if there are none of these, its train files in other forms."""
    if (folder / "state.json").is_file():
        return [folder]
    if (folder / "dataset_dict.json").is_file():
        if not (folder / "train" / "state.json").is_file():
            splits = sorted(state.parent.name for state in folder.glob("*/state.json"))
            example = f"; name one, as in {':'.join([str(folder), '', splits[0]])}" if splits else ""
            raise UserError(f"{folder} was saved by datasets with the splits {listed(splits)}{example}")
        return [folder / "train"]
    files = _train_files(folder)
    usual = [file for file in files if _suffix(file) in (".jsonl", ".csv", ".parquet")]
    if not files:
        raise UserError(
            f"{folder} holds no train file: no {choices(READERS)} with 'train' in its name, nor a .txt or .md file"
        )
    return usual or files


def _suffix(file: Path) -> str:
    """Return the suffix in lower case; of a compressed file both suffixes, such as `.jsonl.gz`."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    return "".join(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:])


Reader = Callable[[Path, int | None], OpenTable]
"""Opens a file, given the number of rows to collect column names from if the file has no header; None: all rows."""


def _text_reader(rows: Callable[[Path], Iterator[tuple[str, Record]]], same_columns: bool = False) -> Reader:
    """Return a reader of text files, given a function that reads rows. `same_columns`: all rows have the same ones."""

    def open_file(file: Path, most: int | None) -> OpenTable:
        first, columns = str(file), dict[str, None]()
        for number, (where, record) in enumerate(islice(rows(file), 1 if same_columns else most)):
            first = first if number else where
            columns |= dict.fromkeys(record)
        return OpenTable(str(file), tuple(columns), first, lambda _: rows(file))

    return open_file


def _jsonl(file: Path) -> Iterator[tuple[str, Record]]:
    for number, line in numbered_lines(file):
        if line.strip():
            where = f"{file}, line {number}"
            try:
                yield where, _as_record(json_value(line, where, "a JSON object"), where)
            except UserError as error:
                if number > 1:
                    raise
                raise UserError(f"{error}; {_FORM}") from None


def _json(file: Path) -> Iterator[tuple[str, Record]]:
    """Yield the rows of a JSON file with any suffix: one array of objects, or one object per line."""
    records = json_array(file)
    if records is None:
        rows = _jsonl(file)
        head = [*islice(rows, 2)]
        if len(head) == 1 and any(map(_is_nested, head[0][1].values())) and not _has_known_texts(head[0][1]):
            raise UserError(f"{file} holds one object, with the rows somewhere within; {_FORM}")
        yield from chain(head, rows)
        return
    for number, record in enumerate(records, 1):
        where = f"{file}, row {number}"
        yield where, _as_record(record, where)


def _has_known_texts(row: Record) -> bool:
    return bool(roles_of([name for name, value in row.items() if isinstance(value, str)]))


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(each, dict | list) for each in value))


_LISTED = ("anchor", "positive", "negative")


def _as_record(value: Any, where: str) -> Record:
    """Return an object unchanged; a list of two or three texts, such as `["a", "b"]`, as anchor, positive, negative."""
    if isinstance(value, list) and 2 <= len(value) <= len(_LISTED) and all(isinstance(text, str) for text in value):
        return dict(zip(_LISTED, value, strict=False))
    return check_object(value, where)


_STS = ("genre", "file", "year", "id", "score", "sentence1", "sentence2")
"""Fields of the STS Benchmark's files, which are separated by tabs, without a header, although the suffix is `.csv`."""


def _csv(file: Path) -> Iterator[tuple[str, Record]]:
    _, first = next(numbered_lines(file), (0, ""))
    if first.count("\t") >= len(_STS) - 1 and as_number(first.split("\t")[4]) is not None:
        yield from sts_rows(file)
    else:
        yield from _delimited(file)


def _delimited(file: Path, delimiter: str | None = None) -> Iterator[tuple[str, Record]]:
    for number, row in delimited_rows(numbered_lines(file), partial(refusal, file), delimiter):
        yield f"{file}, line {number}", row


def sts_rows(file: Path) -> Iterator[tuple[str, Record]]:
    """Yield the rows of a file of the STS Benchmark. `UserError` for a row with too few fields."""
    for number, line in numbered_lines(file):
        fields = line.rstrip("\r\n").split("\t")
        if len(fields) < len(_STS):
            raise refusal(file, number, f"{len(fields)} fields where STSBenchmark has {len(_STS)} or more")
        yield f"{file}, line {number}", dict(zip(_STS, fields, strict=False))


def _parquet(file: Path, most: int | None) -> OpenTable:
    import pyarrow
    import pyarrow.parquet

    def read(columns: Sequence[str]) -> Iterator[tuple[str, Record]]:
        number, unpacked = 0, 0
        try:
            with pyarrow.parquet.ParquetFile(file) as table:
                for chunk in table.iter_batches(_ROWS_AT_ONCE, columns=list(columns)):
                    chunk.validate(full=True)
                    unpacked += sum(map(_unpacked, chunk.columns))
                    if unpacked > most_unpacked(file):
                        raise UserError(f"{file}, after row {number}: {TOO_MUCH_UNPACKED}")
                    for record in chunk.to_pylist():
                        number += 1
                        yield f"{file}, row {number}", _named(record, names)
        except _BROKEN as error:
            raise _unreadable(number, error) from None

    def _unreadable(number: int, error: Exception) -> UserError:
        with file.open("rb") as stream:
            other = other_file(stream.read(_ROWS_AT_ONCE))
        return UserError(f"{file}, after row {number}: not a readable Parquet file ({other or reason(error)})")

    names: dict[str, list[str]] = {}
    try:
        with pyarrow.parquet.ParquetFile(file) as table:
            schema = table.schema_arrow
        if b"huggingface" in (schema.metadata or {}):
            import datasets

            names = _class_names(datasets.Features.from_arrow_schema(schema))
    except _BROKEN as error:
        raise _unreadable(0, error) from None
    problem = named_twice(schema.names)
    if problem:
        raise UserError(f"{file}: {problem}")
    return OpenTable(str(file), tuple(schema.names), f"{file}, row 1", read)


def _unpacked(column: Any) -> int:
    """Return the unpacked bytes of an Arrow column: a dictionary column may store one text for a million rows."""
    import pyarrow
    import pyarrow.compute

    if not pyarrow.types.is_dictionary(column.type) or not pyarrow.types.is_string(column.type.value_type):
        return int(column.nbytes)
    lengths = pyarrow.compute.binary_length(column.dictionary)
    return int(pyarrow.compute.sum(lengths.take(column.indices)).as_py() or 0)


def _open_folder(folder: Path) -> OpenTable:
    import datasets

    odd = next((file for file in folder.iterdir() if not file.is_file()), None)
    if odd is not None:  # datasets would wait for a pipe forever
        raise UserError(f"{folder} is no readable folder of datasets.save_to_disk ({odd.name} is no file)")
    try:
        data = datasets.load_from_disk(str(folder)).with_format(None)
        return _open_dataset(data, str(folder), str(folder))
    except _BROKEN as error:
        raise UserError(f"{folder} is no readable folder of datasets.save_to_disk ({reason(error)})") from None


def _open_dataset(data: Any, name: str, called: str) -> OpenTable:
    names = _class_names(data.features)

    def read(columns: Sequence[str]) -> Iterator[tuple[str, Record]]:
        number = 0
        try:
            data.data.validate(full=True)  # Arrow trusts the file, and a wrong offset would crash the process
            for chunk in data.select_columns(list(columns)).iter(_ROWS_AT_ONCE):
                for values in zip(*(chunk[column] for column in columns), strict=True):
                    number += 1
                    yield f"{called}, row {number}", _named(dict(zip(columns, values, strict=True)), names)
        except _BROKEN as error:
            raise UserError(f"{called}, after row {number}: not readable ({reason(error)})") from None

    return OpenTable(name, tuple(data.column_names), called, read)


def _class_names(features: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the label names of each column with numbered labels."""
    return {column: feature.names for column, feature in features.items() if getattr(feature, "names", None)}


def _named(record: dict[str, Any], names: Mapping[str, Sequence[str]]) -> Record:
    """Return the record with numbers of labels replaced by names. Numbers without a name, such as -1, stay."""
    for column, labels in names.items():
        value = record.get(column)
        if isinstance(value, int) and 0 <= value < len(labels):
            record[column] = labels[value]
    return record


_TEXT = {
    ".jsonl": _text_reader(_json),
    ".json": _text_reader(_json),
    ".csv": _text_reader(_csv, same_columns=True),
    ".tsv": _text_reader(partial(_delimited, delimiter="\t"), same_columns=True),
    ".txt": _text_reader(partial(_delimited, delimiter="\t"), same_columns=True),
}
READERS: dict[str, Reader] = {
    **_TEXT,
    ".parquet": _parquet,
    **{f"{suffix}.gz": reader for suffix, reader in _TEXT.items()},
}
