"""The benchmark of a GPU runs on the CPU, too, with tiny shapes; its table is filled."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from benchmarks import gpu, racing, training
from benchmarks._arithmetic import forward_flops
from benchmarks._gpu_models import Triples, sentences
from benchmarks._gpu_work import OBJECTIVES, PRECISIONS
from trainables.errors import UserError

SCRIPT = Path(gpu.__file__).with_suffix(".sh")


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
        *(["training", way] for way in (*gpu.PEERS, "ours")),
        *(["encoding", way] for way in (gpu.PEERS[0], *(f"ours, {precision}" for precision in PRECISIONS))),
        ["MR", "cpu"],
    ]
    for row in rows:
        named = dict(zip(header, row, strict=True))
        assert float(named["seconds"]) > 0, row
        if named["work"] != "MR":
            assert int(named["tokens/s"].replace(",", "")) > 0
            assert re.fullmatch(r"\d+\.\d%", named["share of peak"])
        assert (named["times peer"] != "-") == (named["work"] in ("training", "encoding"))


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="there is no GPU here; --smoke"):
        gpu.main([])


@pytest.mark.parametrize(
    ("benchmark", "arguments", "sentence"),
    [
        (gpu, "--smoke --model nope", "--model 'nope' is no model folder"),
        (gpu, "--smoke --out nowhere/x.md", "lies in a folder that is not there"),
        (gpu, "--smoke --out .", "'.' is a folder"),
        (gpu, "--smoke --batches 2 0", "--batches must be at least 1, not 0"),
        (training, "--steps 0", "--steps must be at least 1, not 0"),
        (training, "--batch-size 1", "--batch-size must be at least 2, not 1"),
        (training, "--encoder nope", "--encoder 'nope' is no model folder"),
        (racing, "--studies 1", "--studies must be at least 2, not 1"),
        (training, "--encoder . --data empty.jsonl", "no labelled pair in 'empty.jsonl'"),
    ],
)
def test_a_mistake_is_told_before_anything_is_measured(
    benchmark: ModuleType,
    arguments: str,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").write_text('{"premise": "a", "hypothesis": "b", "label": "-"}')
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(UserError, match=re.escape(sentence)):
        benchmark.main(arguments.split())
    assert capsys.readouterr().out == ""


def test_what_fails_is_a_row_with_its_reason():
    def full() -> gpu.Timed:
        raise torch.OutOfMemoryError("no room for | this")

    row = gpu._measured(gpu.Row("tiny", "training", "ours", 16_384), full)
    line = row.line(1e12, {})
    assert (
        line
        == "| tiny | training | ours | 16,384 | FAILED: OutOfMemoryError: no room for / this | - | - | - | - | - | - |"
    )


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


def run_script(
    folder: Path, *arguments: str, gpu: bool = True, tests: int = 0, measuring: int = 0
) -> tuple[int, str, str]:
    """Exit status, what was run and what was said, with a Python that only notes its arguments."""
    python = folder / "python"
    python.write_text(
        f"#!/bin/sh\necho $1 $2 $3 $4 $5 $6 >> {folder}/ran\n"
        f"case $2 in pytest) exit {tests};; benchmarks) exit {measuring};; *) exit {0 if gpu else 1};; esac\n"
    )
    python.chmod(0o755)
    environment = {**os.environ, "PYTHON": str(python)}
    done = subprocess.run(
        ["bash", SCRIPT, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, (folder / "ran").read_text(), done.stdout + done.stderr


class TestScript:
    def test_tests_then_the_table(self, tmp_path: Path):
        code, ran, said = run_script(tmp_path, "table.md", "--steps", "3")
        assert (code, said) == (0, "")
        assert [line.split()[:2] for line in ran.splitlines()[-2:]] == [["-m", "pytest"], ["-m", "benchmarks"]]
        assert ran.endswith("-m benchmarks gpu --out table.md --steps\n")

    def test_help_does_nothing_else(self, tmp_path: Path):
        code, ran, said = run_script(tmp_path, "table.md", "--help", gpu=False)
        assert (code, ran) == (0, "-m benchmarks gpu --help\n")
        assert said.startswith("usage: benchmarks/gpu.sh [TABLE]")

    def test_without_a_gpu(self, tmp_path: Path):
        code, ran, said = run_script(tmp_path, gpu=False)
        assert code == 2
        assert "-m" not in ran
        assert said.count("\n") == 1
        assert "there is no GPU here" in said
        assert run_script(tmp_path, "--smoke", gpu=False)[0] == 0

    def test_it_measures_though_a_test_failed(self, tmp_path: Path):
        code, ran, said = run_script(tmp_path, tests=1)
        assert code == 1
        assert ran.endswith("-m benchmarks gpu --out gpu.md\n")
        assert "the tests that ran before it did not pass" in said

    def test_the_benchmarks_own_mistake_is_the_exit_status(self, tmp_path: Path):
        assert run_script(tmp_path, "--batches", "0", measuring=2)[0] == 2


def test_the_script_is_sound_shell():
    shellcheck = Path(sys.executable).parent / "shellcheck"
    done = subprocess.run([shellcheck, SCRIPT], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")
