"""Broken files of a study by the thousand: each is read right, or refused in one sentence that names it.

What a study reads of its own folder and of a person: study.json, records, predictions, Optuna's journal, progress,
recipes, space files, checkpoints, packed records. `tests/fuzzing.py` breaks whole ones. `make fuzz` makes hundreds of
inputs for each reader here, `make test` a few.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from reports.facts.predictions import Predictions
from reports.ledger import LEDGER, Curves, Ledger, Progress, Running, StudyInfo, Waiting, read_failures
from reports.ledger.folders import is_key
from reports.ledger.moments import now
from reports.ledger.progress import add_losses
from reports.live import html
from reports.live.folder import Folder
from reports.report import write_report
from reports.words.commands import study_command
from tests import guarded
from tests.fuzzing import BYTES, INPUTS, broken, in_place, inputs, limited, mutate_json, read_or_refuse
from tests.synthetic_results import make_results
from trainables.errors import UserError
from trainables.recipe import Recipe

pytestmark = pytest.mark.fuzz
ROWS = ["SBERT baseline", "3palln-lambda0.5-SCL"]
NO_NUMBERS = re.compile(r"\b(?:nan|NaN|inf|Infinity)\b")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "results"
    make_results(folder, rows=ROWS, seeds=(1, 2), predictions=True)
    guarded.rewrite(
        folder, guarded.put(geometry={"anisotropy": 0.5}, data={"overlap": {"MR": {"items": 60, "seen": 1}}})
    )
    return folder


@pytest.fixture
def study(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "results"))


def watch(study: Path) -> None:
    """The live page of whatever lies there."""
    view = Folder(study).view()
    html.page(view, html.verdicts(None, "", 0, False))
    json.loads(html.state(view, {}))


# ---- study.json ----


def test_study_json(study: Path) -> None:
    def read() -> StudyInfo:
        info = StudyInfo.load(study)
        info.load_space(study)
        return info

    for _ in broken(study / "study.json", "study.json"):
        outcome = read_or_refuse(read, [study / "study.json", study])
        with limited():
            watch(study)
        if isinstance(outcome, StudyInfo):
            study_command(outcome)
            outcome.save(study)
            assert StudyInfo.load(study) == outcome
    in_place(study / "study.json", read)


# ---- records ----


def test_records(study: Path) -> None:
    """A wrong one is set aside by name, and whoever reads the others does not see it. One that passes is good for all
    that a report, a page and another search make of it."""
    file = sorted((study / LEDGER).iterdir())[0]
    (whole,) = (record for record in Ledger(study / LEDGER).read() if record.key == file.stem)
    count = 0
    for _ in broken(file, "record"):
        with limited():
            records, aside = Ledger(study / LEDGER).sift()
            passed = [record for record in records if record.key == file.stem]
            assert len(records) == 3 + len(passed)
            if not passed:
                assert list(aside) == [file.name]
                assert aside[file.name].isprintable()
                assert len(aside[file.name]) < 1600
            elif passed != [whole]:
                watch(study)
                count += 1
        if passed and passed != [whole] and count <= max(2, INPUTS // 10):
            with limited(120), contextlib.suppress(UserError):
                text = write_report(study).read_text(encoding="utf-8")
                assert not NO_NUMBERS.findall(re.sub(r"⚠ \*\*Set aside.*", "", text))
    in_place(file, lambda: Ledger(study / LEDGER).sift())


def test_failures(study: Path) -> None:
    file = study / "failures" / "0123456789ab-1.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"trial": file.stem, "name": "a row", "reason": "no room", "details": "..."}))
    for _ in broken(file, "failure"):
        with limited():
            (outcome,) = read_failures(study)
            outcome.reason.encode()
            watch(study)
    in_place(file, lambda: read_failures(study))


# ---- predictions ----


def test_predictions(study: Path) -> None:
    record = Ledger(study / LEDGER).read()[0]
    file = study / record.predictions[0]
    with np.load(file) as content:
        arrays = {name: content[name] for name in content.files}
    whole = {task: Predictions(study).recomputed(record, task) for task in record.scores}

    def other(content: bytes, rng: Random) -> bytes:
        """Arrays of other lengths, kinds and values, under the same names."""
        changed = dict(arrays)
        name = rng.choice(sorted(changed))
        changed[name] = rng.choice(ODD_ARRAYS)
        np.savez(file, **changed)
        return file.read_bytes()

    for name in broken(file, "predictions", BYTES | {f"array {i}": other for i in range(6)}):
        with limited(megabytes=1024):
            read = Predictions(study)
            again = {task: read.recomputed(record, task) for task in record.scores}
            for task, numbers in record.scores.items():
                for number in numbers:
                    read.effects(record, task, number)
                    read.hits(record, task, number)
                read.fits(record, task)
            assert again == whole or record.key in read.problems or "array" in name
            assert np.isfinite([value for numbers in again.values() for value in numbers.values()]).all()
        for problem in read.problems.values():
            assert file.name in problem
    in_place(file, lambda: Predictions(study).recomputed(record, "MR"))


ODD_ARRAYS: list[Any] = [
    np.zeros(0), np.zeros(1), np.zeros((3, 3)), np.full(60, np.nan), np.full(60, np.inf), np.array("text"),
    np.array(["a"] * 60), np.zeros(60, dtype=complex), np.full(60, 2**62), np.zeros(60, dtype="M8[s]"), np.zeros(61),
    np.full(60, 1e308), np.zeros(60, dtype=bool), np.zeros(60, dtype=np.float16), np.full(60, -1),
]  # fmt: skip


# ---- progress ----


def test_progress(study: Path) -> None:
    running = [Running("0123456789ab-0", "a row", "objective.weight=0.3", 0, now(), 3, 90, 0.5, 1, {"sts": 50.0})]
    queued = [Waiting("0123456789ab-1", "a row", "objective.weight=0.3", 1)]
    counts = {"queued": 1, "running": 1, "finished": 4, "stopped": 0, "failed": 0}
    Progress(now(), now(), counts, running, queued, 2, 60.0, "as others took").save(study)
    for _ in broken(study / "progress.json", "progress"):
        outcome = read_or_refuse(lambda: Progress.load(study), [study / "progress.json"])
        with limited():
            watch(study)
        assert isinstance(outcome, Progress | UserError)
    in_place(study / "progress.json", lambda: Progress.load(study))


def test_curves(study: Path) -> None:
    add_losses(study, "0123456789ab-0", 90, [(step, 1 / step) for step in range(1, 20)])
    file = study / "progress" / "0123456789ab-0.jsonl"
    for _ in broken(file, "curves"):
        with limited():
            for curve in Curves(study).all().values():
                assert all(step >= 0 and np.isfinite(loss) for step, loss in curve.points)
            watch(study)
    in_place(file, lambda: Curves(study).all())


# ---- recipes, spaces and rows ----


def test_recipes() -> None:
    flat = json.loads(json.dumps(Recipe().flat()))
    for _, rng in inputs("recipe", 10 * INPUTS):
        values = mutate_json(flat, rng)
        if not isinstance(values, dict):
            continue
        outcome = read_or_refuse(lambda: Recipe.from_flat(values), [""])  # noqa: B023
        if isinstance(outcome, Recipe):
            assert Recipe.from_flat(json.loads(json.dumps(outcome.flat()))).hash == outcome.hash


SPACE_FILE = """from search_spaces import Claim, Column, Domain, Row, Space, Table
from trainables.recipe import Recipe

SPACE = Space(
    name="mine",
    title="A space of my own",
    paper="nobody",
    base=Recipe(),
    rows=(Row("a", {"objective.temperature": 0.5}), Row("b", {"objective.positives": 3})),
    domains=(Domain("objective.weight", low=0.1, high=0.9), Domain("pooling.mode", choices=("cls", "max"))),
    baseline="a",
)
"""
SPACE_VALUES: dict[str, Any] = {
    "name": "mine",
    "title": "A space of my own",
    "paper": "nobody",
    "laptop": {"encoder.name": "scenes-small"},
    "rows": [{"label": "a", "overrides": {"objective.temperature": 0.5}}, {"label": "b", "overrides": {}}],
    "domains": [{"key": "objective.weight", "low": 0.1, "high": 0.9}, {"key": "pooling.mode", "choices": ["cls"]}],
    "baseline": "a",
    "tolerance": 1.0,
    "goals": ["sts"],
    "oddities": ["none"],
}


def plan_of(file: Path) -> object:
    """As far as a study goes with a person's space file before anything starts."""
    from study.cli.options import parse
    from study.plan import decide, read_request

    draft = read_request(parse(["--space", str(file), "--scale", "laptop", "--search", "optuna"]))
    return decide(draft, 0).fixed_trials()


def test_space_files(tmp_path: Path) -> None:
    file = tmp_path / "space.py"
    file.write_text(SPACE_FILE)
    for _ in broken(file, "space file"):
        read_or_refuse(lambda: plan_of(file), [file, "space 'mine'", "'mine'"])
    in_place(file, lambda: plan_of(file))


def test_spaces_of_odd_values(tmp_path: Path) -> None:
    file = tmp_path / "space.py"
    for _, rng in inputs("space values", 3 * INPUTS):
        values = mutate_json(SPACE_VALUES, rng)
        file.write_bytes(
            f"inf, nan = float('inf'), float('nan')\nfrom search_spaces import Domain, Row, Space\n"
            "from trainables.recipe import Recipe\n"
            f"values = {values!r}\n"
            "values['rows'] = tuple(Row(**row) for row in values['rows'])\n"
            "values['domains'] = tuple(Domain(**domain) for domain in values['domains'])\n"
            "SPACE = Space(base=Recipe(), **values)\n".encode()
        )
        read_or_refuse(lambda: plan_of(file), [file, "space '", "domains"])


# ---- Optuna's journal ----


def asked_of(searcher: Any) -> None:
    """One recipe more."""
    searcher.explorer.ask(1.0)


def begun_search(results: Path, recipes: int) -> tuple[Path, Callable[[], Any]]:
    """The journal of a search that has asked for so many recipes, and what goes on from it."""
    from study.search.tune_searcher import TuneSearcher
    from tests.study.search.test_search import make

    plan, ledger, searcher = make(results, "--space", "scl_lambda", "--search", "optuna", "--trials", "4")
    for _ in range(40):
        if len(searcher.explored) < recipes:
            asked_of(searcher)
    return plan.results / "optuna.journal", lambda: TuneSearcher(plan, ledger)


def test_journals(tmp_path: Path) -> None:
    file, go_on = begun_search(tmp_path / "results", 4)
    for _ in broken(file, "journal"):
        read_or_refuse(go_on, [file])
    in_place(file, go_on)


def test_a_journal_whose_last_line_is_torn_goes_on(tmp_path: Path) -> None:
    """Cut at every byte of its last line: the search goes on, and what it writes can be read again."""
    file, go_on = begun_search(tmp_path / "results", 1)
    whole = file.read_bytes()
    last = len(whole.splitlines()[-1])
    for cut in range(1, last, max(1, last // INPUTS)):
        file.write_bytes(whole[:-cut])
        asked_of(go_on())
        assert go_on().explored


def test_who_trains_together(tmp_path: Path) -> None:
    from study.search.populations import members_of

    file = tmp_path / "population-0.json"
    file.write_text(json.dumps([f"0123456789ab-{seed}" for seed in range(4)]))
    for _ in broken(file, "population"):
        outcome = read_or_refuse(lambda: members_of(file), [file])
        assert isinstance(outcome, UserError) or all(map(is_key, outcome))
    in_place(file, lambda: members_of(file))


# ---- checkpoints ----


@pytest.mark.parametrize("name", ["state.safetensors", "state.json"])
def test_checkpoints(tmp_path: Path, name: str) -> None:
    import torch

    from trainables.training.checkpoint import TrainingProgress, load_state, save_state

    model = torch.nn.Linear(4, 3)
    optimiser = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 4)).sum().backward()
    optimiser.step()
    rungs = [{"rung": 1, "step": 3, "seconds": 1.0, "tokens": 9, "scores": {"sts": 50.0}}]
    save_state(tmp_path / "state", model, optimiser, TrainingProgress(3, 1.5, {"loss": 2.0}, 0.5, rungs=rungs), {})
    for _ in broken(tmp_path / "state" / name, name):
        outcome = read_or_refuse(lambda: load_state(tmp_path / "state", model, optimiser, {}), [tmp_path / "state"])
        assert isinstance(outcome, UserError) or outcome.step >= 0
