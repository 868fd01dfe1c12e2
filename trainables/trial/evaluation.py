"""A trial's evaluation. Each worker encodes a share of the sentences; the first worker, or another process, scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar, cast

import numpy as np

from trainables.encoders.contract import Encoder, for_documents
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import OptimisationConfig
from trainables.record_parts import CorpusFiles, Evaluated
from trainables.senteval import SentEvalResult, development, fingerprint, task_names
from trainables.senteval.cosines import cosines, sentences
from trainables.senteval.evaluation import Embeddings, embed, score_embeddings
from trainables.training.distributed import Workers
from trainables.training.rungs import Measure
from trainables.trial.data_requests import senteval_folder
from trainables.trial.kept_by import keeping_measure

T = TypeVar("T")
Encode = Callable[[Sequence[str]], np.ndarray]


class Evaluator:
    """Embeds SentEval's sentences, and computes cosines before and after training (SupMPN, Figure 2)."""

    def __init__(self, config: EvaluationConfig, workers: Workers) -> None:
        self.config, self.workers = config, workers
        self.senteval: Path = senteval_folder(config.senteval)
        self.description: Evaluated = {}
        """Description of the sentences that are embedded in addition to the tasks, for the record."""
        self._watched = sentences(config.heat_map) if config.heat_map != "none" and workers.rank == 0 else None
        self._before: np.ndarray | None = None

    def before_training(self, encoder: Encoder) -> None:
        """Store the cosines of the original encoder."""
        if self._watched is not None:
            self._before = cosines(encoder.encode, self._watched)

    def cosines(self, encoder: Encoder) -> dict[str, np.ndarray]:
        """Return the arrays of cosines to store with the predictions, and add the sentences to `description`."""
        if self._watched is None or self._before is None:
            return {}
        self.description["heat_map"] = {"sentences": self._watched}
        return {"heat_map.before": self._before, "heat_map.after": cosines(encoder.encode, self._watched)}

    def embed(self, encoder: Encoder) -> Embeddings | None:
        """Embed all sentences of the configured tasks. Returns None on all workers but the first."""
        task_options = self.senteval, self.config.tasks, self.config.parts
        return evaluate_together(
            encoder, self.workers, lambda encode, documents: embed(encode, *task_options, documents)
        )

    def measure(self, encoder: Encoder, measures: Sequence[Measure]) -> dict[str, float]:
        """Return the values of the measures at a rung, in percent, by name. A measure averages only configured tasks. A
        measure without data or a score is left out. The result is empty on all workers but the first."""
        needed = {task for measure in measures for task in measure.all_tasks}
        tasks = [task for task in task_names(self.config.tasks) if task in needed]
        if not tasks:
            return {}
        scores = (
            evaluate_together(encoder, self.workers, lambda encode, own: development(encode, self.senteval, tasks, own))
            or {}
        )
        return {measure.name: value for measure in measures if (value := measure.of(scores)) is not None}


def keeping_score(encoder: Encoder, config: OptimisationConfig, workers: Workers) -> float | None:
    """Return the score of `optimisation.keep_by` now. None without data, and on all workers but the first."""
    measure, folder = keeping_measure(config.keep_by), senteval_folder(config.senteval)
    scores = evaluate_together(
        encoder, workers, lambda encode, documents: development(encode, folder, measure.all_tasks, documents)
    )
    return None if scores is None else measure.of(scores)


def score_senteval(config: EvaluationConfig, embeddings: Embeddings) -> SentEvalResult:
    """Score the embeddings on the configured tasks."""
    array = embeddings.vectors
    if not array.flags.writeable:  # an array from another process may be shared memory
        embeddings = dataclasses.replace(embeddings, vectors=array.copy())
    folder = senteval_folder(config.senteval)
    return score_embeddings(embeddings, folder, config.tasks, config.protocol, parts=config.parts)


def describe_senteval(config: EvaluationConfig, evaluation: SentEvalResult) -> CorpusFiles:
    """Describe the evaluation data for the record."""
    digits = fingerprint(senteval_folder(config.senteval), config.tasks)
    scales = {name: f"{low:g} to {high:g}" for name, (low, high) in evaluation.scales.items()}
    more: dict[str, object] = {"scales of scores": scales} if scales else {}
    if config.parts != "all":
        more["scored"] = f"development parts of {', '.join(evaluation.tasks)}"
    return cast(CorpusFiles, {"source": config.senteval, "fingerprint": digits, **more})


def evaluate_together(encoder: Encoder, workers: Workers, evaluate: Callable[[Encode, Encode | None], T]) -> T | None:
    """Run `evaluate` on the first worker. All workers encode a share of its sentences. `evaluate` may encode once, and
    once more for documents if the encoder embeds documents differently.

    The other workers do not wait for the result, and get None.
    """
    own = for_documents(encoder)
    encoders = [encoder] if own is None else [encoder, own]
    if workers.count == 1:
        return evaluate(encoder.encode, None if own is None else own.encode)
    if workers.rank > 0:
        for model in encoders:
            _encode_share(model, workers, workers.from_first(None))
        return None

    def encode_next(sentences: Sequence[str]) -> np.ndarray:
        return _encode_share(encoders.pop(0), workers, workers.from_first(list(sentences)))

    try:
        return evaluate(encode_next, None if own is None else encode_next)
    finally:
        while encoders:  # without data, or after an error, the other workers still wait for lists
            encode_next([])


def _encode_share(encoder: Encoder, workers: Workers, sentences: Sequence[str]) -> np.ndarray:
    shares = workers.share([len(sentence) for sentence in sentences])
    parts = workers.gather_arrays(encoder.encode([sentences[i] for i in shares[workers.rank]]))
    if parts is None:
        return np.empty((0, encoder.dim), dtype=np.float32)
    embedded = np.empty((len(sentences), encoder.dim), dtype=np.float32)
    for share, part in zip(shares, parts, strict=True):
        embedded[share] = part
    return embedded
