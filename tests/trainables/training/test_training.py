"""The loop: schedule, golden losses, exact resume, checkpoints without pickle, divergence."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.conftest import ROWS, pairs_of
from tests.gloo_worker import Dropping
from trainables.corpora.nli import NLIPairs
from trainables.corpora.samplers import RowSampler
from trainables.recipe import OptimisationConfig, Recipe
from trainables.training import loop, pace
from trainables.training.checkpoint import NUMBERS, TENSORS, TrainingProgress
from trainables.training.distributed import Workers
from trainables.training.loop import Interrupted, TrainingDivergedError, Watcher, learning_rate, train
from trainables.training.model import (
    MemoryBank,
    StudyModel,
    TokenizedBatch,
    _fingerprint,
    _padding_share,
    decay_groups,
)
from trainables.training.pending_numbers import PendingNumbers
from trainables.training.rungs import parse_rungs
from trainables.trial.build import build_model

BASE = Recipe().preferring(
    {
        "encoder.name": "scenes-small",
        "optimisation.batch_size": 5,
        "optimisation.epochs": 4,
        "optimisation.learning_rate": 1e-3,
        "objective.negatives": 3,
    }
)
EVERYTHING = BASE.override(
    {
        "optimisation.weight_decay": 0.1,
        "optimisation.clip_norm": 1.0,
        "head.kind": "mlp",
        "objective.bank": 7,
        "objective.bank_warmup": 2,
    }
)
# The losses of a dozen steps of BASE over conftest's 13 pairs with seed 3 and without dropout.
GOLDEN = [
    0.901519,
    1.465849,
    0.635302,
    1.276496,
    0.562666,
    0.484185,
    1.06984,
    0.456634,
    0.419068,
    0.822886,
    0.42451,
    0.398067,
]

EIGHTHS = parse_rungs("8")


class Recorder(Watcher):
    """Remembers what training tells; may save at a step, and end the training there."""

    def __init__(self, save_at: int | None = None, folder: Path | None = None, stop: bool = False) -> None:
        self.save_at, self.folder, self.stop = save_at, folder, stop
        self.rung_plan = EIGHTHS if folder is None else None
        self.steps: list[int] = []
        self.scalars: list[dict[str, float]] = []
        self.rungs: list[int] = []
        self.saved: list[int] = []

    @property
    def losses(self) -> list[float]:
        return [scalars["loss"] for scalars in self.scalars]

    @property
    def rates(self) -> list[float]:
        return [scalars["learning_rate"] for scalars in self.scalars]

    def step(self, step: int, scalars: dict[str, float]) -> None:
        self.steps.append(step)
        self.scalars.append(scalars)

    def wants_checkpoint(self, step: int) -> bool:
        """It is taken a step later, but for the last one."""
        return self.save_at is not None and step in (self.save_at - 1, self.save_at) and not self.saved

    def checkpoint(self, step: int, save: Callable[[Path], None]) -> bool:
        assert self.folder is not None
        self.saved.append(step)
        save(self.folder)
        return not self.stop

    def rung(self, number: int, progress: TrainingProgress) -> bool:
        assert progress.step == self.steps[-1]
        self.rungs.append(number)
        return True


def study(
    recipe: Recipe,
    recorder: Watcher,
    pairs: NLIPairs | None = None,
    resume: Path | None = None,
    seed: int = 3,
    encoder: Callable[[], Any] = Dropping,
) -> tuple[StudyModel, TrainingProgress]:
    """Trains a fresh model on the tiny corpus, with dropout."""
    torch.manual_seed(seed)
    model = build_model(recipe, encoder())
    sampler = RowSampler(pairs or pairs_of(ROWS), recipe.optimisation.batch_size)
    return model, train(model, sampler, recipe, seed, recorder, Workers(), resume)


def same_state(ours: StudyModel, theirs: StudyModel) -> None:
    for (name, own), (_, other) in zip(ours.state_dict().items(), theirs.state_dict().items(), strict=True):
        assert torch.equal(own, other), name


class TestSchedule:
    def test_constant_by_hand(self):
        config = OptimisationConfig(learning_rate=2.0, warmup=0.5, schedule="constant")
        assert [learning_rate(step, 4, config) for step in range(4)] == [0, 1, 2, 2]

    @pytest.mark.parametrize("warmup", [0.0, 0.1, 0.25, 1.0])
    @pytest.mark.parametrize("schedule", ["linear", "cosine"])
    def test_equals_the_schedules_that_the_papers_name(self, warmup: float, schedule: Any):
        from transformers import get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup

        make = {"linear": get_linear_schedule_with_warmup, "cosine": get_cosine_schedule_with_warmup}[schedule]
        steps, config = 37, OptimisationConfig(learning_rate=3e-4, warmup=warmup, schedule=schedule)
        optimiser = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=3e-4)
        theirs = make(optimiser, int(warmup * steps), steps)
        for step in range(steps):
            assert learning_rate(step, steps, config) == pytest.approx(theirs.get_last_lr()[0])
            optimiser.step()
            theirs.step()

    @pytest.mark.parametrize(
        ("pairs", "batch", "epochs", "most", "steps"),
        [(64, 64, 1, None, 1), (65, 64, 1, None, 2), (65, 64, 3, None, 6), (65, 64, 3, 4, 4), (65, 64, 1, 9, 2)],
    )
    def test_total_steps(self, pairs: int, batch: int, epochs: int, most: int | None, steps: int):
        sampler = RowSampler(pairs_of([("a", "b", 0)] * pairs), batch)
        config = OptimisationConfig(batch_size=batch, epochs=epochs, max_steps=most)
        assert config.steps(sampler.steps_per_epoch) == steps


class TestParts:
    def test_decay_is_for_matrices_only(self, make_encoder: Any):
        model = build_model(BASE, make_encoder())
        decayed, plain = decay_groups(model, 0.1)
        assert (decayed["weight_decay"], plain["weight_decay"]) == (0.1, 0.0)
        names = {id(p): name for name, p in model.named_parameters()}
        assert not any("bias" in names[id(p)] or "LayerNorm" in names[id(p)] for p in decayed["params"])  # type: ignore[attr-defined]
        assert all("bias" in names[id(p)] or "LayerNorm" in names[id(p)] for p in plain["params"])  # type: ignore[attr-defined]
        assert len(decayed["params"]) + len(plain["params"]) == len(names)  # type: ignore[arg-type]

    def test_released_training_divides_by_the_padded_length(self, make_encoder: Any):
        """Premises and hypotheses are padded apart, and a sum over real tokens is divided by the padded length - 1."""
        encoder = make_encoder("mean_without_cls")
        recipe = BASE.override({"objective.fidelity": "released"})
        tokens = encoder.tokenize(["a man runs", "a man", "a man runs in the park", "two dogs"])
        batch = TokenizedBatch(
            tokens=tokens,
            text=torch.arange(4),
            premise=torch.tensor([0, 1]),
            hypothesis=torch.tensor([2, 3]),
            label=torch.tensor([0, 2]),
            group=torch.tensor([0, 1]),
        )
        lengths = [len(ids) - 1 for ids in tokens]
        expected = [1.0, lengths[1] / lengths[0], 1.0, lengths[3] / lengths[2]]
        assert _padding_share(batch).flatten().tolist() == pytest.approx(expected)
        factors = []
        for choice in (BASE, recipe):
            model = build_model(choice, encoder)
            model.head.register_forward_pre_hook(lambda _, inputs: factors.append(inputs[0].detach()))
            model.loss(batch, Workers(), torch.Generator())
        torch.testing.assert_close(factors[1], factors[0] * torch.tensor(expected).unsqueeze(1))


class TestTraining:
    def test_golden_losses(self, make_encoder: Any, monkeypatch: pytest.MonkeyPatch, nothing_kept: None):
        """Of the built-in encoder; they fall."""

        def without_dropout() -> Any:
            encoder = make_encoder(BASE.pooling.mode)
            for module in encoder.modules():
                if isinstance(module, torch.nn.Dropout):
                    module.p = 0.0
            return encoder

        words = sorted({word for premise, hypothesis, _ in ROWS for word in (premise + " " + hypothesis).split()})
        monkeypatch.setattr("trainables.corpora.scenes.vocabulary", lambda: words)  # whatever that grammar becomes
        recorder = Recorder()
        _, progress = study(BASE, recorder, encoder=without_dropout)
        assert recorder.losses == pytest.approx(GOLDEN, abs=1e-4)
        assert recorder.steps == list(range(1, 13))
        assert recorder.rates == [learning_rate(step, 12, BASE.optimisation) for step in range(12)]
        assert recorder.rungs == list(range(1, 8))
        assert progress.sums["pairs"] == 4 * len(ROWS)
        assert progress.sums["loss"] == pytest.approx(sum(recorder.losses))
        assert progress.sums["anchors"] == 4 * (2 + 1 + 1)
        assert progress.sums["negatives"] <= 3 * progress.sums["anchors"]

    def test_the_seed_decides_everything(self):
        runs = [Recorder() for _ in range(3)]
        for recorder, seed in zip(runs, (1, 1, 2), strict=True):
            study(BASE, recorder, seed=seed)
        assert runs[0].losses == runs[1].losses
        assert runs[0].losses != runs[2].losses

    @pytest.mark.parametrize("step", [3, 4, 8, 12])
    def test_resumed_equals_unbroken(self, step: int, tmp_path: Path):
        """With dropout, drawn negatives, decay, clipping and a queue: losses and state equal to the last bit. An epoch
        has 3 steps."""
        unbroken, first, second = Recorder(), Recorder(step, tmp_path, stop=True), Recorder()
        whole, end = study(EVERYTHING, unbroken)
        with pytest.raises(Interrupted, match=f"after step {step}$"):
            study(EVERYTHING, first)
        halfway = json.loads((tmp_path / NUMBERS).read_text())
        resumed, resumed_end = study(EVERYTHING, second, resume=tmp_path)
        assert first.steps + second.steps == unbroken.steps
        assert first.losses + second.losses == unbroken.losses
        assert halfway["step"] == step
        assert halfway["last_loss"] == unbroken.losses[step - 1]
        assert halfway["sums"]["loss"] == pytest.approx(sum(unbroken.losses[:step]))
        assert resumed_end.sums == end.sums
        assert resumed_end.last_loss == end.last_loss == unbroken.losses[-1]
        assert resumed_end.step == end.step == 12
        assert resumed_end.seconds >= halfway["seconds"] > 0
        assert resumed_end.streams == end.streams == 1
        assert second.rungs == [number for number in range(1, 8) if math.ceil(12 * number / 8) > step]
        same_state(resumed, whole)

    def test_a_checkpoint_does_not_change_the_training(self, tmp_path: Path):
        unbroken, watched = Recorder(), Recorder(5, tmp_path)
        whole, end = study(EVERYTHING, unbroken)
        model, same_end = study(EVERYTHING, watched)
        assert watched.saved == [5]
        assert watched.losses == unbroken.losses
        assert same_end.sums == end.sums
        same_state(model, whole)

    @pytest.mark.parametrize(
        ("wishes", "taken"), [([5], [6]), ([12], [12]), (range(1, 13), [2, 4, 6, 8, 10, 12])], ids=str
    )
    def test_a_checkpoint_is_taken_one_step_after_it_is_wanted(self, wishes: Any, taken: list[int], tmp_path: Path):
        """Only once for a wish, and after the last step at once; a standing wish is granted again and again."""

        class Wishing(Recorder):
            def wants_checkpoint(self, step: int) -> bool:
                return step in wishes

        recorder = Wishing(folder=tmp_path)
        study(BASE, recorder)
        assert recorder.saved == taken

    def test_the_device_is_asked_a_step_late(self, monkeypatch: pytest.MonkeyPatch):
        """A step's numbers are read once the next step is queued, but where somebody looks at the state."""
        events: list[str] = []

        class Watched(PendingNumbers):
            def __init__(self, numbers: torch.Tensor) -> None:
                super().__init__(numbers)
                self.number = sum(event.startswith("queued") for event in events) + 1
                events.append(f"queued {self.number}")

            def read(self) -> list[float]:
                events.append(f"read {self.number}")
                return super().read()

        monkeypatch.setattr(loop, "PendingNumbers", Watched)
        study(BASE.override({"optimisation.max_steps": 4}), Watcher())
        assert events == [
            *("queued 1", "queued 2", "read 1", "queued 3", "read 2", "queued 4", "read 3", "read 4"),
        ]

    def test_a_checkpoint_is_tensors_and_numbers(self, tmp_path: Path):
        model, _ = study(BASE, Recorder(3, tmp_path))
        assert {p.name for p in tmp_path.iterdir()} == {TENSORS, NUMBERS}
        tensors = load_file(tmp_path / TENSORS)
        trained = [p for p in model.parameters() if p.requires_grad]
        assert sum(name.startswith("optimiser.") for name in tensors) == 3 * len(trained)
        assert {name[6:] for name in tensors if name.startswith("model.")} == set(model.state_dict())
        assert json.loads((tmp_path / NUMBERS).read_text())["step"] == 3

    def test_clipping_bounds_the_gradient(self, monkeypatch: pytest.MonkeyPatch):
        norms: list[float] = []
        clip = torch.nn.utils.clip_grad_norm_

        def watch(parameters: Any, most: float) -> Any:
            kept = list(parameters)
            before = clip(kept, most)
            norms.append(float(torch.nn.utils.get_total_norm([p.grad for p in kept if p.grad is not None])))
            assert before > most
            return before

        monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", watch)
        study(BASE.override({"optimisation.clip_norm": 1e-3, "optimisation.max_steps": 3}), Recorder())
        assert len(norms) == 3
        assert max(norms) <= 1e-3 * 1.001

    def test_max_steps_ends_the_schedule_too(self):
        recorder = Recorder()
        _, progress = study(BASE.override({"optimisation.max_steps": 4, "optimisation.warmup": 0.0}), recorder)
        assert progress.step == 4
        assert recorder.rates == pytest.approx([1e-3, 0.75e-3, 0.5e-3, 0.25e-3])

    def test_batches_without_anchor_are_counted_and_survived(self):
        rows = [(f"a man {n}", "a dog runs", 1 + n % 2) for n in range(6)]
        recipe = BASE.override({"objective.weight": 1.0, "optimisation.epochs": 1})
        model, progress = study(recipe, Recorder(), pairs_of(rows))
        assert progress.sums["batches_without_anchor"] == 2
        assert progress.sums["loss"] == 0
        assert all(torch.isfinite(p).all() for p in model.parameters())

    def test_divergence(self):
        recorder = Recorder()
        with pytest.raises(TrainingDivergedError, match=r"the loss is (nan|inf) at step \d") as error:
            study(BASE.override({"optimisation.learning_rate": 1e30}), recorder)
        assert all(math.isfinite(loss) for loss in recorder.losses)
        assert str(error.value).endswith(f"at step {len(recorder.losses)}"), "counted from 0: the step after the last"

    def test_no_thread_is_left_behind(self, tmp_path: Path):
        """Neither where training is interrupted, nor where it fails."""
        with pytest.raises(Interrupted):
            study(BASE, Recorder(2, tmp_path, stop=True))
        with pytest.raises(TrainingDivergedError):
            study(BASE.override({"optimisation.learning_rate": 1e30}), Recorder())
        waiting = [thread for thread in threading.enumerate() if thread.name.startswith("ThreadPoolExecutor")]
        for thread in waiting:
            thread.join(timeout=10)
        assert not any(thread.is_alive() for thread in waiting)


def test_the_pace_is_that_of_the_last_seconds(monkeypatch: pytest.MonkeyPatch):
    clock = SimpleNamespace(now=100.0, perf_counter=lambda: clock.now)
    monkeypatch.setattr(pace, "time", clock)
    measured = pace.Pace(40, 1000.0)
    assert measured.after(40, 1000.0) == {}
    paces = []
    for step in range(41, 101):
        clock.now += 1.0 if step <= 60 else 0.5
        paces.append(measured.after(step, 1000.0 + 30 * (step - 40)))
    assert paces[0] == {"steps_per_second": 1.0, "tokens_per_second": 30.0}
    assert paces[19] == {"steps_per_second": 1.0, "tokens_per_second": 30.0}
    assert paces[-1] == {"steps_per_second": 2.0, "tokens_per_second": 60.0}


class TestMemoryBank:
    def test_the_oldest_leave_first(self):
        bank = bank_of(size=6)
        for start in (0, 4, 8):
            assert bank.entries()[0] is None if not start else len(bank.entries()[0]) == min(start, 6)
            fill(bank, range(start, start + 4))
        vectors, texts = bank.entries()
        assert vectors[:, 0].tolist() == texts.tolist()
        assert set(texts.tolist()) > {8, 9, 10, 11}
        assert set(texts.tolist()) < {4, 5, 6, 7, 8, 9, 10, 11}

    def test_a_part_of_a_batch_is_a_random_one(self):
        held = set()
        for seed in range(20):
            bank = bank_of(size=3)
            fill(bank, range(12), seed)
            assert len(set(bank.entries()[1].tolist())) == 3
            held |= set(bank.entries()[1].tolist())
        assert held == set(range(12))

    def test_serves_after_the_warm_up(self):
        bank = bank_of(size=8, warmup=3)
        for count in range(3):
            assert bank.entries() == (None, None), count
            fill(bank, range(2))
        assert len(bank.entries()[0]) == 6

    def test_holds_what_the_loss_contrasted(self):
        """Of SCL hypotheses, positives and negatives alike; premises are anchors, which it never contrasts."""
        model, _ = study(BASE.override({"objective.bank": 64}), Recorder())
        hypotheses, premises = fingerprints(1), fingerprints(0)
        held = set(model.bank.entries()[1].tolist())
        assert held
        assert held <= hypotheses
        assert not held & (premises - hypotheses)


def bank_of(size: int, warmup: int = 0) -> MemoryBank:
    return MemoryBank(size, 2, warmup)


def fill(bank: MemoryBank, numbers: range, seed: int = 0) -> None:
    vectors = torch.tensor([[float(n), 0.0] for n in numbers])
    bank.add(vectors, torch.tensor(list(numbers)), torch.Generator().manual_seed(seed))


def fingerprints(column: int) -> set[int]:
    return {_fingerprint(row[column].encode()) for row in ROWS}
