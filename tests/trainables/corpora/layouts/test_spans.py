"""Spans: their bounds, their distributions against a naive simulation of the paper's formulas, and their batches."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.conftest import lend_scenes
from trainables.corpora.documents import TokenizedDocuments, check_documents
from trainables.corpora.layouts.spans import (
    SpanLayout,
    SpanOptions,
    Spans,
    SpanSampler,
    check_spans,
    sample_spans,
    shortest_document,
)
from trainables.corpora.request import SamplerRequest
from trainables.errors import UserError
from trainables.recipe import Recipe

STRATEGIES = ("default", "adjacent", "subsuming")
PAPER = {"shortest": 32, "longest": 512}
CLS, SEP = 1, 2


@st.composite
def configurations(draw: st.DrawFn) -> SpanOptions:
    longest = draw(st.integers(2, 60))
    return SpanOptions(
        anchors=draw(st.integers(1, 6)),
        positives=draw(st.integers(1, 5)),
        shortest=draw(st.integers(1, longest)),
        longest=longest,
        strategy=draw(st.sampled_from(STRATEGIES)),
        places=draw(st.sampled_from(("apart", "blocks"))),
    )


def lengths_for(spans: SpanOptions, extra: list[int]) -> np.ndarray:
    return np.array([shortest_document(spans) + more for more in extra], dtype=np.int64)


def equal(first: Spans, other: Spans) -> bool:
    return all(np.array_equal(getattr(first, name), getattr(other, name)) for name in vars(first))


@given(
    spans=configurations(),
    extra=st.lists(st.integers(0, 400), min_size=1, max_size=6),
    seed=st.integers(0, 2**31),
    epoch=st.integers(0, 9),
)
def test_spans_keep_every_bound_that_the_paper_states(spans, extra, seed, epoch):
    n = lengths_for(spans, extra)
    drawn = sample_spans(n, np.arange(len(n)), spans, seed, epoch)
    start, length = drawn.anchor_start, drawn.anchor_length
    end = start + length
    begins, lengths = drawn.positive_start, drawn.positive_length
    ends = begins + lengths
    assert start.shape == (len(n), spans.anchors)
    assert begins.shape == (len(n), spans.anchors, spans.positives)
    for first, last, long in ((start, end, length), (begins, ends, lengths)):
        assert np.all(first >= 0)
        assert np.all(last <= n.reshape(-1, *[1] * (last.ndim - 1)))
        assert np.all((long >= spans.shortest) & (long <= spans.longest))
    for place in range(len(n)):  # from the end of an anchor to the start of the next
        order = np.argsort(start[place])
        assert np.all(start[place][order][1:] - end[place][order][:-1] >= spans.longest)
    s, e = start[..., None], end[..., None]
    if spans.strategy == "adjacent":
        assert np.all((ends == s) | (begins == e))
    elif spans.strategy == "subsuming":
        assert np.all((begins >= s) & (ends <= e))
    else:  # overlapping, touching or within: never a token between them
        assert np.all((begins >= s - lengths) & (begins <= e))


@given(spans=configurations(), seed=st.integers(0, 2**31), epoch=st.integers(0, 9))
def test_a_documents_spans_depend_on_seed_epoch_and_document_only(spans, seed, epoch):
    n, numbers = lengths_for(spans, [0, 7, 300, 300, 50]), np.array([4, 0, 9, 2**40, 3])

    def draw(which: Any, seed: int = seed, epoch: int = epoch) -> Spans:
        return sample_spans(n[which], numbers[which], spans, seed, epoch)

    together = draw(slice(None))
    assert equal(together, draw(slice(None)))
    for place in range(len(n)):
        alone = draw([place])
        assert all(np.array_equal(getattr(alone, k)[0], getattr(together, k)[place]) for k in vars(alone))


@pytest.mark.parametrize("places", ["apart", "blocks"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_another_seed_epoch_or_document_has_other_spans(strategy, places):
    """Here by the paper's figures: short spans of few words are often equal by chance."""
    config = SpanOptions(**PAPER, anchors=2, positives=2, strategy=strategy, places=places)

    def draw(number: int = 9, seed: int = 5, epoch: int = 1) -> Spans:
        return sample_spans(np.array([4096]), np.array([number]), config, seed, epoch)

    drawn = (draw(), draw(number=2**40), draw(seed=6), draw(epoch=2))
    for first, other in itertools.combinations(drawn, 2):
        assert not any(np.array_equal(getattr(first, name), getattr(other, name)) for name in vars(first))


# ---- distributions: many documents of one length, against the formulas

MANY = 8_000


def draws(n: int, **config: Any) -> Spans:
    return sample_spans(np.full(MANY, n), np.arange(MANY), SpanOptions(**PAPER | config), 3, 0)


def fits(sample: np.ndarray, expected: np.ndarray) -> bool:
    """Chi-square of whole numbers against simulated ones, in twenty equally full bins."""
    edges = np.unique(np.quantile(expected, np.linspace(0, 1, 21)[1:-1]))
    counts = [
        np.bincount(np.searchsorted(edges, x, side="right"), minlength=len(edges) + 1) for x in (sample, expected)
    ]
    return bool(stats.chi2_contingency(np.stack(counts)).pvalue > 1e-4)


@functools.cache
def naive(n: int, strategy: str, seed: int = 11) -> dict[str, np.ndarray]:
    """One anchor with one positive, many times, straight from the paper's formulas."""
    low, high = PAPER["shortest"], PAPER["longest"]
    rng = np.random.RandomState(seed)
    rows = []
    for _ in range(MANY):
        anchor = int(rng.beta(4, 2) * (high - low) + low)
        start = rng.randint(0, n - anchor + 1)
        end = start + anchor
        if strategy == "default":
            positive = int(rng.beta(2, 4) * (high - low) + low)
            starts = range(max(start - positive, 0), min(end, n - positive) + 1)
            begin = starts[rng.randint(len(starts))]
        elif strategy == "subsuming":
            positive = int(rng.beta(2, 4) * (anchor - low) + low)
            begin = rng.randint(start, end - positive + 1)
        else:
            positive = int(rng.beta(2, 4) * (min(high, max(start, n - end)) - low) + low)
            begin = rng.choice([x for x in (start - positive, end) if x >= 0 and x + positive <= n])
        overlap = max(0, min(end, begin + positive) - max(start, begin))
        rows.append((anchor, start, positive, begin - start, overlap))
    return dict(zip(("anchor", "start", "positive", "offset", "overlap"), np.array(rows).T, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("n", [1024, 3000])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_starts_and_overlaps_follow_the_papers_formulas(strategy, n):
    drawn = draws(n, anchors=1, positives=1, strategy=strategy)
    start, length = drawn.anchor_start.ravel(), drawn.anchor_length.ravel()
    begin, positive = drawn.positive_start.ravel(), drawn.positive_length.ravel()
    overlap = np.maximum(0, np.minimum(start + length, begin + positive) - np.maximum(start, begin))
    expected = naive(n, strategy)
    samples = {"anchor": length, "start": start, "positive": positive, "offset": begin - start, "overlap": overlap}
    for name, sample in samples.items():
        if not (name == "overlap" and strategy == "adjacent"):
            assert fits(sample, expected[name]), name
    assert np.mean(overlap == 0) == pytest.approx(np.mean(expected["overlap"] == 0), abs=0.01)
    inside = np.mean(overlap == positive)
    assert inside == pytest.approx(np.mean(expected["overlap"] == expected["positive"]), abs=0.02)
    other = naive(n, "default" if strategy != "default" else "subsuming")
    assert not fits(samples["offset"], other["offset"])  # the check can fail


def test_anchors_that_are_apart_are_all_equally_likely():
    # Lengths are all 2 here, so every pair of starts at least 2 + 2 apart must come equally often.
    spans = SpanOptions(anchors=2, positives=1, shortest=2, longest=2)
    n = 11
    drawn = sample_spans(np.full(MANY, n), np.arange(MANY), spans, 0, 0).anchor_start
    possible = {(a, b) for a in range(n - 1) for b in range(n - 1) if abs(a - b) >= 4}
    pairs, counts = np.unique(drawn, axis=0, return_counts=True)
    assert {tuple(pair) for pair in pairs.tolist()} == possible
    assert stats.chisquare(counts).pvalue > 1e-3


def test_three_anchors_follow_draws_that_reject_what_is_too_close():
    n, low, high = 60, 3, 8
    rng = np.random.RandomState(5)
    lengths = (rng.beta(4, 2, (1500, 3)) * (high - low) + low).astype(int)
    kept = [rejected_until_apart(rng, row, n, high) for row in lengths.tolist()]
    expected = np.array(kept)
    spans = SpanOptions(anchors=3, positives=1, shortest=low, longest=high)
    drawn = sample_spans(np.full(MANY, n), np.arange(MANY), spans, 0, 0).anchor_start
    for sample, other in ((drawn[:, 0], expected[:, 0]), (drawn.min(axis=1), expected.min(axis=1))):
        assert stats.ks_2samp(sample, other).pvalue > 1e-3
    assert stats.ks_2samp(np.ptp(drawn, axis=1), np.ptp(expected, axis=1)).pvalue > 1e-3


def rejected_until_apart(rng: np.random.RandomState, lengths: list[int], n: int, apart: int) -> list[int]:
    """Each start uniform as in the paper's formula, all drawn again until the anchors are apart."""
    while True:
        starts = [rng.randint(0, n - length + 1) for length in lengths]
        placed = sorted(zip(starts, lengths, strict=True))
        if all(start - (before + length) >= apart for (before, length), (start, _) in itertools.pairwise(placed)):
            return starts


def test_anchors_in_blocks_lie_within_blocks():
    drawn = draws(2048 + 300, places="blocks")
    first = drawn.anchor_start // 512
    assert np.array_equal(first, (drawn.anchor_start + drawn.anchor_length - 1) // 512)
    assert set(first.ravel().tolist()) == {0, 1, 2, 3}
    paper = draws(2048 + 300)
    assert np.mean(paper.anchor_start // 512 != (paper.anchor_start + paper.anchor_length - 1) // 512) > 0.3


def test_every_start_that_the_paper_allows_occurs_with_both_ends():
    # Anchors and positives of 3 tokens in 20: seven starts around each anchor that has room, four fewer at an edge.
    spans = SpanOptions(anchors=1, positives=1, shortest=3, longest=3)
    drawn = sample_spans(np.full(MANY, 20), np.arange(MANY), spans, 0, 0)
    start, offset = drawn.anchor_start.ravel(), (drawn.positive_start[..., 0] - drawn.anchor_start).ravel()
    counts = np.bincount(start)
    assert len(counts) == 20 - 3 + 1
    assert stats.chisquare(counts).pvalue > 1e-3
    for at, allowed in ((10, range(-3, 4)), (0, range(4)), (1, range(-1, 4)), (17, range(-3, 1)), (16, range(-3, 2))):
        values, counts = np.unique(offset[start == at], return_counts=True)
        assert values.tolist() == list(allowed), at
        assert stats.chisquare(counts).pvalue > 1e-3
    within = sample_spans(np.full(MANY, 20), np.arange(MANY), SpanOptions(1, 1, 2, 5, strategy="subsuming"), 0, 0)
    free = within.anchor_length[..., None] - within.positive_length
    shift = within.positive_start - within.anchor_start[..., None]
    for room in (1, 2):
        values, counts = np.unique(shift[free == room], return_counts=True)
        assert values.tolist() == list(range(room + 1))
        assert stats.chisquare(counts).pvalue > 1e-3


# ---- batches


def synthetic(lengths: list[int]) -> TokenizedDocuments:
    """Documents whose tokens are 100, 101, ... through all of them, so that a token tells its place."""
    ends = np.cumsum([0, *lengths])
    return TokenizedDocuments(
        tokens=np.arange(100, 100 + ends[-1], dtype=np.int32),
        starts=ends[:-1],
        lengths=np.diff(ends),
        numbers=np.arange(len(lengths)) * 3,
        read=len(lengths),
        too_short=0,
        fingerprint="0" * 12,
        source="synthetic",
    )


def sampler(lengths: list[int], batch_size: int = 4, seed: int = 0, **config: Any) -> SpanSampler:
    spans = SpanOptions(**{"anchors": 2, "positives": 3, "shortest": 4, "longest": 16} | config)
    return SpanSampler(synthetic(lengths), spans, batch_size=batch_size, seed=seed, wrap=lambda span: [CLS, *span, SEP])


def documents_of(batch: Any, source: TokenizedDocuments) -> list[int]:
    """Which documents a batch's items come from, anchors first."""
    return [int(np.searchsorted(source.starts, item[1] - 100, side="right")) - 1 for item in batch.tokens]


def test_a_batch_holds_wrapped_spans_and_one_row_a_positive():
    spans = sampler([64, 90, 100, 70])
    batch = spans.batch(0)
    assert batch.sentences == []
    assert len(batch.tokens) == 4 * 2 + 4 * 2 * 3
    for item in batch.tokens:
        assert (item[0], item[-1]) == (CLS, SEP)
        assert np.all(np.diff(item[1:-1]) == 1)  # consecutive tokens of one text
    origin = documents_of(batch, spans.documents)
    assert sorted(origin[:8:2]) == [0, 1, 2, 3]
    assert origin[:8:2] == origin[1:8:2]
    assert batch.label.tolist() == [0] * 24
    assert batch.premise.tolist() == batch.group.tolist() == [anchor for anchor in range(8) for _ in range(3)]
    assert batch.hypothesis.tolist() == list(range(8, 32))
    for anchor, positive in zip(batch.premise, batch.hypothesis, strict=True):
        assert origin[anchor] == origin[positive]


def test_each_epoch_takes_every_document_once_in_a_new_order_with_new_spans():
    assert sampler([64] * 11).steps_per_epoch == 2
    spans = sampler([64] * 12)
    assert spans.steps_per_epoch == 3
    orders = []
    for epoch in range(3):
        batches = [spans.batch(epoch * 3 + step) for step in range(3)]
        orders.append([origin for batch in batches for origin in documents_of(batch, spans.documents)[:8:2]])
        assert sorted(orders[-1]) == list(range(12))
    assert orders[0] != orders[1] != orders[2]
    firsts = [[tuple(item) for item in spans.batch(epoch * 3).tokens] for epoch in range(3)]
    assert set(firsts[0]).isdisjoint(firsts[1])


def test_a_documents_spans_stay_when_others_are_dropped():
    many, few = sampler([64, 80, 64, 96], batch_size=4), sampler([64, 80, 64, 96], batch_size=2)
    kept = np.array([1, 3])
    source = many.documents
    few.documents = dataclasses.replace(
        source, starts=source.starts[kept], lengths=source.lengths[kept], numbers=source.numbers[kept]
    )
    everything = {tuple(item) for item in many.batch(0).tokens}
    assert all(tuple(item) in everything for item in few.batch(0).tokens)


def test_every_process_draws_the_same():
    """Finished trials were trained on these."""
    drawn = sample_spans(np.array([2100, 5000]), np.array([7, 1]), SpanOptions(), 5, 2)
    assert drawn.anchor_start.tolist() == [[1640, 732], [2560, 4484]]


# ---- with a tokenizer, from a recipe


@pytest.fixture(scope="module")
def encoder(make_encoder: Any) -> Any:
    return make_encoder("mean")


SCENES = {
    "corpus.layout": "spans",
    "corpus.documents": "scenes",
    "spans.shortest": 8,
    "spans.longest": 48,
    "optimisation.batch_size": 8,
}


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    lend_scenes(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield


def made_of(recipe: Recipe, encoder: Any) -> Any:
    size = recipe.optimisation.batch_size
    request = SamplerRequest(size, 1, None, None, recipe.encoder.max_length, encoder)
    return recipe.part(SpanLayout).make(request)


def test_a_request_becomes_a_sampler_and_a_description(encoder):
    recipe = Recipe().preferring(SCENES)
    check_documents("scenes")
    made, description = made_of(recipe, encoder)
    assert description["source"] == "scenes"
    assert description["documents"] + description["too_short"] == description["read"] == 200
    assert description["shortest"] == 2 * 2 * 48
    assert 100 < description["documents"] < 200
    assert made.steps_per_epoch == description["documents"] // 8
    tokens = made.batch(0).tokens
    assert len(tokens) == 8 * 2 * 3
    assert encoder.tokenizer.unk_token_id not in {token for item in tokens for token in item}
    assert all(item[0] == encoder.tokenizer.cls_token_id and len(item) <= 128 for item in tokens)
    half, _ = made_of(recipe.override({"corpus.share": 0.5}), encoder)
    assert half.steps_per_epoch == round(description["documents"] / 2) // 8
    assert encoder.specials == 2
    brimful = recipe.override({"spans.longest": 128, "spans.shortest": 127, "spans.anchors": 1})
    cut, _ = made_of(brimful, encoder)
    assert {len(item) for item in cut.batch(0).tokens} == {128}  # of 127 + 2
    blocks = recipe.override({"spans.places": "blocks"})
    assert made_of(blocks, encoder)[0].batch(0).tokens != tokens


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"spans.shortest": 49}, "spans.shortest 49 is over spans.longest 48"),
        ({"spans.longest": 129}, "spans.longest 129 is over the 128 tokens that the encoder takes"),
        (
            {"spans.longest": 128, "spans.anchors": 4},
            "all 200 documents of 'scenes' are too short: the longest has 606 tokens, .* needs 1,024; lower spans",
        ),
        ({"corpus.share": 0.001}, "corpus.share 0.001 of"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(change, says, encoder):
    with pytest.raises(UserError, match=says):
        made_of(Recipe().preferring(SCENES | change), encoder)


def test_the_papers_setting_is_allowed():
    check_spans(SpanOptions(), 512)
    assert shortest_document(SpanOptions()) == 2048
    assert shortest_document(SpanOptions(anchors=1, document=2048)) == 2048
    assert shortest_document(SpanOptions(document=100)) == 2048
    assert shortest_document(SpanOptions(anchors=1, shortest=400, strategy="adjacent")) == 512 + 800
