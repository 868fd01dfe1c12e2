"""Nothing is written below a results folder through a link that leads out of it, whoever writes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from reports.export import export
from reports.ledger import CURVES, FAILURES, LEDGER, MODELS, PLUGINS, PREDICTIONS, Ledger, add_losses
from reports.ledger.folders import JOURNAL, LOCK, POPULATIONS, TRAIN
from reports.ledger.location import INCOMING, ResultsLocation
from reports.ledger.names import writable_path
from reports.report import PICTURES, TRIALS, write_report
from reports.testing import make_study
from search_spaces.goals import searched
from study.callbacks.tensorboard import FOLDER as TENSORBOARD
from study.callbacks.tensorboard import TensorBoard
from study.cli.options import parse
from study.engine.transport import Deliveries
from study.plan import Plan, decide, read_request
from study.results_folder.check import check_results
from study.results_folder.lock import locked
from study.results_folder.prepare import prepare_results
from study.search.journal import open_journal
from study.testing import callbacks as followed
from trainables.errors import UserError
from trainables.recipe import Recipe

pytestmark = pytest.mark.usefixtures("short_reports")

KEY = "0123456789ab-1"
PLUGIN = "# A plugin for the test of links.\n"


def plan_of(results: Path) -> Plan:
    line = ["--space", "scl_tau", "--scale", "laptop", "--results", str(results)]
    (results.resolve().parent / "mine.py").write_text(PLUGIN)
    return decide(read_request(parse([*line, "--plugin", str(results.resolve().parent / "mine.py")])), 0)


def deliver(results: Path, name: str) -> None:
    deliveries = Deliveries(results)
    deliveries.put_piece("delivery", "part/weights", 0, b"1234")
    deliveries.commit(name, "delivery", {"part/weights": 4})


def note(results: Path) -> None:
    looked = followed.study_state(results.resolve().parent / "watched")
    board = TensorBoard(results, ())
    board.step(followed.trial(looked), 1, 2, {"loss": 0.5})
    board.close()


def export_model(results: Path) -> None:
    ledger = Ledger(results / LEDGER)
    record = ledger.read()[0]
    ledger.write(dataclasses.replace(record, checkpoint=f"{MODELS}/{record.key}"))
    model = results / MODELS / record.key
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    export(results, record.recipe_hash)


def lock(results: Path) -> None:
    with locked(plan_of(results).location):
        pass


WRITERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "pictures": (PICTURES, lambda results: write_report(results)),
    "tables": ("tables", lambda results: write_report(results, ["csv"])),
    "the list of trials": (TRIALS, lambda results: write_report(results)),
    "the ledger": (LEDGER, lambda results: Ledger(results / LEDGER).write(Ledger(results / LEDGER).read()[0])),
    "losses": (CURVES, lambda results: add_losses(results, KEY, 2, [(1, 0.5)])),
    "a trial's losses": (f"{CURVES}/{KEY}.jsonl", lambda results: add_losses(results, KEY, 2, [(1, 0.5)])),
    "a model": (MODELS, lambda results: deliver(results, f"{MODELS}/{KEY}")),
    "one model": (f"{MODELS}/{KEY}", lambda results: deliver(results, f"{MODELS}/{KEY}")),
    "a model's card": (MODELS, lambda results: ResultsLocation(results).add(f"{MODELS}/{KEY}/README.md", "# A model")),
    "a checkpoint": (TRAIN, lambda results: deliver(results, f"{TRAIN}/{KEY}")),
    "what is on its way": (INCOMING, lambda results: Deliveries(results).put_piece("delivery", "weights", 0, b"1234")),
    "TensorBoard": (TENSORBOARD, note),
    "the search": (JOURNAL, lambda results: open_journal(results, "mine", "random", searched(()), Recipe(), ())),
    "plugins": (PLUGINS, lambda results: prepare_results(plan_of(results), "2 cores")),
    "the lock": (LOCK, lock),
    "an export": ("export", export_model),
}
"""What is written, the folder or file that is a link, and who writes it. The result writer's folders:
tests/study/engine/test_result_writer.py."""
FILES = {TRIALS, JOURNAL, LOCK, f"{CURVES}/{KEY}.jsonl"}


def files_below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def link(results: Path, name: str, target: Path) -> Path:
    """In place of what is there: a link to a copy of it, or to something new. Returns what it leads to."""
    path = results / name
    path.parent.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.rename(target)
    elif name in FILES:
        target.write_text("")
    else:
        target.mkdir()
    path.symlink_to(target)
    return target


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return make_study(tmp_path / "results").folder


@pytest.mark.parametrize("what", WRITERS)
def test_nothing_is_written_through_a_link_that_leads_out(results: Path, tmp_path: Path, what: str) -> None:
    name, write = WRITERS[what]
    link(results, name, tmp_path / "outside" / "theirs")
    before = files_below(tmp_path / "outside")
    with pytest.raises(UserError, match="leads out of the results folder by a link, so nothing is written there"):
        write(results)
    assert files_below(tmp_path / "outside") == before


@pytest.mark.parametrize("what", WRITERS)
def test_a_link_within_the_results_is_followed(results: Path, tmp_path: Path, what: str) -> None:
    name, write = WRITERS[what]
    link(results, name, results / "kept" / "ours")
    write(results)


@pytest.mark.parametrize("what", WRITERS)
def test_the_results_folder_itself_may_be_a_link(results: Path, tmp_path: Path, what: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    moved = results.rename(tmp_path / "elsewhere" / "results")
    results.symlink_to(moved)
    before = files_below(moved)
    WRITERS[what][1](results)
    assert files_below(moved) != before or what in ("the ledger", "the search", "the lock")


def test_a_study_refuses_such_a_folder_before_anything_runs(tmp_path: Path) -> None:
    results = tmp_path / "results"
    plan = plan_of(results)
    prepare_results(plan, "2 cores")
    written = {name.partition("/")[0] for name, _ in WRITERS.values() if name not in FILES}
    for name in {PREDICTIONS, FAILURES, POPULATIONS} | written:
        check_results(plan)
        target = link(results, name, tmp_path / "outside" / name)
        with pytest.raises(UserError, match="leads out of the results folder by a link"):
            check_results(plan)
        (results / name).unlink()
        target.rename(results / name)


@pytest.mark.parametrize("name", [FAILURES, f"{FAILURES}/{KEY}.json"])
def test_nothing_is_removed_through_one_either(results: Path, tmp_path: Path, name: str) -> None:
    theirs = tmp_path / "outside"
    theirs.mkdir()
    (theirs / f"{KEY}.json").write_text("theirs")
    (results / FAILURES).symlink_to(theirs)
    with pytest.raises(UserError, match="leads out of the results folder by a link"):
        ResultsLocation(results).remove(name)
    for folder in (MODELS, TRAIN):
        (results / folder).symlink_to(theirs)
        with pytest.raises(UserError, match="leads out of the results folder by a link"):
            Deliveries(results).remove(f"{folder}/{KEY}")
    assert files_below(theirs) == {f"{KEY}.json": b"theirs"}


def test_a_link_that_ends_nowhere_or_in_itself_is_no_way_out(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "new").symlink_to("made later")
    for name in ("loop", "new"):
        assert writable_path(tmp_path, name) == tmp_path / name
    (tmp_path / "out").symlink_to("../made-later")
    with pytest.raises(UserError, match="leads out"):
        writable_path(tmp_path, "out/x")
