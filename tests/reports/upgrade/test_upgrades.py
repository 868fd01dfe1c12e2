"""Results folders of earlier versions are brought to the present one, reported and continued.

They lie in `tests/archive/versions`. When a version is released, its folder is added by one command at its commit:
`python -m tests.archive.versions`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import optuna
import pytest

from reports.ledger import Curves, Ledger, StudyInfo, read_failures, split_key
from reports.report import write_report
from reports.results import Results
from reports.upgrade import upgrade
from reports.upgrade.recipes import old_hash, upgraded
from study.cli.options import parse
from study.plan import Plan, decide, read_request
from study.results_folder.check import check_results
from study.results_folder.prepare import prepare_results, save_info
from tests.archive import unpack
from tests.archive.versions import EXPLORED, HERE, STUDY
from tests.study.search.test_search import finish, run_all, searcher_of
from tests.synthetic_results import PLOTS, undraw
from trainables.errors import UserError

VERSIONS = sorted(file.name.removesuffix(".tar.xz") for file in HERE.glob("*.tar.xz"))
ROWS = 7


def plan_of(results: Path, *more: str) -> tuple[Plan, Ledger]:
    """As `study/run.py` plans it, with Optuna's journal in the folder, without finals, which those versions had not."""
    plan = decide(read_request(parse([*STUDY, f"--results={results}", "--finals=none", *more])), 0)
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
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """As the version wrote it."""
    unpack(HERE / f"{request.param}.tar.xz", tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def results(old: Path) -> Path:
    upgrade(old)
    return old


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_version_that_the_changelog_names_has_a_folder():
    changelog = (Path(__file__).parents[3] / "CHANGELOG.md").read_text(encoding="utf-8")
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
        finish(searcher, ledger, config, 50.0, protocol=plan.evaluation.protocol)
    save_info(plan, made, searcher.explored, ledger)

    assert ran[0] == f"{missing}-0"
    assert len(ran) == 2
    assert {file: file.read_bytes() for file in before} == before
    assert (results / "optuna.journal").read_text(encoding="utf-8").startswith(journal)
    assert len(searcher.explored) == EXPLORED + 1
    assert searcher.explored[:EXPLORED] == info.explored
    assert searcher.explorer is not None
    known = [(trial.params, trial.value) for trial in searcher.explorer.ask_tell.study.get_trials()]
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
    assert searcher.agenda.remaining == 0
    assert run_all(searcher, ledger) == []


def test_a_recipe_that_is_another_one_would_begin_anew(results: Path):
    """The negative control: were a recipe's hash not what it was, nothing would be skipped."""
    plan, ledger = plan_of(results, f"--trials={EXPLORED}", "--set=optimisation.max_steps=5")
    with pytest.raises(UserError, match=r"optimisation\.max_steps is 4, not 5"):
        check_results(plan)
    assert searcher_of(plan, ledger).agenda.remaining >= ROWS


class TestUpgrade:
    def test_without_it_a_sentence_says_what_to_do(self, old: Path):
        said = f"study.json is of an earlier version; run `python -m reports upgrade {old}` once"
        with pytest.raises(UserError, match=re.escape(said)):
            write_report(old)
        with pytest.raises(UserError, match=re.escape(said)):
            check_results(plan_of(old)[0])

    def test_nothing_but_names_and_form_changes(self, old: Path):
        before = {path.name: json.loads(path.read_text()) for path in (old / "ledger").iterdir()}
        upgrade(old)
        records = {record.recipe_hash: record for record in Ledger(old / "ledger").read()}
        assert len(records) == len(before)
        for then in before.values():
            now = records[upgraded(then["recipe"]).hash]
            assert now.scores == then["scores"]
            assert now.protocol == then["protocol"]
            assert now.read == then["data"]
            assert (now.seed, now.cost, now.training) == (then["seed"], then["cost"], then["training"])
            assert now.recipe == upgraded(then["recipe"]).flat()
        assert content(old.with_name("results.before")).keys() >= {"study.json", "optuna.journal"}

    def test_again_it_says_that_there_is_nothing_to_do(self, results: Path):
        before = content(results)
        assert "of the present version already" in upgrade(results)
        assert content(results) == before

    @pytest.mark.parametrize("at", [0, 1])
    def test_killed_between_two_names_it_ends_right(self, old: Path, at: int, monkeypatch: pytest.MonkeyPatch):
        there, rename, calls = content(old), Path.rename, []

        def killed(self: Path, target: Path) -> Path:
            calls.append(target)
            if len(calls) == at + 1:
                raise KeyboardInterrupt
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            upgrade(old)
        monkeypatch.undo()
        upgrade(old)
        assert len(Ledger(old / "ledger").read()) == ROWS + EXPLORED
        assert content(old.with_name("results.before")) == there
        assert not old.with_name("results.new").exists()

    def test_what_is_named_by_recipes_is_renamed(self, old: Path):
        first, second = sorted(path.stem for path in (old / "ledger").iterdir())[:2]
        for name in ("models", "train", "predictions", "populations", "failures", "progress", "looks"):
            (old / name).mkdir()
        (old / "models" / first).mkdir()
        (old / "models" / first / "README.md").write_text("a card")
        (old / "train" / f"{second}.second").mkdir()
        (old / "train" / f"{second}.second" / "state.json").write_text("{}")
        (old / "predictions" / f"{first}.npz").write_bytes(b"x")
        together = "population-" + hashlib.sha256((first + second).encode()).hexdigest()[:12]
        (old / "populations" / f"{together}.json").write_text(json.dumps([first, second]))
        (old / "train" / together).mkdir()
        (old / "train" / together / "state.json").write_text("{}")
        (old / "failures" / f"{second}.json").write_text(json.dumps({"trial": second, "reason": "why"}))
        (old / "failures" / "0123456789ab-0.json").write_text(json.dumps({"reason": "of a recipe that nobody knows"}))
        (old / "progress" / f"{first}.jsonl").write_text(
            json.dumps({"step": 1, "steps": 4, "loss": {first: 0.5}}) + "\n"
        )
        record = json.loads((old / "ledger" / f"{first}.json").read_text())
        (old / "ledger" / f"{first}.json").write_text(json.dumps(record | {"predictions": f"predictions/{first}.npz"}))
        other = json.loads((old / "ledger" / f"{second}.json").read_text())
        one, two = (f"{upgraded(each['recipe']).hash}-0" for each in (record, other))
        upgrade(old)
        now = Ledger(old / "ledger").get(*split_key(one))
        assert now is not None
        (kept,) = now.predictions
        assert kept == f"predictions/{one}-{now.evaluations[0].name}.npz"
        assert (old / kept).read_bytes() == b"x"
        assert (old / "models" / one / "README.md").is_file()
        assert (old / "train" / f"{two}.second" / "state.json").is_file()
        (population,) = (old / "populations").iterdir()
        assert json.loads(population.read_text()) == [one, two]
        assert (old / "train" / population.stem / "state.json").is_file()
        (failure,) = read_failures(old)
        assert (failure.key, failure.reason) == (two, "why")
        assert Curves(old).all()[one].points == [(1, 0.5)]

    def test_one_recipe_under_two_protocols_is_one_record(self, old: Path):
        (path, *_) = sorted((old / "ledger").iterdir())
        record = json.loads(path.read_text())
        recipe = record["recipe"] | {"evaluation.protocol": "full"}
        name = old_hash(recipe)
        later = {"recipe": recipe, "recipe_hash": name, "protocol": "full", "finished_at": "2027-01-01T00:00:00+00:00"}
        (old / "ledger" / f"{name}-0.json").write_text(json.dumps(record | later))
        upgrade(old)
        records = Ledger(old / "ledger").read()
        assert len(records) == ROWS + EXPLORED
        (both,) = [record for record in records if len(record.evaluations) > 1]
        assert [found.protocol for found in both.evaluations] == ["fast", "full"]

    def test_a_record_that_was_wrong_does_not_become_right(self, old: Path):
        (path, *_) = sorted((old / "ledger").iterdir())
        record = json.loads(path.read_text())
        path.write_text(json.dumps(record | {"recipe": record["recipe"] | {"objective.temperature": 0.123}}))
        upgrade(old)
        records, aside = Ledger(old / "ledger").sift()
        assert len(records) == ROWS + EXPLORED - 1
        assert list(aside) == [path.name]

    def test_what_is_no_study_or_is_written_now_is_refused(self, old: Path, tmp_path: Path):
        with pytest.raises(UserError, match="is not a results folder"):
            upgrade(tmp_path / "nowhere")
        with open(old / "study.lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with pytest.raises(UserError, match="a study writes into"):
                upgrade(old)
        old.with_name("results.before").mkdir()
        with pytest.raises(UserError, match="move it away"):
            upgrade(old)
