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

from trainables.errors import UserError, unforeseen
from trainables.typed_json import Count, parse_json, read_fields

Chunk = int | Literal["passes"] | None
"""How a step's gradients are taken. None: the plain step. "passes": a gradient cache with the encoder's own passes,
whose random numbers are those of the plain step. A number: one with passes of at most so many tokens, padding included.
"""

TENSORS, NUMBERS = "state.safetensors", "state.json"


@dataclass
class TrainingProgress:
    """How far training is, and its running sums over the batches so far."""

    step: Count = 0
    seconds: float = 0.0
    sums: dict[str, float] = field(default_factory=dict)
    last_loss: float | None = None
    streams: Count | None = None
    """How many random streams the forward passes drew from: one for each worker, the most where their number changed.
    None where nothing was drawn."""
    kept: dict[str, Any] | None = None
    """What `optimisation.keep` has kept so far, where that is not the last step: `keep`; with `best` the `step`, its
    `score` in percent, and how many steps were `scored`; with `average` `from_step` and over how many `steps`."""
    chunk: Chunk = None
    """The last step's."""
    rungs: list[dict[str, Any]] = field(default_factory=list)
    """What was measured at each rung: `reports.ledger.record.Record.training`. On the first worker only."""

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
    """Everything that a later process needs to go on as if nothing had happened. `weights`: `LastWeights.tensors`."""
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
    """Put a saved state back. `weights` is filled; its tensors are on the CPU. `UserError` for a state that is none, or
    of another model."""
    with readable(folder):
        tensors = load_file(folder / TENSORS)
        model.load_state_dict({name[6:]: value for name, value in tensors.items() if name.startswith("model.")})
        weights |= {name[5:]: value for name, value in tensors.items() if name.startswith("kept.")}
        for position, parameter in enumerate(_parameters(optimiser)):
            prefix = f"optimiser.{position}."
            state = {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
            if state:  # a fused optimiser wants all of it, `step` too, where the parameter is
                optimiser.state[parameter] = {name: value.to(parameter.device) for name, value in state.items()}
        return read_fields(TrainingProgress, parse_json((folder / NUMBERS).read_bytes()))


@contextlib.contextmanager
def readable(folder: Path) -> Iterator[None]:
    """What is wrong with a checkpoint, while it is read, as one `UserError`."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except (OSError, KeyError, RuntimeError, TypeError, ValueError, SafetensorError) as error:
        why = unforeseen(error)
        raise UserError(f"no training can go on from the checkpoint in {folder}: {why}") from error


def on_cpu(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """As safetensors takes them: contiguous, on the CPU, and no two with the same memory, which tied weights have; each
    gets a copy, as a resume needs."""
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
