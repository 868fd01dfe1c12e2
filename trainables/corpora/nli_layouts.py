"""The layouts of labelled pairs: rows, groups, pairs and sentences.

Each has a function that makes its sampler and one that checks a request, by the same rules: the corpus must hold what
the layout and the objective take, and at least one batch of it. The check reads local files once for all requests
that share them, and downloads nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from trainables.corpora.augment import check_augmentation, make_change
from trainables.corpora.batch import Sampler
from trainables.corpora.nli import Census, NLIPairs, census, check_nli, count_premises, load_nli, stamps
from trainables.corpora.request import SamplerRequest, check_batch_size
from trainables.corpora.samplers import GroupSampler, PairSampler, RowSampler
from trainables.errors import UserError, shown
from trainables.labels import ENTAILMENT
from trainables.process_cache import PROCESS_CACHE
from trainables.recipe import CorpusConfig

Made = tuple[Sampler, dict[str, Any]]
"""A sampler, and what its corpus is, ready for JSON."""


@dataclass(frozen=True)
class _Needs:
    """What a layout asks of labelled pairs."""

    units: Callable[[Census, int | None], tuple[int, str]]
    """From the counts and P: how many units a batch may count, and what they are called."""
    entailments: bool = True
    """Whether it takes entailed pairs for positives."""
    all_labels: bool = False
    """Whether it takes pairs of all three labels, which triplets do not give."""


def _anchors(count: Census, positives: int | None) -> tuple[int, str]:
    if positives:
        return count.premises, "premises with an entailment or a contradiction"
    return count.entailed_premises, "premises with an entailment"


_ROWS = _Needs(lambda count, _: (count.pairs, "labelled pairs"), entailments=False, all_labels=True)
_GROUPS = _Needs(_anchors)
_PAIRS = _Needs(lambda count, _: (count.entailed, "entailed pairs"))
_SENTENCES = _Needs(lambda count, _: (count.sentences, "unique sentences"), entailments=False)


def make_rows(request: SamplerRequest) -> Made:
    """Labelled pairs in corpus order (Liao 2021)."""
    pairs = _load(request, _ROWS)
    return RowSampler(pairs, request.batch_size), _described(pairs)


def check_rows(request: SamplerRequest) -> None:
    """Refuse what `make_rows` would."""
    _check(request, _ROWS)


def make_groups(request: SamplerRequest) -> Made:
    """Premises with their positives and hard negatives (SupMPN)."""
    pairs = _load(request, _GROUPS)
    change = functools.partial(make_change, request.corpus, request.seed)
    sampler = GroupSampler(pairs, request.batch_size, request.seed, request.positives, request.negatives, change)
    return sampler, {
        **_described(pairs),
        **sampler.counts,
        "filled_positives": sampler.filled_positives,
        "filled_negatives": sampler.filled_negatives,
        "premises_without_pairs": sampler.own.without_pairs,
        "premises_without_entailment": sampler.own.without_entailment,
        "contradicted_entailments": sampler.own.contradicted_entailments,
        "premises": count_premises(pairs),
    }


def check_groups(request: SamplerRequest) -> None:
    """Refuse what `make_groups` would."""
    _check(request, _GROUPS)


def make_pairs(request: SamplerRequest) -> Made:
    """Entailed pairs (CLSR)."""
    pairs = _load(request, _PAIRS)
    entailed = (pairs.labels == ENTAILMENT).nonzero()[0].tolist()
    first, second = ([side[i] for i in entailed] for side in (pairs.premises, pairs.hypotheses))
    sampler = PairSampler(first, second, request.batch_size, request.seed)
    return sampler, {**_described(pairs), **sampler.counts}


def check_pairs(request: SamplerRequest) -> None:
    """Refuse what `make_pairs` would."""
    _check(request, _PAIRS)


def make_sentences(request: SamplerRequest) -> Made:
    """Each sentence with itself, under another dropout (unsupervised SimCSE)."""
    pairs = _load(request, _SENTENCES)
    unique = list(dict.fromkeys(_texts(pairs)))
    sampler = PairSampler(unique, unique, request.batch_size, request.seed)
    return sampler, {**_described(pairs), **sampler.counts}


def check_sentences(request: SamplerRequest) -> None:
    """Refuse what `make_sentences` would."""
    _check(request, _SENTENCES)


def sentences(request: SamplerRequest) -> Iterator[str]:
    """All sentences in corpus order, repeated ones too."""
    return _texts(_kept(request.corpus)[0])


def check_source(request: SamplerRequest) -> None:
    """Refuse a source that `sentences` could not read."""
    _count(request)


def remarks(request: SamplerRequest) -> list[str]:
    """How the labels of local files are read, where the files do not name them, and what their rows lack."""
    count = _count(request)
    if count is None:
        return []
    told = [count.labels_read] if count.labels_read else []
    told += [f"{shown(column)} is missing in {rows:,} of its rows" for column, rows in count.lacking.items()]
    return [f"corpus.nli={request.corpus.nli!r}: {one}" for one in told]


def _load(request: SamplerRequest, needs: _Needs) -> NLIPairs:
    pairs, count = _kept(request.corpus)
    _refuse(request, needs, count)
    return pairs.copy()


def _check(request: SamplerRequest, needs: _Needs) -> None:
    count = _count(request)
    if count is not None:
        _refuse(request, needs, count)
    check_augmentation(request.corpus)


def _refuse(request: SamplerRequest, needs: _Needs, count: Census) -> None:
    where = f"corpus.nli={request.corpus.nli!r}"
    layout = f"corpus.layout={request.corpus.layout}"
    if needs.all_labels and count.triplets:
        raise UserError(
            f"{where} holds triplets or pairs without the label neutral, and {layout} takes pairs of all three labels; "
            "set corpus.layout=groups or corpus.layout=pairs"
        )
    if needs.entailments and not count.entailed:
        raise UserError(f"{where} holds no pair labelled entailment, and {layout} takes these for positives")
    if request.negatives and not count.contradicted:
        raise UserError(
            f"{where} holds no pair labelled contradiction, so there are no hard negatives; give a corpus that has "
            "some, or an objective without hard negatives"
        )
    units, unit = needs.units(count, request.positives)
    check_batch_size(request.batch_size, units, where, f"{units} {unit}")


def _count(request: SamplerRequest) -> Census | None:
    """The counts of local files; None for a hub id, of which only is checked that it can be loaded."""
    return _counted(*_source(request.corpus))


def _source(config: CorpusConfig) -> tuple[CorpusConfig, tuple[Any, ...] | None]:
    """What decides which pairs are read, and the stamp of their files."""
    read = CorpusConfig(nli=config.nli, limit=config.limit, columns=config.columns, labels=config.labels)
    return read, stamps(config.nli)


@functools.lru_cache(maxsize=32)
def _counted(config: CorpusConfig, stamp: tuple[Any, ...] | None) -> Census | None:
    """`stamp` changes with the files, so that they are read once as long as they stay as they are."""
    if stamp is None:
        check_nli(config.nli, columns=config.columns, labels=config.labels)
        return None
    return census(_load_nli(config))


def _kept(config: CorpusConfig) -> tuple[NLIPairs, Census]:
    """The pairs to train on, which nobody may change, and their counts. After training a trial asks for their sentences
    again, and the next trial for the pairs; reading a large corpus takes long."""

    def read() -> tuple[NLIPairs, Census]:
        pairs = _load_nli(config)
        return pairs, census(pairs)

    return PROCESS_CACHE.get(("labelled pairs", *_source(config)), read)


def _load_nli(config: CorpusConfig) -> NLIPairs:
    return load_nli(config.nli, config.limit, columns=config.columns, labels=config.labels)


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
