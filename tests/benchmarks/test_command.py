"""The benchmarks' command line: what it lists, and what each benchmark answers to --help and to a mistake."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.__main__ import benchmarks, main
from benchmarks.gpu import gpu
from benchmarks.own import own_records, own_replay
from benchmarks.training import evening, training
from trainables.errors import UserError


def test_every_benchmark_is_listed_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--help"])
    assert main() == 0
    listed = capsys.readouterr().out
    assert len(benchmarks()) >= 9
    for name, file in benchmarks().items():
        assert re.search(rf"^  {name} +[A-Z].+[.:]$", listed, re.MULTILINE), file


@pytest.mark.parametrize("name", benchmarks())
def test_every_benchmark_answers_help(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "argv", ["benchmarks", name, "--help"])
    with pytest.raises(SystemExit, match=r"^0$"):
        main()
    assert f"usage: python -m benchmarks {name}" in capsys.readouterr().out


def test_a_benchmark_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "nope"])
    with pytest.raises(UserError, match="'nope' is no benchmark; use "):
        main()


@pytest.mark.parametrize(
    ("benchmark", "arguments", "sentence"),
    [
        (gpu, "--smoke --model nope", "--model 'nope' is no model folder"),
        (gpu, "--smoke --out nowhere/x.md", "is in a folder that does not exist"),
        (gpu, "--smoke --out .", "'.' is a folder"),
        (gpu, "--smoke --batches 2 0", "--batches must be at least 1, not 0"),
        (training, "--batch-size 1", "--batch-size must be at least 2, not 1"),
        (training, "--encoder nope", "--encoder 'nope' is no model folder"),
        (training, "--encoder . --data empty.jsonl", "no labelled pair in 'empty.jsonl'"),
        (evening, "--train x --dev x --test x --encoder . --results .", "is there already"),
        (own_records, "", "--to"),
        (own_records, "--to x --sets no", "is no set"),
        (own_replay, "--out nowhere.md", "is no page with the line <!-- own replay: begin -->"),
    ],
)
def test_a_mistake_is_refused_before_anything_is_measured(
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
