"""Premise, hypothesis, label: from the hub, from local files or from the built-in scenes corpus.

    pairs = load_nli("stanfordnlp/snli")          # a hub id
    pairs = load_nli("data/snli")                 # a folder with train files
    pairs = load_nli("mine.jsonl,more.csv")       # files: JSONL, CSV or Parquet
    pairs = load_nli("scenes")                    # the built-in corpus

The rows of one premise are brought next to each other, as Liao 2021 relies on; nothing is shuffled.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from trainables.corpora import scenes
from trainables.corpora.hub import cache_only_unless_reachable
from trainables.errors import UserError, choices
from trainables.labels import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL
from trainables.recipe import SCENES

_UNLABELLED = frozenset({"", "-", "-1", "nan", "none"})
_CODES = {name: code for code, name in enumerate(LABELS)} | {str(code): code for code in range(len(LABELS))}
_SUFFIXES = (".jsonl", ".csv", ".parquet")
_FILE_LIKE = re.compile(r"\.(jsonl?|csv|tsv|txt|parquet|arrow|gz|zip|xz|zst)$", re.IGNORECASE)
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
# A file's columns for premise, hypothesis and label: ours (and the hub's), then the original SNLI files'.
_COLUMNS = (("premise", "hypothesis", "label"), ("sentence1", "sentence2", "gold_label"))

Row = tuple[str, str, int]


@dataclass(frozen=True)
class NLIPairs:
    """Labelled pairs; the rows of one premise stand next to each other, premises in order of first appearance."""

    premises: list[str]
    hypotheses: list[str]
    labels: np.ndarray
    """(pairs,) int8: 0 entailment, 1 neutral, 2 contradiction."""
    dropped: int
    """Rows read that carry no gold label."""
    moved: int
    """Rows that did not stand with the first rows of their premise and were brought there."""
    fingerprint: str
    """Twelve hexadecimal digits of the content."""
    source: str
    files: tuple[str, ...] = ()
    """The files and hub ids that the pairs were read from."""
    file: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int16))
    """(pairs,) int16, index into `files`."""

    def __len__(self) -> int:
        return len(self.premises)


def load_nli(source: str, limit: int | None = None) -> NLIPairs:
    """Read labelled pairs; `limit` keeps the first so many that carry a gold label.

    A row whose label is `-`, -1 or empty has no gold label: it is dropped and counted. A broken row, an
    unknown source or a source without a usable pair raises `UserError` and says where.
    """
    premises: list[str] = []
    hypotheses: list[str] = []
    labels, file = array("b"), array("h")
    dropped = 0
    texts: dict[str, str] = {}  # SNLI repeats every premise three times; its text is kept once
    files = []
    for name, rows in _parts(source):
        files.append(name)
        for row in rows:
            if row is None:
                dropped += 1
                continue
            premises.append(texts.setdefault(row[0], row[0]))
            hypotheses.append(row[1])
            labels.append(row[2])
            file.append(len(files) - 1)
            if len(premises) == limit:
                break
        if len(premises) == limit:
            break
    if not premises:
        found = f"only rows without a gold label ({dropped})" if dropped else "no rows"
        raise UserError(f"no labelled pair in {source!r}: it holds {found}")
    order, moved = _together(premises)
    premises, hypotheses = [premises[i] for i in order], [hypotheses[i] for i in order]
    code = np.array(labels, dtype=np.int8)[order]
    fingerprint = _fingerprint(zip(premises, hypotheses, code.tolist(), strict=True))
    return NLIPairs(
        premises,
        hypotheses,
        code,
        dropped,
        moved,
        fingerprint,
        source,
        tuple(files),
        np.array(file, dtype=np.int16)[order],
    )


def check_nli(source: str) -> None:
    """Raise `UserError` if `load_nli(source)` would. Local files are read to their end; nothing is downloaded."""
    if source == SCENES:
        return
    sources = _sources(source)
    for name in sources:
        if isinstance(name, str):
            _hub(name, "load_dataset_builder")
    if not any(isinstance(name, str) for name in sources):
        load_nli(source)


def stamps(source: str) -> tuple[tuple[str, int, int], ...] | None:
    """Path, size and time of change of each local file that `source` names; None where it names a hub id."""
    if source == SCENES:
        return ((scenes.version(), 0, 0),)
    found = []
    for file in _sources(source):
        if isinstance(file, str):
            return None
        found.append((str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns))
    return tuple(found)


@dataclass(frozen=True)
class Census:
    """How many there are of what a batch may count."""

    pairs: int
    entailed: int
    contradicted: int
    premises: int
    """With an entailment or a contradiction."""
    entailed_premises: int
    sentences: int


def census(pairs: NLIPairs) -> Census:
    """Count a corpus."""
    labels = pairs.labels.tolist()
    premises: dict[int, set[str]] = {ENTAILMENT: set(), NEUTRAL: set(), CONTRADICTION: set()}
    for premise, label in zip(pairs.premises, labels, strict=True):
        premises[label].add(premise)
    return Census(
        pairs=len(pairs),
        entailed=labels.count(ENTAILMENT),
        contradicted=labels.count(CONTRADICTION),
        premises=len(premises[ENTAILMENT] | premises[CONTRADICTION]),
        entailed_premises=len(premises[ENTAILMENT]),
        sentences=len(set(chain(pairs.premises, pairs.hypotheses))),
    )


def number(texts: Iterable[str]) -> np.ndarray:
    """(texts,) int64: equal texts have equal numbers, from 0 in order of first appearance."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)


def count_premises(pairs: NLIPairs) -> dict[str, list[list[int]]]:
    """SupMPN's Table 1 for each file: rows of entailments, contradictions and the premises that have so many of
    each, where 5 stands for 5 or more. Pairs are counted, repeated ones too."""
    premise = number(pairs.premises)
    tables = {}
    for code, name in enumerate(pairs.files):
        here = pairs.file == code
        size = premise.max(initial=-1) + 1
        counts = [
            np.bincount(premise[here & (pairs.labels == label)], minlength=size)
            for label in (ENTAILMENT, CONTRADICTION)
        ]
        present = np.bincount(premise[here], minlength=size) > 0
        shapes = np.stack([np.minimum(count[present], 5) for count in counts], axis=1)
        found, times = np.unique(shapes, axis=0, return_counts=True)
        tables[name] = [[*shape, count] for shape, count in zip(found.tolist(), times.tolist(), strict=True)]
    return tables


def _parts(source: str) -> Iterator[tuple[str, Iterator[Row | None]]]:
    """Each file or hub id and its rows, in order; None stands for a row without gold label."""
    if source == SCENES:
        yield SCENES, _read(scenes.ensure() / "nli" / "train.jsonl")
        return
    for name in _sources(source):
        if isinstance(name, str):
            yield name, _hub_rows(name)
            continue
        if name.stat().st_size == 0:
            raise UserError(f"{name} is empty; it needs rows with premise, hypothesis and label")
        yield str(name), _read(name)


def _sources(source: str) -> list[Path | str]:
    """What `source` names, in order: files as paths, hub ids as text."""
    if not source.strip():
        raise UserError("the NLI source is empty; give a hub id, a folder, files (JSONL, CSV, Parquet) or 'scenes'")
    parts = [source] if Path(source).expanduser().exists() else [part.strip() for part in source.split(",")]
    found: list[Path | str] = []
    for part in parts:
        path = Path(part).expanduser()
        if path.is_dir():
            found += _train_files(path)
        elif path.is_file():
            if path.suffix.lower() not in _SUFFIXES:
                raise UserError(f"{path} is no {choices(_SUFFIXES)} file, so it cannot be read as NLI pairs")
            if not os.access(path, os.R_OK):
                raise UserError(f"{path} may not be read by this user")
            found.append(path)
        elif part and part[0] not in "./~" and not _FILE_LIKE.search(part) and _HUB_ID.fullmatch(part):
            found.append(part)
        else:
            raise UserError(f"no such file or folder: {part!r}; give a hub id, a folder or files (JSONL, CSV, Parquet)")
    return found


def _train_files(folder: Path) -> list[Path]:
    files = sorted(p for p in folder.rglob("*train*") if p.is_file() and p.suffix.lower() in _SUFFIXES)
    if not files:
        raise UserError(f"{folder} holds no train file: no {choices(_SUFFIXES)} with 'train' in its name")
    return files


def _read(file: Path) -> Iterator[Row | None]:
    records = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}[file.suffix.lower()]
    unit = "row" if file.suffix.lower() == ".parquet" else "line"
    columns: tuple[str, ...] = ()
    for number, record in records(file):
        where = f"{file}, {unit} {number}"
        columns = columns or _columns(record, where)
        yield _row(record, columns, where)


def _jsonl(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with file.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError as error:  # UnicodeDecodeError among them
                raise UserError(f"{file}, line {number}: not a JSON object ({error})") from None
            if not isinstance(record, dict):
                raise UserError(f"{file}, line {number}: not a JSON object but {type(record).__name__}")
            yield number, record


def _csv(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with file.open("rb") as stream:
        reader = csv.reader(_decoded(stream, file), strict=True)
        header: list[str] | None = None
        try:
            for fields in reader:
                if header is None:
                    header = fields
                elif len(fields) != len(header):
                    wrong = f"{len(fields)} columns where the header has {len(header)}"
                    raise UserError(f"{file}, line {reader.line_num}: {wrong}")
                else:
                    yield reader.line_num, dict(zip(header, fields, strict=True))
        except csv.Error as error:
            raise UserError(f"{file}, line {reader.line_num}: not CSV ({error})") from None


def _decoded(stream: Iterable[bytes], file: Path) -> Iterator[str]:
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise UserError(f"{file}, line {number}: not UTF-8 ({error.reason})") from None


def _parquet(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow
    import pyarrow.parquet

    number = 0
    try:
        with pyarrow.parquet.ParquetFile(file) as table:
            wanted = [name for columns in _COLUMNS for name in columns if name in table.schema_arrow.names]
            for chunk in table.iter_batches(columns=wanted):
                for record in chunk.to_pylist():
                    number += 1
                    yield number, record
    except pyarrow.ArrowException as error:
        raise UserError(f"{file}, after row {number}: not a readable Parquet file ({_first_line(error)})") from None


def _columns(record: dict[str, Any], where: str) -> tuple[str, ...]:
    for columns in _COLUMNS:
        if columns[0] in record or columns[1] in record:
            _need(record, columns, where)
            return columns
    found = ", ".join(map(str, record)) or "none"
    raise UserError(f"{where}: no columns premise, hypothesis and label (found: {found})")


def _need(record: dict[str, Any], columns: tuple[str, ...], where: str) -> None:
    for column in columns:
        if column not in record:
            raise UserError(f"{where}: column {column!r} is missing")


def _row(record: dict[str, Any], columns: tuple[str, ...], where: str) -> Row | None:
    _need(record, columns, where)
    premise, hypothesis, raw = (record[column] for column in columns)
    label = _label(raw, where)
    if label is None:
        return None
    for column, text in zip(columns, (premise, hypothesis), strict=False):
        if not isinstance(text, str):
            raise UserError(f"{where}: {column} is not text but {text!r}")
        if not text.strip():
            raise UserError(f"{where}: {column} is empty")
    return premise.strip(), hypothesis.strip(), label


def _label(raw: Any, where: str) -> int | None:
    if raw is None:
        return None
    if isinstance(raw, float) and raw.is_integer():  # what an integer column with gaps turns into
        raw = int(raw)
    text = str(raw).strip().lower()
    if text in _UNLABELLED:
        return None
    if isinstance(raw, bool) or text not in _CODES:
        raise UserError(f"{where}: unknown label {raw!r}; known: {choices([*LABELS, 0, 1, 2])}, or - for none")
    return _CODES[text]


def _hub_rows(source: str) -> Iterator[Row | None]:
    data = _hub(source, "load_dataset", split="train")
    columns = _columns(dict.fromkeys(data.column_names), f"hub data set {source!r}")
    names = getattr(data.features[columns[2]], "names", None)  # the data set may number its labels differently
    number = 0
    for chunk in data.select_columns(list(columns)).iter(1000):
        for values in zip(*(chunk[column] for column in columns), strict=True):
            number += 1
            record = dict(zip(columns, values, strict=True))
            raw = record[columns[2]]
            if names and isinstance(raw, int) and 0 <= raw < len(names):
                record[columns[2]] = names[raw]
            yield _row(record, columns, f"hub data set {source!r}, row {number}")


def _hub(source: str, function: str, **arguments: Any) -> Any:
    """Call `datasets.<function>(source)`; whatever fails becomes one sentence."""
    import datasets

    with cache_only_unless_reachable() as answers:
        try:
            return getattr(datasets, function)(source, **arguments)
        except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
            _refuse_hub(source, answers, error)


def _refuse_hub(source: str, answers: bool, error: Exception) -> NoReturn:
    if not answers:
        raise UserError(
            f"the NLI data {source!r} is neither a local path nor in the hub's cache, and the hub cannot be reached; "
            "give a local folder or file (JSONL, CSV, Parquet), set HF_HOME to a filled cache, or use 'scenes'"
        ) from None
    raise UserError(f"the hub data set {source!r} cannot be loaded: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _together(premises: list[str]) -> tuple[np.ndarray, int]:
    """The stable order that brings each premise's rows together, and how many rows do not stand with the first
    ones of their premise."""
    premise = number(premises)
    run = np.cumsum(np.diff(premise, prepend=premise[0]) != 0)
    _, first = np.unique(premise, return_index=True)
    return np.argsort(premise, kind="stable"), int((run != run[first][premise]).sum())


def _fingerprint(rows: Iterable[Row]) -> str:
    digest = hashlib.sha256()
    for premise, hypothesis, label in rows:
        digest.update(f"{premise}\x1f{hypothesis}\x1f{label}\n".encode())
    return digest.hexdigest()[:12]
