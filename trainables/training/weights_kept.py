"""The encoder's weights that a training keeps: the last, the best on a development set, or a mean of the last ones.

keeping = build_weight_rule(config, steps, encoder, score)
keeping.after(step, progress)   # after every step; then the training ends if `keeping.stops_early(progress)`
keeping.put_back()              # after the last step: copies the kept weights into the encoder
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
    """Keeps the weights of the last step, so its methods do nothing. Base class of the other rules.

    The other rules store their weights in `tensors` and their numbers in `TrainingProgress.kept`, both part of a
    checkpoint. The steps of the training are the same under every rule.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        """The weights kept so far, by the names of the encoder's tensors."""

    def waits_for_device(self, step: int) -> bool:
        """Return whether `after` waits for the device at this step. Steps are counted from 1."""
        return False

    def after(self, step: int, progress: TrainingProgress) -> None:
        """Update the kept weights after a step of the optimiser. Called on every worker."""

    def stops_early(self, progress: TrainingProgress) -> bool:
        """Return whether the training ends before its last step, as no better weights are expected."""
        return False

    def put_back(self) -> None:
        """Copy the kept weights into the encoder, after the training."""


class BestWeights(LastWeights):
    """Keeps the first weights with the highest score. Scores every `every` steps and after the last step."""

    def __init__(
        self,
        encoder: TrainableEncoder,
        steps: int,
        every: int,
        patience: int | None,
        score: Callable[[], float | None],
    ) -> None:
        """`patience`: the training ends after this many scores without a gain; None: never. `score` returns the same
        number on all workers, in percent; None: there is no data to score on."""
        super().__init__()
        self.encoder, self.steps, self.every, self.patience, self.score = encoder, steps, every, patience, score

    def waits_for_device(self, step: int) -> bool:
        return step % self.every == 0 or step == self.steps

    def after(self, step: int, progress: TrainingProgress) -> None:
        if not self.waits_for_device(step):
            return
        score, best = self.score(), progress.kept
        if score is None:
            raise UserError("optimisation.keep=best needs a development score, and there is no data for it")
        scored = 1 if best is None else best["scored"] + 1
        if best is None or score > best["score"]:
            # On the CPU, as the training needs the GPU's memory.
            self.tensors |= {name: t.detach().to("cpu", copy=True) for name, t in _state(self.encoder).items()}
            best = {"keep": "best", "step": step, "score": score}
        progress.kept = {**best, "scored": scored}

    def stops_early(self, progress: TrainingProgress) -> bool:
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
    """Keeps the mean of the weights after each of the last steps. Buffers have the values of the last step."""

    def __init__(self, encoder: TrainableEncoder, steps: int, share: float) -> None:
        """`share`: this last share of all steps is averaged, at least one step."""
        super().__init__()
        self.encoder, self.steps = encoder, steps
        self.first = steps - max(1, round(share * steps)) + 1

    def after(self, step: int, progress: TrainingProgress) -> None:
        if step < self.first:
            return
        with torch.no_grad():
            for name, parameter in _trained(self.encoder).items():
                # In float64: the sum of any number of steps is then exact to float32.
                so_far = self.tensors.get(name)
                self.tensors[name] = (
                    parameter.to(torch.float64, copy=True)
                    if so_far is None
                    else so_far.to(parameter.device).add_(parameter)  # after a resume it is on the CPU
                )
        progress.kept = {"keep": "average", "from_step": self.first, "steps": step - self.first + 1}

    def put_back(self) -> None:
        count = self.steps - self.first + 1
        for name, parameter in _trained(self.encoder).items():
            # Not in bf16, which would lose the precision of the mean; the weights are trained no further.
            precision = torch.promote_types(parameter.dtype, torch.float32)
            parameter.data = (self.tensors[name] / count).to(parameter.device, precision)


def build_weight_rule(
    config: OptimisationConfig, steps: int, encoder: TrainableEncoder, score: Callable[[], float | None]
) -> LastWeights:
    """Return the rule that `optimisation.keep` names, for a training of `steps` steps."""
    if config.keep == "best":
        return BestWeights(encoder, steps, config.keep_every, config.patience, score)
    return AverageWeights(encoder, steps, config.keep_share) if config.keep == "average" else LastWeights()


def _trained(encoder: Any) -> dict[str, Tensor]:
    """Return the trained parameters by name. Tied parameters are listed once."""
    return {name: parameter for name, parameter in encoder.named_parameters() if parameter.requires_grad}


def _state(encoder: Any) -> dict[str, Tensor]:
    """Return the tensors that training can change: trained parameters, and buffers in the state dictionary."""
    held = encoder.state_dict().keys()
    return _trained(encoder) | {name: buffer for name, buffer in encoder.named_buffers() if name in held}
