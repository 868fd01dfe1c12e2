"""`python -m study.replay`: what it prints and writes, and what it refuses."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from study.replay.__main__ import main
from study.replay.compare import Comparison, Conditions, compare
from study.replay.our_search import our_searches
from study.replay.recorded import read_record
from study.replay.report import ReplayResult, advice
from study.search.samplers import SAMPLERS
from study.search.schedulers import SCHEDULERS
from tests.replayed import make_recorded, small_space_is_known, write_recorded  # noqa: F401
from trainables.errors import UserError

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
QUICK = ("--repeats", "3", "--processes", "1", "--sampler", "random")


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recorded(make_recorded(), tmp_path_factory.mktemp("record") / "small.parquet")


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "strict.py"
    path.write_text(
        "from study.search.schedulers import SCHEDULERS, SchedulerEntry\n"
        "class Strict:\n    def goes_on(self, trial, rung, values):\n        return False\n"
        'SCHEDULERS.add(SchedulerEntry("strict", lambda setting: Strict(), "stops all"))\n'
    )
    yield path
    SCHEDULERS.remove("strict")


class TestReport:
    def test_one_goal(self, record: Path, capsys: pytest.CaptureFixture[str]):
        assert main([str(record), "--goals", "sts", "--trials", "12", *QUICK]) == 0
        printed = capsys.readouterr().out
        assert "12 recipes asked for" in printed
        assert "rungs at step 2, 4, 8 of 16" in printed
        assert re.search(r"Choose \*\*random \+ (none|asha)\*\*: its regret is the lowest", printed)
        assert re.search(r"6 searches in \d+ s", printed)
        assert "| whole record" in printed
        assert " 100.0% |" in printed

    def test_two_goals_and_a_share_of_the_compute(self, record: Path, capsys: pytest.CaptureFixture[str]):
        assert main([str(record), "--compute", "0.2", "--scheduler", "none", *QUICK]) == 0
        printed = capsys.readouterr().out
        assert "20% of the whole record's compute" in printed
        assert "hypervolume" in printed
        (row,) = (line for line in printed.splitlines() if line.startswith("| random + none") and " s |" in line)
        assert float(row.split("|")[5].strip(" %")) <= 20.0

    def test_rungs_and_a_plugin(self, record: Path, plugin: Path, capsys: pytest.CaptureFixture[str]):
        asked = [
            "--scheduler",
            "none,strict",
            "--goals",
            "sts",
            "--rungs",
            "4",
            "--trials",
            "5",
            "--plugin",
            str(plugin),
        ]
        assert main([str(record), *asked, *QUICK]) == 0
        rows = {
            line.split("|")[1].strip(): line.split("|") for line in capsys.readouterr().out.splitlines() if "|" in line
        }
        assert rows["random + strict"][4].strip() == "0"  # nobody came to the end
        assert int(rows["random + none"][4]) > 0

    def test_every_search_is_run_with_and_without_what_another_record_knows(
        self, record: Path, capsys: pytest.CaptureFixture[str]
    ):
        asked = ["--scheduler", "none", "--trials", "5", "--learn-from", str(record)]
        assert main([str(record), *asked, *QUICK]) == 0
        printed = capsys.readouterr().out
        assert "| random + none " in printed
        assert "| random + none, learning |" in printed

    def test_the_same_command_prints_the_same(self, record: Path, capsys: pytest.CaptureFixture[str]):
        for _ in range(2):
            main([str(record), "--goals", "sts", "--trials", "6", *QUICK])
        first, second = re.split(r"6 searches in .*\n", capsys.readouterr().out)[:2]
        assert first == second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--goals", "speed"], "the goal 'speed' was not recorded"),
        (["--sampler", "guess"], "guess"),
        (["--scheduler", "guess"], "guess"),
        (["--rungs", "3"], "the record has no rung at step 3; it was scored at steps 2, 4, 8"),
        (["--seeds", "9"], "--seeds 5 is the most"),
        (["--repeats", "0"], "--repeats must be at least 1, not 0"),
        (["--compute", "0"], "--compute must be above 0, not 0"),
    ],
)
def test_mistakes_are_one_sentence(record: Path, arguments: list[str], message: str):
    with pytest.raises(UserError, match=re.escape(message)):
        main([str(record), "--processes", "1", *arguments])


def test_a_missing_record_is_a_mistake(tmp_path: Path):
    with pytest.raises(UserError, match="does not exist; give a packed record, or the results folder of a study"):
        main([str(tmp_path / "none.parquet")])


def test_every_registered_name_is_in_the_help(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    for name in (*SAMPLERS, *SCHEDULERS):
        assert name in said


def test_of_searches_that_found_the_same_the_one_of_least_compute_is_advised(record: Path):
    recorded = read_record(record).of_goals(["sts"])
    conditions = Conditions(trials=12)
    [(_, outcomes)] = compare(recorded, our_searches(recorded, ["random"], ["none"]), conditions, 3).items()
    cheap = [dataclasses.replace(outcome, compute=outcome.compute / 2) for outcome in outcomes]
    compared = ReplayResult(
        "record", Comparison(recorded, conditions).yardstick, conditions, {"dear": outcomes, "cheap": cheap}, outcomes
    )
    assert "Choose **cheap**" in advice(compared)
    assert "the same as dear, and took the least compute" in advice(compared)
