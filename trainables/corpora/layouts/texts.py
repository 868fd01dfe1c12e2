"""The layout of texts alone: documents, of which `corpus.positives_from` makes pairs."""

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
from trainables.corpora.nli import NLIPairs, PairCensus, census, drawn_share, number, stamps
from trainables.corpora.own_rows import read_row
from trainables.corpora.request import SamplerRequest
from trainables.corpora.samplers import paired
from trainables.corpora.shuffled import Shuffled
from trainables.corpora.tables import check_tables, find_tables, open_table
from trainables.errors import UserError, choices
from trainables.keys import key
from trainables.process_cache import PROCESS_CACHE
from trainables.recipe import SCENES
from trainables.tabular import roles_of


@dataclass(frozen=True)
class TextCorpus:
    """Documents as pairs."""

    documents: list[TitledText]
    pairs: NLIPairs
    owner: np.ndarray
    """(pairs,) int64, index into `documents`."""
    census: PairCensus


@dataclass(frozen=True)
class TextLayout(GroupLayout):
    """Texts alone: pairs that are made of them, as a table's column `text`, perhaps with `title` and `heading`.

    Titles and headings are anchors of `groups`, with mined negatives where these are asked for. Of views of a text no
    two of one document are in one batch.
    """

    name = "texts"
    meaning = "alone; corpus.positives_from makes pairs of them"
    exact = False  # views are one positive each
    objectives = ("mnrl", "ntxent", "simcse", "supcon", "supmpn")

    positives_from: str = key(
        "crops",
        "Where the positives of texts alone come from.",
        registry="trainables.corpora.layouts.positives:SOURCES",
        label="positives from",
    )

    @property
    def source(self) -> Source:
        """The chosen one."""
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
        """What is trained on, which must not be changed: it is kept for the next trial. `UserError` where the source
        makes nothing of the texts."""
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
        order = np.argsort(number(first for first, _, _ in made), kind="stable")
        made = [made[place] for place in order.tolist()]  # equal anchors stand together
        first, second, owner = zip(*made, strict=True)
        pairs = NLIPairs.entailed(first, second, self.nli)
        return TextCorpus(documents, pairs, np.array(owner), census(pairs))

    def _documents(self) -> Iterator[TitledText]:
        count = 0
        places = [scenes.ensure() / "docs" / "docs.jsonl"] if self.nli == SCENES else find_tables(self.nli)
        for table in map(open_table, places):
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
    """Two views of each text, new ones each epoch; texts of one document are in different batches, as far as there are
    enough batches."""

    def __init__(self, texts: Sequence[str], owner: np.ndarray, source: Source, size: int, seed: int) -> None:
        super().__init__(len(texts), size, seed, apart=True)
        self.texts, self.owner, self.source = texts, owner, source

    def batch(self, step: int) -> Batch:
        epoch, chosen = self.draw(step)
        assert self.source.views is not None
        first, second = self.source.views([self.texts[unit] for unit in chosen.tolist()], chosen, self.seed, epoch)
        return paired(first, second, chosen)

    def texts_of_units(self, epoch: int) -> Sequence[Sequence[int]]:
        """What may be once in a batch: the document."""
        return [[owner] for owner in self.owner.tolist()]
