"""Tables of texts with one value per row: the base of the layouts of scored pairs and of labelled texts.

A layout defines the roles of the columns, and the allowed values of the last column; the other columns contain texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any, ClassVar

from trainables.corpora import scenes
from trainables.corpora.batch import Sampler
from trainables.corpora.columns import role_columns
from trainables.corpora.layouts.contract import Layout
from trainables.corpora.nli import drawn_share, stamps
from trainables.corpora.request import SamplerRequest
from trainables.corpora.tables import OpenTable, check_tables, find_tables, open_table
from trainables.errors import UserError
from trainables.keys import Options, key
from trainables.process_cache import PROCESS_CACHE
from trainables.recipe import SCENES
from trainables.sections import LIMIT, SHARE
from trainables.tabular import one_text


@dataclass(frozen=True)
class Tables(Options):
    """The source of the rows: keys of all layouts that read tables."""

    section = "corpus"

    nli: str = key(
        "stanfordnlp/snli",
        "Hub id, folder, file, several of these joined by commas, or scenes.",
        is_path=True,
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

    @property
    def local(self) -> bool:
        """Whether all data are local files, so that they can be read before training."""
        return stamps(self.nli) is not None


@dataclass(frozen=True)
class ValuedRows:
    """Texts and value of each row, in order; labelled texts without repetitions."""

    texts: list[tuple[str, ...]]
    values: list[Any]
    without_value: int
    """Number of rows without a value, which are left out."""
    fingerprint: str
    """Hash of the content: twelve hexadecimal digits."""


@dataclass(frozen=True)
class TableLayout(Tables, Layout):
    """Base of layouts of rows with texts and a value."""

    reads = "corpus.nli"
    hard_negatives = False

    roles: ClassVar[Mapping[str, tuple[str, ...]]]
    """Maps each role of the layout to the roles of `trainables.tabular` that fit; the role of values is last."""

    def value(self, cell: Any, where: str) -> Any:
        """Return a row's value; None if it has none. `UserError` for an invalid value."""
        raise NotImplementedError

    def scenes(self, folder: Path) -> OpenTable:
        """Return the table of the built-in corpus; `folder` has SentEval's layout."""
        raise NotImplementedError

    def refuse(self, request: SamplerRequest, rows: ValuedRows) -> None:
        """Raise `UserError` if no batch can be made of these rows."""
        raise NotImplementedError

    def sampler(self, request: SamplerRequest, rows: ValuedRows) -> tuple[Sampler, dict[str, Any]]:
        """Return a sampler of the rows, and counts for the description of the corpus in a record."""
        raise NotImplementedError

    def make(self, request: SamplerRequest) -> tuple[Sampler, dict[str, Any]]:
        rows = self.rows()
        self.refuse(request, rows)
        sampler, counts = self.sampler(request, rows)
        without_value = {f"without_{list(self.roles)[-1]}": rows.without_value}
        return sampler, {"source": self.nli, **without_value, "fingerprint": rows.fingerprint, **counts}

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
        """Return the rows to train on. They are cached for the next trial, so they must not be changed."""
        cache_key = ("rows", self.name, self.nli, self.columns, self.limit, self.share, stamps(self.nli))
        return PROCESS_CACHE.get(cache_key, self._read)

    def _read(self) -> ValuedRows:
        built_in = [self.scenes(scenes.ensure() / "senteval")] if self.nli == SCENES else None
        rows: list[tuple[Any, ...]] = []
        without_value = 0
        for table in built_in or map(open_table, find_tables(self.nli)):
            if not table.columns:
                continue
            *texts, valued = role_columns(table.columns, table.first, self.columns, self.roles).values()
            for where, record in table.read([*texts, valued]):
                if len(rows) == self.limit:
                    break
                value = self.value(record.get(valued), where)
                if value is None:
                    without_value += 1
                else:
                    rows.append((*(one_text(record, column, where) for column in texts), value))
        if not rows:
            raise UserError(f"corpus.nli={self.nli!r} holds no row with a {list(self.roles)[-1]}")
        rows = list(dict.fromkeys(rows)) if self.groups_are_classes else rows  # no text is a positive of itself
        if self.share < 1:
            rows = [*compress(rows, drawn_share([row[0] for row in rows], self.share, f"corpus.nli={self.nli!r}"))]
        digest = hashlib.sha256("\n".join("\x1f".join(map(str, row)) for row in rows).encode())
        return ValuedRows([row[:-1] for row in rows], [row[-1] for row in rows], without_value, digest.hexdigest()[:12])
