"""What the documentation promises: the tutorial's commands run, links lead somewhere, every space has a line."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reports.__main__
import study.run
import trainables.corpora.__main__
import trainables.senteval.__main__
from search_spaces import spaces
from search_spaces.goals import GOALS
from study.cli.options import parse
from study.plan import decide, read_request
from tests import keys_page
from tests.contributing import PLUGINS
from trainables import plugins
from trainables.corpora.layouts import LAYOUTS
from trainables.errors import answer_user_errors
from trainables.evaluation_config import all_keys
from trainables.objectives import OBJECTIVES
from trainables.recipe import keys
from trainables.senteval.tasks import TASKS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("docs/*/*/report.md"))]


COMMANDS: dict[str, Callable[[list[str]], int | None]] = {
    "study/run.py": study.run.main,
    "-m trainables.corpora": trainables.corpora.__main__.main,
    "-m trainables.senteval": trainables.senteval.__main__.main,
    "-m reports": reports.__main__.main,
}


def run_here(words: list[str]) -> int:
    """A command in this process, where what it imports is there already."""
    name, arguments = (" ".join(words[1:3]), words[3:]) if words[1] == "-m" else (words[1], words[2:])
    return answer_user_errors(lambda: COMMANDS[name](arguments))


@pytest.mark.ray
@pytest.mark.slow
def test_the_tutorials_commands_run(
    cluster: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_kept: None
) -> None:
    """In a folder with links to the packages, so that nothing is written into the checkout. The study has a process of
    its own."""
    monkeypatch.chdir(tmp_path)
    for registry in (TASKS, GOALS):  # as they were, after the test
        monkeypatch.setattr(registry, "_entries", dict(registry))
    monkeypatch.setattr(plugins, "_ran", {})
    text = (ROOT / "docs" / "tutorial.md").read_text()
    for package in ("study", "trainables", "search_spaces", "reports"):
        (tmp_path / package).symlink_to(ROOT / package)
    for name, content in re.findall(r"^```\w+ (\S+)\n(.*?)^```", text, re.S | re.M):
        (tmp_path / name).write_text(content)
    commands = [line for block in re.findall(r"```console\n(.*?)```", text, re.S) for line in block.splitlines()]
    assert len(commands) == 13
    studies = [
        command
        for command in commands
        if "study/run.py" in command and not re.search(r"--dry-run|--list|--write-space", command)
    ]
    assert len(studies) == 2
    assert commands.index(studies[0]) == 2, "own pairs come first"
    for command in commands:
        if command in studies:
            done = subprocess.run(command, shell=True, env=cluster, capture_output=True, text=True, timeout=240)
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            assert "Traceback" not in done.stderr
        else:
            words = subprocess.run(
                f"printf '%s\\n' {command}", shell=True, stdout=subprocess.PIPE, text=True, check=True
            )
            assert run_here(words.stdout.splitlines()) == 0, command
    answer = json.loads((tmp_path / "first" / "answer.json").read_text())
    assert answer["figure"] == "triplets test_accuracy"
    report = (tmp_path / "mine" / "report.md").read_text()
    assert "Does pooling matter on my pairs?" in report
    assert len(list((tmp_path / "mine" / "ledger").glob("*.json"))) == 3
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores["tasks"]["TREC"]["test_accuracy"] > 20
    assert "test_accuracy" in json.loads((tmp_path / "places.json").read_text())["tasks"]["places"]


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ +(.+)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text()):
        if not target.startswith("http"):
            linked = page.parent / target if target else page
            assert linked.exists(), target
            assert not anchor or anchor in anchors(linked), f"{target}#{anchor}"


def test_the_commands_of_the_first_pages_name_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what they set can be set."""
    text = "".join((ROOT / page).read_text() for page in ("README.md", "docs/studies.md", "docs/search_options.md"))
    tutorial = re.findall(r"^```python (\S+)\n(.*?)^```", (ROOT / "docs/tutorial.md").read_text(), re.S | re.M)
    for name, content in [*PLUGINS.items(), *tutorial]:
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plugins, "_ran", {})
    before = set(OBJECTIVES)
    commands = re.findall(r"^ +(?:ray job submit .* -- )?python study/run\.py (.*?)(?: +#.*)?$", text, re.M)
    assert len(commands) >= 20
    for command in commands:
        request = parse(shlex.split(command))
        space = None if request.space.endswith(".py") or not request.space else spaces()[request.space]
        for assignment in request.evaluate:
            space.row(assignment.partition("=")[0])
        if request.set:
            decide(read_request(request), gpus=0)
    for name in set(OBJECTIVES) - before:
        OBJECTIVES.remove(name)


def test_the_walk_names_functions_that_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    steps = re.findall(r"`([\w/]+\.py):\s+(\w+)`", page)
    assert len(steps) > 20
    for file, name in steps:
        defined = {getattr(node, "name", "") for node in ast.walk(ast.parse((ROOT / file).read_text()))}
        assert name in defined, f"{file}: {name}"


@pytest.mark.slow
def test_the_page_on_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its blocks one after the other, as in a notebook."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    page = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    space: dict[str, Any] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec", dont_inherit=True), space)
    assert len(blocks) == 5
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_the_page_of_keys_is_what_the_components_say() -> None:
    assert keys_page.PAGE.read_text(encoding="utf-8") == keys_page.page(), "python -m tests.keys_page writes it"
    assert keys_page.page().count("\n- `") == len(all_keys())


def test_what_presets_set_is_what_the_page_on_papers_says() -> None:
    """Every key that a preset sets has a row, which names its value in `paper` and in `released`."""
    page = (ROOT / "docs" / "papers.md").read_text()
    rows = {cells[0]: cells[1:] for cells in re.findall(r"^\| `(\w+\.\w+)` \| (.*?) \| (.*?) \|$", page, re.M)}
    released: dict[str, set[str]] = {}
    for entry in (*OBJECTIVES.values(), *LAYOUTS.values()):
        for key, value in entry.released.items():
            released.setdefault(key, set()).add(str(value))
    assert rows.keys() == released.keys()
    for key, (paper, other) in rows.items():
        assert key == "optimisation.schedule" or paper.startswith(f"`{keys()[key].default}`")
        assert released[key] == {other.split("`")[1]}


def test_the_page_on_studies_names_every_space() -> None:
    page = (ROOT / "docs" / "studies.md").read_text()
    assert [name for name in spaces() if f"`{name}`" not in page] == []
