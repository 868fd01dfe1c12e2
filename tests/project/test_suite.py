"""What `tests/conftest.py` promises of the whole suite."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reports.plots.canvas import make_figure, save

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("package", ["reports.facts.quantity", "study"])
def test_our_packages_do_not_sum_floats_with_the_builtin(package: str):
    with pytest.raises(AssertionError, match=r"math\.fsum"):
        exec("sum([0.1, 0.2])", {"__name__": package})
    exec("assert sum([1, 2]) == 3", {"__name__": package})


def test_others_sum_floats_as_they_like():
    exec("assert sum([0.5, 0.5]) == 1", {"__name__": "numpy.random"})


def test_pictures_are_drawn_for_those_who_ask(request: pytest.FixtureRequest, tmp_path: Path):
    figure, _ = make_figure(1, height=1.0)
    assert save(figure, tmp_path / "a.svg").read_text() == "picture"
    request.getfixturevalue("drawn")
    assert "<svg" in save(figure, tmp_path / "a.svg").read_text()


def test_the_tests_that_further_pythons_run_are_there():
    """They are named by path, so a file that moves would be missed by nobody but those."""
    script = (ROOT / ".ci" / "versions").read_text()
    lists = [line for line in script.splitlines() if line.startswith(("tests=", "tests+="))]
    shell = "\n".join([*lists, 'printf "%s\\n" "${tests[@]}"'])
    named = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True).stdout.split()
    assert len(named) > 5
    assert [path for path in named if not (ROOT / path).exists()] == []
