"""A person's training files in their normal form, and a share of them put aside to judge models by.

    prepared = prepare(training_files(["pairs.csv"]), Path("data"), (DEV, TEST))
    prepared.train                  # data/train.jsonl
    prepared.held_out[DEV]          # data/heldout_dev; of TEST data/heldout_test

Which rows: `trainables/corpora/own/split.py`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trainables.corpora.layouts.positives import CUT_FROM, SOURCES, TitledText
from trainables.corpora.own.census import Agreement, Census, take_census
from trainables.corpora.own.split import DEV, LEFT_OUT, TEST, TRAIN, HashedTexts, RowParts
from trainables.corpora.own.training_files import TrainingFiles
from trainables.corpora.own_rows import Normal, only_texts, texts
from trainables.errors import UserError

HELD_OUT: Mapping[int, str] = {DEV: "heldout_dev", TEST: "heldout_test"}
"""What the parts that are put aside are called, as files or folders."""
SHARED = ("pairs", "triplets")
"""Contents of which positives may stand on both sides: they become a search, whose items are the anchors."""


@dataclass(frozen=True)
class PreparedData:
    """Files in a folder, and what they hold."""

    content: str
    train: Path
    held_out: Mapping[int, Path]
    """By part, `DEV` or `TEST`: its file or folder."""
    rows: int
    """That were read."""
    parts: Mapping[int, int]
    """Rows of each part; `LEFT_OUT` are those that share texts with other parts that are kept apart."""
    left_out: Mapping[str, int]
    """Rows that cannot be trained on, by why."""
    census: Census
    """Of the rows to train on."""
    contradicted: int
    repeated: int
    """Of the rows that were read, as `Agreement` counts them."""
    unjudged: int
    """Labels of which none is put aside: those of too few texts, and those beyond the `MOST // OF_LABEL` largest."""
    fewer: tuple[int, ...] = ()
    """Numbers, from 0, of the rows to train on that lost texts, which are put aside in other rows."""
    anchors_only: bool = False
    shared: int = 0
    unsearched: int = 0
    """As of `RowParts`."""


def prepare(
    source: TrainingFiles,
    folder: Path,
    parts: Sequence[int] = (),
    without: Container[int] = frozenset(),
    as_given: Callable[[Sequence[Normal]], Sequence[Normal]] = lambda rows: (),
) -> PreparedData:
    """Write the rows of a source into a folder and put `parts` of them aside; `without` are numbers of rows to leave
    out. `as_given` makes a table of rows put aside, in the form of the file that judges beside them; of none where
    they become a search. `UserError` for broken rows, too few rows, and data that nothing can be learnt from."""
    folder.mkdir(parents=True, exist_ok=True)
    left_out, hashes, whole = Counter[str](), HashedTexts(), folder / "all.jsonl"
    agreement = Agreement()
    with open(whole, "w", encoding="utf-8") as file:
        for number, row in enumerate(source.rows(left_out)):
            if number in without:
                continue
            if parts:
                label = row["label"] if source.content == "labelled" else None
                hashes.add(texts(row), label, len(row.get("negative", ())))
            line = _line(row)
            agreement.add(row, line)
            file.write(line)
    census = take_census(rows_of(whole), source.content, source.name, left_out)
    train, rows, made = folder / "train.jsonl", census.rows, RowParts(np.full(census.rows, TRAIN, np.int8))
    aside: Mapping[int, Sequence[Normal]] = {}
    if not parts:
        whole.rename(train)
    else:
        if source.content == "texts" and held_back_form(census.sources) is None:
            raise UserError(
                f"{source.name} holds texts of less than {CUT_FROM} words without titles, which do not say what a "
                "good model is; give --dev a file of pairs with scores, labelled texts, triplets or a folder in BEIR's "
                "layout"
            )
        made = hashes.split(parts, source.name, source.content in SHARED)
        aside = _part_rows(whole, made, train)
        census = take_census(rows_of(train), source.content, f"{source.name}, what is left of it to train on,")
    form = held_back_form(census.sources)
    files = {part: _as_task(folder, source.content, part, own, form, as_given) for part, own in aside.items()}
    judged = {row["label"] for own in aside.values() for row in own if source.content == "labelled"}
    unjudged = len({*census.labels} - judged) if judged else 0
    codes = (TRAIN, *parts, LEFT_OUT) if parts else (TRAIN,)
    return PreparedData(
        source.content,
        train,
        files,
        rows,
        {part: made.count(part) for part in codes},
        left_out,
        census,
        agreement.contradicted,
        agreement.repeated,
        unjudged,
        _among(np.flatnonzero(made.code == TRAIN), [*made.fewer]),
        made.anchors_only,
        made.shared,
        made.unsearched,
    )


def leave_out(prepared: PreparedData, rows: Sequence[int], where: str) -> PreparedData:
    """Without these of the rows to train on, by their numbers. `UserError` where the rest teaches nothing."""
    code = np.full(prepared.parts[TRAIN], TRAIN, np.int8)
    code[list(rows)] = LEFT_OUT
    whole = prepared.train.rename(prepared.train.with_name("all.jsonl"))
    _part_rows(whole, RowParts(code), prepared.train)
    census = take_census(rows_of(prepared.train), prepared.content, f"{where}, what is left of it to train on,")
    fewer = _among(np.flatnonzero(code == TRAIN), prepared.fewer)
    return replace(prepared, census=census, parts={**prepared.parts, TRAIN: census.rows}, fewer=fewer)


def _among(rows: np.ndarray, numbers: Sequence[int]) -> tuple[int, ...]:
    """At which places of the rows these numbers are."""
    return tuple(np.flatnonzero(np.isin(rows, numbers)).tolist())


def rows_of(file: Path) -> Iterator[Normal]:
    """The rows of a file in normal form."""
    with open(file, encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _part_rows(whole: Path, made: RowParts, train: Path) -> dict[int, list[Normal]]:
    """Write the rows to train on and remove the file of all; the rows of each part that is put aside."""
    aside: dict[int, list[Normal]] = {part: [] for part in HELD_OUT if made.count(part)}
    with open(whole, encoding="utf-8") as lines, open(train, "w", encoding="utf-8") as file:
        for number, (line, part) in enumerate(zip(lines, made.code.tolist(), strict=True)):
            stays = made.fewer.get(number)
            if part == TRAIN and stays is None:
                file.write(line)
            elif part != LEFT_OUT:
                row = json.loads(line) if stays is None else only_texts(json.loads(line), stays)
                if part == TRAIN:
                    file.write(_line(row))
                else:
                    aside[part].append(row)
    whole.unlink()
    return aside


def held_back_form(sources: Container[str]) -> str | None:
    """The source of positives by which texts alone judge models, of those that they allow: the first that makes pairs
    of different texts. None where there is none, and for other data."""
    return next((name for name, source in SOURCES.items() if name in sources and source.judges), None)


def _as_task(
    folder: Path,
    content: str,
    part: int,
    rows: Sequence[Normal],
    form: str | None,
    as_given: Callable[[Sequence[Normal]], Sequence[Normal]],
) -> Path:
    """Scored pairs and labelled texts stay a table. Of anchors and positives it makes a search, as a file of pairs is
    when it is given: among what stands beside the anchors, in BEIR's files. Of texts alone by the pairs of a source."""
    file = folder / f"{HELD_OUT[part]}.jsonl"
    rows = rows if form is None else _pairs(rows, form)
    table = rows if content in ("scored", "labelled") else as_given(rows)
    if table:
        _write(file, table)
        return file
    folder = file.with_suffix("")
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    numbers = {text: f"t{number}" for number, text in enumerate(dict.fromkeys(t for row in rows for t in texts(row)))}
    right = list(dict.fromkeys(pair for row in rows for pair in _right(row)))
    anchors = dict.fromkeys(anchor for anchor, _ in right)
    documents = dict.fromkeys(text for row in rows for text in texts(row)[1:])
    _write(folder / "corpus.jsonl", ({"_id": numbers[text], "text": text} for text in documents))
    _write(folder / "queries.jsonl", ({"_id": numbers[text], "text": text} for text in anchors))
    judgements = "".join(f"{numbers[anchor]}\t{numbers[positive]}\t1\n" for anchor, positive in right)
    name = "dev" if part == DEV else "test"
    (folder / "qrels" / f"{name}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judgements}", encoding="utf-8")
    return folder


def _pairs(rows: Sequence[Normal], form: str) -> list[Normal]:
    """A pair of each document, by a source of positives; where the source draws views, those of a first epoch."""
    source = SOURCES[form]
    pairs = [units[0] for row in rows if (units := source.units(TitledText.of(row)))]
    first, second = [anchor for anchor, _ in pairs], [text for _, text in pairs]
    if source.views is not None:
        first, second = source.views(first, np.arange(len(first)), 0, 0)
    return [{"anchor": anchor, "positive": [text]} for anchor, text in zip(first, second, strict=True)]


def _right(row: Normal) -> Iterator[tuple[str, str]]:
    """The anchors of a row with their positives, but for one that is the anchor itself."""
    positives = row.get("positive") or ([row["hypothesis"]] if row.get("label") == "entailment" else [])
    anchor: str = row.get("anchor") or row["premise"]
    yield from ((anchor, text) for text in positives if text != anchor)


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(map(_line, rows))


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
