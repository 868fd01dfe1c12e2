"""What the documentation promises: the tutorial's commands run, links lead somewhere, every space has a line."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
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
    monkeypatch.setattr(plugins, "_loaded_files", {})
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
    monkeypatch.setattr(plugins, "_loaded_files", {})
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


# ---- findings ----

NUMBER = re.compile(r"(?<![\w.,])[+-]?\d+(?:,\d{3})*\.\d+")
COUNTS = re.compile(r"(?<![\w.,])\d+(?:,\d{3})* of \d+(?:,\d{3})*(?![\w%]|[.,]\d)")
FINDINGS = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
SECTIONS = {text.partition("\n")[0]: text for text in re.split(r"^## ", FINDINGS, flags=re.MULTILINE)[1:]}


def unfounded(section: str, report: str) -> list[str]:
    """Quoted lines, numbers with decimals, and counts (`2 of 5`) of a section that its report has not."""
    quoted = [line.removeprefix("> ") for line in section.splitlines() if line.startswith("> ")]
    missing = [line for line in quoted if line not in report.splitlines()]
    for form in (NUMBER, COUNTS):
        stated = set(form.findall(report))
        missing += [number for number in form.findall(section) if number not in stated]
    return missing


@pytest.mark.parametrize("title", SECTIONS)
def test_a_finding_stands_in_the_report_of_its_study(title: str) -> None:
    """docs/findings.md says nothing that a committed study does not; `test_archive` makes its report anew."""
    section = SECTIONS[title]
    [name] = set(re.findall(r"\(examples/(\w+)/report\.md\)", section))
    report = (ROOT / "docs" / "examples" / name / "report.md").read_text(encoding="utf-8")
    assert unfounded(section, report) == []
    assert any(line.startswith("> ") for line in section.splitlines())
    assert name in spaces()
    assert title == spaces()[name].title
    assert f"python study/run.py --space {name}" in section


def test_what_no_report_says_is_found() -> None:
    report = "- **Gain:** +1.25 [+0.50, +2.00]\n"
    assert unfounded("> - **Gain:** +1.25 [+0.50, +2.00]\nSo +1.25, at least +0.50.", report) == []
    assert unfounded("> - **Gain:** +1.26\nSo 0.5.", report) == ["- **Gain:** +1.26", "+1.26", "0.5"]
    assert unfounded("So 1,200 of 3,000.", "(1,200 of 3,000)") == []
    assert unfounded("So 2 of 30, of 1.5 of 2.", "1 of 30, 1.5") == ["2 of 30"]


# ---- the notebook ----

NOTEBOOK = ROOT / "docs" / "own_pairs.ipynb"
SCRIPT = """
import json, sys
space = {"__name__": "__main__"}
for number, cell in enumerate(json.load(open(sys.argv[1], encoding="utf-8"))["cells"]):
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), space)
answer = space["answer"]
print(len(answer.trials), answer._repr_html_().startswith("<pre>"), space["embeddings"].shape[0])
"""


def test_it_keeps_what_a_run_gave_and_every_page_that_should_leads_to_it() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    cells = json.loads(text)["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)]
    install, *shown = code
    assert "pip" in "".join(install["source"])
    assert install["outputs"] == []
    assert all(cell["outputs"] for cell in shown)
    outputs = [output for cell in shown for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert [output for output in outputs if "text/html" in output.get("data", {})]
    assert not re.search(r"/(home|root|tmp)/", text), "a machine's path"
    assert len({cell["id"] for cell in cells}) == len(cells)
    for cell in code:
        ast.parse("".join(cell["source"]))
    for page in ("python.md", "own_data.md"):
        assert "(own_pairs.ipynb)" in (ROOT / "docs" / page).read_text()
    assert NOTEBOOK.relative_to(ROOT).as_posix() in (ROOT / "Makefile").read_text()


@pytest.mark.ray
@pytest.mark.slow
def test_its_cells_run_in_their_order(cluster: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(NOTEBOOK)]
    env = {**cluster, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    trials, shown, encoded = done.stdout.splitlines()[-1].split()
    assert int(trials) > 5
    assert (shown, encoded) == ("True", "3")
