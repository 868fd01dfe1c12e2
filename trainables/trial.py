"""One trial from a recipe and a seed to scores. Plain PyTorch: Ray is one way of calling it, this file another.

result = run_trial(recipe, seed=1, output=Path("out"))
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trainables.data import Data, locate
from trainables.recipe import Recipe
from trainables.training.team import Team

if TYPE_CHECKING:
    from trainables.encoders import Encoder

CHECKPOINT_SECONDS = 30.0
"""A checkpoint is written at a rung once so much time has passed since the last."""


class Reporter:
    """What a trial tells while it runs. The default tells nobody; Ray's worker overrides it."""

    wants_rungs = False
    """Whether a development score is computed at every rung, for a scheduler that may stop the trial."""

    def step(self, step: int, scalars: Mapping[str, float]) -> None:
        """After each step, on the first worker."""

    def rung(self, number: int, score: float | None, checkpoint: Path | None) -> bool:
        """On every worker at a rung; score and checkpoint are the first worker's. False ends the trial."""
        return True


@dataclass(frozen=True)
class TrialResult:
    """What the first worker knows at the end; `scores` is empty where the trial was stopped early."""

    stopped: str | None = None
    """Why training ended early, if it did."""
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    averages: dict[str, float | None] = field(default_factory=dict)
    selection: float | None = None
    predictions: dict[str, np.ndarray] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    cost: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)


def run_trial(
    recipe: Recipe,
    seed: int,
    *,
    model_folder: Path | None = None,
    team: Team | None = None,
    reporter: Reporter | None = None,
    resume: Path | None = None,
) -> TrialResult:
    """Train and evaluate. Every worker calls it; only the first one's result holds scores.

    `model_folder` receives the trained encoder as a sentence-transformers model.
    """
    import torch

    from trainables.encoders import load_encoder

    team, reporter = team or Team(), reporter or Reporter()
    began = time.perf_counter()
    torch.manual_seed(seed)
    encoder = load_encoder(recipe.encoder, recipe.pooling)
    data = locate(recipe)
    training: dict[str, Any] = {}
    stopped = None
    if recipe.optimisation.epochs and recipe.encoder.kind == "transformer":
        encoder.precision = _precision(recipe, encoder.device)
        encoder.padded_inference = recipe.objective.fidelity == "released"
        training, stopped = _train(recipe, seed, encoder, data, team, reporter, resume)
    trained = time.perf_counter()
    if stopped:
        cost = _cost(began, trained, training.get("resumed_seconds", 0.0), team)
        return TrialResult(stopped, training=training, cost=cost, data=data.description)
    if team.rank == 0 and model_folder is not None and training:
        encoder.save(model_folder)
    from trainables.senteval import evaluate, fingerprint, selection_score

    wanted = recipe.evaluation
    evaluation = _together(encoder, team, lambda encode: evaluate(encode, data.senteval, wanted.tasks, wanted.protocol))
    if evaluation is None:
        return TrialResult()
    data.description["senteval"] = {
        "source": recipe.evaluation.senteval,
        "fingerprint": fingerprint(data.senteval, wanted.tasks),
    }
    return TrialResult(
        scores=evaluation.tasks,
        averages=evaluation.averages,
        selection=selection_score(evaluation.tasks),
        predictions=evaluation.predictions,
        training=training,
        cost=_cost(began, trained, training.get("resumed_seconds", 0.0), team),
        data=data.description,
    )


def _train(
    recipe: Recipe, seed: int, encoder: Any, data: Data, team: Team, reporter: Reporter, resume: Path | None
) -> tuple[dict[str, Any], str | None]:
    """Train the encoder in place. Returns what was measured, and why it stopped early, if it did."""
    from trainables.training.loop import TrainingDivergedError, train
    from trainables.training.model import StudyModel

    pairs = data.load_pairs()
    model = StudyModel(recipe, encoder)
    watcher = _Rungs(recipe, encoder, data, team, reporter)
    released = recipe.objective.fidelity == "released"
    followed = recipe.override({"optimisation.schedule": "constant"}) if released else recipe
    try:
        progress = train(model, pairs, followed, seed, watcher, team, resume)
    except TrainingDivergedError as error:
        return {}, f"diverged: {error}"
    sums = progress.sums
    steps, anchors = max(progress.step, 1), sums.get("anchors", 0)
    measured = {
        "steps": progress.step,
        "loss": sums["loss"] / steps,
        "last_loss": watcher.last_loss,
        "pairs": int(sums["pairs"]),
        "sentences": int(sums["sentences"]),
        "tokens": int(sums["tokens"]),
        "anchors": int(anchors),
        "positives_per_anchor": sums.get("positives", 0) / anchors if anchors else None,
        "negatives_per_anchor": sums.get("negatives", 0) / anchors if anchors else None,
        "batches_without_anchor": int(sums.get("batches_without_anchor", 0)),
        "seconds": progress.seconds,
        "resumed_seconds": watcher.resumed_seconds(progress.seconds),
    }
    return measured, watcher.stopped


class _Rungs:
    """Between the training loop and the reporter: decides about checkpoints, scores rungs."""

    def __init__(self, recipe: Recipe, encoder: Any, data: Data, team: Team, reporter: Reporter) -> None:
        self.recipe, self.encoder, self.data, self.team, self.reporter = recipe, encoder, data, team, reporter
        self.began = self.saved = time.perf_counter()
        self.last_loss: float | None = None
        self.stopped: str | None = None

    def resumed_seconds(self, training_seconds: float) -> float:
        """Training seconds that an earlier process spent."""
        return max(0.0, training_seconds - (time.perf_counter() - self.began))

    def step(self, step: int, scalars: dict[str, float]) -> None:
        self.last_loss = scalars["loss"]
        self.reporter.step(step, scalars)

    def rung(self, number: int, save: Callable[[Path], None]) -> bool:
        score = None
        if self.reporter.wants_rungs:
            from trainables.senteval import development

            scores = _together(
                self.encoder, self.team, lambda encode: development(encode, self.data.senteval, ("STSBenchmark",))
            )
            score = None if scores is None else scores["score"]
        due = self.team.from_first(time.perf_counter() - self.saved > CHECKPOINT_SECONDS)
        with tempfile.TemporaryDirectory() as scratch:
            if due:
                self.saved = time.perf_counter()
                if self.team.rank == 0:
                    save(Path(scratch))
            going_on = self.reporter.rung(number, score, Path(scratch) if due and self.team.rank == 0 else None)
        if not going_on:
            self.stopped = f"stopped at rung {number}"
        return going_on


def _together(encoder: Encoder, team: Team, evaluate: Callable[[Callable[..., np.ndarray]], Any]) -> Any:
    """Run an evaluation on the first worker; the others encode their share of its one list of sentences.

    They then go on without waiting for it, and get None.
    """
    if team.workers == 1:
        return evaluate(encoder.encode)
    if team.rank > 0:
        _encode_share(encoder, team, team.from_first(None))
        return None
    asked = False

    def encode(sentences: Sequence[str]) -> np.ndarray:
        nonlocal asked
        asked = True
        return _encode_share(encoder, team, team.from_first(list(sentences)))

    try:
        return evaluate(encode)
    finally:
        if not asked:  # without data, or where it fails early; the others wait for a list all the same
            encode([])


def _encode_share(encoder: Encoder, team: Team, sentences: Sequence[str]) -> np.ndarray:
    shares = team.share([len(sentence) for sentence in sentences])
    parts = team.gather_arrays(encoder.encode([sentences[i] for i in shares[team.rank]]))
    if parts is None:
        return np.empty((0, encoder.dim), dtype=np.float32)
    embedded = np.empty((len(sentences), encoder.dim), dtype=np.float32)
    for share, part in zip(shares, parts, strict=True):
        embedded[share] = part
    return embedded


def _precision(recipe: Recipe, device: Any) -> Any:
    import torch

    wish = recipe.optimisation.precision
    hardware = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return torch.bfloat16 if wish == "bf16" or (wish == "auto" and hardware) else torch.float32


def _cost(began: float, trained: float, resumed: float, team: Team) -> dict[str, Any]:
    import torch

    now = time.perf_counter()
    gpu = torch.cuda.is_available()
    memory = torch.cuda.max_memory_allocated() if gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    seconds = now - began + resumed
    return {
        "seconds": seconds,
        "train_seconds": trained - began + resumed,
        "evaluation_seconds": now - trained,
        "gpu_seconds": seconds * team.workers if gpu else 0.0,
        "peak_memory_mb": memory / 2**20,
        "workers": team.workers,
        "threads": torch.get_num_threads(),
    }
