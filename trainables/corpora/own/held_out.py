"""A person's training files in their normal form, and a share of them put aside to judge models by.

    prepared = prepare(training_files(["pairs.csv"]), Path("data"), (DEV, TEST))
    prepared.train                  # data/train.jsonl
    prepared.held_out[DEV]          # data/heldout_dev; of TEST data/heldout_test

No text is both put aside and trained on: rows that share a text, but for case, white space and punctuation, stay
together. Where nearly all are connected, as in NLI, anchors that share few texts are put aside, and rows that share
them are left out. Of labelled texts each part gets some of every label with enough texts.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trainables.corpora.layouts.positives import CUT_FROM, SOURCES, TitledText
from trainables.corpora.leaks import plain
from trainables.corpora.own.census import Agreement, Census, take_census
from trainables.corpora.own.training_files import TrainingFiles
from trainables.corpora.own_rows import Normal, texts
from trainables.errors import UserError

TRAIN, DEV, TEST, LEFT_OUT = range(4)
"""What becomes of a row."""
HELD_OUT: Mapping[int, str] = {DEV: "heldout_dev", TEST: "heldout_test"}
"""What the parts that are put aside are called, as files or folders."""
SHARE, MOST = 0.1, 1000
"""Of the rows that are put aside for each part: their share, and how many at most, for they are scored often."""
FEWEST = 40
"""Rows from which some can be put aside."""
OF_LABEL = 2
"""Texts of a label at least in each part, and in what is left to train on."""


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
    """Rows of each part; `LEFT_OUT` are those that share a text with DEV or TEST."""
    left_out: Mapping[str, int]
    """Rows that cannot be trained on, by why."""
    census: Census
    """Of the rows to train on."""
    contradicted: int
    repeated: int
    """Of the rows that were read, as `Agreement` counts them."""
    unjudged: int
    """Labels of which none is put aside: those of too few texts, and those beyond the `MOST // OF_LABEL` largest."""


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
                hashes.add(texts(row), row["label"] if source.content == "labelled" else None)
            line = json.dumps(row, ensure_ascii=False)
            agreement.add(row, line)
            file.write(line + "\n")
    census = take_census(rows_of(whole), source.content, source.name, left_out)
    train, rows, counts = folder / "train.jsonl", census.rows, {TRAIN: census.rows}
    if not parts:
        whole.rename(train)
    else:
        if source.content == "texts" and held_back_form(census.sources) is None:
            raise UserError(
                f"{source.name} holds texts of less than {CUT_FROM} words without titles, which do not say what a "
                "good model is; give --dev a file of pairs with scores, labelled texts, triplets or a folder in BEIR's "
                "layout"
            )
        code = hashes.split(parts, source.name)
        counts = {part: int((code == part).sum()) for part in (TRAIN, *parts, LEFT_OUT)}
        _part_rows(whole, code, {TRAIN: train, **{part: folder / f"{HELD_OUT[part]}.jsonl" for part in parts}})
        whole.unlink()
        census = take_census(
            rows_of(train), source.content, f"{source.name}, what is left of it to train on,", _lost(counts)
        )
    form = held_back_form(census.sources)
    files = {part: _as_task(folder / f"{HELD_OUT[part]}.jsonl", source.content, part, form, as_given) for part in parts}
    judged = {row["label"] for file in files.values() if source.content == "labelled" for row in rows_of(file)}
    unjudged = len({*census.labels} - judged) if judged else 0
    doubtful = agreement.contradicted, agreement.repeated
    return PreparedData(source.content, train, files, rows, counts, left_out, census, *doubtful, unjudged)


def _lost(counts: Mapping[int, int]) -> dict[str, int]:
    aside = sum(counts[part] for part in (DEV, TEST) if part in counts)
    return {"put aside to judge models by": aside, "share a text with these": counts[LEFT_OUT]}


def leave_out(prepared: PreparedData, rows: Sequence[int], where: str) -> PreparedData:
    """Without these of the rows to train on, by their numbers. `UserError` where the rest teaches nothing."""
    code = np.full(prepared.parts[TRAIN], TRAIN, np.int8)
    code[list(rows)] = LEFT_OUT
    whole = prepared.train.rename(prepared.train.with_name("all.jsonl"))
    _part_rows(whole, code, {TRAIN: prepared.train})
    whole.unlink()
    census = take_census(rows_of(prepared.train), prepared.content, f"{where}, what is left of it to train on,")
    return replace(prepared, census=census, parts={**prepared.parts, TRAIN: census.rows})


def rows_of(file: Path) -> Iterator[Normal]:
    """The rows of a file in normal form."""
    with open(file, encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _part_rows(whole: Path, code: np.ndarray, places: Mapping[int, Path]) -> None:
    with contextlib.ExitStack() as stack:
        files = {part: stack.enter_context(open(path, "w", encoding="utf-8")) for part, path in places.items()}
        for line, part in zip(stack.enter_context(open(whole, encoding="utf-8")), code.tolist(), strict=True):
            if part in files:
                files[part].write(line)


def held_back_form(sources: Container[str]) -> str | None:
    """The source of positives by which texts alone judge models, of those that they allow: the first that makes pairs
    of different texts. None where there is none, and for other data."""
    return next((name for name, source in SOURCES.items() if name in sources and source.judges), None)


def _as_task(
    file: Path, content: str, part: int, form: str | None, as_given: Callable[[Sequence[Normal]], Sequence[Normal]]
) -> Path:
    """Scored pairs and labelled texts stay a table. Of anchors and positives it makes a search, as a file of pairs is
    when it is given: among what stands beside the anchors, in BEIR's files. Of texts alone by the pairs of a source."""
    if content in ("scored", "labelled"):
        return file
    rows = [*rows_of(file)] if form is None else _pairs(file, form)
    if table := as_given(rows):
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
    file.unlink()
    return folder


def _pairs(file: Path, form: str) -> list[Normal]:
    """A pair of each document, by a source of positives; where the source draws views, those of a first epoch."""
    source, rows = SOURCES[form], rows_of(file)
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
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


class HashedTexts:
    """The texts of rows, as numbers: equal texts, as `plain` has them, have equal ones."""

    def __init__(self) -> None:
        self._texts = array("Q")
        self._ends = array("q", [0])
        self._labels, self._label = dict[str, int](), array("q")

    def add(self, texts: Sequence[str], label: str | None = None) -> None:
        """The texts of the next row, its anchor first; or its one text and the label of that."""
        if label is not None:
            self._label.append(self._labels.setdefault(label, len(self._labels)))
        for text in texts:
            digest = hashlib.blake2b(plain(text).encode(), digest_size=8).digest()
            self._texts.append(int.from_bytes(digest, "little"))
        self._ends.append(len(self._texts))

    def split(self, parts: Sequence[int], where: str) -> np.ndarray:
        """(rows,) int8: the part of each row, among `TRAIN`, `LEFT_OUT` and those asked for: `DEV`, `TEST`. The rows
        alone decide it. `UserError` where there are too few."""
        rows = len(self._ends) - 1
        if rows < FEWEST:
            raise UserError(
                f"{where} holds {rows} rows, too few to put some aside to judge models by, which takes {FEWEST}; give "
                "more rows, or --dev and --test"
            )
        table = _Rows.of(self._texts, self._ends)
        if self._label:
            return _split_labelled(table, np.array(self._label), parts, where)
        return _split(table, parts, min(MOST, round(SHARE * rows)), where)


@dataclass(frozen=True)
class _Rows:
    """Rows and their texts as a table of places."""

    row: np.ndarray  # (places,) int64
    text: np.ndarray  # (places,) int64, of that row; a row names a text once
    anchor: np.ndarray  # (rows,) int64, the anchor's text
    order: np.ndarray  # (texts,) uint64, a hash of the text, to order by

    @classmethod
    def of(cls, texts: array[int], ends: array[int]) -> _Rows:
        digests, stops = np.frombuffer(texts, np.uint64), np.frombuffer(ends, np.int64)
        unique, text = np.unique(digests, return_inverse=True)
        row = np.repeat(np.arange(len(stops) - 1), np.diff(stops))
        places = np.unique(row * len(unique) + text)
        order = unique * np.uint64(0x9E3779B97F4A7C15)
        return cls(places // len(unique), places % len(unique), text[stops[:-1]], order)

    def together(self) -> np.ndarray:
        """(rows,) int64: number of the connected component; rows that share a text are connected."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        rows, texts = len(self.anchor), len(self.order)
        edges = coo_array((np.ones(len(self.row), np.int8), (self.row, rows + self.text)), shape=(rows + texts,) * 2)
        _, component = connected_components(edges, directed=False)
        return np.unique(component[:rows], return_inverse=True)[1]


def _split(rows: _Rows, parts: Sequence[int], target: int, where: str) -> np.ndarray:
    code = np.full(len(rows.anchor), TRAIN, np.int8)
    whole = rows.together()
    size = np.bincount(whole)
    first = np.full(len(size), np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(first, whole, rows.order[rows.anchor])
    small = np.argsort(first, kind="stable")
    small = small[size[small] <= max(1, target // 10)]
    before = np.cumsum(size[small]) - size[small]
    for number, part in enumerate(parts):
        chosen = small[(before >= number * target) & (before + size[small] <= (number + 1) * target)]
        code[np.isin(whole, chosen)] = part
    if size[small].sum() < len(parts) * target:
        _cut(rows, code, parts, target)
    sizes = [int((code == part).sum()) for part in parts]
    if min(sizes) < min(target, FEWEST) // 2:
        raise UserError(
            f"{where}: its rows hang together by their texts, so too few can be put aside to judge models by without "
            "standing in what is left; give --dev and --test"
        )
    return code


def _split_labelled(rows: _Rows, label: np.ndarray, parts: Sequence[int], where: str) -> np.ndarray:
    """Of each label with enough texts its share, `OF_LABEL` at least; a text that has several labels stays."""
    of_text = np.zeros(len(rows.order), np.int64)  # the label
    of_text[rows.anchor] = label
    plain_ones = np.ones(len(of_text), bool)
    plain_ones[rows.anchor[of_text[rows.anchor] != label]] = False
    texts = np.flatnonzero(plain_ones)
    texts = texts[np.lexsort((rows.order[texts], of_text[texts]))]
    counts = np.bincount(of_text[texts], minlength=label.max() + 1)
    enough = counts >= OF_LABEL * (len(parts) + 1)
    if enough.sum() < 2:
        raise UserError(
            f"{where}: to put some aside to judge models by takes two labels with {OF_LABEL * (len(parts) + 1)} "
            f"different texts, and {int(enough.sum())} of its {len(counts):,} labels have so many in {len(label):,} "
            "rows; give more rows, or --dev and --test"
        )
    enough[np.argsort(-np.where(enough, counts, 0), kind="stable")[MOST // OF_LABEL :]] = False
    more = np.where(enough, np.maximum(np.round(counts * SHARE) - OF_LABEL, 0), 0)
    room = MOST - OF_LABEL * enough.sum()
    each = np.where(enough, OF_LABEL + np.floor(more * min(1.0, room / max(1, more.sum()))), 0).astype(np.int64)
    place = np.arange(len(texts)) - (np.cumsum(counts) - counts)[of_text[texts]]  # among those of its label
    part = np.full(len(of_text), TRAIN, np.int8)
    for number, code in enumerate(parts):
        size = each[of_text[texts]]
        part[texts[(place >= number * size) & (place < (number + 1) * size)]] = code
    return part[rows.anchor]


def _cut(rows: _Rows, code: np.ndarray, parts: Sequence[int], target: int) -> None:
    """Put anchors with all their rows aside until each part has enough, those first that share few texts with other
    rows; these are then left out."""
    share = np.bincount(rows.text)[rows.text] - 1
    cost = np.bincount(rows.row, weights=share, minlength=len(code))
    groups, group = np.unique(rows.anchor, return_inverse=True)
    costs = np.bincount(group, weights=cost)
    owner = np.full(len(rows.order), TRAIN, np.int8)
    owner[rows.text] = code[rows.row]
    by_group = np.argsort(group, kind="stable")
    stops = np.cumsum(np.bincount(group))
    of_row = np.searchsorted(rows.row, np.arange(len(code) + 1))
    sizes = {part: int((code == part).sum()) for part in parts}
    for number in np.lexsort((rows.order[groups], costs)):
        if min(sizes.values()) >= target:
            break
        members = by_group[stops[number - 1] if number else 0 : stops[number]]
        texts = np.concatenate([rows.text[of_row[row] : of_row[row + 1]] for row in members])
        owners = {*owner[texts].tolist()} - {TRAIN}
        part = owners.pop() if owners else min(parts, key=lambda each: sizes[each])
        if not owners and sizes[part] + len(members) <= target:
            owner[texts], code[members] = part, part
            sizes[part] += len(members)
    touched = np.zeros(len(code), bool)
    touched[rows.row[owner[rows.text] != TRAIN]] = True
    code[touched & (code == TRAIN)] = LEFT_OUT
