"""The benchmark of a GPU runs on the CPU, too, with tiny shapes; its table is filled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks import gpu
from benchmarks._arithmetic import forward_flops
from benchmarks._gpu_models import Triples, sentences
from trainables.errors import UserError

SCRIPT = Path(gpu.__file__).with_suffix(".sh")


def test_the_smoke_fills_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    gpu.main(["--smoke", "--out", str(tmp_path / "table.md")])
    written = (tmp_path / "table.md").read_text()
    assert capsys.readouterr().out == written
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in written.splitlines() if line.startswith("| ")]
    header, *rows = rows
    assert header == list(gpu.COLUMNS)
    ways = ["sentence-transformers", "padded", "packed", "packed, compiled"]
    assert [row[1:3] for row in rows] == [
        *(["training", way] for way in ways),
        *(["encoding", way] for way in ways),
        ["MR", "cpu"],
    ]
    for row in rows:
        named = dict(zip(header, row, strict=True))
        assert float(named["seconds"]) > 0
        if named["work"] != "MR":
            assert int(named["tokens/s"].replace(",", "")) > 0
            assert float(named["share of peak"].rstrip("%")) > 0
            assert (float(named["times peer"]) == 1) == (named["way"] == "sentence-transformers")


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="there is no GPU here; --smoke"):
        gpu.main([])


def test_an_hour_needs_data():
    with pytest.raises(UserError, match="--nli and --senteval"):
        gpu.main(["--smoke", "--hour"])


def test_what_does_not_fit_is_a_row_too():
    def full() -> gpu.Timed:
        raise torch.OutOfMemoryError("no room")

    row = gpu._measured(gpu.Row("tiny", "training", "packed", 16_384, None), full)
    assert row.line(1e12, {}) == "| tiny | training | packed | 16,384 | - | out of memory | - | - | - | - |"


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


def test_the_arithmetic_by_hand():
    from transformers import BertConfig

    config = BertConfig(hidden_size=2, num_hidden_layers=3, intermediate_size=5)
    one_token = 2 * (4 * 2 * 2 + 2 * 2 * 5) + 4 * 2
    assert forward_flops(config, [1]) == 3 * one_token
    assert forward_flops(config, [3, 1]) == 3 * (3 * 2 * (4 * 2 * 2 + 2 * 2 * 5) + 4 * 2 * 9 + one_token)


def test_the_script_is_sound_shell():
    shellcheck = Path(sys.executable).parent / "shellcheck"
    done = subprocess.run([shellcheck, SCRIPT], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")
