"""The gradient cache: a batch in passes gives the loss and the gradients of the batch in one piece."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from reports.document import markdown
from reports.facts.results import Results
from reports.ledger import Record
from reports.sections import measured_counts
from search_spaces import spaces
from tests.chunked import (
    BANK,
    FULL,
    GROUPS,
    WHOLE,
    WORKER_CASES,
    Passing,
    batch_of,
    model_of,
    steps,
    worker_batches,
)
from tests.conftest import ROWS, pairs_of
from tests.gloo_worker import OBJECTIVE_CASES, Interrupting
from tests.synthetic_results import make_results
from trainables.corpora.samplers import RowSampler
from trainables.encoders import passes as encoder_passes
from trainables.errors import UserError
from trainables.objectives import OBJECTIVES, kernel
from trainables.recipe import Recipe
from trainables.training import chunks
from trainables.training.checkpoint import TrainingProgress
from trainables.training.chunks import OUT_OF_MEMORY_KINDS, Chunks
from trainables.training.distributed import Workers
from trainables.training.dropout_streams import RandomState
from trainables.training.gradients import GradientSum
from trainables.training.loop import Interrupted, Watcher, train
from trainables.training.model import MemoryBank
from trainables.trial.build import build_model
from trainables.trial.measure import training_numbers

EXACT = {"rtol": 1e-9, "atol": 1e-11}


pytestmark = pytest.mark.usefixtures("float64")


def same(first: dict[str, Any], other: dict[str, Any], **close: float) -> None:
    """As `alike`, and in the random numbers that come next."""
    alike(first, other, **close)
    assert torch.equal(first["next"], other["next"])


def alike(first: dict[str, Any], other: dict[str, Any], **close: float) -> None:
    """In loss, counts, gradients and memory bank."""
    close = close or EXACT
    for ours, theirs in zip(first["steps"], other["steps"], strict=True):
        torch.testing.assert_close(ours["loss"], theirs["loss"], **close)
        torch.testing.assert_close(ours["gradients"], theirs["gradients"], **close)
        assert ours["counts"] == theirs["counts"]
    torch.testing.assert_close(first["bank"], other["bank"], **close)


class TestEquality:
    """With dropout, in float64."""

    @pytest.mark.parametrize("case", range(len(OBJECTIVE_CASES)))
    def test_every_objective(self, case: int):
        """Against the plain step over the same passes, of several sizes by turns; 1: every sentence by itself."""
        most = (40, 1, 13, 130)[case % 4]
        plain, cached = (model_of(OBJECTIVE_CASES[case], Passing(own=own)) for own in (most, WHOLE))
        batches = [batch_of(40), batch_of(37)]
        expected = steps(plain, None, batches=batches)
        actual = steps(cached, most, batches=batches)
        same(actual, expected)
        assert any((g != 0).any() for g in actual["steps"][0]["gradients"].values())
        assert max(cached.encoder.sizes) <= max(most, 13)  # type: ignore[union-attr]
        assert len(cached.encoder.sizes) == 2 * len(plain.encoder.sizes)  # type: ignore[union-attr]

    def test_a_batch_that_fits_is_not_embedded_twice(self):
        model = model_of(GROUPS)
        steps(model, WHOLE)
        assert model.encoder.sizes == [sum(map(len, batch_of().tokens))]  # type: ignore[union-attr]

    def test_without_the_old_random_numbers_they_differ(self, monkeypatch: pytest.MonkeyPatch):
        """The negative control."""
        expected = steps(model_of(GROUPS, Passing(own=40)), None)
        monkeypatch.setattr(RandomState, "restore", lambda self: None)
        actual = steps(model_of(GROUPS), 40)
        torch.testing.assert_close(actual["steps"][0]["loss"], expected["steps"][0]["loss"], **EXACT)
        with pytest.raises(AssertionError):
            torch.testing.assert_close(
                actual["steps"][0]["gradients"], expected["steps"][0]["gradients"], rtol=1e-2, atol=1e-2
            )

    @pytest.mark.parametrize(
        "case", [n for n, changes in enumerate(OBJECTIVE_CASES) if OBJECTIVES[str(changes["objective.name"])].contrasts]
    )
    def test_some_anchors_at_a_time(self, case: int, monkeypatch: pytest.MonkeyPatch):
        """Value and gradients are those of all anchors at once, who are not divided evenly. What contrasts nothing
        grows with the pairs, not with their square."""
        expected = steps(model_of(OBJECTIVE_CASES[case], Passing(own=40)), None)
        parts: list[slice] = []
        once = torch.utils.checkpoint.checkpoint

        def kept(of: Any, part: slice, **more: Any) -> Any:
            parts.append(part)
            return once(of, part, **more)

        monkeypatch.setattr(torch.utils.checkpoint, "checkpoint", kept)
        monkeypatch.setattr(kernel, "NUMBERS_AT_ONCE", 100)
        same(steps(model_of(OBJECTIVE_CASES[case]), 40), expected)
        assert len(parts) > 2


@pytest.mark.parametrize(
    ("packed", "changes"),
    [
        (True, {"objective.name": "scl", "objective.negatives": 3}),
        (True, {"corpus.layout": "sentences", "objective.name": "mlm", "objective.mlm": 1.0}),
        (False, {**BANK, "objective.mlm": 0.3}),
    ],
)
def test_a_transformer(changes: dict[str, Any], packed: bool, make_encoder: Any, monkeypatch: pytest.MonkeyPatch):
    """With dropout, and masked language modelling; fp32."""
    torch.set_default_dtype(torch.float32)
    results = []
    for chunk, own in ((None, 60), (60, 4096), (None, 4096)):
        monkeypatch.setitem(encoder_passes.TOKENS_PER_PASS, "cpu", own)
        torch.manual_seed(1)
        encoder = make_encoder(masked_lm=changes.get("objective.mlm", 0) > 0)
        encoder._passes.packed = packed
        if encoder.mlm_head is not None:
            encoder.mlm_head._passes.packed = packed
        torch.manual_seed(2)
        model = build_model(Recipe().preferring(changes), encoder)
        model.train()
        results.append(steps(model, chunk, batches=[batch_of(40, 200), batch_of(9, 200)]))
    same(results[1], results[0], rtol=1e-4, atol=1e-6)
    with pytest.raises(AssertionError):  # other passes draw other numbers
        torch.testing.assert_close(results[2]["steps"][0]["gradients"], results[0]["steps"][0]["gradients"])


class Full(Passing):
    """Out of memory in a pass of more than `room` tokens with gradient, after its random numbers were drawn."""

    def __init__(self, room: int, own: int = WHOLE) -> None:
        super().__init__(own=own)
        self.room = room

    def embed(self, tokens: Any) -> torch.Tensor:
        embedded = super().embed(tokens)
        if torch.is_grad_enabled() and sum(map(len, tokens)) > self.room:
            raise torch.OutOfMemoryError(f"no room for {sum(map(len, tokens))} tokens")
        return embedded


class LateFull(Passing):
    """Out of memory once, in the backward pass."""

    def __init__(self) -> None:
        super().__init__(own=40)
        self.lost = False

    def embed(self, tokens: Any) -> torch.Tensor:
        embedded = super().embed(tokens)
        if torch.is_grad_enabled() and not self.lost:
            embedded.register_hook(self.lose)
        return embedded

    def lose(self, gradient: torch.Tensor) -> None:
        if not self.lost:
            self.lost = True
            raise torch.OutOfMemoryError("no room for a gradient")


class TestAuto:
    @pytest.fixture(autouse=True)
    def plenty(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of memory, as far as a CPU can tell beforehand."""
        monkeypatch.setattr(chunks, "available_bytes", lambda device: 2**50)
        monkeypatch.setattr(chunks, "held_bytes", lambda encoder, sample: 1)

    def room_for(self, tokens: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
        """The memory of so many tokens is free; None: nobody says."""
        monkeypatch.setattr(chunks, "held_bytes", lambda encoder, sample: 1000 * sum(map(len, sample)))
        monkeypatch.setattr(chunks, "available_bytes", lambda device: None if tokens is None else 1000 * tokens)
        monkeypatch.setattr(chunks, "BYTES_PER_PARAMETER", 0)

    @pytest.mark.parametrize("changes", [BANK, {"objective.name": "scl", "objective.negatives": 2}])
    def test_a_step_that_does_not_fit_is_done_again(self, changes: dict[str, Any], capsys: Any):
        """With the encoder's own passes the result is the plain step's: gradients, bank and draws are as if nothing had
        happened."""
        plain, full = model_of(changes, Passing(own=80)), model_of(changes, Full(90, own=80))
        batches = [batch_of(8), batch_of(36), batch_of(40), batch_of(8)]
        actual = steps(full, "auto", batches=batches)
        same(actual, steps(plain, None, batches=batches))
        assert actual["chunk"] == "passes"
        lines = capsys.readouterr().err.splitlines()
        assert lines == [
            "a step ran out of memory and is done again: from now on by a gradient cache, with the encoder's own passes"
        ]

    def test_passes_are_halved_until_they_fit(self, capsys: Any):
        """The plain step over the passes that were found gives the same."""
        actual = steps(model_of(BANK, Full(35)), "auto", batches=[batch_of(40), batch_of(36)])
        tokens = sum(map(len, batch_of(40).tokens))
        tried = [int(line.split()[-2]) for line in capsys.readouterr().err.splitlines()]
        assert tried[0] == tokens // 2
        assert tried[-1] == actual["chunk"] <= 35 < tried[-2]
        plain = model_of(BANK, Passing(own=actual["chunk"]))
        same(actual, steps(plain, None, batches=[batch_of(40), batch_of(36)]))

    def test_down_to_one_sentence_and_no_further(self):
        longest = max(map(len, batch_of().tokens))
        actual = steps(model_of(GROUPS, Full(longest)), "auto")
        assert actual["chunk"] >= 1
        with pytest.raises(
            UserError, match=r"memory is full; lower .* one sentence at a time, the longest of 13 tokens"
        ):
            steps(model_of(GROUPS, Full(longest - 1)), "auto")

    def test_a_number_is_halved_and_none_is_not(self):
        """What was asked for is where it begins."""
        actual = steps(model_of(BANK, Full(50)), 90, batches=[batch_of(40), batch_of(36)])
        assert actual["chunk"] == 44  # half of its largest pass, which has 88 tokens
        plain = model_of(BANK, Passing(own=44))
        same(actual, steps(plain, None, batches=[batch_of(40), batch_of(36)]))
        with pytest.raises(torch.OutOfMemoryError):
            steps(model_of(GROUPS, Full(50)), None)

    @pytest.mark.parametrize("forgotten", ["restore", "load_state_dict"])
    def test_what_a_lost_attempt_drew_and_stored_must_be_put_back(
        self, forgotten: str, monkeypatch: pytest.MonkeyPatch
    ):
        """The negative control: a step that fails in its backward pass, after dropout and with the bank filled."""
        expected = self.after_a_loss()
        if forgotten == "restore":
            monkeypatch.setattr(RandomState, "restore", lambda self: None)
        else:
            monkeypatch.setattr(MemoryBank, "load_state_dict", lambda self, state: None)
        with pytest.raises(AssertionError):
            same(self.after_a_loss(), expected)

    def after_a_loss(self) -> dict[str, Any]:
        """A step's values, where its first attempt has failed, over passes that draw what the plain step draws."""
        return steps(model_of(BANK, LateFull()), "auto", batches=[batch_of(40)])

    def test_a_backward_pass_that_does_not_fit(self):
        plain = model_of(BANK, Passing(own=40))
        actual = self.after_a_loss()
        assert actual["chunk"] == "passes"
        same(actual, steps(plain, None, batches=[batch_of(40)]))

    def test_the_next_trial_of_that_kind_knows(self, capsys: Any):
        """It begins with the encoder's own passes, which give what the plain step would give."""
        first, again = (model_of(GROUPS, Full(90, own=80)) for _ in range(2))
        assert steps(first, "auto")["chunk"] == "passes"
        assert "out of memory" in capsys.readouterr().err
        assert steps(again, "auto")["chunk"] == "passes"
        assert capsys.readouterr().err == ""
        assert max(again.encoder.sizes) <= 80  # type: ignore[union-attr]
        other = steps(model_of({**GROUPS, "head.kind": "linear"}, Full(WHOLE)), "auto")
        assert other["chunk"] is None, "another kind of trial starts with the plain step"

    @pytest.mark.parametrize(
        ("tokens", "chunk"), [(10 * 274, None), (2.1 * 274, None), (1.9 * 274, "passes"), (140, 70), (None, None)]
    )
    def test_a_cpu_looks_ahead(self, tokens: float | None, chunk: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any):
        """By what a pass holds; half of the free memory, here room for so many tokens, may be taken."""
        self.room_for(tokens, monkeypatch)
        assert sum(map(len, batch_of().tokens)) == 274
        plain = model_of(GROUPS, Passing(own=chunk if isinstance(chunk, int) else 120))
        actual = steps(model_of(GROUPS, Passing(own=120)), "auto")
        assert actual["chunk"] == chunk
        same(actual, steps(plain, None))
        assert ("half of the free memory" in capsys.readouterr().err) == (chunk is not None)

    @pytest.mark.parametrize(("spare", "chunk"), [(8, None), (-8, 273)])
    def test_what_is_to_come_is_left_free(self, spare: int, chunk: Any, monkeypatch: pytest.MonkeyPatch):
        """Gradients and the optimiser's numbers; of a batch in one pass, too."""
        model = model_of(GROUPS)
        assert len(model.encoder.passes([len(ids) for ids in batch_of().tokens])) == 1
        trained = sum(p.numel() for p in model.parameters())
        monkeypatch.setattr(chunks, "held_bytes", lambda encoder, sample: 1000 * sum(map(len, sample)))
        monkeypatch.setattr(chunks, "available_bytes", lambda device: 2 * 1000 * 274 + 12 * trained + spare)
        assert steps(model, "auto", batches=[batch_of()])["chunk"] == chunk

    @pytest.mark.parametrize(("weight", "chunk"), [(0.0, None), (0.5, "passes")])
    def test_guessing_holds_the_anchors_again(self, weight: float, chunk: Any, monkeypatch: pytest.MonkeyPatch):
        model = model_of(GROUPS, Passing(own=120))
        model.mlm_weight = weight
        self.room_for(2.2 * 274, monkeypatch)
        made = Chunks(model, "auto", 8, Workers(), GradientSum([], Workers()))
        made._look_ahead(batch_of())
        assert made.chunk == chunk

    def test_what_was_looked_at_is_not_forgotten(self, monkeypatch: pytest.MonkeyPatch):
        """A long sentence first, then a batch of more but short ones: neither is measured again."""
        lengths: list[int] = []
        monkeypatch.setattr(chunks, "held_bytes", lambda encoder, sample: lengths.append(1) or 1)
        made = Chunks(model_of(GROUPS), "auto", 8, Workers(), GradientSum([], Workers()))
        long, many = (dataclasses.replace(batch_of(), tokens=[[1] * size] * 36) for size in (13, 9))
        many = dataclasses.replace(many, tokens=many.tokens * 2)
        for batch in (long, many, long, many):
            made._look_ahead(batch)
        assert len(lengths) == 2

    def test_a_later_batch_may_need_less_yet(self, monkeypatch: pytest.MonkeyPatch):
        """What is decided holds for batches as large as those before."""
        self.room_for(1.9 * 274, monkeypatch)
        made = Chunks(model_of(GROUPS, Passing(own=120)), "auto", 8, Workers(), GradientSum([], Workers()))
        made._look_ahead(batch_of())
        assert made.chunk == "passes"
        self.room_for(140, monkeypatch)
        made._look_ahead(batch_of())
        assert made.chunk == "passes", "no larger than the one before"
        made._look_ahead(batch_of(80))
        assert made.chunk == 70


class TestTraining:
    RECIPE = Recipe().preferring(
        {
            "encoder.name": "scenes-small",
            "optimisation.batch_size": 8,
            "optimisation.epochs": 3,
            "optimisation.learning_rate": 1e-3,
            "optimisation.clip_norm": 1.0,
            "objective.bank": 7,
        }
    )

    def train(
        self, encoder: Any, chunk: Any, watcher: Watcher | None = None, resume: Path | None = None
    ) -> tuple[Any, TrainingProgress]:
        recipe = self.RECIPE.override({"optimisation.chunk": chunk})
        model = model_of(recipe.flat(), encoder)
        sampler = RowSampler(pairs_of(ROWS), 8)
        progress = train(model, sampler, recipe, 3, watcher or Watcher(), Workers(), resume)
        return model, progress

    def test_a_whole_training(self):
        """Parameters, sums and streams after six steps with clipping and a bank."""
        model, progress = self.train(Passing(own=20), None)
        same_model, same_progress = self.train(Passing(), 20)
        torch.testing.assert_close(same_model.state_dict(), model.state_dict(), rtol=1e-7, atol=1e-9)
        assert same_progress.sums == pytest.approx(progress.sums)
        assert same_progress.streams == progress.streams == 1
        assert training_numbers(progress, 0.0)["chunk"] is None
        assert training_numbers(same_progress, 0.0)["chunk"] == 20

    def test_resumed_equals_unbroken(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """Also where the resumed part would have found room for a larger chunk."""
        monkeypatch.setattr(chunks, "held_bytes", lambda encoder, sample: 1)
        model, progress = self.train(Full(16), "auto")
        assert isinstance(progress.chunk, int)

        OUT_OF_MEMORY_KINDS.clear()
        with pytest.raises(Interrupted):
            self.train(Full(16), "auto", Interrupting(4, Workers(), tmp_path))
        OUT_OF_MEMORY_KINDS.clear()
        resumed, same_progress = self.train(Full(WHOLE), "auto", resume=tmp_path)
        assert same_progress.chunk == progress.chunk
        for name, value in model.state_dict().items():
            assert torch.equal(resumed.state_dict()[name], value), name


@pytest.fixture
def answers(gloo_answers: dict[int, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """What two gloo workers found."""
    return [answer["chunked"] for answer in gloo_answers[2]]


@pytest.mark.xdist_group("gloo")
class TestWorkers:
    def test_two_cached_equal_one_plain(self, answers: list[dict[str, Any]]):
        """Uneven shares, and a batch of which one worker has no sentence; without dropout, whose stream is a worker's
        own."""
        for name, changes in WORKER_CASES.items():
            expected = steps(model_of(changes, Passing(0.0)), None, batches=worker_batches())
            for answer in answers:
                assert answer[name]["chunk"] == 9
                alike(answer[name], expected)

    def test_dropout_is_replayed_on_each_worker(self, answers: list[dict[str, Any]]):
        """Two cached against two plain ones over the same passes."""
        for answer in answers:
            same(answer["dropout cached"], answer["dropout plain"])

    @pytest.mark.parametrize("where", FULL)
    def test_where_one_runs_out_of_memory_all_do_the_step_again(self, where: str, answers: list[dict[str, Any]]):
        """Two against two plain ones over the passes that were found; both came to the same ones."""
        for answer in answers:
            actual = answer[f"full {where}"]
            assert actual["chunk"] == answers[0][f"full {where}"]["chunk"]
            assert isinstance(actual["chunk"], int)
            assert actual["chunk"] < 68
            same(actual, answer[f"full {where} plain"])

    def test_where_one_has_no_room_for_a_sentence_all_say_so(self, answers: list[dict[str, Any]]):
        for answer in answers:
            assert "does not fit even one sentence at a time" in answer["full on all"]

    def test_they_decide_alike_and_beforehand(self, answers: list[dict[str, Any]]):
        assert [answer["auto"]["chunk"] for answer in answers] == ["passes", "passes"]
        assert [answer["auto plenty"]["chunk"] for answer in answers] == [None, None]
        for answer in answers:
            same(answer["auto"], answer["auto plenty"])


def test_the_report_names_smaller_passes(tmp_path: Path):
    """Where they are not what was asked for: `auto` asks for the whole batch, a number for itself."""
    torch.set_default_dtype(torch.float32)
    make_results(tmp_path, spaces()["scl_lambda"])
    first, second, third, *_ = Results.load(tmp_path).labels
    labels = Results.load(tmp_path).labels
    assert "smaller passes" not in markdown(measured_counts.write(Results.load(tmp_path), tmp_path))
    used = {first: ("auto", 512), second: (512, 512), third: (512, 128)}

    def change(record: Record) -> Record:
        wish, chunk = used.get(record.recipe_hash, ("auto", None))
        recipe = {**record.recipe, "optimisation.chunk": wish}
        return dataclasses.replace(record, recipe=recipe, training={**record.training, "chunk": chunk})

    results = Results.load(tmp_path)
    object.__setattr__(results, "records", [change(record) for record in results.records])
    line = markdown(measured_counts.write(results, tmp_path)).splitlines()[-1]
    assert f"`{labels[first]}` in passes of at most 512 tokens" in line
    assert f"`{labels[third]}` in passes of at most 128 tokens" in line
    assert labels[second] not in line.replace(labels[first], "").replace(labels[third], "")
