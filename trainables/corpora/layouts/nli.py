"""The layouts of labelled pairs: rows, groups, pairs and sentences.

Each layout makes a sampler and checks a request by the same rules: the corpus must contain the pairs that the layout
and the objective need, and at least one batch of them. The check reads local files once for all requests that share
them, and downloads nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

from trainables.corpora.batch import Sampler
from trainables.corpora.columns import TRIPLETS_IN_WORDS, TRIPLETS_READ
from trainables.corpora.layouts.contract import Layout
from trainables.corpora.layouts.valued_texts import Tables
from trainables.corpora.mining import Mining, RenewedSampler, add_negatives, mined_table
from trainables.corpora.nli import NLIPairs, PairCensus, census, check_nli, count_premises, load_nli, stamps
from trainables.corpora.request import SamplerRequest, check_batch_size
from trainables.corpora.samplers import GroupSampler, PairSampler, RowSampler
from trainables.errors import UserError, shown
from trainables.keys import Options, key
from trainables.labels import CONTRADICTION, ENTAILMENT
from trainables.process_cache import PROCESS_CACHE
from trainables.sections import NEGATIVES, POSITIVES

Made = tuple[Sampler, dict[str, Any]]
"""A sampler, and a description of its corpus, ready for JSON."""


@dataclass(frozen=True)
class NLISource(Tables):
    """The source of labelled pairs: keys of all layouts that read them."""

    labels: str | None = key(
        None,
        "What corpus.nli calls the three labels, where they have names of their own: "
        "entailment=yes,neutral=maybe,contradiction=no.",
    )


@dataclass(frozen=True)
class NLILayout(NLISource, Layout):
    """Base of the layouts of labelled pairs."""

    reads = "corpus.nli"
    entailments: ClassVar[bool] = True
    """Whether entailed pairs are the positives."""
    all_labels: ClassVar[bool] = False
    """Whether pairs of all three labels are needed, which triplets do not give."""

    def units(self, count: PairCensus, positives: int | None) -> tuple[int, str]:
        """Return the number and the name of the corpus's units, given the counts of the corpus and P."""
        raise NotImplementedError

    def check(self, request: SamplerRequest) -> None:
        count = self._count()
        if count is not None:
            self._refuse(request, count)

    def sentences(self, request: SamplerRequest) -> Iterator[str]:
        return _texts(_cached(self._source)[0])

    def check_sentences(self, request: SamplerRequest) -> None:
        self._count()

    def remarks(self, request: SamplerRequest) -> list[str]:
        """Return remarks on local files: how unnamed labels are read, a teacher's scores, and empty cells."""
        count = self._count()
        if count is None:
            return []
        remarks = [count.labels_read.replace(TRIPLETS_READ, TRIPLETS_IN_WORDS)] if count.labels_read else []
        if count.taught:
            by = count.divided_by
            divided = f"; they are divided by {by:g}, the most that two of one anchor differ" if by != 1 else ""
            remarks.append(f"a teacher's scores stand beside {count.taught:,} of its {count.pairs:,} pairs{divided}")
        remarks += [f"{shown(column)} is missing in {rows:,} of its rows" for column, rows in count.lacking.items()]
        return [f"corpus.nli={self.nli!r}: {remark}" for remark in remarks]

    @property
    def _source(self) -> NLISource:
        """The keys that decide which pairs are read."""
        return NLISource(nli=self.nli, columns=self.columns, limit=self.limit, share=self.share, labels=self.labels)

    def _load(self, request: SamplerRequest) -> NLIPairs:
        pairs, count = _cached(self._source)
        self._refuse(request, count)
        return pairs.copy()

    def _count(self) -> PairCensus | None:
        """Return the counts of local files; None for a hub id, which is only checked to exist."""
        return _counted(self._source, stamps(self.nli))

    def _refuse(self, request: SamplerRequest, count: PairCensus) -> None:
        where = f"corpus.nli={self.nli!r}"
        layout = f"corpus.layout={self.name}"
        if self.all_labels and count.triplets:
            raise UserError(
                f"{where} holds triplets or pairs without the label neutral, and {layout} takes pairs of all three "
                "labels; set corpus.layout=groups or corpus.layout=pairs"
            )
        if self.entailments and not count.entailed:
            raise UserError(f"{where} holds no pair labelled entailment, and {layout} takes these for positives")
        if self.hard_negatives and not self.mines and request.negatives and not count.contradicted:
            raise UserError(
                f"{where} holds no pair labelled contradiction, so there are no hard negatives; give a corpus that has "
                "some, or an objective without hard negatives"
            )
        if request.taught and (self.mines or not count.taught):
            of = " of mined negatives" if self.mines else ""
            raise UserError(
                f"{where} holds nothing that a teacher says{of}, from which objective.name=distill learns without "
                "objective.teacher; name an encoder there, or give rows with a teacher's margin or scores"
            )
        units, unit = self.units(count, request.positives)
        check_batch_size(request.batch_size, units, where, f"{units} {unit}")


@dataclass(frozen=True)
class RowLayout(NLILayout):
    """Labelled pairs in corpus order (Liao 2021)."""

    name = "rows"
    meaning = "labelled pairs in corpus order (Liao)"
    entailments = False
    all_labels = True

    def units(self, count: PairCensus, positives: int | None) -> tuple[int, str]:
        return count.pairs, "labelled pairs"

    def make(self, request: SamplerRequest) -> Made:
        pairs = self._load(request)
        return RowSampler(pairs, request.batch_size), _described(pairs)


@dataclass(frozen=True)
class Shape(Options):
    """P and Q: how many positives and hard negatives each anchor has."""

    section = "objective"

    positives: int | None = POSITIVES()
    negatives: int | None = NEGATIVES()


@dataclass(frozen=True)
class GroupLayout(Mining, Shape, NLILayout):
    """Premises with their positives and hard negatives (SupMPN)."""

    section = "corpus"

    name = "groups"
    meaning = "a premise with its positives and hard negatives (SupMPN)"
    can_avoid_duplicates = True
    exact_counts = True
    taught = True

    augmentation: str = key(
        "none",
        "What fills missing positives (SupMPN, Table A1).",
        registry="trainables.corpora.augment:AUGMENTATIONS",
    )

    def units(self, count: PairCensus, positives: int | None) -> tuple[int, str]:
        if positives:
            return count.premises, "premises with an entailment or a contradiction"
        return count.entailed_premises, "premises with an entailment"

    def check(self, request: SamplerRequest) -> None:
        super().check(request)
        request.augmentation.check()
        if self.mines:
            self.check_mining(request.negatives)

    def count_steps(self, request: SamplerRequest) -> int:
        """Return the steps of an epoch, without embeddings, because mined negatives add no anchors."""
        pairs = self._load(request)
        anchored = pairs.select(pairs.labels == ENTAILMENT) if self.mines else pairs
        return self._sampler(request, anchored).steps_per_epoch

    def make(self, request: SamplerRequest) -> Made:
        pairs = corpus = self._load(request)
        if self.mines:
            self.check_mining(request.negatives)
            if request.embed is None:
                raise ValueError("corpus.negatives_from=mined needs embeddings, and the request has no `embed`")
            assert request.negatives, "`check_mining` refuses it"
            table = mined_table(corpus, request.embed, self, request.negatives)
            pairs = add_negatives(corpus, table)
        sampler = self._sampler(request, pairs)
        described = {
            **_described(pairs),
            **sampler.counts,
            "filled_positives": sampler.filled_positives,
            "filled_negatives": sampler.filled_negatives,
            **({"mined_negatives": int((pairs.labels == CONTRADICTION).sum())} if self.mines else {}),
            "premises_without_pairs": sampler.groups.without_pairs,
            "premises_without_entailment": sampler.groups.without_entailment,
            "contradicted_entailments": sampler.groups.contradicted_entailments,
            "premises": count_premises(pairs),
        }
        if self.mined_every is None:
            return sampler, described
        make = functools.partial(self._sampler, request)
        return RenewedSampler(corpus, table, self, self.mined_every, make), described

    def _sampler(self, request: SamplerRequest, pairs: NLIPairs) -> GroupSampler:
        change = functools.partial(request.augmentation.change, request.seed)
        shape = request.batch_size, request.seed, request.positives, request.negatives
        return GroupSampler(pairs, *shape, change, request.no_duplicates)


@dataclass(frozen=True)
class PairLayout(NLILayout):
    """Entailed pairs (CLSR)."""

    name = "pairs"
    meaning = "entailed pairs (CLSR)"
    can_avoid_duplicates = True
    positives_at_most = 1
    hard_negatives = False
    fits_population = True

    def units(self, count: PairCensus, positives: int | None) -> tuple[int, str]:
        return count.entailed, "entailed pairs"

    def make(self, request: SamplerRequest) -> Made:
        pairs = self._load(request)
        entailed = (pairs.labels == ENTAILMENT).nonzero()[0].tolist()
        first, second = ([side[i] for i in entailed] for side in (pairs.premises, pairs.hypotheses))
        sampler = PairSampler(first, second, request.batch_size, request.seed, no_duplicates=request.no_duplicates)
        return sampler, {**_described(pairs), **sampler.counts}


@dataclass(frozen=True)
class SentenceLayout(NLILayout):
    """Each sentence with itself under another dropout mask (unsupervised SimCSE)."""

    name = "sentences"
    meaning = "each with itself under another dropout (SimCSE without labels)"
    can_avoid_duplicates = True  # sentences are unique
    positives_at_most = 1
    hard_negatives = False
    entailments = False

    def units(self, count: PairCensus, positives: int | None) -> tuple[int, str]:
        return count.sentences, "unique sentences"

    def make(self, request: SamplerRequest) -> Made:
        pairs = self._load(request)
        unique = list(dict.fromkeys(_texts(pairs)))
        sampler = PairSampler(unique, unique, request.batch_size, request.seed)
        return sampler, {**_described(pairs), **sampler.counts}


@functools.lru_cache(maxsize=32)
def _counted(source: NLISource, stamp: tuple[Any, ...] | None) -> PairCensus | None:
    """Return the counts of a source; None if it is on the hub. A new `stamp` means changed files."""
    if stamp is None:
        check_nli(source.nli, columns=source.columns, labels=source.labels)
        return None
    return census(_load_nli(source))


def _cached(source: NLISource) -> tuple[NLIPairs, PairCensus]:
    """Return the pairs to train on and their counts, cached for the next trial. The pairs must not be changed."""

    def read() -> tuple[NLIPairs, PairCensus]:
        pairs = _load_nli(source)
        return pairs, census(pairs)

    return PROCESS_CACHE.get(("labelled pairs", source, stamps(source.nli)), read)


def _load_nli(source: NLISource) -> NLIPairs:
    return load_nli(source.nli, source.limit, columns=source.columns, labels=source.labels, share=source.share)


def _texts(pairs: NLIPairs) -> Iterator[str]:
    return chain.from_iterable(zip(pairs.premises, pairs.hypotheses, strict=True))


def _described(pairs: NLIPairs) -> dict[str, Any]:
    return {
        "source": pairs.source,
        "pairs": len(pairs),
        "without_gold_label": pairs.dropped,
        "moved_to_their_premise": pairs.moved,
        "fingerprint": pairs.fingerprint,
        **({"labels": pairs.labels_read} if pairs.labels_read else {}),
        **({"missing": pairs.lacking} if pairs.lacking else {}),
    }
