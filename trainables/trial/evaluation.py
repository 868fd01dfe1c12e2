"""A trial's evaluation: all workers encode their share of the sentences; the first one, or another process, scores."""

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
    """SentEval, and the cosines of a few sentences before and after training (SupMPN, Figure 2)."""

    def __init__(self, config: EvaluationConfig, workers: Workers) -> None:
        self.config, self.workers = config, workers
        self.senteval: Path = senteval_folder(config.senteval)
        self.description: Evaluated = {}
        """Of what is evaluated beside the tasks, for the record."""
        self._watched = sentences(config.heat_map) if config.heat_map != "none" and workers.rank == 0 else None
        self._before: np.ndarray | None = None

    def before_training(self, encoder: Encoder) -> None:
        """Keep the cosines that the encoder gives before it is trained."""
        if self._watched is not None:
            self._before = cosines(encoder.encode, self._watched)

    def cosines(self, encoder: Encoder) -> dict[str, np.ndarray]:
        """The arrays to keep beside the predictions; the sentences go into the description."""
        if self._watched is None or self._before is None:
            return {}
        self.description["heat_map"] = {"sentences": self._watched}
        return {"heat_map.before": self._before, "heat_map.after": cosines(encoder.encode, self._watched)}

    def embed(self, encoder: Encoder) -> Embeddings | None:
        """All sentences of every task that is asked for; None on the other workers."""
        task_options = self.senteval, self.config.tasks, self.config.parts
        return by_all(encoder, self.workers, lambda encode, documents: embed(encode, *task_options, documents))

    def measured(self, encoder: Encoder, measures: Sequence[Measure]) -> dict[str, float]:
        """What is measured at a rung, in percent, by name: means over those of a measure's tasks that are asked
        for. Without measures that no score gives or that have no data; empty on the other workers."""
        needed = {task for measure in measures for task in measure.needs}
        tasks = [task for task in task_names(self.config.tasks) if task in needed]
        if not tasks:
            return {}
        scores = by_all(encoder, self.workers, lambda encode, own: development(encode, self.senteval, tasks, own)) or {}
        return {measure.name: value for measure in measures if (value := measure.of(scores)) is not None}


def chosen_by(encoder: Encoder, config: OptimisationConfig, workers: Workers) -> float | None:
    """The score that weights are kept by while training goes on; None on the other workers, and without data."""
    measure, folder = keeping_measure(config.keep_by), senteval_folder(config.senteval)
    scores = by_all(encoder, workers, lambda encode, documents: development(encode, folder, measure.needs, documents))
    return None if scores is None else measure.of(scores)


def score_senteval(config: EvaluationConfig, embeddings: Embeddings) -> SentEvalResult:
    """Every task that is asked for."""
    array = embeddings.vectors
    if not array.flags.writeable:  # what came from another process may lie in memory that is shared with others
        embeddings = dataclasses.replace(embeddings, vectors=array.copy())
    folder = senteval_folder(config.senteval)
    return score_embeddings(embeddings, folder, config.tasks, config.protocol, parts=config.parts)


def describe_senteval(config: EvaluationConfig, evaluation: SentEvalResult) -> CorpusFiles:
    """The evaluation data, for the record."""
    digits = fingerprint(senteval_folder(config.senteval), config.tasks)
    scales = {name: f"{low:g} to {high:g}" for name, (low, high) in evaluation.scales.items()}
    more: dict[str, object] = {"scales of scores": scales} if scales else {}
    if config.parts != "all":
        more["scored"] = f"development parts of {', '.join(evaluation.tasks)}"
    return cast(CorpusFiles, {"source": config.senteval, "fingerprint": digits, **more})


def by_all(encoder: Encoder, workers: Workers, evaluate: Callable[[Encode, Encode | None], T]) -> T | None:
    """Run an evaluation on the first worker, which may ask for embeddings once, then for those of documents where the
    encoder has others for them; all workers encode a share of them.

    The others then go on without waiting for it, and get None.
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
        while encoders:  # there is no data, or it failed early; the others still wait for a list
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
