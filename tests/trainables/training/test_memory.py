"""What a backward pass holds, what is free, and that a gradient cache holds no more for a larger batch."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.chunked import Passing, batch_of, model_of, steps
from trainables.encoders import passes as encoder_passes
from trainables.training import memory

pytestmark = pytest.mark.usefixtures("float64")


class TestMemory:
    def test_held_bytes_by_hand(self):
        """Of a linear layer its input, of a tanh its output; no parameters, and nothing twice."""

        class Layer(Passing):
            def embed(self, tokens: Any) -> torch.Tensor:
                states = torch.ones(sum(map(len, tokens)), self.dim)
                return torch.tanh(self.layer(states))

        encoder = Layer()
        assert memory.held_bytes(encoder, [[1, 2], [3]]) == 2 * 3 * encoder.dim * 8  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("files", "free"),
        [
            ({}, 2000),
            ({"memory.max": "max"}, 2000),
            ({"memory.max": "1500k", "memory.current": "900k"}, 600),
            ({"memory.max": "1500k", "memory.current": "900k", "memory.stat": "anon 5\ninactive_file 100k"}, 700),
            ({"memory/memory.limit_in_bytes": str(2**63), "memory/memory.usage_in_bytes": "5"}, 2000),
            ({"memory/memory.limit_in_bytes": "800k", "memory/memory.usage_in_bytes": "1k"}, 799),
            ({"memory.max": "1k", "memory.current": "5k"}, 0),
        ],
    )
    def test_available_bytes(self, files: dict[str, str], free: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        (tmp_path / "memory").mkdir()
        (tmp_path / "meminfo").write_text("MemTotal:  9000 kB\nMemAvailable:   2000 kB\n")
        for name, text in files.items():
            (tmp_path / name).write_text(re.sub(r"(\d+)k", lambda kib: str(1024 * int(kib[1])), text))
        monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
        monkeypatch.setattr(memory, "CONTROL_GROUP", tmp_path)
        assert memory.available_bytes(torch.device("cpu")) == free * 1024
        monkeypatch.setattr(memory, "MEMINFO", tmp_path / "nowhere")
        assert memory.available_bytes(torch.device("cpu")) is None

    @pytest.mark.slow
    def test_flat_in_the_batch_but_for_embeddings(self, make_encoder: Any, monkeypatch: pytest.MonkeyPatch):
        """What is held for backward passes at once, of a batch of 64 sentences and of 2048."""
        torch.set_default_dtype(torch.float32)
        monkeypatch.setitem(encoder_passes.TOKENS_PER_PASS, "cpu", 256)
        peaks: dict[tuple[int, Any], int] = {}
        for count in (64, 2048):
            for chunk in (None, 256):
                model = model_of({"objective.name": "ce"}, make_encoder(layers=1))
                held = Held()
                with torch.autograd.graph.saved_tensors_hooks(held.pack, held.unpack):
                    steps(model, chunk, batches=[batch_of(count, 200)])
                peaks[count, chunk] = held.peak
        embeddings = 2048 * model.encoder.dim * 4
        assert peaks[2048, None] > 20 * peaks[64, None]
        # Cross-entropy holds some copies of its pairs' embeddings.
        assert peaks[2048, 256] < peaks[64, 256] + 25 * embeddings
        assert peaks[2048, None] > 4 * peaks[2048, 256]


class Held:
    """Counts the bytes that are held for backward passes, and their peak."""

    def __init__(self) -> None:
        self.now = self.peak = 0

    def pack(self, tensor: torch.Tensor) -> Any:
        counter, size = self, tensor.numel() * tensor.element_size()

        class Box:
            def __init__(self) -> None:
                self.tensor = tensor

            def __del__(self) -> None:
                counter.now -= size

        self.now += size
        self.peak = max(self.peak, self.now)
        return Box()

    def unpack(self, box: Any) -> torch.Tensor:
        tensor: torch.Tensor = box.tensor
        return tensor
