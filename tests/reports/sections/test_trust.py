"""What a reader is told of doubts: the trust box, records set aside, verdicts that a flag forbids, the setting."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reports.guards import Flag
from reports.ledger import LEDGER, StudyInfo
from reports.results import Results
from reports.sections import trust
from reports.testing import changed, make_study
from tests.guarded import rewrite
from tests.synthetic_results import make_results, section_text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_study(tmp_path / "results", rows=3, seeds=2).folder


def change(folder: Path, edit: Callable[[dict[str, Any]], object], place: int = 0) -> str:
    """Edit the content of one record, by hand as it were; returns the file's name."""
    path = sorted((folder / LEDGER).iterdir())[place]
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))
    return path.name


def change_all(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    for place in range(len(list((folder / LEDGER).iterdir()))):
        change(folder, edit, place)


def test_what_was_not_checked_is_not_clean(folder: Path):
    """ "No flags" stood before the admission that nobody looked for test sentences."""
    text = section_text(folder, "trust")
    assert text.startswith("- **Not checked: test items seen whole in training**: no record says whether")
    assert "No flags" not in text
    rest = trust.clean(Results.load(folder))
    assert rest.startswith("Nothing was found in: the code that trials ran; ")
    assert "test sentences" not in rest
    change_all(folder, lambda content: content["evaluations"][0]["data"].update(
        overlap={task: {"items": 60, "seen": 0} for task in content["evaluations"][0]["scores"]}))  # fmt: skip
    assert section_text(folder, "trust") == "No flags."
    assert "test items seen whole in training" in trust.clean(Results.load(folder))


def test_what_only_a_search_varies_is_no_warning() -> None:
    def only(rows: list[float], guard: str = "steps") -> bool:
        values = {"e": 300.0, **dict(zip("ab", rows, strict=False))}
        flag = Flag(guard, guard, frozenset({"e"}), crossed_by="unequal", values=values, tolerance=0.05)
        results = SimpleNamespace(labels={"a": "A", "b": "B"}, explored=["e"])
        return trust._only_searched(results, flag)  # type: ignore[arg-type]

    assert only([100.0])
    assert only([100.0, 101.0])
    assert not only([100.0, 200.0])
    assert not only([100.0], "hardware")


def test_a_row_with_one_seed_has_no_verdict_that_stands(folder: Path):
    info = StudyInfo.load(folder)
    recipe_hash = info.row_hashes["3p3n-Augment"]
    (folder / LEDGER / f"{recipe_hash}-{info.seeds[-1]}.json").unlink()
    (line,) = [line for line in section_text(folder, "trust").splitlines() if "**seeds**" in line]
    assert "`3p3n-Augment` has 1 of the study's 2 seeds" in line
    assert line.endswith("No verdict on this row until there are more seeds.")
    assert "Verdicts stand" not in line


def test_a_line_a_flag_with_what_it_forbids(folder: Path):
    change(folder, lambda content: content["versions"].update(trainables="bbbb2222"))
    (line,) = [line for line in section_text(folder, "trust").splitlines() if line.startswith("- ⚠")]
    assert re.match(r"- ⚠ \*\*code\*\* \(\d rows?\): trials ran different code \(", line)
    assert "bbbb2222" in line
    assert line.endswith("**No verdict** between rows that differ in it.")
    assert section_text(folder, "trust").count("--across") == 1
    dataclasses.replace(StudyInfo.load(folder), across=["code"]).save(folder)
    assert "Judged all the same, as `--across code` asks." in section_text(folder, "trust")


def test_many_records_set_aside_are_counted(folder: Path):
    for place in range(5):
        change(folder, lambda content: content["recipe"].update({"optimisation.warmup": 0.123}), place)
    text = section_text(folder, "trust")
    assert "**Set aside: 5 records**" in text
    assert "; and 2 more" in text
    assert text.count("its hash is not its recipe's") == 3


def test_a_record_that_cannot_be_right_is_named(folder: Path):
    name = change(folder, lambda content: content["evaluations"][0]["scores"]["MR"].update(test_accuracy=640.0))
    reason = r"evaluations\[0\].scores.MR.test_accuracy is 640, which"
    assert f"⚠ **Set aside: 1 record** that cannot be right: `{name}` {reason}" in section_text(folder, "trust")


def test_a_row_whose_record_was_set_aside_says_so(folder: Path):
    info = StudyInfo.load(folder)
    label = "3p3n-Augment"
    for path in (folder / LEDGER).glob(f"{info.row_hashes[label]}-*.json"):
        path.write_text("{}")
    assert "its record was set aside" in Results.load(folder).why_missing(label)


def test_notes_are_shown(tmp_path: Path):
    make_results(tmp_path, rows=["SBERT baseline", "3p3n-Augment"])
    info = StudyInfo.load(tmp_path)
    dataclasses.replace(info, notes=["the encoder knows *NLI*"]).save(tmp_path)
    assert "- the encoder knows \\*NLI\\*" in section_text(tmp_path, "setting")


def test_old_ledgers_need_nothing_new(folder: Path):
    new = {"encoder", "overlap"}
    rewrite(folder, lambda r: changed(r, data={k: v for k, v in r.read.items() if k not in new}, geometry={}))
    assert "⚠" not in section_text(folder, "trust")
    assert "**Not checked: the encoder before training**" in section_text(folder, "trust")
