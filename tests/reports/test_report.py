"""The report on made-up studies: every figure in its place, dashes for what is missing, no more than the data shows."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import fmean, stdev

import pytest

from reports.facts.results import Results
from reports.ledger import FAILURES, LEDGER, Ledger
from reports.ledger.own_code import trust_folder
from reports.report import write_report
from reports.statistics import Measured
from reports.testing import changed
from reports.words.markdown import number, signed, spread
from search_spaces import load_space, spaces
from tests.reports.test_archive import LATER
from tests.synthetic_results import make_record, make_results, section_text
from trainables.errors import UserError
from trainables.files import write_whole

ROOT = Path(__file__).resolve().parents[2]
SPACES = spaces()
BASELINE, BEST = "SBERT baseline", "allpalln-lambda0.3-SCL"


def cells(report: str, heading: str, first: str, second: str | None = None) -> list[str]:
    """A line of the first table under a heading that starts with these cells, without them."""
    under = report.split(heading, 1)[1]
    name = ""
    for line in under.splitlines():
        if not line.startswith("|"):
            continue
        row = [cell.strip() for cell in line.strip("|").split("|")]
        name = row[0] or name
        if name == first and second in (None, row[1]):
            return row[2:] if second else row[1:]
    raise AssertionError(f"no line {first!r} {second!r} under {heading!r}")


def test_means_and_spreads_over_seeds(tmp_path: Path):
    make_results(tmp_path, laptop=False, seeds=(1, 2, 3), spread=0.4, rows=[BASELINE, BEST])
    values = [record.scores["STS13"]["spearman_wmean"] for record in Results.load(tmp_path).of_row(BEST)]
    expected = f"{fmean(values):.2f} ± {stdev(values):.2f}"
    assert cells(section_text(tmp_path, "paper_tables"), "### Table 2.", BEST, "ours")[1] == expected


def test_a_part_of_a_study_makes_a_report(tmp_path: Path):
    make_results(tmp_path, rows=[BASELINE, "3p3n-Augment", BEST], drop_task="MR")
    report = write_report(tmp_path).read_text()
    assert "3 of 19 rows finished" in report
    assert "**Unfinished: 3 of 18 trials.**" in report
    assert "15 rows: not finished" in report
    assert cells(report, "### Table 3.", BEST, "ours")[0] == "—"
    assert cells(report, "### Table 3.", BEST, "ours")[-1] == "—"  # a mean of what is missing is missing
    assert "MR is not in the folder" in report
    assert "transfer Avg." not in report.split("## How sure that is")[1].split("\n## ")[0]
    assert "The curve over `objective.temperature` cannot be drawn: none of its rows has finished" in report
    line = next(line for line in report.splitlines() if "The best model on STS tasks is" in line)
    assert "8 of 11 comparisons missing; so far none decided" in line


def test_what_is_missing_has_its_reason(tmp_path: Path):
    """Without the baseline: a row lacks a seed, another was stopped, one failed, one has another protocol."""
    lacking, stopped, other, failed = BEST, "3p3n-Augment", "allpalln-Augment", "3palln-lambda0.5-SCL"
    info = make_results(tmp_path, seeds=(1, 2), rows=[lacking, stopped, other, "3p3n-lambda0.5-SCL"])
    ledger = Ledger(tmp_path / LEDGER)
    for record in ledger.read():
        if record.recipe_hash == info.row_hashes[other]:
            ledger.write(changed(record, protocol="full"))
        elif record.recipe_hash == info.row_hashes[stopped]:
            scores = {"STS12": {"spearman_wmean": 99.0}}
            training = {**record.training, "stopped": "stopped at rung 2"}
            ledger.write(changed(record, status="pruned", scores=scores, training=training))
    (tmp_path / LEDGER / f"{info.row_hashes[lacking]}-2.json").unlink()
    key = f"{info.row_hashes[failed]}-1"
    write_whole(tmp_path / FAILURES / f"{key}.json", json.dumps({"trial": key, "reason": "no memory left"}))
    report = write_report(tmp_path).read_text()
    for words in (
        f"Differences to `{BASELINE}` need that row, which is missing: not finished.",
        f"`{lacking}`: some seeds have not finished yet.",
        f"`{stopped}`: stopped at rung 2.",
        f"`{failed}`: failed: no memory left.",
        "1 of 19 rows finished, 2 seeds each",
        "`full` (2 trials)",
    ):
        assert words in report
    assert "99.00" not in report
    assert cells(report, "### Table 2.", other, "published (ours —)")[-1] == "66.70"


@pytest.mark.parametrize("name", sorted(LATER))
@pytest.mark.slow
def test_every_space_makes_a_report(tmp_path: Path, name: str):
    """Those of the archive are compared whole."""
    space = SPACES[name]
    make_results(tmp_path, space, explored=2)
    report = write_report(tmp_path).read_text()
    assert [f"### Table {paper.number}." in report for paper in space.tables] == [True] * len(space.tables)
    printed = [name for paper in space.tables for name, _ in paper.rows] + [claim.text for claim in space.claims]
    for words in [*printed, *(row.label for row in space.rows)]:  # a paper may call an option "None"
        report = report.replace(words, "")
    assert not re.search(r"\b(nan|NaN|None|inf)\b", report)


OWN = """
from search_spaces import Domain, Row, Space
from trainables.recipe import Recipe

SPACE = Space(
    name="mine", title="My own", paper="none", base=Recipe(),
    rows=(Row("plain", {}), Row("warm", {"objective.temperature": 0.5})),
    domains=(Domain("objective.temperature", low=0.1, high=1.0, grid=(0.2, 0.3)),),
    baseline="plain",
)
"""


def test_a_persons_own_space(tmp_path: Path):
    (tmp_path / "space.py").write_text(OWN)
    info = make_results(tmp_path, load_space(str(tmp_path / "space.py")), explored=2)
    dataclasses.replace(info, space_file="space.py").save(tmp_path)
    trust_folder(tmp_path)
    ledger = Ledger(tmp_path / LEDGER)
    for record in ledger.read():
        ledger.write(changed(record, scores={f"STS{year}": {"spearman_wmean": 50.0} for year in range(12, 17)}))
    report = write_report(tmp_path).read_text()
    assert "# My own" in report
    assert "Space: `mine`, from `space.py`" in report
    assert "published" not in report.split("## What the search found")[0]
    assert cells(report, "## Tables", "warm") == ["50.00"]
    assert "- `STS Avg.`: the mean of `spearman_wmean` of STS12, STS13, STS14, STS15, STS16." in report


def test_the_best_row_is_set_beside_the_level_of_the_baseline(tmp_path: Path):
    """Also where the baseline is in another table."""
    space = SPACES["clsr_pooling"]
    make_results(tmp_path, space, laptop=False)
    score = space.table("4").columns[0].score
    assert score is not None
    baseline = make_record(space.base.override(space.row("BERT-base").overrides), space.evaluation, 1, {score: 80.0})
    Ledger(tmp_path / LEDGER).write(baseline)
    assert "the largest gain measured is `CLSR-BERT-base, mean`'s, -3.26" in section_text(tmp_path, "sure")


def test_the_papers_data_in_local_folders_are_the_papers(tmp_path: Path):
    local = {"corpus.nli": "/data/snli,/data/multi_nli", "encoder.name": "/models/bert-base-uncased"}
    make_results(tmp_path, SPACES["supmpn_objectives"], laptop=False, base=local)
    assert Results.load(tmp_path).comparable
    make_results(tmp_path, SPACES["supmpn_objectives"], laptop=False, base={"corpus.nli": "/data/snli"})
    assert [item.key for item in Results.load(tmp_path).differences] == ["corpus.nli"]


def test_bad_folders(tmp_path: Path):
    folder = tmp_path / "results"
    with pytest.raises(UserError, match="does not exist"):
        write_report(folder)
    info = make_results(folder, rows=[])
    with pytest.raises(UserError, match="nothing to report"):
        write_report(folder)
    (folder / LEDGER).mkdir(exist_ok=True)
    (folder / LEDGER / f"{info.row_hashes[BASELINE]}-1.json").write_text("{")
    with pytest.raises(UserError, match="is not a record of a finished trial"):
        write_report(folder)
    dataclasses.replace(info, space="scl_gone").save(folder)
    with pytest.raises(UserError, match="there is no space 'scl_gone'"):
        write_report(folder)
    assert not (folder / "report.md").exists()


def test_the_front_door_needs_neither_ray_nor_torch(tmp_path: Path):
    code = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ("ray", "torch", "transformers", "datasets"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from reports.__main__ import command
from reports.importance import chance, forest

chance.SHUFFLES, chance.SUBSETS, forest.TREES = 19, 2, 2

def run(folder):
    sys.argv[1:] = [folder]
    return command()

sys.exit([run(folder) for folder in sys.argv[1:]] != [2, 0])
"""
    absent = tmp_path / "absent"
    make_results(tmp_path, rows=[BASELINE, BEST], explored=20)
    done = subprocess.run([sys.executable, "-c", code, absent, tmp_path], capture_output=True, text=True, cwd=ROOT)
    assert done.stderr == f"error: the results folder {absent} does not exist\n"
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'report.md'}\n")
    assert "What decides the development score" in (tmp_path / "report.md").read_text()


def test_numbers_as_text():
    assert (number(None), signed(None), spread(None)) == ("—", "—", "—")
    assert (number(1234.5), signed(0.001), signed(-0.001), signed(2.0)) == ("1,234.50", "0.00", "0.00", "+2.00")
    assert (number(-0.0001, 3), number(-0.001, 3)) == ("0.000", "-0.001")
    assert spread(Measured(1.0, 0.25, 2)) == "1.00 ± 0.25"


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ({"MR": {"reason": "MR is not in the folder"}}, "without a score are MR: MR is not in the folder"),
        ({}, "not all were asked for (`evaluation.tasks`)"),
    ],
)
def test_a_missing_average_has_a_reason(tmp_path: Path, scores: dict[str, dict[str, str]], words: str):
    space = SPACES["declutr_sampling"]
    make_results(tmp_path, space, rows=[space.rows[0].label])
    ledger = Ledger(tmp_path / LEDGER)
    for record in ledger.read():
        ledger.write(changed(record, scores=scores))
    tables = section_text(tmp_path, "paper_tables").split("### Table F2")
    under = tables[1]
    assert "- `Downstream`, `Probing`, `Avg.`: an average needs every one of its tasks" in under
    assert words in under
    lines = [line for line in under.splitlines() if line.startswith("|")][2:]
    assert len(lines) == 2  # of the models of Table S6, and none of dashes
    assert all("published (ours —)" in line for line in lines)
    assert "No row has a figure for this table." in tables[2]
    assert "|" not in tables[2]


def test_unpublished_rows_that_nobody_asked_for_have_no_line(tmp_path: Path):
    """Of a large grid a study asks for a part; published rows stand all the same, and the footnote names the rest."""
    for name, label, other in (
        ("declutr_objective", "small both 40%", "small both 60%"),
        ("scl_ablation", BEST, "3p3n-Augment"),
    ):
        folder = tmp_path / name
        info = make_results(folder, SPACES[name], rows=[label])
        dataclasses.replace(info, row_hashes={label: info.row_hashes[label]}).save(folder)
        report = section_text(folder, "paper_tables")
        assert re.search(rf"^\| {re.escape(label)} +\| ours", report, re.MULTILINE)
        assert bool(re.search(rf"^\| {re.escape(other)} +\|", report, re.MULTILINE)) == (name == "scl_ablation")
        assert re.search(rf"^- .*`{re.escape(other)}`.*: not asked for in this study\.$", report, re.MULTILINE)
