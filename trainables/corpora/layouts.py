"""What a batch counts: every value of `corpus.layout`, as a row that makes a `Sampler` of a corpus.

    sampler, description = LAYOUTS["groups"].load(recipe, senteval, seed=1, positives=5, negatives=5)
    sampler.batch(0)

`check` refuses, before anything starts, what `load` would refuse: it reads local files to their end, once for all
recipes that share them, and downloads nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainables.errors import UserError
from trainables.recipe import Recipe, Value
from trainables.registry import Registry

if TYPE_CHECKING:
    from trainables.corpora.batch import Sampler
    from trainables.corpora.nli import NLIPairs


@dataclass(frozen=True)
class Layout:
    """A row of `LAYOUTS`. `senteval` is the resolved SentEval folder; positives and negatives are P and Q."""

    name: str
    check: Callable[[Recipe, Path, int | None, int | None], None]
    load: Callable[[Recipe, Path, int, int | None, int | None], tuple[Sampler, dict[str, Any]]]
    """From recipe, senteval, seed, positives, negatives: the sampler, and what its corpus is, for the ledger."""
    sentences: Callable[[Recipe, Path], Iterable[str]]
    """The training sentences in corpus order, repeated ones too."""
    reads: str = "corpus.nli"
    """The recipe key that names the data it reads."""
    positives: int | None = None
    """Most positives of an anchor that a batch has; None for any number."""
    positives_key: str | None = None
    """The key that sets the number of positives, where it is not `objective.positives`."""
    negatives: bool = True
    """Whether a batch has hard negatives."""
    exact: bool = False
    """Whether every anchor has exactly P positives and Q hard negatives, so that an objective draws none."""
    objectives: tuple[str, ...] = ()
    """Objectives that can learn from it, beside those that name it themselves."""
    released: Mapping[str, Value] = field(default_factory=dict)
    """What `objective.fidelity=released` sets: where the authors' code does something else than the paper's text."""


@dataclass(frozen=True)
class Census:
    """How many there are of what a batch may count."""

    pairs: int
    entailed: int
    contradicted: int
    premises: int
    """With an entailment or a contradiction."""
    entailed_premises: int
    sentences: int


def count_nli(source: str, limit: int | None) -> Census | None:
    """Count local files, reading them once as long as they do not change; of a hub id check that it can be loaded,
    and return None. Raises `UserError` where `load_nli` would."""
    from trainables.corpora.nli import stamps

    return _counted(source, limit, stamps(source))


@functools.lru_cache(maxsize=32)
def _counted(source: str, limit: int | None, stamp: tuple[Any, ...] | None) -> Census | None:
    from trainables.corpora.nli import check_nli, load_nli

    if stamp is None:
        check_nli(source)
        return None
    return census(load_nli(source, limit))


def census(pairs: NLIPairs) -> Census:
    """Count a corpus."""
    labels = pairs.labels.tolist()
    premises: dict[int, set[str]] = {0: set(), 1: set(), 2: set()}
    for premise, label in zip(pairs.premises, labels, strict=True):
        premises[label].add(premise)
    return Census(
        pairs=len(pairs),
        entailed=labels.count(0),
        contradicted=labels.count(2),
        premises=len(premises[0] | premises[2]),
        entailed_premises=len(premises[0]),
        sentences=len(set(chain(pairs.premises, pairs.hypotheses))),
    )


Units = Callable[[Census, "int | None"], tuple[int, str]]
"""What a batch may count, and its name; P decides whether a premise without an entailment is an anchor."""
Make = Callable[["NLIPairs", Recipe, int, "int | None", "int | None"], "tuple[Sampler, dict[str, Any]]"]


@dataclass(frozen=True)
class _FromNLI:
    """A layout of labelled pairs."""

    units: Units
    make: Make
    needs_entailments: bool = True

    def row(self, name: str, **more: Any) -> Layout:
        return Layout(name, self.check, self.load, self.sentences, **more)

    def check(self, recipe: Recipe, senteval: Path, positives: int | None, negatives: int | None) -> None:
        from trainables.corpora.augment import check_augmentation

        count = count_nli(recipe.corpus.nli, recipe.corpus.limit)
        if count is not None:
            self._refuse(recipe, count, positives, negatives)
        check_augmentation(recipe.corpus)

    def load(
        self, recipe: Recipe, senteval: Path, seed: int, positives: int | None, negatives: int | None
    ) -> tuple[Sampler, dict[str, Any]]:
        from trainables.corpora.nli import load_nli

        pairs = load_nli(recipe.corpus.nli, recipe.corpus.limit)
        self._refuse(recipe, census(pairs), positives, negatives)
        sampler, description = self.make(pairs, recipe, seed, positives, negatives)
        return sampler, {
            "source": pairs.source,
            "pairs": len(pairs),
            "without_gold_label": pairs.dropped,
            "moved_to_their_premise": pairs.moved,
            "fingerprint": pairs.fingerprint,
            **description,
        }

    def sentences(self, recipe: Recipe, senteval: Path) -> Iterator[str]:
        from trainables.corpora.nli import load_nli

        pairs = load_nli(recipe.corpus.nli, recipe.corpus.limit)
        return chain.from_iterable(zip(pairs.premises, pairs.hypotheses, strict=True))

    def _refuse(self, recipe: Recipe, count: Census, positives: int | None, negatives: int | None) -> None:
        where = f"corpus.nli={recipe.corpus.nli!r}"
        layout = f"corpus.layout={recipe.corpus.layout}"
        if self.needs_entailments and not count.entailed:
            raise UserError(f"{where} holds no pair labelled entailment, and {layout} takes these for positives")
        if negatives and not count.contradicted:
            raise UserError(
                f"{where} holds no pair labelled contradiction, so there are no hard negatives; give a corpus that has "
                "some, or an objective without hard negatives"
            )
        units, unit = self.units(count, positives)
        check_batch_size(recipe.optimisation.batch_size, units, where, f"{units} {unit}")


def check_batch_size(size: int, units: int, where: str, has: str, remedy: str = "take a smaller batch") -> None:
    """Refuse a batch of more units than there are; `has` says in words how many that is."""
    if size > units:
        raise UserError(f"optimisation.batch_size={size} is more than {where} has: {has}; {remedy}")


def _rows(pairs: NLIPairs, recipe: Recipe, *_: Any) -> tuple[Sampler, dict[str, Any]]:
    from trainables.corpora.samplers import RowSampler

    return RowSampler(pairs, recipe.optimisation.batch_size), {}


def _anchors(count: Census, positives: int | None) -> tuple[int, str]:
    if positives:
        return count.premises, "premises with an entailment or a contradiction"
    return count.entailed_premises, "premises with an entailment"


def _groups(
    pairs: NLIPairs, recipe: Recipe, seed: int, positives: int | None, negatives: int | None
) -> tuple[Sampler, dict[str, Any]]:
    from trainables.corpora.augment import make_change
    from trainables.corpora.nli import count_premises
    from trainables.corpora.samplers import GroupSampler

    change = functools.partial(make_change, recipe.corpus, seed)
    sampler = GroupSampler(pairs, recipe.optimisation.batch_size, seed, positives, negatives, change)
    return sampler, {
        "anchors": sampler.units,
        "left_out_each_epoch": sampler.left_out_each_epoch,
        "filled_positives": sampler.filled_positives,
        "filled_negatives": sampler.filled_negatives,
        "premises_without_pairs": sampler.own.without_pairs,
        "premises_without_entailment": sampler.own.without_entailment,
        "contradicted_entailments": sampler.own.contradicted_entailments,
        "premises": count_premises(pairs),
    }


def _paired(first: list[str], second: list[str], recipe: Recipe, seed: int) -> tuple[Sampler, dict[str, Any]]:
    from trainables.corpora.samplers import PairSampler

    sampler = PairSampler(first, second, recipe.optimisation.batch_size, seed)
    return sampler, {"anchors": sampler.units, "left_out_each_epoch": sampler.left_out_each_epoch}


def _pairs(pairs: NLIPairs, recipe: Recipe, seed: int, *_: Any) -> tuple[Sampler, dict[str, Any]]:
    entailed = (pairs.labels == 0).nonzero()[0].tolist()
    return _paired([pairs.premises[i] for i in entailed], [pairs.hypotheses[i] for i in entailed], recipe, seed)


def _sentences(pairs: NLIPairs, recipe: Recipe, seed: int, *_: Any) -> tuple[Sampler, dict[str, Any]]:
    unique = list(dict.fromkeys(chain.from_iterable(zip(pairs.premises, pairs.hypotheses, strict=True))))
    return _paired(unique, unique, recipe, seed)


def _check_similar(recipe: Recipe, senteval: Path, *_: Any) -> None:
    _load_similar(recipe, senteval, 0)


def _load_similar(recipe: Recipe, senteval: Path, seed: int, *_: Any) -> tuple[Sampler, dict[str, Any]]:
    from trainables.corpora.stsb_pairs import ABOVE, load_similar

    pairs = load_similar(senteval, recipe.corpus.limit)
    has = f"{len(pairs)} pairs of STSBenchmark scored above {ABOVE:g}"
    check_batch_size(recipe.optimisation.batch_size, len(pairs), str(senteval), has)
    sampler, description = _paired(pairs.first, pairs.second, recipe, seed)
    return sampler, {
        "source": f"STSBenchmark in {senteval}",
        "pairs": len(pairs),
        "fingerprint": pairs.fingerprint,
        "splits": pairs.splits,
        "note": f"{pairs.splits['dev']} dev and {pairs.splits['test']} test pairs of STSBenchmark are among them",
        **description,
    }


def _similar_sentences(recipe: Recipe, senteval: Path) -> Iterator[str]:
    from trainables.corpora.stsb_pairs import load_similar

    pairs = load_similar(senteval, recipe.corpus.limit)
    return chain.from_iterable(zip(pairs.first, pairs.second, strict=True))


def _no_sentences(recipe: Recipe, senteval: Path) -> Iterator[str]:
    raise UserError(f"corpus.layout={recipe.corpus.layout} holds documents, not sentences")


def _not_here(*_: Any) -> Any:
    raise NotImplementedError


LAYOUTS = Registry(
    "layout",
    _FromNLI(lambda count, _: (count.pairs, "labelled pairs"), _rows, needs_entailments=False).row("rows"),
    _FromNLI(_anchors, _groups).row("groups", exact=True),
    _FromNLI(lambda count, _: (count.entailed, "entailed pairs"), _pairs).row("pairs", positives=1, negatives=False),
    Layout(
        "similar_pairs",
        _check_similar,
        _load_similar,
        _similar_sentences,
        reads="evaluation.senteval",
        positives=1,
        negatives=False,
    ),
    _FromNLI(lambda count, _: (count.sentences, "unique sentences"), _sentences, needs_entailments=False).row(
        "sentences", positives=1, negatives=False
    ),
    Layout(
        "spans",
        _not_here,
        _not_here,
        _no_sentences,
        reads="corpus.documents",
        positives_key="spans.positives",
        negatives=False,
        released={"spans.places": "blocks", "objective.workers": "mean"},
    ),
)
"""The values of `corpus.layout`."""
