"""Looking again at a study that was extended: each look has its share of the 5 %, and the same trials are one look."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from reports.check import check
from reports.evidence import Evidence
from reports.ledger import STUDY, StudyInfo
from reports.looks import look, share, trials
from reports.report import write_report
from reports.results import Results
from tests.populations import Population, write
from trainables.senteval.tasks import GROUPS

ROWS = ("SBERT baseline", "allpalln-lambda0.3-SCL", "3p3n-lambda0.5-SCL")
STUDY_OF = Population(rows=ROWS, tasks=GROUPS["sts"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(STUDY_OF.study(1), tmp_path)
    return tmp_path


def without_last_seed(folder: Path) -> list[Path]:
    """Take the trials of the last seed out of the folder."""
    away = folder.parent / "away"
    away.mkdir(exist_ok=True)
    last = [path for path in (folder / "ledger").iterdir() if path.stem.endswith("-2")]
    return [Path(shutil.move(path, away / path.name)) for path in last]


def test_all_looks_together_have_the_whole_level():
    assert share(1) == pytest.approx(0.608, abs=1e-3)
    assert 0.999 < sum(share(number) for number in range(1, 5000)) < 1


def test_the_same_trials_are_one_look_and_more_trials_another(folder: Path):
    kept = without_last_seed(folder)
    write_report(folder)
    first = (folder / "report.md").read_text()
    assert "**Look 1 at this study.**" in first
    assert "spends 3 of these percent" in first
    write_report(folder, ["md", "html"])
    assert (folder / "report.md").read_text() == first
    assert len(StudyInfo.load(folder).looks) == 1
    for path in kept:
        shutil.move(path, folder / "ledger" / path.name)
    assert look(Results.load(folder)) == 2
    write_report(folder)
    second = (folder / "report.md").read_text()
    assert "**Look 2 at this study.**" in second
    assert "spends 0.76 of these percent" in second
    write_report(folder)
    assert (folder / "report.md").read_text() == second
    assert len(StudyInfo.load(folder).looks) == 2
    without_last_seed(folder)  # back to the trials of the first look
    assert look(Results.load(folder)) == 1


def test_a_later_look_is_stricter(folder: Path):
    results = Results.load(folder)
    later = dataclasses.replace(results, info=dataclasses.replace(results.info, looks=["a" * 16, "b" * 16]))
    pairs = list(zip(Evidence.of(results).boards[0].standings, Evidence.of(later).boards[0].standings, strict=True))
    widths = [[one.gain.high - one.gain.low for one in pair] for pair in pairs if pair[0].gain]
    assert widths
    assert all(wide > narrow for narrow, wide in widths)


def test_a_check_reproduces_the_report_and_is_no_look(folder: Path):
    without_last_seed(folder)
    write_report(folder)
    before = (folder / STUDY).read_bytes()
    assert check(folder) == []
    shutil.copytree(folder, folder.parent / "elsewhere" / folder.name)
    assert check(folder.parent / "elsewhere" / folder.name) == []
    assert (folder / STUDY).read_bytes() == before


def test_where_no_verdict_is_possible_there_is_no_look(tmp_path: Path):
    write(dataclasses.replace(STUDY_OF, seeds=1).study(1), tmp_path)
    write_report(tmp_path)
    assert trials(Results.load(tmp_path)) == ""
    assert StudyInfo.load(tmp_path).looks == []
    assert "at this study" not in (tmp_path / "report.md").read_text()


def test_a_folder_that_keeps_no_looks_is_still_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def refused(results: Path, found: str) -> None:
        raise PermissionError(f"{results} cannot be written")

    monkeypatch.setattr(StudyInfo, "add_look", refused)
    write_report(folder)
    assert "**Look 1 at this study.**" in (folder / "report.md").read_text()
    assert "could not be recorded" in capsys.readouterr().err


def test_a_study_that_goes_on_keeps_the_looks_that_were_recorded_meanwhile(folder: Path):
    running = StudyInfo.load(folder)
    write_report(folder)
    running.save(folder)
    assert len(StudyInfo.load(folder).looks) == 1
