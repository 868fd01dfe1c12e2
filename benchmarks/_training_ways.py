"""A training with one thing switched off that makes its steps faster: what each of them brings.

All ways train alike, but for rounding and, where dropout is drawn otherwise or passes are padded, for which numbers
drop out. They take turns in one process, some steps each; all their models and optimisers are in memory at once.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

from benchmarks._training_loops import built, rotated
from trainables.recipe import Recipe

Switch = Callable[[Any], contextlib.AbstractContextManager[object]]
"""From the encoder to a context in which a way does its steps."""


def processor_seconds(recipe: Recipe, steps: int, turns: int) -> dict[str, list[float]]:
    """Of a step of each way, turn by turn; a turn before them is not counted."""
    from trainables.training.distributed import Workers
    from trainables.training.loop import Watcher, stepwise

    last = steps * (turns + 1) + 1
    longer = recipe.override({"optimisation.max_steps": last, "optimisation.epochs": last})
    courses = {}
    for name, switch in WAYS.items():
        training, encoder = built(recipe)
        batches = functools.partial(_batches, training)
        course = stepwise(training.model, batches, last, longer, 1, Watcher(), Workers())
        courses[name] = (course, functools.partial(switch, encoder))
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    names = list(WAYS)
    for turn in range(turns + 1):
        for name in rotated(names, turn):
            course, switched = courses[name]
            with switched():
                began = time.process_time()
                for _ in range(steps):
                    next(course)
            seconds[name].append((time.process_time() - began) / steps)
    return {name: found[1:] for name, found in seconds.items()}


def _batches(training: Any, steps: range) -> Iterator[Any]:
    return (training.model.tokenized(training.sampler.batch(step)) for step in steps)


def _as_it_is(encoder: Any) -> contextlib.AbstractContextManager[object]:
    return contextlib.nullcontext()


def _padded(encoder: Any) -> contextlib.AbstractContextManager[object]:
    return mock.patch.object(encoder._passes, "packed", False)


def _small_steps(encoder: Any) -> contextlib.AbstractContextManager[object]:
    return mock.patch("trainables.encoders.packed.attend", attend_in_small_steps)


def _dropout_of_torch(encoder: Any) -> contextlib.AbstractContextManager[object]:
    import torch
    from torch.nn import functional as F

    def factors(shape: Sequence[int], probability: float, device: Any, dtype: Any) -> Any:
        return F.dropout(torch.ones(shape, device=device, dtype=dtype), probability)

    stack = contextlib.ExitStack()
    stack.enter_context(mock.patch("trainables.encoders.dropout.dropout", F.dropout))
    stack.enter_context(mock.patch("trainables.encoders.runs.factors", factors))
    return stack


def _adamw_in_parts(encoder: Any) -> contextlib.AbstractContextManager[object]:
    """A training builds its optimiser in its first turn."""
    import torch

    return mock.patch.object(torch.optim, "AdamW", functools.partial(_unfused, torch.optim.AdamW))


def _unfused(adamw: Any, groups: Any, lr: float, fused: bool) -> Any:
    return adamw(groups, lr=lr, fused=False)


WAYS: dict[str, Switch] = {
    "as it is": _as_it_is,
    "passes with padding": _padded,
    "attention in many steps of autograd": _small_steps,
    "dropout as torch draws it": _dropout_of_torch,
    "AdamW in many operations": _adamw_in_parts,
}


def attend_in_small_steps(query: Any, key: Any, value: Any, packing: Any, looks: Any) -> Any:
    """What `trainables.encoders.runs.attend` gives, as autograd and autocast do it."""
    import torch

    from trainables.encoders.dropout import dropout

    scaling = looks.scaling or query.shape[-1] ** -0.5
    attended = []
    for queries, keys, values in zip(*map(packing.by_run, (query, key, value)), strict=True):
        scores, seen = (queries * scaling) @ keys.mT, looks.mask(queries.shape[2], query.device)
        weights = (scores if seen is None else scores.masked_fill(~seen, -torch.inf)).softmax(-1)
        attended.append((dropout(weights, looks.dropout) @ values).permute(1, 2, 0, 3).flatten(0, 1))
    return torch.cat(attended)
