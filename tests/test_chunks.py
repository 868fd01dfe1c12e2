"""The gradient cache: a batch in passes gives the loss and the gradients of the batch in one piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.chunked import CASES, WHOLE, Passing, batch_of, model_of, steps
from trainables.encoders import passes as encoder_passes
from trainables.errors import UserError
from trainables.fidelity import resolve
from trainables.recipe import Recipe, parse_assignment
from trainables.training.chunks import FITTED
from trainables.training.streams import RandomState
from trainables.trial.build import build_model

EXACT = {"rtol": 1e-9, "atol": 1e-11}
GROUPS = {"corpus.layout": "groups", "objective.name": "mnrl", "objective.temperature": 0.05}
BANK = {**GROUPS, "objective.bank": 9, "head.kind": "mlp"}


@pytest.fixture(autouse=True)
def float64() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    FITTED.clear()
    yield
    torch.set_default_dtype(before)
    FITTED.clear()


def same(one: dict[str, Any], other: dict[str, Any], **close: float) -> None:
    """In loss, counts, gradients, memory bank and the random numbers that come next."""
    close = close or EXACT
    assert len(one["steps"]) == len(other["steps"])
    for ours, theirs in zip(one["steps"], other["steps"], strict=True):
        torch.testing.assert_close(ours["loss"], theirs["loss"], **close)
        torch.testing.assert_close(ours["gradients"], theirs["gradients"], **close)
        assert ours["counts"] == theirs["counts"]
    torch.testing.assert_close(one["bank"], other["bank"], **close)
    assert torch.equal(one["next"], other["next"])


class TestKey:
    @pytest.mark.parametrize(("text", "value"), [("auto", "auto"), ("none", None), ("512", 512)])
    def test_values(self, text: str, value: Any):
        assert parse_assignment(f"optimisation.chunk={text}") == ("optimisation.chunk", value)
        assert Recipe().override({"optimisation.chunk": value}).optimisation.chunk == value

    @pytest.mark.parametrize("value", [0, -3, "most", 2.5])
    def test_refused(self, value: Any):
        with pytest.raises(UserError, match="optimisation.chunk must be"):
            Recipe().override({"optimisation.chunk": value})
        with pytest.raises(UserError, match="optimisation.chunk must be"):
            Recipe().override(dict([parse_assignment(f"optimisation.chunk={value}")]))

    def test_the_default_keeps_the_hash(self):
        assert Recipe().override({"optimisation.chunk": "auto"}).hash == Recipe().hash
        assert Recipe().override({"optimisation.chunk": 64}).hash != Recipe().hash


class TestEquality:
    """With dropout, in float64."""

    @pytest.mark.parametrize("most", [1, 13, 40, 130])
    @pytest.mark.parametrize("case", range(len(CASES)))
    def test_every_objective(self, case: int, most: int):
        """Against the plain step over the same passes; 1: every sentence by itself."""
        plain, cached = model_of(CASES[case]), model_of(CASES[case])
        plain.encoder.own = most  # type: ignore[union-attr]
        batches = [batch_of(40), batch_of(37)]
        wanted = steps(plain, None, batches=batches)
        found = steps(cached, most, batches=batches)
        same(found, wanted)
        assert any((g != 0).any() for g in found["steps"][0]["gradients"].values())
        assert max(cached.encoder.sizes) <= max(most, 13)  # type: ignore[union-attr]
        assert len(cached.encoder.sizes) == 2 * len(plain.encoder.sizes)  # type: ignore[union-attr]

    def test_the_last_pass_has_one_sentence(self):
        lengths = sorted((len(ids) for ids in batch_of().tokens), reverse=True)
        most = sum(lengths[:-1])
        passes = Passing().passes(lengths, most)
        assert [len(one) for one in passes] == [len(lengths) - 1, 1]
        plain, cached = model_of(BANK), model_of(BANK)
        plain.encoder.own = most  # type: ignore[union-attr]
        same(steps(cached, most), steps(plain, None))

    def test_a_batch_that_fits_is_not_embedded_twice(self):
        model = model_of(GROUPS)
        steps(model, WHOLE)
        assert model.encoder.sizes == [sum(map(len, batch_of().tokens))]  # type: ignore[union-attr]

    def test_without_the_old_random_numbers_they_differ(self, monkeypatch: pytest.MonkeyPatch):
        """The negative control."""
        plain, cached = model_of(GROUPS), model_of(GROUPS)
        plain.encoder.own = 40  # type: ignore[union-attr]
        wanted = steps(plain, None)
        monkeypatch.setattr(RandomState, "restore", lambda self: None)
        found = steps(cached, 40)
        torch.testing.assert_close(found["steps"][0]["loss"], wanted["steps"][0]["loss"], **EXACT)
        with pytest.raises(AssertionError):
            torch.testing.assert_close(
                found["steps"][0]["gradients"], wanted["steps"][0]["gradients"], rtol=1e-2, atol=1e-2
            )

    def test_the_bank_over_many_steps(self):
        plain, cached = model_of(BANK), model_of(BANK)
        plain.encoder.own = 50  # type: ignore[union-attr]
        batches = [batch_of(count) for count in (20, 16, 33, 12, 40)]
        wanted, found = steps(plain, None, batches=batches), steps(cached, 50, batches=batches)
        same(found, wanted)
        assert (found["bank"]["vectors"] != 0).any()

    def test_counted_padding(self):
        changes = {"objective.name": "scl", "objective.fidelity": "released"}
        plain, cached = model_of(changes), model_of(changes)
        assert plain.count_padding
        plain.encoder.own = 40  # type: ignore[union-attr]
        same(steps(cached, 40), steps(plain, None))


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    "changes",
    [
        {"objective.name": "scl", "objective.negatives": 3},
        {**BANK, "objective.mlm": 0.3},
        {"corpus.layout": "sentences", "objective.name": "mlm", "objective.mlm": 1.0},
    ],
)
def test_a_transformer(changes: dict[str, Any], packed: bool, make_encoder: Any, monkeypatch: pytest.MonkeyPatch):
    """With dropout, and masked language modelling; fp32."""
    torch.set_default_dtype(torch.float32)
    found = []
    for chunk, own in ((None, 60), (60, 4096), (None, 4096)):
        monkeypatch.setitem(encoder_passes.TOKENS_PER_PASS, "cpu", own)
        torch.manual_seed(1)
        encoder = make_encoder(masked_lm=changes.get("objective.mlm", 0) > 0)
        encoder._passes.packed = packed
        if encoder.mlm_head is not None:
            encoder.mlm_head._passes.packed = packed
        torch.manual_seed(2)
        model = build_model(resolve(Recipe().override(changes)), encoder)
        model.train()
        found.append(steps(model, chunk, batches=[batch_of(40, 200), batch_of(9, 200)]))
    same(found[1], found[0], rtol=1e-4, atol=1e-6)
    with pytest.raises(AssertionError):  # other passes draw other numbers
        torch.testing.assert_close(found[2]["steps"][0]["gradients"], found[0]["steps"][0]["gradients"])
