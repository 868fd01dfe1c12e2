"""What the documentation promises: the tutorial's commands run, the README's links exist, its spaces are the spaces."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from search_spaces import spaces
from study.options import parse

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.ray
def test_the_tutorials_commands_run(tmp_path: Path) -> None:
    """In a folder with links to the rooms, so that nothing is written into the checkout."""
    text = (ROOT / "docs" / "tutorial.md").read_text()
    for room in ("study", "trainables", "search_spaces", "reports"):
        (tmp_path / room).symlink_to(ROOT / room)
    for name, code in re.findall(r"```python (\S+)\n(.*?)```", text, re.S):
        (tmp_path / name).write_text(code)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    commands = [line for block in re.findall(r"```console\n(.*?)```", text, re.S) for line in block.splitlines()]
    assert len(commands) == 8
    for command in commands:
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
    report = (tmp_path / "mine" / "report.md").read_text()
    assert "Does pooling matter on my pairs?" in report
    assert len(list((tmp_path / "mine" / "ledger").glob("*.json"))) == 3
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores["tasks"]["TREC"]["test_accuracy"] > 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_readmes_commands_name_what_there_is() -> None:
    readme = (ROOT / "README.md").read_text()
    commands = re.findall(r"^ +(?:ray job submit .* -- )?python study/run\.py (.*?)(?: +#.*)?$", readme, re.M)
    assert len(commands) >= 10
    for command in commands:
        request = parse(shlex.split(command))
        space = None if request.space.endswith(".py") else spaces()[request.space]
        for assignment in request.evaluate:
            assert space is not None
            space.row(assignment.partition("=")[0])


def test_the_readme_names_every_space() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [name for name in spaces() if f"`{name}`" not in readme] == []
