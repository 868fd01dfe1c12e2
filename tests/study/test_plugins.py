"""Plugins and a person's space file: run before the space is loaded, kept with the results, run again in workers."""

from __future__ import annotations

import dataclasses
import pickle
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reports.ledger import PLUGINS, StudyInfo
from reports.ledger.own_code import trust_folder
from reports.sections import SECTIONS
from search_spaces.limits import LIMITS
from study.check import check_plan
from study.cli.options import parse
from study.engine.messages import WorkerTask
from study.plan import Plan, read_request
from study.results_folder.check import check_results
from study.results_folder.prepare import prepare_results
from study.results_folder.versions import digest, versions
from study.trial import SourceFile, Trial
from tests.study import plans
from trainables.errors import UserError, answer_user_errors
from trainables.objectives import OBJECTIVES
from trainables.plugins import load_plugin
from trainables.recipe import Recipe

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = """
from trainables.objectives import OBJECTIVES


class Mine(OBJECTIVES["scl"]):
    name = "{name}"


OBJECTIVES.add(Mine)
"""
SPACE = """
from search_spaces import Row, Space
from trainables.recipe import Recipe
LAPTOP = {"encoder.name": "scenes-small", "corpus.nli": "scenes", "evaluation.senteval": "scenes"}
SPACE = Space("mine", "Mine", "nobody", Recipe().preferring({"objective.name": "first"}), LAPTOP, rows=(Row("a", {}),))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Two plugins with an objective each, and a space that needs the first; what they add is forgotten again."""
    for name in ("first", "second"):
        # The folder's name makes each test's sources its own: what ran once in a process is not run again.
        (tmp_path / f"{name}.py").write_text(f"# {tmp_path}\n" + PLUGIN.format(name=name))
    (tmp_path / "space.py").write_text(f"# {tmp_path}\n" + SPACE)
    before = set(OBJECTIVES)
    yield tmp_path
    for name in set(OBJECTIVES) - before:
        OBJECTIVES.remove(name)


def plan_of(folder: Path, *plugins: str) -> Plan:
    arguments = ["--space", str(folder / "space.py"), "--scale", "laptop", "--results", str(folder / "results")]
    for plugin in plugins:
        arguments += ["--plugin", str(folder / plugin)]
    return plans.plan_of(*arguments)


def test_a_space_may_name_what_a_plugin_adds(folder: Path) -> None:
    with pytest.raises(UserError, match=r"objective\.name must be"):
        plan_of(folder)
    plan = plan_of(folder, "first.py")
    check_plan(plan)
    assert [source.what for source in plan.draft.sources] == ["plugin", "space"]


def test_a_study_keeps_its_plugins_and_goes_on_with_others(folder: Path) -> None:
    first = plan_of(folder, "first.py")
    check_results(first)
    info = prepare_results(first, "hardware")
    assert info.plugins == ["first.py"]
    assert set(info.versions) >= {"plugins", "trainables"}
    both = plan_of(folder, "first.py", "second.py")
    check_results(both)
    assert prepare_results(both, "hardware").plugins == ["first.py", "second.py"]
    results = folder / "results"
    for name in ("first.py", "second.py"):
        assert (results / "plugins" / name).read_text() == (folder / name).read_text()
    assert StudyInfo.load(results).load_space(results).base.objective.name == "first"


def test_plugins_that_cannot_go_together_are_refused_before_a_trial_runs(folder: Path) -> None:
    prepare_results(plan_of(folder, "first.py"), "hardware")
    (folder / "results" / "plugins" / "first.py").write_text((folder / "first.py").read_text() + "X = 1\n")
    trust_folder(folder / "results")
    (folder / "renamed.py").write_text((folder / "first.py").read_text())
    with pytest.raises(UserError, match=r"first\.py, line 10: the name .* is taken"):
        check_results(plan_of(folder, "renamed.py"))


def test_a_limit_may_be_a_plugins(folder: Path) -> None:
    (folder / "limit.py").write_text(
        "from search_spaces.limits import LIMITS, Limit\n"
        'LIMITS.add(Limit("steps", "steps of each trial", lambda cost: cost.get("steps")))\n'
    )
    arguments = ["--space", "scl_tau", "--scale", "laptop", "--results", str(folder / "results")]
    try:
        draft = read_request(parse([*arguments, "--plugin", str(folder / "limit.py"), "--limit", "steps=9"]))
    finally:
        LIMITS.remove("steps")
    assert draft.limits == {"steps": 9.0}


def test_two_plugins_of_one_file_name_are_refused(folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "first.py").write_text("VALUE = 1\n")
    with pytest.raises(UserError, match=r"two plugins have the same file name \(first\.py, first\.py\)"):
        plan_of(folder, "first.py", "more/first.py")


DIFFICULT = [
    ("import sys\nsys.exit(0)", "line 2: SystemExit: 0"),
    ("import sys\n\ndef leave():\n    sys.exit()\n\nleave()", "line 4: SystemExit"),
    ("class Own(BaseException): pass\nraise Own('no')", "line 2: Own: no"),
    ("class Own(KeyboardInterrupt): pass\nraise Own('no')", "line 2: Own: no"),
    ("class Mute(Exception):\n    def __str__(self): raise ValueError\n\nraise Mute", "line 4: Mute"),
    ("import sys\nclass Mute(Exception):\n    def __str__(self): sys.exit(0)\n\nraise Mute", "line 5: Mute"),
    ("class Mute(Exception):\n    def __str__(self): return None\n\nraise Mute", "line 4: Mute"),
    ("X = 1\nY = '\0'", "line 2: source code .* null bytes"),
    ("x = (", "line 1: .*never closed"),
    ("raise SyntaxError('no')", "line 1: SyntaxError: no"),
]
"""Plugins that end in something else than an ordinary error."""


def plan_in(study: Path, plugin: Path) -> int:
    from study.run import main

    line = ["--space", "scl_tau", "--scale", "laptop", "--dry-run", "--plugin", str(plugin)]
    return answer_user_errors(lambda: main([*line, "--results", str(study / "results")]))


def report_of(study: Path, plugin: Path) -> int:
    from reports.__main__ import main
    from reports.testing import make_study

    results = make_study(study / "results")
    (results.folder / PLUGINS).mkdir()
    plugin.rename(results.folder / PLUGINS / plugin.name)
    dataclasses.replace(results.info, plugins=[plugin.name]).save(results.folder)
    return answer_user_errors(lambda: main([str(results.folder), "--trust"]))


def work_in(study: Path, plugin: Path) -> int:
    task = WorkerTask(
        "t", (Trial(Recipe(), 0, "row"),), sources=(SourceFile("plugin", str(plugin), plugin.read_text()),)
    )
    return answer_user_errors(lambda: task.run_sources() or 0)


@pytest.mark.parametrize(
    ("text", "sentence", "process"),
    [(*case, work_in) for case in DIFFICULT]
    + [(*case, process) for case in (DIFFICULT[0], DIFFICULT[3]) for process in (plan_in, report_of)],
)
def test_no_plugin_ends_a_process_without_a_word(
    tmp_path: Path, text: str, sentence: str, process: Callable[[Path, Path], int], capsys: pytest.CaptureFixture[str]
) -> None:
    plugin = tmp_path / "difficult.py"
    plugin.write_text(text + "\n")
    assert process(tmp_path, plugin) == 2
    assert re.fullmatch(rf"error: .*difficult\.py, {sentence}.*\n", capsys.readouterr().err)


SECTION = """
import sys
from reports.sections import SECTIONS, Section

def leave(results, pictures):
    sys.exit(0)

SECTIONS.add(Section("leaving", "Leaving", leave))
"""


def test_nor_does_what_it_adds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin = tmp_path / "difficult.py"
    plugin.write_text(f"# {tmp_path}{SECTION}")
    try:
        assert report_of(tmp_path, plugin) == 2
    finally:
        SECTIONS.remove("leaving")
    console = capsys.readouterr().err
    assert re.fullmatch(r"error: .*difficult\.py, line 6: SystemExit: 0\n", console)


def test_ctrl_c_while_a_plugin_runs_stays_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins without it
    try:
        with pytest.raises(KeyboardInterrupt):
            load_plugin(tmp_path / "slow.py")
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("text", "sentence"), DIFFICULT[:7])
def test_an_objective_that_raises_so_fails_its_trial_alone(
    monkeypatch: pytest.MonkeyPatch, text: str, sentence: str
) -> None:
    """What a plugin adds is run later, in the midst of a training: the worker tells of it and goes on."""
    from study.engine import worker

    calls: list[tuple[Any, ...]] = []
    me: Any = SimpleNamespace(rank=0, count=1, finish=lambda *content: calls.append(content))
    monkeypatch.setattr(WorkerTask, "run_sources", lambda task: exec(text, {}))  # the first that is called for a trial
    monkeypatch.setattr(worker.torch, "set_num_threads", lambda count: None)
    worker.perform(WorkerTask("t", (Trial(Recipe(), 0, "row"),)), me)
    ((_, reason, details, _),) = calls
    assert reason.startswith(sentence.partition(": ")[2].partition(":")[0])
    assert "Traceback" in details


WORKER = """
import os, pickle, sys
from pathlib import Path
import study.engine.messages
for file in sys.argv[1:]:
    if os.fork() == 0:
        task = pickle.loads(Path(file).read_bytes())
        task.run_sources()
        (trial,) = task.trials
        print(trial.recipe.objective.name, flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.mark.slow
def test_a_worker_builds_a_recipe_that_outside_entries_define(folder: Path) -> None:
    """In a process of its own for each task, which knows nothing but what the task carries."""
    own = SourceFile("space", str(folder / "space.py"), PLUGIN.format(name="of_the_space") + SPACE)
    sources = (*plan_of(folder, "first.py").draft.plugins, own)
    own.run()
    (folder / "first.py").unlink()  # a worker's machine may not have it
    tasks = [("first", sources), ("of_the_space", sources), ("first", ())]
    for number, (name, code) in enumerate(tasks):
        trial = Trial(Recipe().override({"objective.name": name}), 0, "row")
        (folder / f"task{number}").write_bytes(pickle.dumps(WorkerTask("key", (trial,), sources=code)))
    files = [str(folder / f"task{number}") for number in range(len(tasks))]
    done = subprocess.run([sys.executable, "-c", WORKER, *files], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["first", "of_the_space"], done.stderr
    assert "objective.name must be" in done.stderr


CODE = '''"""A module."""
LIMIT = 3
"""How many."""


def double(x: int) -> int:
    """Twice x."""
    return 2 * x  # a comment
'''


def test_the_digest_is_of_the_code_alone() -> None:
    comments = CODE.replace("a comment", "another").replace("Twice x.", "Two times x.").replace("How many.", "Most.")
    assert digest([CODE]) == digest([comments]) == digest([CODE.replace("\n\n\n", "\n\n").replace("# a comment", "")])
    for old, new in (("2 * x", "3 * x"), ("LIMIT = 3", "LIMIT = 4"), ("double", "twice"), ("int:", "float:")):
        assert digest([CODE]) != digest([CODE.replace(old, new, 1)])


def test_a_records_versions_tell_plugins_apart() -> None:
    plugin, other = SourceFile("plugin", "a.py", "X = 1\n"), SourceFile("plugin", "a.py", "X = 2\n")
    commented = SourceFile("plugin", "a.py", "X = 1  # one\n")
    assert versions([plugin])["plugins"] == versions([commented])["plugins"] != versions([other])["plugins"]
    assert "plugins" not in versions([SourceFile("space", "s.py", "X = 1\n")])
    assert versions([plugin])["trainables"] == versions()["trainables"]


def test_a_space_files_own_entries_are_added_once(folder: Path) -> None:
    """It is read for planning, and its copy for the report."""
    own = f"# {folder}\n" + PLUGIN.format(name="first") + SPACE
    (folder / "space.py").write_text(own)
    plan = plan_of(folder)
    check_plan(plan)
    prepare_results(plan, "hardware")
    results = folder / "results"
    assert (results / "space.py").read_text() == own
    assert StudyInfo.load(results).load_space(results).base.objective.name == "first"
    plan.draft.sources[0].run()
