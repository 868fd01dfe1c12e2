"""A user's training rows as one file in normal form (`own_rows.Normal`), and a share of them held out to judge models.

    prepared = prepare(training_files(["pairs.csv"]), Path("data"), (DEV, TEST))
    prepared.train                  # data/train.jsonl
    prepared.held_out[DEV]          # data/heldout_dev; for TEST data/heldout_test

`trainables/corpora/own/split.py` chooses the rows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from trainables.corpora.layouts.positives import MIN_TWO_SPAN_WORDS, SOURCES, TitledText
from trainables.corpora.own.census import Agreement, Census, take_census
from trainables.corpora.own.split import DEV, LEFT_OUT, TEST, TRAIN, HashedTexts, RowParts
from trainables.corpora.own.training_files import TrainingFiles
from trainables.corpora.own_rows import Normal, keep_texts, texts
from trainables.errors import UserError
from trainables.tabular import EMPTY_WORDS

HELD_OUT: Mapping[int, str] = {DEV: "heldout_dev", TEST: "heldout_test"}
"""Maps each held-out split to the name of its file or folder."""
SHARED = ("pairs", "triplets")
"""Contents whose positives may be both held out and trained on: they become a search, whose items are the anchors."""


@dataclass(frozen=True)
class PreparedData:
    """The prepared files in a folder, and counts of their rows."""

    content: str
    train: Path
    held_out: Mapping[int, Path]
    """File or folder of each held-out split, `DEV` or `TEST`."""
    rows: int
    """Number of usable rows that were read."""
    parts: Mapping[int, int]
    """Number of rows of each split. `LEFT_OUT`: rows that are not used, as they share texts with another split."""
    left_out: Mapping[str, int]
    """Number of rows that cannot be trained on, by reason."""
    census: Census
    """Counts of the rows to train on."""
    contradicted: int
    repeated: int
    """`contradicted` and `repeated` are as in `Agreement`, of the rows that were read."""
    labels_not_held_out: int
    """Number of labels without held-out texts, because the label has too few texts, or is not among the
    `MAX_HELD_OUT // MIN_LABEL_TEXTS` labels with most texts."""
    cut_rows: tuple[int, ...] = ()
    """Numbers, from 0, of the rows to train on that lost texts, because these texts are held out."""
    anchors_only: bool = False
    shared_positives: int = 0
    negatives_in_training: int = 0
    """`anchors_only`, `shared_positives` and `negatives_in_training` are as in `RowParts`."""
    empty_words: Mapping[str, int] = field(default_factory=dict)
    """By text, the number of texts that programs write for an empty cell (`EMPTY_WORDS`)."""


def prepare(
    source: TrainingFiles,
    folder: Path,
    parts: Sequence[int] = (),
    without: Container[int] = frozenset(),
    as_given: Callable[[Sequence[Normal]], Sequence[Normal]] = lambda rows: (),
) -> PreparedData:
    """Write the rows of training files into a folder, and hold out the splits `parts`. `without`: numbers of rows to
    leave out. `as_given` makes rows like those of another task that judges models; it returns none if held-out rows
    become a search. `UserError` for broken rows, too few rows, and data from which no model can learn."""
    folder.mkdir(parents=True, exist_ok=True)
    left_out, hashes, whole = Counter[str](), HashedTexts(), folder / "all.jsonl"
    agreement, empty_words = Agreement(), Counter[str]()
    with open(whole, "w", encoding="utf-8") as file:
        for number, row in enumerate(source.rows(left_out)):
            if number in without:
                continue
            own = texts(row)
            if parts:
                label = row["label"] if source.content == "labelled" else None
                hashes.add(own, label, len(row.get("negative", ())))
            line = _line(row)
            agreement.add(row, line)
            empty_words.update(text for text in own if text.strip().lower() in EMPTY_WORDS)
            file.write(line)
    census = take_census(rows_of(whole), source.content, source.name, left_out)
    train, rows, made = folder / "train.jsonl", census.rows, RowParts(np.full(census.rows, TRAIN, np.int8))
    held_out_rows: Mapping[int, Sequence[Normal]] = {}
    if not parts:
        whole.rename(train)
    else:
        if source.content == "texts" and search_source(census.sources) is None:
            raise UserError(
                f"{source.name} holds texts of less than {MIN_TWO_SPAN_WORDS} words without titles, "
                "which do not say what a good model is; "
                "give --dev a file of pairs with scores, labelled texts, triplets or a folder in BEIR's "
                "layout"
            )
        made = hashes.split(parts, source.name, lambda: map(texts, rows_of(whole)), source.content in SHARED)
        held_out_rows = _divide_rows(whole, made, train)
        census = take_census(rows_of(train), source.content, f"{source.name}, what is left of it to train on,")
    form = search_source(census.sources)
    files = {
        part: _as_task(folder, source.content, part, part_rows, form, as_given)
        for part, part_rows in held_out_rows.items()
    }
    judged = {row["label"] for part_rows in held_out_rows.values() for row in part_rows if source.content == "labelled"}
    labels_not_held_out = len({*census.labels} - judged) if judged else 0
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
        labels_not_held_out,
        _indices_of(np.flatnonzero(made.code == TRAIN), [*made.kept_texts]),
        made.anchors_only,
        made.shared_positives,
        made.negatives_in_training,
        empty_words,
    )


def leave_out(prepared: PreparedData, rows: Sequence[int], where: str) -> PreparedData:
    """Remove training rows by their numbers; return the new data. `UserError` if no model can learn from the rest."""
    code = np.full(prepared.parts[TRAIN], TRAIN, np.int8)
    code[list(rows)] = LEFT_OUT
    whole = prepared.train.rename(prepared.train.with_name("all.jsonl"))
    _divide_rows(whole, RowParts(code), prepared.train)
    census = take_census(rows_of(prepared.train), prepared.content, f"{where}, what is left of it to train on,")
    cut_rows = _indices_of(np.flatnonzero(code == TRAIN), prepared.cut_rows)
    return replace(prepared, census=census, parts={**prepared.parts, TRAIN: census.rows}, cut_rows=cut_rows)


def _indices_of(rows: np.ndarray, numbers: Sequence[int]) -> tuple[int, ...]:
    """Return the indices of `rows` at which one of the numbers is."""
    return tuple(np.flatnonzero(np.isin(rows, numbers)).tolist())


def rows_of(file: Path) -> Iterator[Normal]:
    """Yield the rows of a file that `prepare` wrote, as dicts in normal form (`own_rows.Normal`)."""
    with open(file, encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _divide_rows(whole: Path, made: RowParts, train: Path) -> dict[int, list[Normal]]:
    """Write the rows to train on, remove the file of all rows, and return the rows of each held-out split."""
    held_out_rows: dict[int, list[Normal]] = {part: [] for part in HELD_OUT if made.count(part)}
    with open(whole, encoding="utf-8") as lines, open(train, "w", encoding="utf-8") as file:
        for number, (line, part) in enumerate(zip(lines, made.code.tolist(), strict=True)):
            stays = made.kept_texts.get(number)
            if part == TRAIN and stays is None:
                file.write(line)
            elif part != LEFT_OUT:
                row = json.loads(line) if stays is None else keep_texts(json.loads(line), stays)
                if part == TRAIN:
                    file.write(_line(row))
                else:
                    held_out_rows[part].append(row)
    whole.unlink()
    return held_out_rows


def search_source(sources: Container[str]) -> str | None:
    """Return the source of positives whose pairs judge models on texts without pairs: the first of `sources` that makes
    pairs of different texts. None if no source does, and for data other than texts."""
    return next((name for name, source in SOURCES.items() if name in sources and source.makes_search), None)


def _as_task(
    folder: Path,
    content: str,
    part: int,
    rows: Sequence[Normal],
    form: str | None,
    as_given: Callable[[Sequence[Normal]], Sequence[Normal]],
) -> Path:
    """Write held-out rows as a task; return its file or folder. Scored pairs and labelled texts stay a table. Anchors
    and positives become a search among all other texts, in BEIR's layout. Texts alone first become pairs by `form`."""
    file = folder / f"{HELD_OUT[part]}.jsonl"
    rows = rows if form is None else _pairs(rows, form)
    table = rows if content in ("scored", "labelled") else as_given(rows)
    if table:
        _write(file, table)
        return file
    folder = file.with_suffix("")
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    numbers = {text: f"t{number}" for number, text in enumerate(dict.fromkeys(t for row in rows for t in texts(row)))}
    relevant = list(dict.fromkeys(pair for row in rows for pair in _relevant_pairs(row)))
    anchors = dict.fromkeys(anchor for anchor, _ in relevant)
    documents = dict.fromkeys(text for row in rows for text in texts(row)[1:])
    _write(folder / "corpus.jsonl", ({"_id": numbers[text], "text": text} for text in documents))
    _write(folder / "queries.jsonl", ({"_id": numbers[text], "text": text} for text in anchors))
    judgements = "".join(f"{numbers[anchor]}\t{numbers[positive]}\t1\n" for anchor, positive in relevant)
    name = "dev" if part == DEV else "test"
    (folder / "qrels" / f"{name}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judgements}", encoding="utf-8")
    return folder


def _pairs(rows: Sequence[Normal], form: str) -> list[Normal]:
    """Make a pair of each document by `form`, a source of positives; if it draws views, they are those of epoch 0."""
    source = SOURCES[form]
    pairs = [units[0] for row in rows if (units := source.units(TitledText.of(row)))]
    first, second = [anchor for anchor, _ in pairs], [text for _, text in pairs]
    if source.views is not None:
        first, second = source.views(first, np.arange(len(first)), 0, 0)
    return [{"anchor": anchor, "positive": [text]} for anchor, text in zip(first, second, strict=True)]


def _relevant_pairs(row: Normal) -> Iterator[tuple[str, str]]:
    """Yield the anchor of a row with each positive that differs from the anchor."""
    positives = row.get("positive") or ([row["hypothesis"]] if row.get("label") == "entailment" else [])
    anchor: str = row.get("anchor") or row["premise"]
    yield from ((anchor, text) for text in positives if text != anchor)


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(map(_line, rows))


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
