"""The memory that a pass of an encoder holds, and the memory that is free."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from trainables.encoders.contract import TrainableEncoder

CONTROL_GROUP = Path("/sys/fs/cgroup")
MEMINFO = Path("/proc/meminfo")
_VERSIONS = (
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""Versions of control groups: folder, files of limit and use, and the entry of cached files, which can be freed."""


def held_bytes(encoder: TrainableEncoder, tokens: Sequence[Sequence[int]]) -> int:
    """Return the bytes that a forward pass over the sentences holds for the backward pass, without parameters and
    without the tensors in `encoder.frozen`. The pass is run once and discarded. Changed buffers are restored."""
    assert isinstance(encoder, nn.Module)
    buffers = [(buffer, buffer.clone()) for buffer in encoder.buffers()]
    lasting = (*encoder.parameters(), *getattr(encoder, "frozen", ()))
    parameters = {parameter.untyped_storage().data_ptr() for parameter in lasting}
    held: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            held[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # a node that holds its own output is a reference cycle, and the graph is never freed

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        embedded = encoder.embed(tokens)
    for buffer, before in buffers:
        buffer.copy_(before)
    del embedded  # nothing was freed before, so all addresses are different
    return sum(held.values())


def available_bytes(device: torch.device) -> int | None:
    """Return the bytes that are free for this process; None if the machine does not report them."""
    if device.type == "cuda":
        reserved = torch.cuda.memory_reserved(device)
        free, total = torch.cuda.mem_get_info(device)
        share = int(torch.cuda.get_per_process_memory_fraction(device) * total)
        return max(0, min(free, share - reserved)) + reserved - torch.cuda.memory_allocated(device)
    if not MEMINFO.exists():
        return None
    lines = dict(line.split(":") for line in MEMINFO.read_text().splitlines())
    free = int(lines["MemAvailable"].split()[0]) * 1024
    for subfolder, limit, used, cached in _VERSIONS:
        folder = CONTROL_GROUP / subfolder
        if (allowed := _number(folder / limit)) is not None:
            free = min(free, allowed - (_number(folder / used) or 0) + _cached(folder / "memory.stat", cached))
    return max(0, free)


def _number(file: Path) -> int | None:
    """Return the number in a file; None if there is no file or no limit ("max")."""
    text = file.read_text().strip() if file.exists() else "max"
    return None if text == "max" else int(text)


def _cached(file: Path, name: str) -> int:
    lines = dict(line.split() for line in file.read_text().splitlines()) if file.exists() else {}
    return int(lines.get(name, 0))
