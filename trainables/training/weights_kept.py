"""Which weights of the encoder a training keeps: the last, the best on a development set, or a mean of the last ones.

keeping = weights_kept(config, steps, encoder, score)
keeping.after(step, progress)   # after every step; the training ends where it is then `over`
keeping.put_back()              # after the last one: the encoder has the kept weights
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from trainables.encoders.contract import TrainableEncoder
from trainables.errors import UserError
from trainables.recipe import OptimisationConfig
from trainables.training.checkpoint import TrainingProgress


class LastWeights:
    """Keeps the weights of the last step, for which nothing has to be done.

    The other rules keep what they have in `tensors` and in `TrainingProgress.kept`, both part of a checkpoint. The
    steps of the training are the same under every rule.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        """What is kept so far, by the names of the encoder's tensors."""

    def waits(self, step: int) -> bool:
        """Whether `after` waits for the device at this step. Steps are counted from 1."""
        return False

    def after(self, step: int, progress: TrainingProgress) -> None:
        """The optimiser has made a step. On every worker."""

    def over(self, progress: TrainingProgress) -> bool:
        """Whether the training has ended before its last step, as no better weights are expected."""
        return False

    def put_back(self) -> None:
        """The training is over: give the encoder what was kept."""


class BestWeights(LastWeights):
    """Scores the encoder every so many steps, and after the last, and keeps the first weights of the highest score."""

    def __init__(
        self,
        encoder: TrainableEncoder,
        steps: int,
        every: int,
        patience: int | None,
        score: Callable[[], float | None],
    ) -> None:
        """`patience`: after so many scores without a gain the training is over; None: it never is. `score` gives all
        workers the same number, in percent; None: there is no data to score on."""
        super().__init__()
        self.encoder, self.steps, self.every, self.patience, self.score = encoder, steps, every, patience, score

    def waits(self, step: int) -> bool:
        return step % self.every == 0 or step == self.steps

    def after(self, step: int, progress: TrainingProgress) -> None:
        if not self.waits(step):
            return
        score, best = self.score(), progress.kept
        if score is None:
            raise UserError("optimisation.keep=best needs a development score, and there is no data for it")
        scored = 1 if best is None else best["scored"] + 1
        if best is None or score > best["score"]:
            # On the CPU: a GPU needs its memory for the training.
            self.tensors |= {name: t.detach().to("cpu", copy=True) for name, t in _state(self.encoder).items()}
            best = {"keep": "best", "step": step, "score": score}
        progress.kept = {**best, "scored": scored}

    def over(self, progress: TrainingProgress) -> bool:
        best = progress.kept
        if self.patience is None or best is None:
            return False
        scored_until_best = math.ceil(best["step"] / self.every)
        return bool(best["scored"] - scored_until_best >= self.patience)

    @torch.no_grad()
    def put_back(self) -> None:
        for name, tensor in _state(self.encoder).items():
            tensor.copy_(self.tensors[name])


class AverageWeights(LastWeights):
    """The mean of the weights after each of the last steps. Buffers stay as the last step left them."""

    def __init__(self, encoder: TrainableEncoder, steps: int, share: float) -> None:
        """`share`: of all steps; at least the last one."""
        super().__init__()
        self.encoder, self.steps = encoder, steps
        self.first = steps - max(1, round(share * steps)) + 1

    def after(self, step: int, progress: TrainingProgress) -> None:
        if step < self.first:
            return
        with torch.no_grad():
            for name, parameter in _trained(self.encoder).items():
                # In float64, where a sum of any number of steps loses nothing that float32 would show.
                so_far = self.tensors.get(name)
                self.tensors[name] = (
                    parameter.to(torch.float64, copy=True)
                    if so_far is None
                    else so_far.to(parameter.device).add_(parameter)  # a resume left it on the CPU
                )
        progress.kept = {"keep": "average", "from_step": self.first, "steps": step - self.first + 1}

    def put_back(self) -> None:
        count = self.steps - self.first + 1
        for name, parameter in _trained(self.encoder).items():
            # Not in bf16, which would lose what the mean has won: nothing is trained any more.
            precision = torch.promote_types(parameter.dtype, torch.float32)
            parameter.data = (self.tensors[name] / count).to(parameter.device, precision)


def weights_kept(
    config: OptimisationConfig, steps: int, encoder: TrainableEncoder, score: Callable[[], float | None]
) -> LastWeights:
    """The rule that `optimisation.keep` names, for a training of so many steps."""
    if config.keep == "best":
        return BestWeights(encoder, steps, config.keep_every, config.patience, score)
    return AverageWeights(encoder, steps, config.keep_share) if config.keep == "average" else LastWeights()


def _trained(encoder: Any) -> dict[str, Tensor]:
    """The parameters that training moves; tied ones once."""
    return {name: parameter for name, parameter in encoder.named_parameters() if parameter.requires_grad}


def _state(encoder: Any) -> dict[str, Tensor]:
    """What training can change: trained parameters, and buffers that a checkpoint holds."""
    held = encoder.state_dict().keys()
    return _trained(encoder) | {name: buffer for name, buffer in encoder.named_buffers() if name in held}
