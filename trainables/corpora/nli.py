"""Pairs of premise, hypothesis and label: from the hub, from local files or from the built-in scenes corpus.

    pairs = load_nli("stanfordnlp/snli")          # a hub id
    pairs = load_nli("data/snli")                 # a folder with train files, or one of datasets.save_to_disk
    pairs = load_nli("mine.jsonl,more.csv")       # files; see `tables.py` for their forms, `columns.py` for columns
    pairs = load_nli("scenes")                    # the built-in corpus

The rows of one premise are moved next to each other, as Liao 2021 needs; nothing is shuffled.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np

from trainables.corpora import scenes
from trainables.corpora.columns import NUMBERS_READ, TRIPLETS_READ, Labels, find_columns, named_columns
from trainables.corpora.own_rows import read_anchored, read_labelled_pair
from trainables.corpora.tables import FORMS, Record, check_tables, find_tables, open_table, sources
from trainables.corpora.teacher_scores import ROLES, SIDES, divisor, read_teacher, scores_of
from trainables.errors import UserError, choices
from trainables.labels import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL
from trainables.process_cache import file_states
from trainables.recipe import SCENES
from trainables.tabular import RoleColumns, texts_of

_Row = tuple[str, str, int, float]
"""Premise, hypothesis, label, and a teacher's score or NaN."""
_Located = Iterable[tuple[str, Record]]
"""Rows of a table, each as (location in the file, row)."""


@dataclass(frozen=True)
class NLIPairs:
    """Labelled pairs, sorted by premise in order of first appearance."""

    premises: list[str]
    hypotheses: list[str]
    labels: np.ndarray
    """(pairs,) int8, index into `trainables.labels.LABELS`."""
    dropped: int
    """Number of rows read that have no gold label."""
    moved: int
    """Number of rows that were moved, to be next to the first rows of the same premise."""
    fingerprint: str
    """Hash of the content: twelve hexadecimal digits."""
    source: str
    files: tuple[str, ...] = ()
    """The files and hub ids that the pairs were read from."""
    file: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int16))
    """(pairs,) int16, index into `files`."""
    triplets: bool = False
    """Whether some pairs come from anchors with positives and negatives; none of these is neutral."""
    labels_read: str | None = None
    """How labels were read, in words; None if the source names them."""
    lacking: dict[str, int] = field(default_factory=dict)
    """Number of source rows with an empty cell, by optional column."""
    scores: np.ndarray | None = None
    """(pairs,) float32: a teacher's scores on the scale of cosines; NaN: unknown, None: all unknown."""
    divided_by: float = 1.0
    """The number by which scores were divided to bring them to the scale of cosines."""

    def __len__(self) -> int:
        return len(self.premises)

    @classmethod
    def entailed(cls, premises: Sequence[str], hypotheses: Sequence[str], source: str) -> NLIPairs:
        """Return positive pairs in the order given; equal premises must be neighbours."""
        code = np.full(len(premises), ENTAILMENT, dtype=np.int8)
        digits = _fingerprint(premises, hypotheses, code, None)
        return cls([*premises], [*hypotheses], code, 0, 0, digits, source, file=np.zeros(len(code), dtype=np.int16))

    def copy(self) -> NLIPairs:
        """Return a copy that may be changed; the texts are shared, as they are immutable."""
        return replace(
            self,
            premises=list(self.premises),
            hypotheses=list(self.hypotheses),
            labels=self.labels.copy(),
            file=self.file.copy(),
            scores=None if self.scores is None else self.scores.copy(),
        )

    def select(self, mask: np.ndarray) -> NLIPairs:  # (pairs,) bool
        """Return the pairs of the mask. `dropped` and `moved` still count the whole source."""
        rows = np.flatnonzero(mask).tolist()
        premises, hypotheses = ([side[row] for row in rows] for side in (self.premises, self.hypotheses))
        labels, scores = self.labels[rows], None if self.scores is None else self.scores[rows]
        return replace(
            self,
            premises=premises,
            hypotheses=hypotheses,
            labels=labels,
            file=self.file[rows],
            scores=scores,
            fingerprint=_fingerprint(premises, hypotheses, labels, scores),
        )


def load_nli(
    source: str,
    limit: int | None = None,
    *,
    columns: str | None = None,
    labels: str | None = None,
    share: float = 1.0,
) -> NLIPairs:
    """Read the first `limit` pairs with a gold label. Rows without a gold label (`-`, -1, empty) are only counted.

    `columns`, `labels` and `share` are recipe keys of `corpus`. `UserError` for a broken row, an unknown source, no
    usable pair, or if the only labels are two numbers.
    """
    premises: list[str] = []
    hypotheses: list[str] = []
    codes, file, teacher = array("b"), array("h"), array("d")
    dropped, triplets = 0, False
    texts: dict[str, str] = {}  # SNLI repeats every premise three times; its text is kept once
    files: list[str] = []
    named, names, lacking = named_columns(columns), Labels(labels), Counter[str]()
    scenes_file = scenes.ensure() / "nli" / "train.jsonl" if source == SCENES else None
    for location in [scenes_file] if scenes_file else _locations(source):
        if len(premises) == limit and not names.lacks_labels:
            break
        table = open_table(location)
        if len(premises) != limit:
            files.append(SCENES if scenes_file else table.name)
        if not table.columns:
            continue
        by_role = find_columns(table.columns, table.first, named)
        triplets |= "anchor" in by_role
        records = table.read([*chain.from_iterable(by_role.values())])
        for row in _labelled(by_role, records, names) if "label" in by_role else _triplets(by_role, records, lacking):
            if len(premises) == limit:
                if names.lacks_labels:
                    continue
                break
            if row is None:
                dropped += 1
                continue
            premises.append(texts.setdefault(row[0], row[0]))
            hypotheses.append(row[1])
            codes.append(row[2])
            teacher.append(row[3])
            file.append(len(files) - 1)
    names.check_numbers(f"corpus.nli={source!r}")
    if not premises:
        holds = f"only rows without a gold label ({dropped})" if dropped else "no rows"
        raise UserError(f"no labelled pair in {source!r}: it holds {holds}")
    order, moved = _order_by_premise(premises)
    premises, hypotheses = [premises[i] for i in order], [hypotheses[i] for i in order]
    code = np.array(codes, dtype=np.int8)[order]
    numbers = np.array(teacher)[order]
    divided_by = divisor(numbers, number_texts(premises))
    scores = (numbers / divided_by).astype(np.float32) if np.isfinite(numbers).any() else None
    pairs = NLIPairs(
        premises,
        hypotheses,
        code,
        dropped,
        moved,
        _fingerprint(premises, hypotheses, code, scores),
        source,
        tuple(files),
        np.array(file, dtype=np.int16)[order],
        triplets,
        "; ".join([TRIPLETS_READ] * triplets + [NUMBERS_READ] * bool(names.numbers)) or None,
        dict(lacking),
        scores,
        divided_by,
    )
    return pairs if share == 1 else pairs.select(drawn_share(premises, share, f"corpus.nli={source!r}"))


def check_nli(source: str, *, columns: str | None = None, labels: str | None = None) -> None:
    """Raise `UserError` for invalid `columns` or `labels`, and if a file or a data set of the hub does not exist. No
    row is read."""
    named_columns(columns)
    Labels(labels)
    check_tables(source)


def stamps(source: str) -> tuple[tuple[str, int, int], ...] | None:
    """Return path, size and modification time of each local file that `source` names; None if it names a hub id."""
    files: list[tuple[str, int, int]] = []
    for part in sources(source):
        for location in [] if part == SCENES else _locations(part):
            if isinstance(location, str):
                return None
            files += file_states(location)
        files += [(scenes.version(), 0, 0)] * (part == SCENES)
    return tuple(files)


@dataclass(frozen=True)
class PairCensus:
    """Counts of pairs, premises and sentences: the units that batches may be made of."""

    pairs: int
    entailed: int
    contradicted: int
    premises: int
    """Number of premises with an entailment or a contradiction."""
    entailed_premises: int
    sentences: int
    triplets: bool
    """Whether some pairs come from triplets; none of these is neutral."""
    labels_read: str | None
    lacking: dict[str, int]
    divided_by: float
    """`labels_read`, `lacking` and `divided_by` are as in `NLIPairs`."""
    taught: int
    """Number of pairs with a teacher's score."""


def census(pairs: NLIPairs) -> PairCensus:
    """Count the pairs, premises and sentences of a corpus."""
    labels = pairs.labels.tolist()
    premises: dict[int, set[str]] = {ENTAILMENT: set(), NEUTRAL: set(), CONTRADICTION: set()}
    for premise, label in zip(pairs.premises, labels, strict=True):
        premises[label].add(premise)
    return PairCensus(
        pairs=len(pairs),
        entailed=labels.count(ENTAILMENT),
        contradicted=labels.count(CONTRADICTION),
        premises=len(premises[ENTAILMENT] | premises[CONTRADICTION]),
        entailed_premises=len(premises[ENTAILMENT]),
        sentences=len(set(chain(pairs.premises, pairs.hypotheses))),
        triplets=pairs.triplets,
        labels_read=pairs.labels_read,
        lacking=pairs.lacking,
        taught=0 if pairs.scores is None else int(np.isfinite(pairs.scores).sum()),
        divided_by=pairs.divided_by,
    )


def number_texts(texts: Iterable[str]) -> np.ndarray:
    """Return (texts,) int64: equal texts have equal numbers, from 0 in order of first appearance."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)


def drawn_share(texts: Sequence[str], share: float, where: str) -> np.ndarray:  # (rows,) bool
    """Return whether each row is in a random share of the rows. `texts`: first text of each row; rows with the same
    first text stay together. The random order is the same for every seed, so a larger share contains a smaller one.

    `UserError`, which starts with `where`, for a share without a row.
    """
    text = number_texts(texts)
    rows = np.bincount(text)
    order = np.random.Generator(np.random.Philox(key=0)).permutation(len(rows))
    size = round(share * len(texts))
    if not size:
        raise UserError(f"{where}: corpus.share {share:g} of {len(texts):,} rows is none; give a larger share")
    before = np.cumsum(rows[order]) - rows[order]
    return np.isin(text, order[before < size])


def count_premises(pairs: NLIPairs) -> dict[str, list[list[int]]]:
    """Return SupMPN's Table 1 for each file: rows of (entailments, contradictions, number of premises that have these
    numbers), where 5 means 5 or more. Repeated pairs count each time."""
    premise = number_texts(pairs.premises)
    tables = {}
    for code, name in enumerate(pairs.files):
        in_file = pairs.file == code
        size = premise.max(initial=-1) + 1
        counts = [
            np.bincount(premise[in_file & (pairs.labels == label)], minlength=size)
            for label in (ENTAILMENT, CONTRADICTION)
        ]
        present = np.bincount(premise[in_file], minlength=size) > 0
        shapes = np.stack([np.minimum(count[present], 5) for count in counts], axis=1)
        kinds, times = np.unique(shapes, axis=0, return_counts=True)
        tables[name] = [[*shape, count] for shape, count in zip(kinds.tolist(), times.tolist(), strict=True)]
    return tables


def _locations(source: str) -> list[Path | str]:
    if not source.strip():
        raise UserError(f"the NLI source is empty; give a hub id, a folder, files ({FORMS}) or 'scenes'")
    return find_tables(source)


def _labelled(columns: RoleColumns, records: _Located, labels: Labels) -> Iterator[_Row | None]:
    """Yield a row for each record; None for a record without a gold label. `UserError` if a column is missing."""
    for where, record in records:
        missing = next((name for names in columns.values() for name in names if name not in record), None)
        if missing is not None:
            raise UserError(f"{where}: column {missing!r} is missing")
        row = read_labelled_pair(record, columns, where, labels)
        yield (
            None if isinstance(row, str) else (row["premise"], row["hypothesis"], LABELS.index(row["label"]), math.nan)
        )


def _triplets(columns: RoleColumns, records: _Located, lacking: Counter[str]) -> Iterator[_Row]:
    """Yield an entailment for each positive and a contradiction for each negative, each different row once. `lacking`
    counts empty cells by column. If an anchor has several positives, only margins to its first positive are used."""
    yielded: set[tuple[str, str, int]] = set()
    compared: dict[str, str] = {}  # by anchor: the positive of its margins; "" if it has scores
    sides = [column for role in SIDES for column in columns.get(role, ())]
    taught = [columns[role][0] for role in ROLES if role in columns]
    for where, record in records:
        for column in sides:
            if not texts_of(record.get(column)):
                lacking[column] += 1
        row = read_anchored(record, columns, where)
        anchor, near, far = row["anchor"], row["positive"], row.get("negative", [])
        if not near:
            raise UserError(f"{where}: no positive in {choices(columns['positive'])}")
        teacher = read_teacher(record, columns, where)
        rows = [(anchor, text, ENTAILMENT) for text in near] + [(anchor, text, CONTRADICTION) for text in far]
        positive = near[0] if len(teacher) < len(rows) else ""
        if taught and not teacher:
            lacking[taught[0]] += 1
        elif teacher and compared.setdefault(anchor, positive) != positive:
            lacking["a margin to its anchor's first positive"] += 1
            teacher = []
        for pair, score in zip(rows, scores_of(teacher, len(near), len(far)), strict=True):
            if pair not in yielded:
                yielded.add(pair)
                yield *pair, score


def _order_by_premise(premises: list[str]) -> tuple[np.ndarray, int]:
    """Return the stable order that groups rows by premise, and the number of rows that were not next to the first
    rows of their premise."""
    premise = number_texts(premises)
    run = np.cumsum(np.diff(premise, prepend=premise[0]) != 0)
    _, first = np.unique(premise, return_index=True)
    return np.argsort(premise, kind="stable"), int((run != run[first][premise]).sum())


def _fingerprint(
    premises: Iterable[str], hypotheses: Iterable[str], labels: np.ndarray, scores: np.ndarray | None
) -> str:
    digest = hashlib.sha256()
    for premise, hypothesis, label in zip(premises, hypotheses, labels.tolist(), strict=True):
        digest.update(f"{premise}\x1f{hypothesis}\x1f{label}\n".encode())
    digest.update(b"" if scores is None else scores.tobytes())
    return digest.hexdigest()[:12]
