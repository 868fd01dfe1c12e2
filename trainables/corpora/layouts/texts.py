"""The layout of texts without pairs: `corpus.positives_from` makes pairs from documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from trainables.corpora import scenes
from trainables.corpora.batch import Batch
from trainables.corpora.columns import Labels, role_columns
from trainables.corpora.layouts.nli import GroupLayout, Made
from trainables.corpora.layouts.positives import SOURCES, Source, TitledText
from trainables.corpora.nli import NLIPairs, PairCensus, census, drawn_share, number_texts, stamps
from trainables.corpora.own_rows import read_row
from trainables.corpora.request import SamplerRequest
from trainables.corpora.samplers import positive_batch
from trainables.corpora.shuffled import Shuffled
from trainables.corpora.tables import check_tables, find_tables, open_table
from trainables.errors import UserError, choices
from trainables.keys import key
from trainables.process_cache import PROCESS_CACHE
from trainables.recipe import SCENES
from trainables.tabular import roles_of


@dataclass(frozen=True)
class TextCorpus:
    """Documents, and the pairs made from them."""

    documents: list[TitledText]
    pairs: NLIPairs
    owner: np.ndarray
    """(pairs,) int64: the document of each pair, as index into `documents`."""
    census: PairCensus


@dataclass(frozen=True)
class TextLayout(GroupLayout):
    """Pairs made from texts, such as a table's column `text`, optionally with `title` and `heading`.

    Titles and headings are anchors as in the layout `groups`, with mined negatives if the recipe mines. If pairs are
    views of a text, a batch has at most one text of a document.
    """

    name = "texts"
    meaning = "alone; corpus.positives_from makes pairs of them"
    exact_counts = False  # a view has one positive
    objectives = ("mnrl", "ntxent", "simcse", "supcon", "supmpn")

    positives_from: str = key(
        "crops",
        "Where the positives of texts alone come from.",
        registry="trainables.corpora.layouts.positives:SOURCES",
        label="positives from",
    )

    @property
    def source(self) -> Source:
        return SOURCES[self.positives_from]

    def units(self, count: PairCensus, positives: int | None) -> tuple[int, str]:
        if self.source.views is None:
            return super().units(count, positives)
        return count.pairs, f"texts for corpus.positives_from={self.positives_from}"

    def sentences(self, request: SamplerRequest) -> Iterator[str]:
        for document in self.corpus().documents:
            yield from [document.title] if document.title else ()
            yield from (text for _, text in document.sections)

    def count_steps(self, request: SamplerRequest) -> int:
        return super().count_steps(request) if self.source.views is None else self.make(request)[0].steps_per_epoch

    def make(self, request: SamplerRequest) -> Made:
        corpus = self.corpus()
        described = {"documents": len(corpus.documents), "positives_from": self.positives_from}
        if self.source.views is None:
            sampler, more = super().make(request)
            return sampler, {**more, **described}
        self._refuse(request, corpus.census)
        views = ViewSampler(corpus.pairs.premises, corpus.owner, self.source, request.batch_size, request.seed)
        texts = {"source": self.nli, "texts": len(corpus.pairs), "fingerprint": corpus.pairs.fingerprint}
        return views, {**texts, **views.counts, **described}

    def corpus(self) -> TextCorpus:
        """Return the training data. They are cached for the next trial, so they must not be changed. `UserError` if the
        source makes no pair from the texts."""
        kept = (self.nli, self.columns, self.limit, self.share, self.positives_from, stamps(self.nli))
        return PROCESS_CACHE.get(("texts", *kept), self._read)

    def _load(self, request: SamplerRequest) -> NLIPairs:
        corpus = self.corpus()
        self._refuse(request, corpus.census)
        return corpus.pairs.copy()

    def _count(self) -> PairCensus | None:
        if self.local:
            return self.corpus().census
        check_tables(self.nli)
        return None

    def _refuse(self, request: SamplerRequest, count: PairCensus) -> None:
        if self.mines and self.source.views is not None:
            fixed = choices(name for name, source in SOURCES.items() if source.views is None)
            raise UserError(
                f"corpus.negatives_from=mined needs pairs that stay the same, and corpus.positives_from="
                f"{self.positives_from} draws them anew each epoch; take {fixed}, or corpus.negatives_from=labels"
            )
        super()._refuse(request, count)

    def _read(self) -> TextCorpus:
        documents = [*self._documents()]
        where = f"corpus.nli={self.nli!r}"
        if self.share < 1 and documents:
            firsts = [document.sections[0][1] for document in documents]
            documents = [*compress(documents, drawn_share(firsts, self.share, where))]
        made = [(*pair, owner) for owner, document in enumerate(documents) for pair in self.source.units(document)]
        if not made:
            raise UserError(
                f"{where} holds no text for corpus.positives_from={self.positives_from} ({self.source.meaning}); take "
                f"{choices(name for name in SOURCES if name != self.positives_from)}"
            )
        order = np.argsort(number_texts(first for first, _, _ in made), kind="stable")
        made = [made[index] for index in order.tolist()]  # equal anchors become neighbours
        first, second, owner = zip(*made, strict=True)
        pairs = NLIPairs.entailed(first, second, self.nli)
        return TextCorpus(documents, pairs, np.array(owner), census(pairs))

    def _documents(self) -> Iterator[TitledText]:
        count = 0
        locations = [scenes.ensure() / "docs" / "docs.jsonl"] if self.nli == SCENES else find_tables(self.nli)
        for table in map(open_table, locations):
            if not table.columns:
                continue
            named = role_columns(table.columns, table.first, self.columns, {"sentence": ("sentence",)})
            roles = {role: names for role, names in roles_of(table.columns).items() if role in ("title", "heading")}
            columns = {**roles, "sentence": (named["sentence"],)}
            for where, record in table.read([name for names in columns.values() for name in names]):
                if count == self.limit:
                    return
                row = read_row("texts", record, columns, where, Labels(None))
                if not isinstance(row, str):
                    count += 1
                    yield TitledText.of(row)


class ViewSampler(Shuffled):
    """Sampler of two views of each text, new views in each epoch. Texts of one document are in different batches; texts
    that fit in no batch are left out of the epoch."""

    def __init__(self, texts: Sequence[str], owner: np.ndarray, source: Source, size: int, seed: int) -> None:
        super().__init__(len(texts), size, seed, no_duplicates=True)
        self.texts, self.owner, self.source = texts, owner, source

    def batch(self, step: int) -> Batch:
        epoch, chosen = self.draw(step)
        assert self.source.views is not None
        first, second = self.source.views([self.texts[unit] for unit in chosen.tolist()], chosen, self.seed, epoch)
        return positive_batch(first, second, chosen)

    def texts_of_units(self, epoch: int) -> Sequence[Sequence[int]]:
        """Return the document of each text, as a document may be in a batch only once."""
        return [[owner] for owner in self.owner.tolist()]
