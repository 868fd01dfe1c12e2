"""The benchmarks' command line, and that each benchmark answers --help."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks.__main__ import benchmarks, main


def command_line(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "benchmarks", *arguments], capture_output=True, text=True, check=False)


def test_every_benchmark_is_listed_with_a_sentence() -> None:
    listed = command_line("--help").stdout
    for name, summary in benchmarks().items():
        assert summary
        assert f"{name} " in listed


@pytest.mark.parametrize("name", benchmarks())
def test_every_benchmark_answers_help(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "argv", ["benchmarks", name, "--help"])
    with pytest.raises(SystemExit, match=r"^0$"):
        main()
    assert "usage" in capsys.readouterr().out


def test_unknown_benchmark_is_one_sentence() -> None:
    ended = command_line("nope")
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: 'nope' is no benchmark; use ")
