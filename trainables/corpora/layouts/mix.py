"""A mixture of corpora, each with its own layout and prompts. A batch is from one corpus, or has a share of every
corpus. Batches are pure functions of the seed and the step."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, TypeVar

import numpy as np

from trainables.corpora.batch import Batch, Prompts, Sampler
from trainables.corpora.layouts.contract import Layout
from trainables.corpora.layouts.nli import NLISource, Shape
from trainables.corpora.nli import stamps
from trainables.corpora.request import SamplerRequest
from trainables.corpora.shuffled import cached_per_epoch
from trainables.corpora.tables import sources
from trainables.errors import UserError, choices
from trainables.keys import Range, above, key, keys_of
from trainables.registry import Registry, load
from trainables.sections import NEGATIVES, POSITIVES

SEED_STEP = 1_000_003
"""Corpus number k, from 0, has the trial's seed plus k times this; so a mixture of one corpus equals that corpus."""
_GROUP_STEP = 1 << 40
"""Difference between the group numbers of two corpora in one batch, so that no two groups have one number."""
T = TypeVar("T")


def _layouts() -> Registry[type[Layout]]:
    registry: Registry[type[Layout]] = load("trainables.corpora.layouts:LAYOUTS")
    return registry


def _layout_names(names: Sequence[str]) -> str | None:
    able = [name for name, layout in _layouts().items() if layout.reads == "corpus.nli" and name != MixLayout.name]
    return None if names and {*names} <= {*able} else f"must name layouts that read corpus.nli: {choices(able)}"


def _numbers(weights: Sequence[str]) -> str | None:
    try:
        numbers = [float(weight) for weight in weights]
    except ValueError:
        numbers = [-1.0]
    fine = all(0 <= number < float("inf") for number in numbers) and (any(numbers) or not numbers)
    return None if fine else "must be numbers of at least 0, one of them above, as in 2,1,0.5"


def _some_layout_has(field: str) -> Callable[[Sequence[str]], bool]:
    """Return a test of whether one of the named layouts has this key."""
    return lambda names: any(field in keys_of(_layouts()[name]) for name in names)


@dataclass(frozen=True)
class MixShape(Shape):
    """Numbers of positives (P) and hard negatives (Q) of an anchor, for mixtures with a layout that has these keys."""

    positives: int | None = POSITIVES(when=("mix_layouts", _some_layout_has("positives")))
    negatives: int | None = NEGATIVES(when=("mix_layouts", _some_layout_has("negatives")))


@dataclass(frozen=True)
class Corpus:
    """One corpus of a mixture."""

    layout: Layout
    source: str
    seed: int
    """Number added to the trial's seed."""
    weight: float
    prompts: Prompts | None


@dataclass(frozen=True)
class MixLayout(MixShape, NLISource, Layout):
    """Several corpora: each source in corpus.nli is read by its own layout."""

    section = "corpus"

    name = "mix"
    meaning = "several corpora"
    reads = "corpus.nli"

    mix: Literal["size", "equal", "weights"] = key(
        "size",
        "How much of each corpus. size: all of its batches once in an epoch (sentence-transformers' proportional "
        "sampler); equal: batch by batch in turn (round robin); weights: by corpus.mix_weights. Except by size a "
        "small corpus repeats while an epoch sees a part of a large one.",
        label="mixture",
        search=("size", "equal"),
    )
    mix_weights: tuple[str, ...] = key(
        (),
        "How much of each corpus, in the order of corpus.nli, in any unit: 2,1. A corpus of weight 0 is left out.",
        _numbers,
        when=("mix", "weights".__eq__),
    )
    mix_temperature: float = key(
        1.0,
        "A corpus of n batches counts as n^(1/T): 1 by its size, more brings the corpora nearer to equal shares.",
        above(0.0),
        label="temperature of the mixture",
        search=Range(1.0, 10.0, log=True),
        when=("mix", "size".__eq__),
    )
    mix_layouts: tuple[str, ...] = key(
        ("pairs",),
        "The layout of each corpus, or one for all. With several and a single corpus that one is read in each of them.",
        _layout_names,
    )
    mix_batches: Literal["one", "mixed"] = key(
        "one",
        "one: a batch is of one corpus; mixed: each batch has its share of every corpus, so that texts of one are "
        "negatives of another's anchors.",
        label="batches of a mixture",
        search=("one", "mixed"),
    )
    mix_query_prompts: str | None = key(
        None,
        "Text put before the anchors of each corpus in training, in the order of corpus.nli with | between, or one "
        "for all; none takes encoder.query_prompt. Evaluation and the saved model have that in any case.",
        keep_blanks=True,
    )
    mix_document_prompts: str | None = key(
        None,
        "The same before what is compared with an anchor; none takes encoder.document_prompt.",
        keep_blanks=True,
    )
    mix_repeats: Literal["together", "apart"] = key(
        "together",
        "Pairs or groups that share a text. together: they may be in one batch, and objective.false_negatives "
        "decides; apart: they are in different ones (sentence-transformers' no-duplicates sampler).",
        search=("together", "apart"),
        when=("mix_batches", "one".__eq__),
    )

    @property
    def parts(self) -> tuple[type[Layout], ...]:
        return tuple(_layouts()[name] for name in dict.fromkeys(self.mix_layouts))

    @functools.cached_property
    def corpora(self) -> tuple[Corpus, ...]:
        """The corpora with a weight above 0, in the order of `corpus.nli`. `UserError` if keys do not fit together."""
        named = sources(self.nli)
        count = max(len(named), len(self.mix_layouts))

        def each(name: str, entries: Sequence[T]) -> Sequence[T]:
            if len(entries) not in (1, count):
                raise UserError(
                    f"corpus.{name} has {len(entries)} entries, and the mixture {count} corpora; give one for each, or "
                    "one for all"
                )
            return entries if len(entries) == count else [*entries] * count

        able = [name for name, layout in _layouts().items() if layout.can_avoid_duplicates]
        unable = [name for name in self.mix_layouts if name not in able]
        if self.mix_repeats == "apart" and unable:
            raise UserError(
                f"corpus.mix_repeats=apart has no meaning for corpus.mix_layouts={unable[0]}; set it to together, or "
                f"take {choices(able)}"
            )
        shared = {name: getattr(self, name) for name in keys_of(type(self))}
        kinds = [_layouts()[name] for name in each("mix_layouts", self.mix_layouts)]
        named_sources = each("nli", named)
        weights = each("mix_weights", self.mix_weights) if self.mix == "weights" else ["1"] * count
        queries, documents = (
            each(name, [None] if prompts is None else prompts.split("|"))
            for name in ("mix_query_prompts", "mix_document_prompts")
            for prompts in [getattr(self, name)]
        )
        return tuple(
            Corpus(
                kind(**{**{name: shared[name] for name in keys_of(kind) if name in shared}, "nli": source}),
                source,
                number * SEED_STEP,
                float(weight),
                None if query is document is None else (query, document),
            )
            for number, (kind, source, weight, query, document) in enumerate(
                zip(kinds, named_sources, weights, queries, documents, strict=True)
            )
            if float(weight)
        )

    def make(self, request: SamplerRequest) -> tuple[Sampler, dict[str, Any]]:
        requests = self._requests(request)
        made = [
            corpus.layout.make(corpus_request) for corpus, corpus_request in zip(self.corpora, requests, strict=True)
        ]
        samplers = [sampler for sampler, _ in made]
        prompts = [corpus.prompts for corpus in self.corpora]
        sampler: Sampler
        if self.mix_batches == "one":
            steps = [sampler.steps_per_epoch for sampler in samplers]
            shares = apportion(sum(steps), self._weights(steps))
            sampler = OneCorpusABatch(samplers, shares, prompts, request.seed, in_turn=self.mix == "equal")
        else:
            shares = [own.batch_size for own in requests]
            sampler = JoinedSampler(samplers, sum(self._units(request)) // request.batch_size, prompts)
        unit = "batches_each_epoch" if self.mix_batches == "one" else "of_each_batch"
        parts = [
            {"layout": corpus.layout.name, **{name: value for name, value in description.items() if name != "premises"}}
            for corpus, (_, description) in zip(self.corpora, made, strict=True)
        ]
        digest = hashlib.sha256("\n".join(str(part.get("fingerprint")) for part in parts).encode())
        description = {
            "source": ",".join(corpus.source for corpus in self.corpora),
            "fingerprint": digest.hexdigest()[:12],
        }
        of_all = [round(share / sum(shares), 4) for share in shares]
        return sampler, {**description, "shares": of_all, unit: shares, "parts": parts}

    def check(self, request: SamplerRequest) -> None:
        requests = self._requests(request) if self.local else self._first(request)
        for corpus, corpus_request in zip(self.corpora, requests, strict=True):
            corpus.layout.check(corpus_request)

    def sentences(self, request: SamplerRequest) -> Iterator[str]:
        return chain.from_iterable(corpus.layout.sentences(request) for corpus in self.corpora)

    def check_sentences(self, request: SamplerRequest) -> None:
        for corpus in self.corpora:
            corpus.layout.check_sentences(request)

    def remarks(self, request: SamplerRequest) -> list[str]:
        return [*dict.fromkeys(chain.from_iterable(corpus.layout.remarks(request) for corpus in self.corpora))]

    def _first(self, request: SamplerRequest) -> list[SamplerRequest]:
        """Return a request for each corpus; its batch size is 1 if batches are mixed."""
        size = request.batch_size if self.mix_batches == "one" else 1
        shared = replace(request, batch_size=size, no_duplicates=self.mix_repeats == "apart")
        return [replace(shared, seed=request.seed + corpus.seed) for corpus in self.corpora]

    def _requests(self, request: SamplerRequest) -> list[SamplerRequest]:
        """Return requests with each corpus's share of a batch. `UserError` if a batch, or a corpus, is too small."""
        first = self._first(request)
        if self.mix_batches == "one":
            return first
        setting = f"optimisation.batch_size={request.batch_size}"
        if request.batch_size < len(first):
            raise UserError(f"{setting} has no place for each of the {len(first)} corpora; take a larger batch")
        units = self._units(request)
        sizes = apportion(request.batch_size, self._weights(units))
        for corpus, count, size in zip(self.corpora, units, sizes, strict=True):
            if size > count:
                raise UserError(
                    f"{setting} is more than corpus.layout=mix has: {size} of a batch are of corpus.nli="
                    f"{corpus.source!r}, which has {count}; take a smaller batch, or less of it by corpus.mix_weights"
                )
        return [replace(corpus_request, batch_size=size) for corpus_request, size in zip(first, sizes, strict=True)]

    def _units(self, request: SamplerRequest) -> list[int]:
        plain = replace(request, batch_size=1, seed=0, encoder=None, embed=None)
        return [_units(corpus.layout, plain, stamps(corpus.source)) for corpus in self.corpora]

    def _weights(self, sizes: Sequence[int]) -> list[float]:
        if self.mix == "size":
            return [float((size / max(sizes)) ** (1 / self.mix_temperature)) for size in sizes]
        return [corpus.weight for corpus in self.corpora]


@functools.lru_cache(maxsize=64)
def _units(layout: Layout, request: SamplerRequest, stamp: tuple[Any, ...] | None) -> int:
    """Return the number of units (of which `batch_size` are a batch) in a layout's corpus. `stamp`: state of its files,
    so that the corpus is counted again after a change."""
    return layout.count_steps(request)


def apportion(total: int, weights: Sequence[float]) -> list[int]:
    """Divide `total` into whole numbers of at least 1, in proportion to the weights, by largest remainders."""
    ideal = total * np.array(weights, dtype=np.float64) / np.sum(weights)
    shares = np.maximum(np.floor(ideal).astype(np.int64), 1)
    while shares.sum() < total:
        shares[np.argmax(ideal - shares)] += 1
    while shares.sum() > total:  # shares raised to 1 take from the largest surplus
        shares[np.argmax(np.where(shares > 1, shares - ideal, -np.inf))] -= 1
    return [int(count) for count in shares]


class OneCorpusABatch:
    """Sampler of `counts` batches of each corpus per epoch, shuffled or in turn. The next epoch continues each corpus
    after its last batch."""

    def __init__(
        self,
        samplers: Sequence[Sampler],
        counts: Sequence[int],
        prompts: Sequence[Prompts | None],
        seed: int,
        *,
        in_turn: bool,
    ) -> None:
        self.samplers, self.counts, self.prompts, self.seed, self.in_turn = samplers, counts, prompts, seed, in_turn
        self.steps_per_epoch = sum(counts)

    def batch(self, step: int) -> Batch:
        epoch, index = divmod(step, self.steps_per_epoch)
        order = self._order(epoch)
        chosen = int(order[index])
        before = int((order[:index] == chosen).sum())
        batch = self.samplers[chosen].batch(epoch * self.counts[chosen] + before)
        prompts = self.prompts[chosen]
        return replace(batch, prompts=prompts and [prompts] * len(batch.sentences))

    @cached_per_epoch
    def _order(self, epoch: int) -> np.ndarray:
        """Return the corpus of each batch, (batches,) int64."""
        order = np.repeat(np.arange(len(self.counts)), self.counts)
        if self.in_turn:
            turn = np.concatenate([np.arange(count) for count in self.counts])
            return order[np.lexsort((order, turn))]
        return np.random.default_rng([self.seed, epoch, 7]).permutation(order)


class JoinedSampler:
    """Sampler that joins one batch of every sampler. A text of several corpora is one item, unless prompts differ."""

    def __init__(self, samplers: Sequence[Sampler], steps: int, prompts: Sequence[Prompts | None]) -> None:
        self.samplers, self.prompts = samplers, prompts
        self.steps_per_epoch = steps
        """Number of batches that have as many units as all corpora together."""

    def batch(self, step: int) -> Batch:
        return join_batches([sampler.batch(step) for sampler in self.samplers], self.prompts)


def join_batches(batches: Sequence[Batch], prompts: Sequence[Prompts | None]) -> Batch:
    """Join batches into one. Several views of a text within one batch stay separate items."""
    sentences, before = list[str](), list[Prompts]()
    item_of = dict[tuple[str, Prompts], int]()
    new_indices = list[np.ndarray]()  # new index of each batch's items
    for batch, prompt in zip(batches, prompts, strict=True):
        prefix, mine, new = prompt or (None, None), set[str](), dict[tuple[str, Prompts], int]()
        items = []
        for text in batch.sentences:
            item = item_of.get((text, prefix)) if text not in mine else None
            if item is None:
                item = len(sentences)
                sentences.append(text)
                before.append(prefix)
                new.setdefault((text, prefix), item)
            mine.add(text)
            items.append(item)
        item_of = {**new, **item_of}
        new_indices.append(np.array(items, dtype=np.int64))
    scores = [batch.score for batch in batches if batch.score is not None]
    return Batch(
        sentences=sentences,
        premise=np.concatenate([items[batch.premise] for items, batch in zip(new_indices, batches, strict=True)]),
        hypothesis=np.concatenate([items[batch.hypothesis] for items, batch in zip(new_indices, batches, strict=True)]),
        label=np.concatenate([batch.label for batch in batches]),
        group=np.concatenate([batch.group + number * _GROUP_STEP for number, batch in enumerate(batches)]),
        score=np.concatenate(scores) if len(scores) == len(batches) else None,
        prompts=before if any(prompts) else None,
    )
