"""Tests that every layout of a corpus must pass. To run them for your own entry:

class TestMine(LayoutContract):
    @pytest.fixture
    def entry(self) -> type[Layout]:
        return LAYOUTS["mine"]

    @pytest.fixture
    def layout(self) -> Layout:
        return LAYOUTS["mine"](...)    # an instance that can make batches

    @pytest.fixture
    def request_for_it(self) -> SamplerRequest:
        return SamplerRequest(...)
"""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from trainables.corpora.batch import Batch
from trainables.corpora.layouts import (
    Layout,
    SamplerRequest,
    make_sampler,
    training_sentences,
)
from trainables.errors import UserError
from trainables.labels import CONTRADICTION, ENTAILMENT, LABELS
from trainables.recipe import Recipe, keys


class LayoutContract:
    """Tests of a layout, with the fixtures `entry`, `layout` and `request_for_it`."""

    def test_batches_are_well_formed(self, layout: Layout, request_for_it: SamplerRequest) -> None:
        sampler, _ = make_sampler(layout, request_for_it)
        assert sampler.steps_per_epoch >= 1
        for step in range(min(sampler.steps_per_epoch + 1, 20)):
            check_batch(sampler.batch(step), type(layout))

    def test_a_batch_depends_on_request_and_step_alone(self, layout: Layout, request_for_it: SamplerRequest) -> None:
        first, second = (make_sampler(layout, request_for_it)[0] for _ in range(2))
        steps = range(min(2 * first.steps_per_epoch, 20))
        forwards = [first.batch(step) for step in steps]
        backwards = [second.batch(step) for step in reversed(steps)]
        assert all(equal(a, b) for a, b in zip(forwards, reversed(backwards), strict=True))

    def test_the_description_is_ready_for_the_record(self, layout: Layout, request_for_it: SamplerRequest) -> None:
        _, description = make_sampler(layout, request_for_it)
        assert next(iter(description.items())) == ("layout", layout.name)
        assert json.loads(json.dumps(description)) == description

    def test_the_check_refuses_what_cannot_be_made(self, layout: Layout, request_for_it: SamplerRequest) -> None:
        layout.check(dataclasses.replace(request_for_it, encoder=None))
        too_large = dataclasses.replace(request_for_it, batch_size=10**9)
        for ask in (layout.make, layout.check):
            with pytest.raises(UserError, match="batch_size") as caught:
                ask(too_large)
            assert "\n" not in str(caught.value)

    def test_what_released_sets_and_what_it_reads_are_keys(self, entry: type[Layout]) -> None:
        Recipe().preferring(entry.released)
        assert entry.reads in keys()

    def test_remarks_are_single_sentences(self, layout: Layout, request_for_it: SamplerRequest) -> None:
        remarks = layout.remarks(dataclasses.replace(request_for_it, encoder=None))
        assert all(remark.strip() and "\n" not in remark for remark in remarks)

    def test_sentences_are_told_once_and_in_order(self, layout: Layout, request_for_it: SamplerRequest) -> None:
        if not layout.has_sentences:
            with pytest.raises(UserError, match=layout.name):
                training_sentences(layout, request_for_it, 3)
            return
        sentences = training_sentences(layout, request_for_it, 1000)
        assert len(set(sentences)) == len(sentences) > 0
        assert training_sentences(layout, request_for_it, 2) == sentences[:2]


def check_batch(batch: Batch, entry: type[Layout]) -> None:
    """Assert that a batch has the form that training expects and its layout declares."""
    rows = len(batch.label)
    assert rows > 0
    assert all(len(array) == rows for array in (batch.premise, batch.hypothesis, batch.group))
    assert {array.dtype for array in (batch.premise, batch.hypothesis, batch.group)} == {np.dtype(np.int64)}
    assert set(batch.label.tolist()) <= set(range(len(LABELS)))
    scores = np.zeros(rows) if batch.score is None else batch.score
    assert len(scores) == rows
    assert (np.isfinite(scores) | (np.isnan(scores) & entry.taught)).all()
    items = batch.sentences if batch.tokens is None else batch.tokens
    assert batch.tokens is None or not batch.sentences
    assert set(batch.premise.tolist()) | set(batch.hypothesis.tolist()) == set(range(len(items)))
    for group in np.unique(batch.group).tolist():
        mine = batch.group == group
        assert len(set(batch.premise[mine].tolist())) == 1, "the rows of a group belong to one anchor"
        if entry.positives_at_most is not None:
            assert (batch.label[mine] == ENTAILMENT).sum() <= entry.positives_at_most
    if not entry.hard_negatives:
        assert (batch.label != CONTRADICTION).all()
    if entry.fits_population:
        assert (batch.label == ENTAILMENT).all()
        assert len(np.unique(batch.group)) == rows, "a population takes one pair a group"


def equal(first: Batch, second: Batch) -> bool:
    """Whether two batches are equal."""
    arrays = ("premise", "hypothesis", "label", "group", "score")
    same = all(np.array_equal(np.array(getattr(first, name)), np.array(getattr(second, name))) for name in arrays)
    return same and first.sentences == second.sentences and first.tokens == second.tokens
