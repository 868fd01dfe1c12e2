"""What a report says of its boards: the first screen, the forest, the main table, and commands to type."""

from __future__ import annotations

import dataclasses
import re
import shlex
from pathlib import Path

import pytest

from reports.commands import study_command
from reports.ledger import LEDGER, Ledger, StudyInfo
from reports.plots.forest import forest_picture, scale, with_gain
from reports.report import write_report
from reports.results import Results
from reports.sections.forest import caption
from reports.sections.in_short import best_set, conclusions, orders
from reports.sections.rows import board_table, how_to_read
from reports.testing import make_study, write_trial
from tests.boards import STEPS, board, gain, standing
from tests.synthetic_results import PLOTS, make_results, undraw

BASELINE = "SBERT baseline"
ABOVE = {"verdict": "above", "p_holm": 0.001}


class TestFirstSentence:
    def test_the_best_is_a_row_alone_in_the_best_set_and_proven(self):
        found = conclusions([board(standing("a", 63.0, in_best_set=True, **ABOVE), standing("b", 61.0, **ABOVE))])
        assert found == [
            "On **STS Avg.** 2 of 2 rows are shown to be above `base`. `a` is the best row, +3.00 [+2.50, +3.50] "
            "points above `base`."
        ]

    def test_of_several_none_is_called_the_best(self):
        several = board(standing("a", 63.0, in_best_set=True, **ABOVE), standing("b", 62.9, in_best_set=True, **ABOVE))
        [said] = conclusions([several])
        assert "the best row" not in said
        assert said.endswith(
            "The largest gain measured is `a`'s, +3.00 [+2.50, +3.50] points, but 2 rows may be the best."
        )

    def test_a_row_that_could_not_be_judged_may_be_better(self):
        found = board(standing("a", 63.0, in_best_set=True, **ABOVE), standing("b", 64.0, in_best_set=None))
        [said] = conclusions([found])
        assert "`a` is the best of the 2 rows that can be judged" in said
        assert best_set(found).startswith(
            "Best set on **STS Avg.** (1 of the 2 rows that can be judged may be the best"
        )

    def test_nothing_is_proven(self):
        [said] = conclusions([board(standing("a", 60.2), standing("b", 59.9))])
        assert said.startswith("On **STS Avg.** no row is shown to be better or worse than `base`: the differences are")
        assert "best" not in said

    def test_one_seed_proves_nothing_and_boards_share_the_sentence(self):
        one = board(standing("a", 66.0, seeds=1))
        [said] = conclusions([one, dataclasses.replace(one, quantity=board(name="transfer Avg.").quantity)])
        assert said.startswith(
            "On **STS Avg.** and **transfer Avg.** no row is shown to be better or worse than `base`"
        )
        assert said.count("one seed") == 1
        assert said.count("+6.00 [+5.50, +6.50] points (over test items only)") == 2

    def test_a_flag_forbids_it_and_is_named(self):
        flagged = {"verdict": "no verdict", "blocked_by": (STEPS,), "in_best_set": None}
        [said] = conclusions([board(standing("flagged", 66.0, **flagged))])
        assert "a verdict is forbidden by the flag `steps`" in said
        [said] = conclusions([board(standing("flagged", 66.0, **flagged), standing("a", 63.0, **ABOVE))])
        assert "1 of 2 rows is shown to be above `base` (1 without a verdict for the flag `steps`)" in said

    def test_a_row_below_is_not_said_to_be_above(self):
        [said] = conclusions([board(standing("a", 55.0, verdict="below", p_holm=0.001))])
        assert "none of 1 row is shown to be above `base` (1 below it)" in said

    def test_without_a_baseline(self):
        rows = [standing("a", 63.0, gain=None, in_best_set=True), standing("b", 61.0, gain=None)]
        found = dataclasses.replace(board(), baseline=None, standings=tuple(rows))
        assert conclusions([found]) == ["On **STS Avg.** `a` is the best row. Its mean is 63.00."]

    def test_no_figure_at_all(self):
        assert conclusions([]) == ["No row has a figure that sums the study up yet."]


class TestBestSet:
    def test_many_are_counted(self):
        inside = [standing(f"row {n}", 62 - n / 10, in_best_set=True) for n in range(7)]
        said = best_set(board(*inside))
        assert said.startswith(
            "Best set on **STS Avg.** (7 of 8 rows may be the best, at 95 %, with gains over `base`)"
        )
        assert said.count("\n- ") == 6
        assert said.endswith("- 2 more rows, see Rows")

    def test_one_judged_row_is_no_set(self):
        """Of rows with one seed only a row that no seed changes can be judged: it is not the best for that."""
        rows = [standing("glove", 50.0, in_best_set=True), standing("a", 66.0, seeds=1)]
        found = dataclasses.replace(board(), standings=(*rows, standing("base", 60.0, seeds=1)))
        assert best_set(found) == ""
        assert "best row" not in conclusions([found])[0]

    def test_all_rows(self):
        every = [standing(name, 60.1, in_best_set=True) for name in "ab"]
        found = dataclasses.replace(board(), standings=tuple(every))
        assert best_set(found) == "Best set on **STS Avg.**: any of 2 rows may be the best."


class TestOrder:
    def rows(self, published: list[float]) -> str:
        rows = [standing(f"row {n}", 60 + n, published=value) for n, value in enumerate(published, 1)]
        return " ".join(orders([board(*rows)]))

    def test_alike_reversed_and_unrelated(self):
        assert "is like the paper's, more than chance would make it (Kendall's tau 1.00" in self.rows(
            [1, 2, 3, 4, 5, 6]
        )
        assert "is the paper's reversed" in self.rows([6, 5, 4, 3, 2, 1])
        unrelated = self.rows([3, 1, 4, 2, 6, 1.5])
        assert "is not shown to have anything to do with the paper's" in unrelated
        assert "half" not in unrelated

    def test_few_rows_say_nothing(self):
        assert self.rows([1, 2, 3]) == ""


class TestForest:
    def test_what_lies_far_off_does_not_squash_the_others(self):
        rows = [standing(f"row {n}", 60 + n / 10, published=n / 10) for n in range(12)]
        low, high = scale(with_gain(board(*rows, standing("word vectors", 20.0, published=-35.0))))
        assert -3 < low < high < 4
        low, _ = scale(with_gain(board(*rows)))
        assert low == pytest.approx(-0.5 - 0.06 * 2.1, abs=0.05)  # the whole interval of the lowest row

    def test_a_picture_of_everything_that_can_happen(self, tmp_path: Path):
        rows = [
            standing("proven", 63.0, published=2.0, **ABOVE),
            standing("open", 60.2, published=1.0),
            standing("no interval", 60.4, half=None),
            standing("flagged", 60.6, flags=(STEPS,), blocked_by=(STEPS,), verdict="no verdict"),
            standing("far off", 10.0, published=-45.0),
        ]
        path = forest_picture([board(*rows)], tmp_path / "forest.svg")
        assert path is not None
        drawn = path.read_text()
        for words in (
            "⚠ flagged", "ours -50.00 [-50.50, -49.50], published -45.00", "published", "ours, 95 %, shown to differ",
            "ours, 95 %, not shown to differ", "points above or below base",
        ):  # fmt: skip
            assert f">{words}<" in drawn
        assert "one seed" not in drawn
        assert drawn.index(">proven<") < drawn.index(">⚠ flagged<") < drawn.index(">open<")

    def test_one_seed_is_drawn_and_said(self, tmp_path: Path):
        one = board(standing("a", 63.0, seeds=1))
        path = forest_picture([one], tmp_path / "forest.svg")
        assert path is not None
        drawn = path.read_text()
        assert "ours, one seed: 95 % over test items only" in drawn
        assert "stroke-dasharray" in drawn
        assert ">published<" not in drawn
        assert "A hollow dot with a dashed line is one seed" in caption([one])
        assert "hollow" not in caption([board(standing("a", 63.0))])

    def test_equal_gains_hide_neither(self, tmp_path: Path):
        """The published diamond lay unseen under our dot."""
        path = forest_picture([board(standing("a", 63.0, published=3.0))], tmp_path / "forest.svg")
        assert path is not None
        heights = re.findall(r'<use [^>]*y="([0-9.]+)"[^>]*fill: (#0b5fa5|#d1600a|#8a8a8a)', path.read_text())
        ours, published = ([float(y) for y, color in heights if (color == "#d1600a") == own] for own in (False, True))
        assert min(published) > min(ours) + 3  # the row's marks, above those of the legend

    def test_nothing_to_draw(self, tmp_path: Path):
        assert forest_picture([board()], tmp_path / "forest.svg") is None


class TestRows:
    @pytest.fixture
    def results(self, tmp_path: Path) -> Results:
        return make_study(tmp_path / "results")

    def test_a_line(self, results: Results):
        rows = [
            standing("a", 63.0, wins=2, ties=0, losses=0, in_best_set=True, ranks=(1, 2), **ABOVE),
            standing("b", 62.0, in_best_set=True, ranks=(2, 2), flags=(STEPS,), blocked_by=(STEPS,), p_holm=0.0004),
        ]
        lines = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in board_table(results, board(*rows)).splitlines()
        ]
        assert lines[0] == [
            "row", "seeds", "mean", "gain [95 %]", "p (Holm)", "wins, ties, losses", "in best set", "rank", "flags",
        ]  # fmt: skip
        assert lines[2] == [
            "a", "3", "63.00 ± 0.00", "+3.00 [+2.50, +3.50]", "0.001", "2, 0, 0", "yes", "1 to 2", "",
        ]  # fmt: skip
        assert lines[3][4:] == ["<0.001", "—", "yes", "2", "⚠ **steps**"]
        assert lines[4][:4] == ["base", "3", "60.00 ± 0.00", "baseline"]

    def test_one_seed_is_said_above_the_table(self):
        assert "With one seed the interval counts the test items only" in how_to_read(
            [board(standing("a", 63, seeds=1))]
        )
        assert "With one seed" not in how_to_read([board(standing("a", 63.0))])

    def test_intervals_without_items_are_said(self):
        only = board(standing("a", 63.0, gain=gain(3.0, basis="seeds only")))
        assert "counts the seeds only and is too narrow" in how_to_read([only])
        assert "counts the seeds only" in caption([only])


class TestCommands:
    def info(self, command: str) -> StudyInfo:
        return StudyInfo("mine", seeds=[0, 1], commands=["python study/run.py --space old", command])

    def test_rows_and_seeds_take_the_place_of_those_that_were_given(self):
        info = self.info(
            "python study/run.py --space mine --only 'a b' --only=c --seeds 2 --set x=1 --trials 9 --search optuna"
        )
        assert shlex.split(study_command(info, ["it's"], 5)) == [
            "python", "study/run.py", "--space", "mine", "--set", "x=1", "--only", "it's", "--seeds", "5",
        ]  # fmt: skip
        assert study_command(info, seeds=3).endswith("--trials 9 --search optuna --seeds 3")
        assert "--only 'a b' --only=c" in study_command(info)

    @pytest.mark.parametrize("commands", [[], ["python 'no end"]])
    def test_without_a_command(self, commands: list[str]):
        info = StudyInfo("mine", scale="laptop", seeds=[0, 1], commands=commands)
        assert study_command(info, ["a"]) == "python study/run.py --space mine --scale laptop --seeds 2 --only a"


def test_the_first_line_of_a_report_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The highest row stands in a later table only, and no row can be told from the others."""
    undraw(monkeypatch, PLOTS)
    highest = "allpalln-lambda0.5-tau0.9-SCL"
    info = make_results(tmp_path, rows=[BASELINE, "allpalln-lambda0.3-SCL", highest], seeds=(0, 1, 2), spread=0.2)
    for record in Ledger(tmp_path / LEDGER).read():
        better = 1.0 if record.recipe_hash == info.row_hashes[highest] else 0.0
        scores = {
            task: {name: value + better if name == "spearman_wmean" else value for name, value in numbers.items()}
            for task, numbers in record.scores.items()
        }
        write_trial(tmp_path, dataclasses.replace(record, scores=scores))
    results = Results.load(tmp_path)
    assert highest not in {label for _, label in results.space.tables[0].rows}
    report = write_report(tmp_path).read_text()
    short = report.split("## In short")[1].split("\n## ")[0]
    assert f"largest gain measured is `{highest}`'s" in short
    assert "best row" not in report
    assert "by chance about half" not in report


def test_a_report_of_one_seed_says_what_more_seeds_would_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    undraw(monkeypatch, PLOTS)
    results = make_study(tmp_path / "results", seeds=1)
    report = write_report(results.folder).read_text()
    short = report.split("## In short")[1].split("\n## ")[0]
    assert "no row is shown to be better or worse" in short
    assert re.search(r"```sh\npython study/run.py .*--seeds 3\n```", short)


def test_every_row_has_its_command_and_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    undraw(monkeypatch, PLOTS)
    results = make_study(tmp_path / "results")
    text = write_report(results.folder).read_text().split("## Every row's command and files")[1].split("</details>")[0]
    for label in results.asked_rows:
        assert f"### {label}" in text
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (results.folder / target).is_file()
    assert text.count("[ledger]") == text.count("[predictions]") == 4
