"""Mining of new hard negatives during a training, by the present state of the trained encoder."""

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
    """Renews the mined negatives of a `RenewedSampler`; does nothing for other samplers.

    The table of negatives (`mined_table`) is a buffer of the model, and so part of a checkpoint: it cannot be computed
    again from the weights of a later step.
    """

    def __init__(self, model: StudyModel, sampler: Sampler, workers: Workers) -> None:
        self.model, self.workers = model, workers
        self.sampler = sampler if isinstance(sampler, RenewedSampler) else None
        if self.sampler is not None:
            model.register_buffer("mined", torch.tensor(self.sampler.table))

    def begin(self) -> None:
        """Give the sampler the negatives in the model. Call it after a checkpoint is loaded, which may change them."""
        if self.sampler is not None:
            self.sampler.set_table(self.model.get_buffer("mined").numpy(force=True).copy())

    def due(self, step: int) -> bool:
        """Return whether the batch of a step, counted from 0, needs the weights of the step before."""
        return self.sampler is not None and self.sampler.renews(step)

    def renew(self, step: int) -> float:
        """Mine new negatives if they are due, and return the seconds. Call it on every worker before the step's batch.

        The first worker mines for all, as two machines may round the same cosine to different sides of a limit.
        """
        if self.sampler is None or not self.due(step):
            return 0.0
        began = time.perf_counter()
        negatives: np.ndarray | UserError | None = None
        if self.workers.rank == 0:
            try:
                negatives = self.sampler.mine(self.model.encoder.encode)
            except UserError as error:  # the other workers wait, and must fail as well
                negatives = error
        negatives = self.workers.from_first(negatives)
        if isinstance(negatives, UserError):
            raise negatives
        self.model.get_buffer("mined").copy_(torch.from_numpy(negatives))
        self.sampler.set_table(negatives)
        return time.perf_counter() - began
