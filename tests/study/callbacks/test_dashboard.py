"""What a person reads in optuna-dashboard, opened in a real browser on a study's journal."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import optuna
import pytest

from reports.ledger import LEDGER, Ledger
from reports.ledger.folders import JOURNAL
from study.search.tune_searcher import TuneSearcher
from study.testing.callbacks import record, study_state
from study.trial import Trial

dashboard = pytest.importorskip("optuna_dashboard", reason="optuna-dashboard is not installed")

WAIT = 20_000
"""Milliseconds."""


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing."""


def search(results: Path, space: str) -> list[Trial]:
    """A study whose rows are done, and that runs two recipes of Optuna's. Returns them."""
    looked = study_state(results, space, "--search", "optuna", "--trials", "2")
    ledger = Ledger(results / LEDGER)
    for planned in looked.plan.fixed_trials():
        ledger.write(record(planned))
    searcher = TuneSearcher(looked.plan, ledger)
    searcher.begin = lambda members, together: {"trials": members}
    for number in range(2):
        searcher.suggest(f"t{number}")
    return list(searcher.agenda.progress.running.values())


@pytest.fixture
def page(browser: Any) -> Any:
    return browser.new_page(viewport={"width": 1400, "height": 900})


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Of the dashboard, on the journal in the folder."""
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(tmp_path / JOURNAL)))
    with make_server("127.0.0.1", 0, dashboard.wsgi(storage), handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/dashboard/studies/0"
        server.shutdown()
        thread.join()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("space", "axes"),
    [("scl_tau", ["development score"]), ("contrastive_all", ["development sts", "development transfer"])],
)
def test_goals_rows_and_recipes_have_names(
    space: str, axes: list[str], tmp_path: Path, address: str, page: Any
) -> None:
    explored = search(tmp_path, space)
    names = [planned.name for planned in explored]
    assert [name.partition(" ")[0] for name in names] == ["#1", "#2"]
    page.goto(address)
    for axis in axes:
        page.get_by_text(axis).first.wait_for(timeout=WAIT)
    assert "Objective 0" not in page.inner_text("body")
    numbers = {trial.user_attrs.get("row") or trial.user_attrs["name"]: trial.number for trial in journal(tmp_path)}
    assert set(numbers) - {*names} <= {trial.name for trial in study_state(tmp_path, space).plan.fixed_trials()}
    assert len(numbers) > 2
    longest = max(numbers, key=len)  # a page takes seconds, and all are made alike
    for name, number in {longest: numbers[longest], names[0]: numbers[names[0]]}.items():
        page.goto(f"{address}/trials?numbers={number}")
        page.get_by_text(f"Trial {number} (trial_id").wait_for(timeout=WAIT)
        shown = page.inner_text("body").partition("User Attributes")[2].split("\n")
        assert {f"name {name}", f"row {name}"} & set(shown)
        assert page.evaluate("document.documentElement.scrollWidth") <= 1400  # nothing pushes the page wide


def journal(results: Path) -> list[optuna.trial.FrozenTrial]:
    backend = optuna.storages.journal.JournalFileBackend(str(results / JOURNAL))
    return optuna.load_study(study_name=None, storage=optuna.storages.JournalStorage(backend)).trials
