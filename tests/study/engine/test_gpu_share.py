"""What a worker does with the GPU, or the share of one, that it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from study.engine import worker
from study.engine.worker import take_share
from tests.pretended_gpu import pretended
from trainables.errors import UserError
from trainables.training.memory import available_bytes


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "")


@pytest.mark.parametrize(
    ("driver", "words"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57.02\nGCC", "the driver 'NVIDIA UNIX .* 470.57.02'"),
        (None, "no driver of NVIDIA"),
    ],
)
def test_a_gpu_that_torch_cannot_use_is_an_error(
    driver: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "version"
    if driver:
        file.write_text(driver)
    monkeypatch.setattr(worker, "DRIVER", file)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    with pytest.raises(UserError, match=rf"torch .* is built for CUDA 13\.0, and the machine has {words}; .* 0$"):
        take_share(0.5)
    take_share(0)  # a trial without a GPU asks for none


def test_a_share_bounds_the_memory(monkeypatch: pytest.MonkeyPatch):
    bounds: list[Any] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", bounds.append)
    for gpus in (0.25, 1.0, 2.0):
        take_share(gpus)
    assert bounds == [0.25]


def test_what_is_free_is_no_more_than_what_is_left_of_the_share():
    with pretended(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda, "memory_reserved", lambda device=None: 2**31)  # of 16 GB, of which all are free
        patch.setattr(torch.cuda, "get_per_process_memory_fraction", lambda device=None: 0.25)
        assert available_bytes(torch.device("cuda")) == 2**32, "what is reserved for nothing is free, too"
