"""Tables of texts with a value a row: the layouts of scored pairs (STS-B, SICK, one's own) and of labelled texts.

A layout names the columns' roles, and says what the last of them may hold; the others hold texts.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from trainables.corpora import scenes
from trainables.corpora.batch import Sampler
from trainables.corpora.columns import one_text, role_columns
from trainables.corpora.layout import Layout
from trainables.corpora.nli import drawn_share, stamps
from trainables.corpora.request import SamplerRequest, check_batch_size
from trainables.corpora.samplers import PairSampler, SameLabelSampler
from trainables.corpora.tables import OpenTable, Record, check_tables, find_tables, open_table
from trainables.errors import UserError, shown
from trainables.keys import Options, at_least, key
from trainables.process_cache import PROCESS_CACHE
from trainables.recipe import SCENES
from trainables.sections import LIMIT, SHARE, STSB
from trainables.tabular import as_label, as_number, no_number
from trainables.text_lines import numbered_lines


@dataclass(frozen=True)
class Tables(Options):
    """Where rows come from: keys of all layouts that read tables."""

    section = "corpus"

    nli: str = key(
        "stanfordnlp/snli",
        "Hub id, folder, file, several of these joined by commas, or scenes.",
        place=True,
        label="training pairs",
    )
    columns: str | None = key(
        None,
        "The columns of corpus.nli, where they have names of their own: premise=text_a,hypothesis=text_b,label=y, or "
        "anchor=question,positive=answer,negative=wrong for triplets; sentence1=a,sentence2=b,score=s for the layout "
        "scored_pairs; sentence=text,label=class for same_label.",
    )
    limit: int | None = LIMIT()
    share: float = SHARE()


@dataclass(frozen=True)
class ValuedRows:
    """The texts of each row, in order, and its value; of labelled texts each once."""

    texts: list[tuple[str, ...]]
    values: list[Any]
    without: int
    """Rows that have no value; they are left out."""
    fingerprint: str
    """Twelve hexadecimal digits of the content."""


@dataclass(frozen=True)
class TableLayout(Tables, Layout):
    """A layout of rows of texts and a value."""

    reads = "corpus.nli"
    hard_negatives = False

    roles: ClassVar[Mapping[str, tuple[str, ...]]]
    """What the columns are for, the value's last, each with the roles of `trainables.tabular` that will do."""

    def value(self, cell: Any, where: str) -> Any:
        """A row's value; None where it has none, `UserError` where it is none that can be."""
        raise NotImplementedError

    def scenes(self, folder: Path) -> OpenTable:
        """The table of the built-in corpus; `folder` has SentEval's layout."""
        raise NotImplementedError

    def refuse(self, request: SamplerRequest, rows: ValuedRows) -> None:
        """`UserError` where no batch can be made."""
        raise NotImplementedError

    def sampler(self, request: SamplerRequest, rows: ValuedRows) -> tuple[Sampler, dict[str, Any]]:
        """The batches, and counts for the description."""
        raise NotImplementedError

    def make(self, request: SamplerRequest) -> tuple[Sampler, dict[str, Any]]:
        rows = self.rows()
        self.refuse(request, rows)
        sampler, counts = self.sampler(request, rows)
        without = {f"without_{list(self.roles)[-1]}": rows.without}
        return sampler, {"source": self.nli, **without, "fingerprint": rows.fingerprint, **counts}

    @property
    def local(self) -> bool:
        """Whether all files are local, so that they can be read before anything starts."""
        return stamps(self.nli) is not None

    def check(self, request: SamplerRequest) -> None:
        if self.local:
            self.refuse(request, self.rows())
        else:
            check_tables(self.nli)

    def sentences(self, request: SamplerRequest) -> Iterator[str]:
        return chain.from_iterable(self.rows().texts)

    def check_sentences(self, request: SamplerRequest) -> None:
        if self.local:
            self.rows()

    def rows(self) -> ValuedRows:
        """Rows to train on, which must not be changed: they are kept for the next trial."""
        cache_key = ("rows", self.name, self.nli, self.columns, self.limit, self.share, stamps(self.nli))
        return PROCESS_CACHE.get(cache_key, self._read)

    def _read(self) -> ValuedRows:
        built_in = [self.scenes(scenes.ensure() / "senteval")] if self.nli == SCENES else None
        rows: list[tuple[Any, ...]] = []
        without = 0
        for table in built_in or map(open_table, find_tables(self.nli)):
            if not table.columns:
                continue
            *texts, valued = role_columns(table.columns, table.first, self.columns, self.roles).values()
            for where, record in table.read([*texts, valued]):
                if len(rows) == self.limit:
                    break
                value = self.value(record.get(valued), where)
                if value is None:
                    without += 1
                else:
                    rows.append((*(one_text(record, column, where) for column in texts), value))
        if not rows:
            raise UserError(f"corpus.nli={self.nli!r} holds no row with a {list(self.roles)[-1]}")
        rows = list(dict.fromkeys(rows)) if self.classes else rows  # a text is no positive of itself
        if self.share < 1:
            rows = [*compress(rows, drawn_share([row[0] for row in rows], self.share, f"corpus.nli={self.nli!r}"))]
        digest = hashlib.sha256("\n".join("\x1f".join(map(str, row)) for row in rows).encode())
        return ValuedRows([row[:-1] for row in rows], [row[-1] for row in rows], without, digest.hexdigest()[:12])


@dataclass(frozen=True)
class ScoredPairLayout(TableLayout):
    """Pairs with a score each.

    Scores between -1 and 1 stay as they are. Others, as 0 to 5 of STS-B, are brought to 0 to 1 by the lowest and the
    highest of the corpus.
    """

    name = "scored_pairs"
    meaning = "two texts and a score"
    keeps_apart = True
    positives_at_most = 0
    roles = MappingProxyType({"sentence1": ("sentence1",), "sentence2": ("sentence2",), "score": ("score", "label")})

    def value(self, cell: Any, where: str) -> float | None:
        score = as_number(cell)
        if score is not None or no_number(cell):
            return score
        raise UserError(f"{where}: the score {shown(cell)} is no finite number")

    def scenes(self, folder: Path) -> OpenTable:
        return open_table(folder / STSB / "sts-train.csv")

    def refuse(self, request: SamplerRequest, rows: ValuedRows) -> None:
        where = f"corpus.nli={self.nli!r}"
        if min(rows.values) == max(rows.values):
            raise UserError(f"{where}: all scores are {rows.values[0]:g}, so there is nothing to learn from them")
        check_batch_size(request.batch_size, len(rows.texts), where, f"{len(rows.texts)} scored pairs")

    def sampler(self, request: SamplerRequest, rows: ValuedRows) -> tuple[Sampler, dict[str, Any]]:
        first, second = zip(*rows.texts, strict=True)
        scores = np.array(between_0_and_1(rows.values), dtype=np.float32)
        sampler = PairSampler(first, second, request.batch_size, request.seed, scores, request.apart)
        return sampler, {"pairs": len(first), "scores": [min(rows.values), max(rows.values)], **sampler.counts}

    def remarks(self, request: SamplerRequest) -> list[str]:
        """On which scale the scores of local files are read."""
        if not self.local:
            return []
        scores = self.rows().values
        low, high = min(scores), max(scores)
        scale = "" if low >= -1 and high <= 1 else ", read as 0 to 1"
        return [f"corpus.nli={self.nli!r}: scores lie between {low:g} and {high:g}{scale}"]


def between_0_and_1(scores: list[float]) -> list[float]:
    """Scores on another scale than that of cosines, by their lowest and highest."""
    low, high = min(scores), max(scores)
    if low >= -1 and high <= 1:
        return scores
    return [(score / 2 - low / 2) / (high / 2 - low / 2) for score in scores]  # halves, as a difference may overflow


@dataclass(frozen=True)
class SameLabelLayout(TableLayout):
    """Texts of one label together (Khosla 2020): a batch is of groups of so many.

    Groups of one label in a batch are one, so that none is a negative of its like. The group's first text is its
    anchor; objective.contrast=all makes each an anchor.
    """

    name = "same_label"
    meaning = "groups of texts with one label (Khosla 2020)"
    classes = True
    roles = MappingProxyType({"sentence": ("sentence",), "label": ("label",)})

    each: int = key(
        2, "How many texts of one label stand together.", at_least(2), label="texts of a label", search=(2, 4, 8)
    )

    def value(self, cell: Any, where: str) -> str | None:
        return as_label(cell, where)

    def scenes(self, folder: Path) -> OpenTable:
        """TREC's questions, each after its class."""
        file = folder / "downstream" / "TREC" / "train_5500.label"

        def read(columns: Sequence[str]) -> Iterator[tuple[str, Record]]:
            for at, line in numbered_lines(file):
                label, _, text = line.partition(" ")
                yield f"{file}, line {at}", {"label": label, "sentence": text}

        return OpenTable(str(file), ("sentence", "label"), f"{file}, line 1", read)

    def refuse(self, request: SamplerRequest, rows: ValuedRows) -> None:
        where = f"corpus.nli={self.nli!r}"
        if len(set(rows.values)) == 1:
            raise UserError(f"{where}: all labels are {rows.values[0]!r}, so there are no negatives")
        units = SameLabelSampler.units_of(list(Counter(rows.values).values()), self.each)
        if units == 0:
            raise UserError(f"{where}: no label has two texts, so there are no positives")
        check_batch_size(request.batch_size, units, where, f"{units} groups of {self.each} texts of one label")

    def sampler(self, request: SamplerRequest, rows: ValuedRows) -> tuple[Sampler, dict[str, Any]]:
        texts = [text for (text,) in rows.texts]
        sampler = SameLabelSampler(texts, rows.values, request.batch_size, request.seed, self.each)
        return sampler, {"texts": len(texts), "labels": len(set(rows.values)), **sampler.counts}
