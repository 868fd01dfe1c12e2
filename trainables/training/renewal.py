"""Hard negatives that are mined anew while a model trains, by its own encoder as it is by then."""

from __future__ import annotations

import time

import numpy as np
import torch

from trainables.corpora.batch import Sampler
from trainables.corpora.mining import RenewedSampler
from trainables.errors import UserError
from trainables.training.distributed import Workers
from trainables.training.model import StudyModel


class Renewal:
    """When, and by whom. Of a sampler that mines nothing anew it does nothing.

    Which texts are negatives (`mined_table`) is a buffer of the model, and so part of a checkpoint: of the step after
    which a training broke off, the weights no longer tell which ones they were.
    """

    def __init__(self, model: StudyModel, sampler: Sampler, workers: Workers) -> None:
        self.model, self.workers = model, workers
        self.sampler = sampler if isinstance(sampler, RenewedSampler) else None
        if self.sampler is not None:
            model.register_buffer("mined", torch.tensor(self.sampler.table))

    def begin(self) -> None:
        """After a checkpoint was read, if one was: go on with its negatives."""
        if self.sampler is not None:
            self.sampler.take(self.model.get_buffer("mined").numpy(force=True).copy())

    def due(self, step: int) -> bool:
        """Whether the batch of a step, counted from 0, waits for the weights of the step before."""
        return self.sampler is not None and self.sampler.renews(step)

    def renew(self, step: int) -> float:
        """On every worker, before the batch of that step is made: mine if it is due. How many seconds it took.

        The first worker mines for all of them: two machines may round the same cosine to two sides of a limit.
        """
        if self.sampler is None or not self.due(step):
            return 0.0
        began = time.perf_counter()
        negatives: np.ndarray | UserError | None = None
        if self.workers.rank == 0:
            try:
                negatives = self.sampler.mine(self.model.encoder.encode)
            except UserError as error:  # the others wait, and shall end with it
                negatives = error
        negatives = self.workers.from_first(negatives)
        if isinstance(negatives, UserError):
            raise negatives
        self.model.get_buffer("mined").copy_(torch.from_numpy(negatives))
        self.sampler.take(negatives)
        return time.perf_counter() - began
