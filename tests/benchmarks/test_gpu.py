"""The benchmark of a GPU runs on the CPU, too, with tiny shapes; its table is filled."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from benchmarks.gpu import gpu
from benchmarks.gpu._models import Triples, sentences
from benchmarks.gpu._work import OBJECTIVES, PRECISIONS
from trainables.errors import UserError


@pytest.mark.slow
def test_the_smoke_fills_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    gpu.main(["--smoke", "--out", str(tmp_path / "table.md")])
    written = (tmp_path / "table.md").read_text()
    assert capsys.readouterr().out == written
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in written.splitlines() if line.startswith("| ")]
    header, *rows = rows
    assert header == list(gpu.COLUMNS)
    assert [row[1:3] for row in rows] == [
        *(["objective", way] for way in OBJECTIVES),
        *(["training", way] for way in (gpu.PEER, gpu.OURS)),
        *(["encoding", way] for way in (gpu.PEER, *(f"{gpu.OURS}, {precision}" for precision in PRECISIONS))),
    ]
    for row in rows:
        named = dict(zip(header, row, strict=True))
        assert float(named["seconds"]) > 0, row
        assert int(named["tokens/s"].replace(",", "")) > 0
        assert re.fullmatch(r"\d+\.\d%", named["share of peak"])
        assert (named["times peer"] != "-") == (named["work"] in ("training", "encoding"))


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="there is no GPU here; --smoke"):
        gpu.main([])


def test_what_fails_is_a_row_with_its_reason():
    def full() -> gpu.Timed:
        raise torch.OutOfMemoryError("no room for | this")

    row = gpu._measured(gpu.GpuRow("tiny", "training", "ours", 16_384), full)
    failure = "FAILED: OutOfMemoryError: no room for / this | - | - | - | - | - |"
    assert row.line(1e12, {}) == f"| tiny | training | ours | 16,384 | {failure}"


def test_sentences_and_batches_are_the_same_for_both_sides():
    sampler = Triples(batch_size=5, steps_per_epoch=2)
    batch, columns = sampler.batch(1), sampler.columns(1)
    assert batch.sentences == [*columns[0], *columns[1], *columns[2]]
    assert batch.premise.tolist() == list(range(5)) * 2
    assert batch.hypothesis.tolist() == list(range(5, 15))
    assert batch.label.tolist() == [0] * 5 + [2] * 5
    lengths = [len(sentence.split()) for sentence in sentences(2000, seed=0)]
    assert 10 < sum(lengths) / 2000 < 12
    assert max(lengths) > 25
