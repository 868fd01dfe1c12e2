"""One trial from a recipe and a seed to scores. Plain PyTorch: Ray is one way of calling it, this file another.

result = run_trial(recipe, seed=1, output=Path("out"))
"""

from __future__ import annotations

import dataclasses
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trainables.data import Data, locate
from trainables.fidelity import resolve
from trainables.recipe import Recipe
from trainables.training.distributed import Workers

if TYPE_CHECKING:
    from trainables.encoders import Encoder
    from trainables.training.checkpoint import Progress

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


def run_trials(
    recipes: Sequence[Recipe],
    seeds: Sequence[int],
    *,
    model_folders: Sequence[Path | None],
    workers: Workers | None = None,
    reporter: Reporter | None = None,
    resume: Path | None = None,
    shared: Path | None = None,
    done: Callable[[int], bool] = lambda number: False,
) -> Iterator[TrialResult | None]:
    """One trial, or several that train together as a population (`population_key`); their results one by one.

    `done` says of a member's number whether it needs no result any more, being in the ledger.
    """
    if len(recipes) > 1:
        from trainables.population import run_population

        return run_population(
            recipes,
            seeds,
            model_folders=model_folders,
            reporter=reporter,
            resume=resume,
            shared=shared,
            done=done,
        )
    return iter(
        [
            run_trial(
                recipes[0],
                seeds[0],
                model_folder=model_folders[0],
                workers=workers,
                reporter=reporter,
                resume=resume,
                shared=shared,
            )
        ]
    )


def run_trial(
    recipe: Recipe,
    seed: int,
    *,
    model_folder: Path | None = None,
    workers: Workers | None = None,
    reporter: Reporter | None = None,
    resume: Path | None = None,
    shared: Path | None = None,
) -> TrialResult:
    """Train and evaluate. Every worker calls it; only the first one's result holds scores.

    `model_folder` receives the trained encoder as a sentence-transformers model. `shared` is a folder where trials
    leave embeddings of frozen encoders for each other.
    """
    workers, reporter = workers or Workers(), reporter or Reporter()
    recipe = resolve(recipe)
    began = time.perf_counter()
    encoder = build_encoder(recipe, seed, shared)
    data = locate(recipe)
    heat_map = HeatMap(recipe, encoder, workers) if recipe.evaluation.heat_map != "none" else None
    training: dict[str, Any] = {}
    stopped = None
    if recipe.trains:
        training, stopped = _train(recipe, seed, encoder, data, workers, reporter, resume)
    if recipe.pooling.after != "none":
        from trainables.encoders.postprocess import Postprocessed

        encoder = Postprocessed(encoder, data.training_sentences(recipe), recipe.pooling.after)
    trained = time.perf_counter()
    if stopped:
        costs = cost(began, trained, training.get("resumed_seconds", 0.0), workers)
        return TrialResult(stopped, training=training, cost=costs, data=data.description)
    if workers.rank == 0 and model_folder is not None and training and encoder.unsavable is None:
        encoder.save(model_folder)
    maps = heat_map.finish(encoder, data) if heat_map else {}
    return score(recipe, encoder, data, workers, training, maps, began, trained)


def build_encoder(recipe: Recipe, seed: int, shared: Path | None) -> Any:
    """The encoder at the start of a trial. What it draws at random comes from the seed alone."""
    import torch

    from trainables.encoders import load_encoder

    torch.manual_seed(seed)
    masked = recipe.objective.mlm > 0 and recipe.trains
    # Padding counts in what was trained with it; an encoder that is evaluated as it is keeps its own embeddings.
    pooling = recipe.pooling if recipe.trains else dataclasses.replace(recipe.pooling, padding="ignore")
    encoder = load_encoder(
        recipe.encoder,
        pooling,
        masked_lm=masked,
        training_precision=recipe.optimisation.precision,
        evaluation_precision=recipe.evaluation.precision,
    )
    torch.manual_seed(seed)  # loading may have drawn
    if recipe.encoder.adapter != "none":
        from trainables.encoders.adapter import AdaptedEncoder

        encoder = AdaptedEncoder(encoder, shared)
    return encoder


def score(
    recipe: Recipe,
    encoder: Encoder,
    data: Data,
    workers: Workers,
    training: dict[str, Any],
    maps: Mapping[str, np.ndarray],
    began: float,
    trained: float,
) -> TrialResult:
    """The trial's result: SentEval, and what training it took."""
    from trainables.senteval import evaluate, fingerprint, selection_score

    wanted = recipe.evaluation
    evaluation = _together(
        encoder, workers, lambda encode: evaluate(encode, data.senteval, wanted.tasks, wanted.protocol)
    )
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
        predictions={**evaluation.predictions, **maps},
        training=training,
        cost=cost(began, trained, training.get("resumed_seconds", 0.0), workers),
        data=data.description,
    )


class HeatMap:
    """Cosines of a few sentences before and after training (SupMPN, Figure 2), on the first worker."""

    def __init__(self, recipe: Recipe, encoder: Encoder, workers: Workers) -> None:
        from trainables.senteval.cosines import cosines, sentences

        self.sentences = sentences(recipe.evaluation.heat_map)
        self.asked = workers.rank == 0
        self.before = cosines(encoder.encode, self.sentences) if self.asked else None

    def finish(self, encoder: Encoder, data: Data) -> dict[str, np.ndarray]:
        """The arrays to keep beside the predictions; the sentences go into the data's description."""
        from trainables.senteval.cosines import cosines

        if self.before is None:
            return {}
        data.description["heat_map"] = {"sentences": self.sentences}
        return {"heat_map.before": self.before, "heat_map.after": cosines(encoder.encode, self.sentences)}


def _train(
    recipe: Recipe, seed: int, encoder: Any, data: Data, workers: Workers, reporter: Reporter, resume: Path | None
) -> tuple[dict[str, Any], str | None]:
    """Train the encoder in place. Returns what was measured, and why it stopped early, if it did."""
    from trainables.training.loop import TrainingDivergedError, total_steps, train
    from trainables.training.model import StudyModel
    from trainables.training.population_training import embed_ahead

    sampler = data.load_sampler(recipe, seed, encoder)
    if recipe.encoder.adapter != "none":
        embed_ahead(encoder, sampler, total_steps(sampler, recipe.optimisation))
    model = StudyModel(recipe, encoder)
    watcher = _Rungs(recipe, encoder, data, workers, reporter)
    try:
        progress = train(model, sampler, recipe, seed, watcher, workers, resume)
    except TrainingDivergedError as error:
        return {}, f"diverged: {error}"
    seconds = watcher.resumed_seconds(progress.seconds)
    return measured(progress, resumed_seconds=seconds), watcher.stopped


def measured(progress: Progress, **more: Any) -> dict[str, Any]:
    """What a record says of a training."""
    sums = progress.sums
    steps, anchors = max(progress.step, 1), sums.get("anchors", 0)
    return {
        "steps": progress.step,
        "loss": sums.get("loss", 0.0) / steps,
        "last_loss": progress.last_loss,
        "pairs": int(sums.get("pairs", 0)),
        "sentences": int(sums.get("sentences", 0)),
        "tokens": int(sums.get("tokens", 0)),
        "anchors": int(anchors),
        "positives_per_anchor": sums.get("positives", 0) / anchors if anchors else None,
        "negatives_per_anchor": sums.get("negatives", 0) / anchors if anchors else None,
        "batches_without_anchor": int(sums.get("batches_without_anchor", 0)),
        "seconds": progress.seconds,
        **more,
    }


class _Rungs:
    """Between the training loop and the reporter: decides about checkpoints, scores rungs."""

    def __init__(self, recipe: Recipe, encoder: Any, data: Data, workers: Workers, reporter: Reporter) -> None:
        self.recipe, self.encoder, self.data, self.workers, self.reporter = recipe, encoder, data, workers, reporter
        self.began = self.saved = time.perf_counter()
        self.stopped: str | None = None

    def resumed_seconds(self, training_seconds: float) -> float:
        """Training seconds that an earlier process spent."""
        return max(0.0, training_seconds - (time.perf_counter() - self.began))

    def step(self, step: int, scalars: dict[str, float]) -> None:
        self.reporter.step(step, scalars)

    def rung(self, number: int, save: Callable[[Path], None]) -> bool:
        score = None
        if self.reporter.wants_rungs:
            from trainables.senteval import development

            scores = _together(
                self.encoder, self.workers, lambda encode: development(encode, self.data.senteval, ("STSBenchmark",))
            )
            score = None if scores is None else scores["score"]
        due = self.workers.from_first(time.perf_counter() - self.saved > CHECKPOINT_SECONDS)
        with tempfile.TemporaryDirectory() as scratch:
            if due:
                self.saved = time.perf_counter()
                if self.workers.rank == 0:
                    save(Path(scratch))
            going_on = self.reporter.rung(number, score, Path(scratch) if due and self.workers.rank == 0 else None)
        if not going_on:
            self.stopped = f"stopped at rung {number}"
        return going_on


def _together(encoder: Encoder, workers: Workers, evaluate: Callable[[Callable[..., np.ndarray]], Any]) -> Any:
    """Run an evaluation on the first worker; the others encode their share of its one list of sentences.

    They then go on without waiting for it, and get None.
    """
    if workers.count == 1:
        return evaluate(encoder.encode)
    if workers.rank > 0:
        _encode_share(encoder, workers, workers.from_first(None))
        return None
    asked = False

    def encode(sentences: Sequence[str]) -> np.ndarray:
        nonlocal asked
        asked = True
        return _encode_share(encoder, workers, workers.from_first(list(sentences)))

    try:
        return evaluate(encode)
    finally:
        if not asked:  # without data, or where it fails early; the others wait for a list all the same
            encode([])


def _encode_share(encoder: Encoder, workers: Workers, sentences: Sequence[str]) -> np.ndarray:
    shares = workers.share([len(sentence) for sentence in sentences])
    parts = workers.gather_arrays(encoder.encode([sentences[i] for i in shares[workers.rank]]))
    if parts is None:
        return np.empty((0, encoder.dim), dtype=np.float32)
    embedded = np.empty((len(sentences), encoder.dim), dtype=np.float32)
    for share, part in zip(shares, parts, strict=True):
        embedded[share] = part
    return embedded


def cost(began: float, trained: float, resumed: float, workers: Workers) -> dict[str, Any]:
    import torch

    now = time.perf_counter()
    gpu = torch.cuda.is_available()
    memory = torch.cuda.max_memory_allocated() if gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    seconds = now - began + resumed
    return {
        "seconds": seconds,
        "train_seconds": trained - began + resumed,
        "evaluation_seconds": now - trained,
        "gpu_seconds": seconds * workers.count if gpu else 0.0,
        "peak_memory_mb": memory / 2**20,
        "workers": workers.count,
        "threads": torch.get_num_threads(),
    }
