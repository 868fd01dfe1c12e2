"""Training state on disk: every tensor in safetensors, every number in JSON. No pickle."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from trainables.errors import UserError, describe_error
from trainables.typed_json import Count, parse_json, read_fields

Chunk = int | Literal["passes"] | None
"""How a step computes gradients. None: the plain step. "passes": a gradient cache with the encoder's own passes, which
draws the same random numbers as the plain step. A number: a gradient cache with passes of at most this many tokens,
padding included."""

TENSORS, NUMBERS = "state.safetensors", "state.json"


@dataclass
class TrainingProgress:
    """The number of finished steps, and running sums over their batches."""

    step: Count = 0
    seconds: float = 0.0
    sums: dict[str, float] = field(default_factory=dict)
    last_loss: float | None = None
    streams: Count | None = None
    """Number of random streams from which the forward passes drew, one per worker; the largest number if a resume
    changed the number of workers. None if nothing was drawn."""
    kept: dict[str, Any] | None = None
    """The weights that `optimisation.keep` has kept so far; None if it keeps the last. The entries are `keep`, then for
    `best` the `step`, its `score` in percent and the number of `scored` steps, or for `average` the first step
    (`from_step`) and the number of `steps`."""
    chunk: Chunk = None
    """`Chunk` of the last step."""
    rungs: list[dict[str, Any]] = field(default_factory=list)
    """The numbers of each rung, as in `reports.ledger.record.Record.training`. On the first worker only."""

    def add(self, **values: float) -> None:
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value


def save_state(
    folder: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    progress: TrainingProgress,
    weights: Mapping[str, Tensor],
) -> None:
    """Write all that a later process needs to continue the training. `weights`: `LastWeights.tensors`."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for position, parameter in enumerate(_parameters(optimiser)):
        for name, value in optimiser.state.get(parameter, {}).items():
            tensors[f"optimiser.{position}.{name}"] = value
    tensors |= {f"kept.{name}": value for name, value in weights.items()}
    save_file(on_cpu(tensors), folder / TENSORS)
    (folder / NUMBERS).write_text(json.dumps(dataclasses.asdict(progress)))


def load_state(
    folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer, weights: dict[str, Tensor]
) -> TrainingProgress:
    """Load a saved state into model and optimiser, put the kept weights into `weights`, on the CPU, and return the
    progress. Raises `UserError` for an invalid state or the state of another model."""
    with readable(folder):
        tensors = load_file(folder / TENSORS)
        model.load_state_dict({name[6:]: value for name, value in tensors.items() if name.startswith("model.")})
        weights |= {name[5:]: value for name, value in tensors.items() if name.startswith("kept.")}
        for position, parameter in enumerate(_parameters(optimiser)):
            prefix = f"optimiser.{position}."
            state = {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
            if state:  # a fused optimiser needs all state, also `step`, on the parameter's device
                optimiser.state[parameter] = {name: value.to(parameter.device) for name, value in state.items()}
        return read_fields(TrainingProgress, parse_json((folder / NUMBERS).read_bytes()))


@contextlib.contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Turn each error that reading a checkpoint raises into a `UserError`, except `torch.OutOfMemoryError`."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except (OSError, KeyError, RuntimeError, TypeError, ValueError, SafetensorError) as error:
        why = describe_error(error)
        raise UserError(f"no training can go on from the checkpoint in {folder}: {why}") from error


def on_cpu(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors as safetensors needs them: contiguous, on the CPU, and without shared memory. Tied weights are
    copied, as a resume needs each of them."""
    taken: set[int] = set()
    copies = {}
    for name, tensor in tensors.items():
        value = tensor.detach().cpu().contiguous()
        if value.untyped_storage().data_ptr() in taken:
            value = value.clone()
        taken.add(value.untyped_storage().data_ptr())
        copies[name] = value
    return copies


def _parameters(optimiser: torch.optim.Optimizer) -> list[Tensor]:
    return [parameter for group in optimiser.param_groups for parameter in group["params"]]
