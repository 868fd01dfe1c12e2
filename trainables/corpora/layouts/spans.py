"""Anchor and positive spans of documents (Giorgi et al. 2020, DeCLUTR, section 3.1.1), and batches of them.

    sampler = SpanSampler(documents, SpanOptions(), batch_size=16, seed=0, wrap=encoder.wrap)
    sampler.batch(0)            # 16 documents: 32 anchors, 64 positives

What the paper states, with l_min and l_max the shortest and longest span and n the document's tokens:

    anchor    length   floor(p (l_max - l_min) + l_min), p from Beta(4, 2)
              start    uniform over 0 ... n - length
    positive  length   floor(p (l_max - l_min) + l_min), p from Beta(2, 4), each for itself
              start    uniform over anchor start - length ... anchor end, both included
    anchors of one document are at least l_max tokens apart

What the paper leaves open, and what is done here:

    apart       from the end of one anchor to the start of the next, all such positions equally likely; a document of
                2 A l_max tokens always has room
    the edge    cuts the range of a positive's starts, not the positive
    adjacent    directly before or after the anchor, at random if both fit; l_max is lowered to the longer side
                if neither has room for it
    subsuming   the anchor's length replaces l_max in the positive's; its start is uniform within the anchor

`spans.places="blocks"` follows the authors' code, in tokens instead of words: an anchor is anywhere within a random
block of l_max tokens; this block and its two neighbours are not drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trainables.corpora.batch import Batch, Sampler
from trainables.corpora.documents import TokenizedDocuments, check_batch, check_documents, load_documents
from trainables.corpora.layouts.contract import Layout
from trainables.corpora.request import SamplerRequest
from trainables.corpora.shuffled import cached_per_epoch
from trainables.errors import UserError
from trainables.keys import Options, Value, at_least, key
from trainables.labels import ENTAILMENT
from trainables.sections import LIMIT, SHARE

ANCHOR_BETA = (4, 2)
POSITIVE_BETA = (2, 4)
_UNIFORMS = 5
"""Number of uniform draws for a length: the a-th smallest of a + b - 1 is Beta(a, b), and a + b is 6 for both."""

# Second number of a Philox counter, by what is drawn. The first number counts the draws; the others are the epoch and
# the document.
_SPANS, _ORDER = 0, 1

Wrap = Callable[[Sequence[int]], list[int]]


@dataclass(frozen=True)
class Spans:
    """Positions of spans in tokens; a span is `document[start : start + length]`."""

    anchor_start: np.ndarray
    """(documents, anchors) int64; in the order drawn, not in text order."""
    anchor_length: np.ndarray
    """(documents, anchors) int64."""
    positive_start: np.ndarray
    """(documents, anchors, positives) int64."""
    positive_length: np.ndarray
    """(documents, anchors, positives) int64."""


@dataclass(frozen=True)
class SpanOptions(Options):
    """Settings of the spans that are drawn from documents (DeCLUTR, section 3.1)."""

    section = "spans"

    anchors: int = key(2, "A: anchor spans of a document.", at_least(1), label="A (anchors a document)", search=(1, 2))
    positives: int = key(
        2,
        "P: positive spans of an anchor; their mean is its one positive.",
        at_least(1),
        label="P (positives an anchor)",
        search=(1, 2, 4),
    )
    shortest: int = key(32, "l_min, in tokens.", at_least(1))
    longest: int = key(512, "l_max, in tokens.", at_least(2))
    document: int | None = key(
        None,
        "Documents with fewer tokens are dropped; none keeps all that have room for their spans, 2 A l_max tokens.",
        at_least(1),
    )
    strategy: Literal["default", "adjacent", "subsuming"] = key(
        "default",
        "Where a positive may lie: overlapping, beside or within its anchor; only beside; only within.",
        label="sampling strategy",
        search=("default", "adjacent", "subsuming"),
    )
    places: Literal["apart", "blocks"] = key(
        "apart",
        "Where anchors lie: apart, anywhere at least l_max tokens from each other; blocks, each within a block of "
        "l_max tokens, as in DeCLUTR's released code.",
    )


RELEASED: Mapping[str, Value] = {"spans.places": "blocks", "objective.workers": "mean"}
"""Maps recipe keys to the values that DeCLUTR's released code has for them."""


@dataclass(frozen=True)
class SpanLayout(SpanOptions, Layout):
    """Spans of documents (DeCLUTR).

    A span that leaves no room for the special tokens in the encoder's input loses its last tokens; see `check_spans`.
    """

    section = "corpus"

    name = "spans"
    meaning = "of documents (DeCLUTR)"
    reads = "corpus.documents"
    draws_tokens = True
    has_sentences = False
    hard_negatives = False
    released = RELEASED

    documents: str = key(
        "Skylion007/openwebtext", "Hub id, folder, text or JSONL file of documents, or scenes.", is_path=True
    )
    limit: int | None = LIMIT()
    share: float = SHARE()

    @property
    def anchors_each(self) -> int:
        return self.anchors

    def make(self, request: SamplerRequest) -> tuple[Sampler, dict[str, Any]]:
        encoder, shortest = request.encoder, shortest_document(self)
        assert encoder is not None, "spans are drawn from an encoder's tokens"
        check_spans(self, encoder.max_length)
        room = encoder.max_length - encoder.specials
        documents = load_documents(self.documents, encoder.tokenizer, shortest, limit=self.limit, share=self.share)
        check_batch(self.documents, len(documents), request.batch_size)
        sampler = SpanSampler(
            documents,
            self,
            batch_size=request.batch_size,
            seed=request.seed,
            wrap=lambda ids: encoder.wrap(ids[:room]),
        )
        return sampler, {
            "source": documents.source,
            "documents": len(documents),
            "read": documents.read,
            "too_short": documents.too_short,
            "shortest": shortest,
            "tokens": int(documents.lengths.sum()),
            "fingerprint": documents.fingerprint,
        }

    def check(self, request: SamplerRequest) -> None:
        """Raise `UserError` for impossible spans, and documents that are unreadable or surely too short or too few."""
        check_spans(self, request.max_length)
        check_documents(self.documents, shortest_document(self), request.batch_size, self.share)


def check_spans(spans: SpanOptions, max_length: int | None) -> None:
    """Raise `UserError` for impossible spans, or spans over the encoder's `max_length` tokens (None: not known yet).

    The paper's l_max of 512 is the encoder's whole input, special tokens included, so l_max may be as large as
    `max_length`. Lengths are below l_max, and rarely near it: with l_max 512, about one anchor in 23,000 is one token
    too long for two special tokens.
    """
    if spans.shortest > spans.longest:
        raise UserError(
            f"spans.shortest {spans.shortest} is over spans.longest {spans.longest}; it must be at most that"
        )
    if max_length is not None and spans.longest > max_length:
        raise UserError(
            f"spans.longest {spans.longest} is over the {max_length} tokens that the encoder takes; lower it, or raise "
            "encoder.max_length if the encoder has more positions"
        )


def shortest_document(spans: SpanOptions) -> int:
    """Return the fewest tokens of a document: 2 A l_max, as in the paper (2048 for A = 2, l_max = 512), or more.

    `spans.document` may be larger. With one anchor, `adjacent` and l_min over half of l_max, 2 A l_max would leave
    no room beside the anchor, so more is needed.
    """
    beside = spans.longest + 2 * spans.shortest if spans.strategy == "adjacent" else 0
    return max(2 * spans.anchors * spans.longest, beside, spans.document or 0)


class SpanSampler:
    """Sampler of spans: each epoch has the documents in a new order, and new spans of each document.

    The order depends only on the seed and the epoch, and spans also on the document's number in the source: not on the
    other documents of the batch, nor on the number of workers. Documents that do not fill a last batch are left out of
    the epoch; the next epoch has another order.
    """

    def __init__(
        self,
        documents: TokenizedDocuments,
        spans: SpanOptions,
        *,
        batch_size: int,
        seed: int,
        wrap: Wrap,
    ) -> None:
        self.documents, self.spans, self.batch_size, self.seed, self.wrap = documents, spans, batch_size, seed, wrap
        self.steps_per_epoch = len(documents) // batch_size

    def batch(self, step: int) -> Batch:
        """Return a batch of all anchors, then all positives, in document order (s_i and s_{i+pAN} in the paper).

        Each positive has one row: the anchor is the premise, the positive the hypothesis, the label entailment, and the
        group the anchor's number.
        """
        epoch, index = divmod(step, self.steps_per_epoch)
        chosen = self._epoch_order(epoch)[index * self.batch_size : (index + 1) * self.batch_size]
        documents = self.documents
        drawn = sample_spans(documents.lengths[chosen], documents.numbers[chosen], self.spans, self.seed, epoch)
        anchors, positives = drawn.anchor_start.size, drawn.positive_start.size
        begin = documents.starts[chosen]
        starts = np.concatenate(
            [(drawn.anchor_start + begin[:, None]).ravel(), (drawn.positive_start + begin[:, None, None]).ravel()]
        )
        ends = starts + np.concatenate([drawn.anchor_length.ravel(), drawn.positive_length.ravel()])
        tokens, wrap = documents.tokens, self.wrap
        items = [wrap(tokens[a:b].tolist()) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        anchor = np.repeat(np.arange(anchors), self.spans.positives)
        return Batch(
            sentences=[],
            premise=anchor,
            hypothesis=np.arange(anchors, anchors + positives),
            label=np.full(positives, ENTAILMENT, dtype=np.int8),
            group=anchor,
            tokens=items,
        )

    @cached_per_epoch
    def _epoch_order(self, epoch: int) -> np.ndarray:  # (documents,)
        generator = np.random.Generator(np.random.Philox(key=self.seed, counter=[0, _ORDER, epoch, 0]))
        return generator.permutation(len(self.documents))


def sample_spans(lengths: np.ndarray, numbers: np.ndarray, spans: SpanOptions, seed: int, epoch: int) -> Spans:
    """Draw spans of documents with `lengths` tokens, (documents,). For a document of fewer than 2 A l_max tokens, l_max
    is lowered so that it has room; it needs 4 A l_min tokens.

    `numbers` (documents,) identify the documents: equal number, seed and epoch give equal spans in any batch.
    """
    n = lengths.astype(np.int64)[:, None]  # (documents, 1)
    low, high = spans.shortest, np.minimum(spans.longest, n // (2 * spans.anchors))
    uniform = _uniforms(numbers, spans, seed, epoch)  # (documents, anchors, draws)
    of_anchor, of_positive = uniform[..., : _UNIFORMS + 2], uniform[..., _UNIFORMS + 2 :]
    of_positive = of_positive.reshape(*uniform.shape[:2], spans.positives, _UNIFORMS + 1)

    length = _stretch(_beta(of_anchor[..., :_UNIFORMS], *ANCHOR_BETA), low, high)
    draw_starts = _starts_in_blocks if spans.places == "blocks" else _starts_apart
    start = draw_starts(n, length, of_anchor[..., _UNIFORMS], of_anchor[..., _UNIFORMS + 1], high)

    p, where = _beta(of_positive[..., :_UNIFORMS], *POSITIVE_BETA), of_positive[..., _UNIFORMS]
    s, e = start[..., None], (start + length)[..., None]  # (documents, anchors, 1)
    n = n[..., None]
    if spans.strategy == "subsuming":
        positive = _stretch(p, low, e - s)
        first, last = s, e - positive
    elif spans.strategy == "adjacent":
        positive = _stretch(p, low, np.minimum(high[..., None], np.maximum(s, n - e)))
        before, after = s - positive >= 0, e + positive <= n
        begins = np.where(before & (~after | (where < 0.5)), s - positive, e)
        return Spans(start, length, begins, positive)
    else:
        positive = _stretch(p, low, high[..., None])
        first, last = np.maximum(s - positive, 0), np.minimum(e, n - positive)
    return Spans(start, length, _pick(where, first, last), positive)


def _uniforms(numbers: np.ndarray, spans: SpanOptions, seed: int, epoch: int) -> np.ndarray:
    """Return (documents, anchors, draws) in [0, 1), from a separate stream for each seed, epoch and document."""
    shape = (spans.anchors, _UNIFORMS + 2 + spans.positives * (_UNIFORMS + 1))
    return np.stack(
        [
            np.random.Generator(np.random.Philox(key=seed, counter=[0, _SPANS, epoch, number])).random(shape)
            for number in numbers.tolist()
        ]
    )


def _beta(uniform: np.ndarray, a: int, b: int) -> np.ndarray:
    """Return Beta(a, b) draws, as an order statistic of the a + b - 1 uniforms in the last axis."""
    assert uniform.shape[-1] == a + b - 1
    return np.sort(uniform, axis=-1)[..., a - 1]


def _stretch(p: np.ndarray, low: int, high: int | np.ndarray) -> np.ndarray:
    """Return the paper's span length, floor(p (l_max - l_min) + l_min)."""
    return np.floor(p * (high - low)).astype(np.int64) + low


def _pick(uniform: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return whole numbers between `first` and `last`, both included, from uniforms in [0, 1)."""
    return first + np.floor(uniform * (last - first + 1)).astype(np.int64)


def _starts_apart(
    n: np.ndarray, length: np.ndarray, where: np.ndarray, rank: np.ndarray, gap: np.ndarray
) -> np.ndarray:
    """Return (documents, anchors): anchor starts. All starts with `gap` tokens between anchors are equally likely.

    Without anchors and gaps, `slack` tokens remain; to distribute them is a choice of A out of slack + A. `rank` orders
    the anchors.
    """
    anchors = length.shape[1]
    slack = n - length.sum(axis=1, keepdims=True) - (anchors - 1) * gap  # (documents, 1), at least gap
    chosen = np.empty_like(length)
    for i in range(anchors):  # without replacement: the k-th position that is still free
        k = np.floor(where[:, i] * (slack[:, 0] + anchors - i)).astype(np.int64)
        for earlier in np.sort(chosen[:, :i], axis=1).T:
            k += earlier <= k
        chosen[:, i] = k
    free = np.sort(chosen, axis=1) - np.arange(anchors)  # slack tokens before the first, second, ... anchor
    order = np.argsort(rank, axis=1)
    lengths = np.take_along_axis(length, order, axis=1)
    starts = free + np.cumsum(lengths + gap, axis=1) - (lengths + gap)
    placed = np.empty_like(starts)
    np.put_along_axis(placed, order, starts, axis=1)
    return placed


def _starts_in_blocks(
    n: np.ndarray, length: np.ndarray, where: np.ndarray, rank: np.ndarray, size: np.ndarray
) -> np.ndarray:
    """Return (documents, anchors): anchor starts in blocks of `size` tokens, as in the released code.

    If few free blocks remain for the next anchors, the first or the last free block is used, so that the next anchor
    finds a block too.
    """
    anchors = length.shape[1]
    block = np.empty_like(length)
    for document, blocks in enumerate((n // size)[:, 0].tolist()):
        free = list(range(blocks))
        for i, u in enumerate(rank[document].tolist()):
            to_come = anchors - i
            few = len(free) // to_come < to_come
            chosen = (0 if u < 0.5 else len(free) - 1) if few else int(u * len(free))
            block[document, i] = free[chosen]
            del free[max(chosen - 1, 0) : chosen + 2]
    return _pick(where, block * size, (block + 1) * size - length)
