"""Results folders of earlier versions are reported and continued by today's code.

They lie in `tests/archive/versions`. When a version is released, its folder is added by one command at its commit:
`python -m tests.archive.versions`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import optuna
import pytest

from reports.ledger import Ledger, StudyInfo
from reports.report import write_report
from reports.results import Results
from study.cli.options import parse
from study.plan import Plan, decide, read_request
from study.results_folder.check import check_results
from study.results_folder.prepare import prepare_results, save_info
from tests.archive import unpack
from tests.archive.versions import EXPLORED, HERE, STUDY
from tests.study.search.test_search import finish, run_all, searcher_of
from tests.synthetic_results import PLOTS, undraw
from tests.upgraded import upgrade
from trainables.errors import UserError

VERSIONS = sorted(file.name.removesuffix(".tar.xz") for file in HERE.glob("*.tar.xz"))
ROWS = 7


def plan_of(results: Path, *more: str) -> tuple[Plan, Ledger]:
    """As `study/run.py` plans it, with Optuna's journal in the folder."""
    plan = decide(read_request(parse([*STUDY, f"--results={results}", *more])), 0)
    return plan, Ledger(results / "ledger")


def keys(config: Any) -> list[str]:
    return [trial.key for trial in config["trials"] if trial.key not in config["done"]]


def told_to_optuna(results: Path) -> list[tuple[dict[str, Any], float | None]]:
    """What a journal holds: parameters and value of each trial, read by Optuna itself."""
    storage = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(str(results / "optuna.journal"))
    )
    (study,) = optuna.get_all_study_names(storage)
    trials = optuna.load_study(study_name=study, storage=storage).get_trials()
    return [(trial.params, trial.value) for trial in trials]


@pytest.fixture(params=VERSIONS)
def results(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    unpack(HERE / f"{request.param}.tar.xz", tmp_path / "results")
    return upgrade(tmp_path / "results")


def test_every_version_that_the_changelog_names_has_a_folder():
    changelog = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^## (\d+\.\d+\.\d+)", changelog, re.MULTILINE)) == VERSIONS


def test_it_is_reported(results: Path, monkeypatch: pytest.MonkeyPatch):
    """Every trial counts: none is set aside, and each row has its score and the seed that it ran."""
    undraw(monkeypatch, PLOTS)
    found = Results.load(results)
    assert not found.set_aside
    assert len(found.records) == ROWS + EXPLORED
    assert set(found.labels) | set(found.info.explored) == {record.recipe_hash for record in found.records}
    report = write_report(results).read_text(encoding="utf-8")
    for label in found.labels.values():
        assert label in report


def test_it_is_continued(results: Path, monkeypatch: pytest.MonkeyPatch):
    """One row is missing, as where the study was killed, and one recipe more is asked for: these two run, and no other.
    Optuna knows all that the folder knows, and what was there stays byte for byte."""
    undraw(monkeypatch, PLOTS)
    info = StudyInfo.load(results)
    missing = [recipe_hash for recipe_hash in info.row_hashes.values() if recipe_hash][-1]
    (results / "ledger" / f"{missing}-0.json").unlink()
    before = {file: file.read_bytes() for file in (results / "ledger").iterdir()}
    journal, told = (results / "optuna.journal").read_text(encoding="utf-8"), told_to_optuna(results)
    assert len(told) == ROWS - 1 + EXPLORED  # but the row without a temperature

    plan, ledger = plan_of(results, f"--trials={EXPLORED + 1}")
    check_results(plan)
    made = prepare_results(plan, "another machine")
    searcher = searcher_of(plan, ledger)
    ran = []
    while isinstance(config := searcher.suggest(f"t{len(ran)}"), dict):
        ran += keys(config)
        finish(searcher, ledger, config, 50.0, protocol=plan.base.evaluation.protocol)
    save_info(plan, made, searcher.explored, ledger)

    assert ran[0] == f"{missing}-0"
    assert len(ran) == 2
    assert {file: file.read_bytes() for file in before} == before
    assert (results / "optuna.journal").read_text(encoding="utf-8").startswith(journal)
    assert len(searcher.explored) == EXPLORED + 1
    assert searcher.explored[:EXPLORED] == info.explored
    assert searcher.ask_tell is not None
    known = [(trial.params, trial.value) for trial in searcher.ask_tell.study.get_trials()]
    assert known[: len(told)] == told
    assert len(known) == len(told) + 1
    assert StudyInfo.load(results).created_at == info.created_at

    found = Results.load(results)
    assert not found.set_aside
    assert len(found.records) == ROWS + EXPLORED + 1
    assert "another machine" in write_report(results).read_text(encoding="utf-8")


def test_a_finished_one_has_nothing_to_do(results: Path):
    plan, ledger = plan_of(results, f"--trials={EXPLORED}")
    check_results(plan)
    searcher = searcher_of(plan, ledger)
    assert searcher.remaining == 0
    assert run_all(searcher, ledger) == []


def test_a_recipe_that_is_another_one_would_begin_anew(results: Path):
    """The negative control: were a recipe's hash not what it was, nothing would be skipped."""
    plan, ledger = plan_of(results, f"--trials={EXPLORED}", "--set=optimisation.max_steps=5")
    with pytest.raises(UserError, match=r"optimisation\.max_steps is 4, not 5"):
        check_results(plan)
    assert searcher_of(plan, ledger).remaining >= ROWS
