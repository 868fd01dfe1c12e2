"""Average saved models: a soup of several trainings of one recipe, mixed with the original encoder.

Only weights are averaged. Everything else, such as tokenizer and prompts, is the first model's. One tensor of each
model is in memory at a time.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from trainables.encoders.export import ADAPTER, WEIGHTS
from trainables.errors import UserError


def average_models(trained: Sequence[Path], untrained: Path, share: float, folder: Path) -> None:
    """Write into `folder` the model with the weights `untrained + share * (mean(trained) - untrained)`.

    The paths are folders of sentence-transformers models that one recipe saved. `share` is the share of the training,
    from 0 (the original encoder) to 1 (the plain mean). Raises `UserError` if the models have different weights.
    """
    shutil.copytree(trained[0], folder, ignore=shutil.ignore_patterns(WEIGHTS, ADAPTER, "README.md"))
    models = [*trained, untrained]
    files = [_weights(model) for model in models]
    if not files[0] or any(other != files[0] for other in files):
        raise UserError(f"{trained[0]} and {untrained} do not hold the same files of weights, so they have no average")
    for file in files[0]:
        with contextlib.ExitStack() as stack:
            opened = [stack.enter_context(safe_open(model / file, "pt")) for model in models]
            names = [*opened[0].keys()]
            if any({*other.keys()} != {*names} for other in opened):
                raise UserError(f"{file} holds other weights in {trained[0]} than in {untrained}; they have no average")
            averaged = {name: _average([each.get_tensor(name) for each in opened], share, name) for name in names}
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            save_file(averaged, folder / file, opened[0].metadata())


def _weights(model: Path) -> list[Path]:
    """Return the model's files of weights, without an adapter's files: its weights are merged into the model's."""
    paths = (path.relative_to(model) for path in model.rglob(WEIGHTS))
    return sorted(path for path in paths if path.parts[0] != ADAPTER)


def _average(tensors: Sequence[Tensor], share: float, name: str) -> Tensor:
    """Average `tensors`, of which the last is the untrained one, in double precision. Returns the first one's type."""
    *trained, untrained = tensors
    if any(other.shape != untrained.shape for other in trained):
        raise UserError(f"the weights {name} differ in size between the models, so they have no average")
    if not untrained.is_floating_point():  # such as position ids, which training does not change
        return trained[0].contiguous()
    start = untrained.double()
    mean = torch.stack([each.double() for each in trained]).mean(dim=0)
    return (start + share * (mean - start)).to(trained[0].dtype).contiguous()
