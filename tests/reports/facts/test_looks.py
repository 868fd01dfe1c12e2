"""Looking again at a study that was extended: each look has its share of the 5 %, and the same trials are one look."""

from __future__ import annotations

import dataclasses
import shutil
import uuid
from pathlib import Path

import pytest

from reports.check import check
from reports.facts.boards import boards
from reports.facts.evidence import Evidence
from reports.facts.looks import FAMILIES, level_share, look_number, trials_digest
from reports.facts.results import Results
from reports.ledger import LOOKS, StudyInfo
from reports.ledger.location import open_location
from reports.ledger.looks import look_names
from reports.live.server import LiveServer
from reports.report import write_report
from reports.words import comparisons
from study.run import report
from tests.populations import Population, write
from tests.synthetic_results import add_finals, make_results, section_text
from trainables.senteval.tasks import GROUPS

ROWS = ("SBERT baseline", "allpalln-lambda0.3-SCL", "3p3n-lambda0.5-SCL")
STUDY_OF = Population(rows=ROWS, tasks=GROUPS["sts"])

pytestmark = pytest.mark.usefixtures("short_reports")


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


def files(folder: Path) -> dict[Path, bytes]:
    """All that a results folder holds."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_all_looks_together_have_the_whole_level():
    assert level_share(1) == pytest.approx(0.608, abs=1e-3)
    assert 0.999 < sum(level_share(number) for number in range(1, 5000)) < 1


def test_the_same_trials_are_one_look_and_more_trials_another(folder: Path):
    kept = without_last_seed(folder)
    write_report(folder)
    first = (folder / "report.md").read_text()
    assert "**Look 1 at this study.**" in first
    assert "uses 3 of these percent: its intervals of gains hold at 97 %" in first
    write_report(folder, ["md", "html"])
    assert (folder / "report.md").read_text() == first
    assert len(look_names(folder)) == 1
    for path in kept:
        shutil.move(path, folder / "ledger" / path.name)
    assert look_number(Results.load(folder), "rows") == 2
    write_report(folder)
    second = (folder / "report.md").read_text()
    assert "**Look 2 at this study.**" in second
    assert "uses 0.76 of these percent: its intervals of gains hold at 99.2 %" in second
    write_report(folder)
    assert (folder / "report.md").read_text() == second
    assert len(look_names(folder)) == 2
    without_last_seed(folder)  # back to the trials of the first look
    assert look_number(Results.load(folder), "rows") == 1


def test_a_later_look_is_stricter(folder: Path):
    results = Results.load(folder)
    later = dataclasses.replace(results, looks=["a" * 16, "b" * 16])
    pairs = list(zip(boards(Evidence.of(results))[0].standings, boards(Evidence.of(later))[0].standings, strict=True))
    widths = [[standing.gain.high - standing.gain.low for standing in pair] for pair in pairs if pair[0].gain]
    assert widths
    assert all(wide > narrow for narrow, wide in widths)


@pytest.mark.parametrize("old", [False, True])
def test_finals_take_nothing_from_the_rows_and_rows_count_for_finals(tmp_path: Path, old: bool):
    """No figure of a row comes from the finals, so looks at new trials of rows have the numbers that they would have
    in a folder without finals: each table's shares still add up to 5 %, and so do those of the finals, which begin with
    their first trials. Rows lend their spread to the finals, so new trials of rows are a new look at these, too."""
    rows = {"rows": ROWS, "explored": 3, "spread": 0.5}
    info = make_results(tmp_path, seeds=(0, 1, 2), **rows)
    dataclasses.replace(info, across=["items"]).save(tmp_path)

    def seen() -> tuple[tuple[int, int], list[tuple[float, float]]]:
        write_report(tmp_path)
        results = Results.load(tmp_path)
        gains = [item.gain for item in boards(Evidence.of(results))[0].standings if item.gain]
        first, second = (look_number(results, family) for family in FAMILIES)
        return (first, second), [(gain.low, gain.high) for gain in gains]

    numbers, before = seen()
    assert numbers[0] == 1
    (file,) = (tmp_path / LOOKS).iterdir()
    if old:  # a file of an older version may be a look at both
        file.rename(file.with_name(file.name.removeprefix("rows-")))
    add_finals(tmp_path, (3.0, 1.0))
    assert seen() == ((1, 1 + old), before)
    add_finals(tmp_path, (3.0, 1.0), seeds=6)
    assert seen() == ((1, 2 + old), before)
    assert f"this is look 1 at the rows and look {2 + old} at the finals." in section_text(tmp_path, "sure")
    finals = StudyInfo.load(tmp_path).finals
    dataclasses.replace(make_results(tmp_path, seeds=(0, 1, 2, 3), **rows), finals=finals).save(tmp_path)
    assert seen()[0] == (2, 3 + old)


def test_a_look_of_an_older_version_at_both_is_one_of_each(tmp_path: Path):
    make_results(tmp_path, seeds=(0, 1, 2), rows=ROWS, explored=3, spread=0.5)
    add_finals(tmp_path, (3.0, 1.0))
    results = Results.load(tmp_path)
    both = dataclasses.replace(results, looks=["a" * 16, trials_digest(results, "finals"), "b" * 16])
    assert [look_number(both, family) for family in FAMILIES] == [2, 2]


def test_a_check_reproduces_the_report_and_is_no_look(folder: Path):
    without_last_seed(folder)
    write_report(folder)
    before = files(folder)
    assert check(folder) == []
    shutil.copytree(folder, folder.parent / "elsewhere" / folder.name)
    assert check(folder.parent / "elsewhere" / folder.name) == []
    assert files(folder) == before
    shutil.rmtree(folder / LOOKS)
    assert check(folder) == []
    assert not (folder / LOOKS).exists()


def test_where_no_verdict_is_possible_there_is_no_look(tmp_path: Path):
    write(dataclasses.replace(STUDY_OF, seeds=1).study(1), tmp_path)
    write_report(tmp_path)
    assert trials_digest(Results.load(tmp_path), "rows") == ""
    assert look_names(tmp_path) == []
    assert "at this study" not in (tmp_path / "report.md").read_text()


def test_looks_are_in_the_order_of_their_times(folder: Path):
    (folder / LOOKS).mkdir()
    for name, at in (("b" * 16, "2026-01-02T03:04:05+00:00"), ("a" * 16, "2026-01-02T03:04:05.5+00:00")):
        (folder / LOOKS / f"{name}.json").write_text(f'{{"at": "{at}"}}')
    assert Results.load(folder).looks == ["b" * 16, "a" * 16]
    first = files(folder)
    write_report(folder)
    assert {path: files(folder)[path] for path in first} == first  # a look is written once
    assert look_names(folder)[:2] == ["b" * 16, "a" * 16]
    assert len(look_names(folder)) == 3


def test_a_late_look_is_never_at_100_percent(folder: Path):
    results = dataclasses.replace(Results.load(folder), looks=[f"{number:016}" for number in range(29)])
    text = comparisons.look(look_number(results, "rows"))
    assert "uses 0.0034 of these percent: its intervals of gains hold at 99.997 %" in text


def test_a_link_that_leads_out_keeps_no_look(folder: Path, capsys: pytest.CaptureFixture[str]):
    outside = folder.parent / "outside"
    outside.mkdir()
    (folder / LOOKS).symlink_to(outside)
    write_report(folder)
    assert "**Look 1 at this study.**" in (folder / "report.md").read_text()
    assert "could not be recorded" in capsys.readouterr().err
    assert list(outside.iterdir()) == []


def test_a_reader_at_a_url_and_the_study_undo_nothing_of_each_other(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent / "cache"))
    url = f"memory://{uuid.uuid4().hex}/study"
    study = open_location(url, folder)
    study.pull()
    shutil.copytree(folder, study.folder, dirs_exist_ok=True)
    kept = without_last_seed(study.folder)
    study.push_changed()
    for path in (study.folder / "ledger").iterdir():
        study.push(f"ledger/{path.name}")
    reader = open_location(url, folder)
    reader.pull()
    running = StudyInfo.load(study.folder)
    dataclasses.replace(running, status_counts={"finished": 99}).save(study.folder)  # the study ends ...
    study.push_changed()
    write_report(reader.folder)  # ... while a reader looks at it
    reader.push_changed()
    for path in kept:
        shutil.move(path, study.folder / "ledger" / path.name)
    assert report(study)
    reader.pull()
    assert StudyInfo.load(reader.folder).status_counts == {"finished": 99}
    assert len(look_names(reader.folder)) == 2
    assert "**Look 2 at this study.**" in (reader.folder / "report.md").read_text()


@pytest.mark.slow
def test_the_report_that_the_live_page_gives_is_a_look(folder: Path):
    """It is kept in the folder, and told where a URL may lie behind it; nothing else in the folder changes."""
    (folder / "report.html").write_text("with sentences")
    (folder / "trials.csv").write_text("mine")
    before, pushed = files(folder), []
    with LiveServer(folder, push=pushed.append) as server:
        page = server.report.get(server.folder.view().signature)
    assert "Look 1 at this study." in page
    assert look_names(folder) == ["rows-" + trials_digest(Results.load(folder), "rows")]
    assert pushed == [LOOKS]
    assert {path: content for path, content in files(folder).items() if path.parent.name != LOOKS} == before
