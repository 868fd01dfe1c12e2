"""What reads a results folder besides the report: the check, two studies side by side, a model that is given away."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports import check as checking
from reports.__main__ import main
from reports.check import check
from reports.diff import diff
from reports.differences import differences
from reports.export import export
from reports.facts.results import Results
from reports.formats import FORMATS
from reports.ledger import FAILURES, LEDGER, Ledger, Record, StudyInfo
from reports.ledger.own_code import trust_folder
from reports.made_up import DATA
from reports.report import scratch_copy, write_report
from reports.testing import changed, make_study
from search_spaces.goals import SELECTION
from tests.synthetic_results import made_once
from trainables.arrays import arrays_in
from trainables.errors import UserError
from trainables.senteval.kinds import KINDS
from trainables.senteval.protocol import PROTOCOLS
from trainables.senteval.tasks import TASKS

ROW = "3p3n-Augment"
EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
EXAMPLE = EXAMPLES / "scl_ablation"


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Two rows under two seeds, without pictures."""
    return make_study(tmp_path / "study")


def rewrite(results: Results, record: Record, **changes: Any) -> None:
    Ledger(results.folder / LEDGER).write(changed(record, **changes))


class TestCheck:
    @pytest.mark.usefixtures("short_reports")
    def test_a_score_that_its_predictions_do_not_give(self, results: Results) -> None:
        write_report(results.folder)
        record = results.of_row(ROW)[0]
        honest = record.scores["MR"]["test_accuracy"]
        scores = {**record.scores, "MR": {**record.scores["MR"], "test_accuracy": honest + 0.01}}
        rewrite(results, record, scores=scores)
        problems = check(results.folder)
        assert problems[0] == (
            f"The trial {record.key} (row {ROW}, seed {record.seed}): test_accuracy of MR is {honest + 0.01:.4f} "
            f"in the ledger, but its predictions give {honest:.4f}."
        )
        assert not any("STS12" in problem for problem in problems if problem.startswith("The trial"))

    def test_a_record_that_cannot_be_right(self, results: Results) -> None:
        record = results.of_row(ROW)[0]
        rewrite(results, record, scores={**record.scores, "MR": {"test_accuracy": 640.0}})
        problem = check(results.folder)[0]
        assert problem.startswith(f"The record {record.key}.json was set aside")
        assert "640" in problem

    def test_predictions_that_are_gone(self, results: Results) -> None:
        record = results.of_row(ROW)[0]
        assert record.predictions
        (results.folder / record.predictions[0]).unlink()
        (problem,) = checking._scores(Results.load(results.folder))
        assert problem.startswith(f"The trial {record.key}")
        assert record.predictions[0] in problem

    @pytest.mark.usefixtures("short_reports")
    def test_a_number_that_was_changed_in_the_report(self, results: Results) -> None:
        path = write_report(results.folder)
        text = path.read_text(encoding="utf-8")
        line = next(line for line in text.splitlines() if line.startswith("|") and re.search(r"\d\d\.\d\d", line))
        number = re.findall(r"\d\d\.\d\d", line)[0]
        path.write_text(text.replace(line, line.replace(number, "99.98", 1)), encoding="utf-8")
        (problem,) = check(results.folder)
        assert problem.startswith(f"report.md, line {text.splitlines().index(line) + 1} (")
        assert problem.endswith(f"says 99.98, but the folder gives {number}.")

    @pytest.mark.slow
    def test_an_edit_of_any_file_that_the_report_is(self, results: Results) -> None:
        write_report(results.folder, list(FORMATS))
        assert check(results.folder) == []
        table_file = min((results.folder / "tables").glob("rows-*.csv"))
        pattern = r"\b\d\d\.\d\d\b"
        edits = {
            results.folder / "report.html": pattern,
            table_file: pattern,
            results.folder / "trials.csv": r"\b\d\d\.\d{4,}\b",
            results.folder / "pictures" / "forest.svg": "picture",
        }
        in_the_pages_data = {results.folder / "report.html": r"(?<=\"count\":)60"}
        for edited in (edits, in_the_pages_data):
            honest = {path: path.read_text(encoding="utf-8") for path in edited}
            for path, number in edited.items():
                path.write_text(re.sub(number, "11.11", honest[path], count=1), encoding="utf-8")
            problems = check(results.folder)
            assert len(problems) == len(edited)
            assert all("11.11" in problem for problem in problems)
            for path in edited:
                name = path.relative_to(results.folder).as_posix()
                assert sum(problem.startswith(f"{name}, line ") for problem in problems) == 1, name
                path.write_text(honest[path], encoding="utf-8")
        for name in (table_file, results.folder / "trials.csv"):
            name.unlink()
        assert [problem.partition(" holds no ")[2] for problem in check(results.folder)] == [
            f"{name}, which its report is written with." for name in (f"tables/{table_file.name}", "trials.csv")
        ]

    @pytest.mark.slow
    def test_the_report_says_itself_across_what_it_was_judged(self, results: Results, capsys: Any) -> None:
        first = results.of_row(ROW)[0]
        rewrite(results, first, versions={**first.versions, "trainables": "bbbb2222"})
        texts = []
        for across in ((), ("code",)):
            texts.append(write_report(results.folder, ("md", "html"), across=across).read_text(encoding="utf-8"))
            for options in ([], ["--across", "code"], ["--across", "steps"]):
                assert main([str(results.folder), "--check", *options]) == 0, capsys.readouterr().out
        assert texts[0] != texts[1]
        with pytest.raises(UserError, match="no guard 'nothing'"):
            main([str(results.folder), "--check", "--across", "nothing"])

    @pytest.mark.slow
    @pytest.mark.usefixtures("own_spaces", "drawn")
    @pytest.mark.parametrize(
        "example", sorted(file.parent for file in EXAMPLES.glob("*/study.json")), ids=lambda folder: folder.name
    )
    def test_a_committed_example(self, example: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([str(example), "--check"]) == 0, capsys.readouterr().out

    def test_accuracies_over_folds_of_a_real_study(self) -> None:
        """SentEval's folds are not of one size, so a mean over items would not do."""
        read = Results.load(EXAMPLE)
        assert list(checking._scores(read)) == []
        kept = [answers for record in read.records if (answers := read.predictions.of_task(record, "CR"))]
        both = [
            [KINDS["nested_cv"].numbers(TASKS["CR"], answers, protocol)["test_accuracy"] for answers in kept]
            for protocol in (PROTOCOLS[read.protocol], None)
        ]
        assert np.abs(np.subtract(*both)).max() > checking.EXACT

    def test_right_answers_that_fit_no_folds(self, results: Results) -> None:
        record = results.of_row(ROW)[0]
        path = results.folder / record.predictions[0]
        arrays = arrays_in(path.read_bytes())
        each = np.arange(len(arrays["gold.MR"]), dtype=np.int8)
        np.savez(path, **{**arrays, "gold.MR": each, "MR": each})
        (problem,) = checking._scores(Results.load(results.folder))
        assert "test_accuracy of MR" in problem
        assert problem.endswith("in the ledger, but its predictions cannot give it.")

    @pytest.mark.parametrize(
        ("first", "second", "problems"),
        [
            ("# A\n\n45.93, 2", "# A\n\n45.90, 2", ["report.md, line 3 (A), says 45.93, but the folder gives 45.90."]),
            (
                "# A\n| r | **1.5** |",
                "# A\n| r |   —   |",
                ["report.md, line 2 (A), row r, says 1.5, but the folder gives —."],
            ),
            ("a +1.0\nb", "a -1.0\nb", ["report.md, line 1, says +1.0, but the folder gives -1.0."]),
            ("a\nb", "a\nc", ["report.md, line 2, says 'b', but the folder gives 'c'."]),
            ("a\nb", "a", ["report.md, line 2, has 'b', which the folder does not give."]),
            ("a", "a\nb", ["report.md lacks 'b', which the folder gives."]),
            ("| a | 1 |\n| - | --: |", "| a | 1 |\n| - | ---: |", []),
            ("1,234 trials of 3p3n", "1,234 trials of 3p3n", []),
        ],
    )  # fmt: skip
    def test_two_texts(self, first: str, second: str, problems: list[str]) -> None:
        assert list(differences(first, second, "report.md")) == problems


class TestPictures:
    """A picture against itself, written or drawn otherwise."""

    PICTURE = (EXAMPLE / "pictures" / "forest.svg").read_text(encoding="utf-8")

    def problems(self, changed: str) -> list[str]:
        assert changed != self.PICTURE
        return list(differences(changed, self.PICTURE, "forest.svg"))

    def test_names_of_shapes_and_the_last_digits_are_not_the_picture(self) -> None:
        names = set(re.findall(r' id="(m[0-9a-f]+)"', self.PICTURE))
        assert names
        assert self.problems(re.sub("|".join(names), lambda name: f"other{name[0]}", self.PICTURE)) == []
        assert self.problems(re.sub(r"(?<= x=\")(\d+\.\d{3})\d*", r"\1", self.PICTURE)) == []

    def test_a_shape_a_word_a_colour(self) -> None:
        x = re.findall(r' x="(\d+\.\d+)"', self.PICTURE)[3]
        (problem,) = self.problems(self.PICTURE.replace(f' x="{x}"', f' x="{float(x) + 1}"'))
        assert "elsewhere than the folder gives it" in problem
        text = re.findall(r">([^<>]*\d\.\d[^<>]*)</text>", self.PICTURE)[0]
        problem = self.problems(self.PICTURE.replace(f">{text}<", ">77.7<"))[0]
        assert "says '77.7', but the folder gives" in problem
        assert "#0b5fa5" in self.problems(self.PICTURE.replace("#0b5fa5", "#d1600a", 1))[0]
        assert self.problems(self.PICTURE.replace("</svg>", "<text>better</text></svg>"))
        assert "lacks" in self.problems(self.PICTURE.rpartition("</svg>")[0])[-1]


def test_a_pages_sentences_are_compared_where_they_can_be_written_anew() -> None:
    def page(sentence: str, count: int = 60) -> str:
        data = json.dumps({"rows": [{"count": count}], "sentences": {"MR": {"3": sentence}}})
        return f'<p>1.5</p>\n<script type="application/json" id="study">{data}</script>'

    assert list(differences(page("a film"), page(""), "page.html")) == []
    (problem,) = differences(page("a film"), page("a play"), "page.html", sentences=True)
    assert problem == (
        "page.html, line 2, says 'sentences.MR.3: \"a film\"', but the folder gives 'sentences.MR.3: \"a play\"'."
    )
    (problem,) = differences(page("", 61), page(""), "page.html")
    assert "says 'rows.0.count: 61', but the folder gives 'rows.0.count: 60'" in problem


OWN_SPACE = """from search_spaces import Space
from trainables.recipe import Recipe

SPACE = Space(name="mine", title="Mine", paper="", base=Recipe())
"""


def test_a_copy_has_its_studys_code_and_nothing_that_a_report_writes(tmp_path: Path) -> None:
    """It reads as the folder does."""
    results = tmp_path / "results"
    files = {"space.py": OWN_SPACE, "plugins/mine.py": "MINE = 1\n", "report.md": "old", "trials.csv": ""}
    for name, text in files.items():
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text(text, encoding="utf-8")
    (results / LEDGER).mkdir()
    StudyInfo(space="mine", space_file="space.py", plugins=["mine.py"]).save(results)
    trust_folder(results)
    with scratch_copy(results) as copy:
        assert {item.name for item in copy.iterdir()} == {LEDGER, "study.json", "space.py", "plugins"}
        assert (copy / LEDGER).is_symlink()
        assert StudyInfo.load(copy).load_space(copy).title == "Mine"
    assert not copy.exists()


def test_a_stray_file_and_a_broken_one_among_failures_refuse_no_report(results: Results) -> None:
    """`notes.json` among the failures, or half a file, ended a report with an error."""
    folder = results.folder / FAILURES
    folder.mkdir()
    (folder / "notes.json").write_text("mine")
    (folder / "0123456789ab-1.json").write_text('{"reason": "no mem')
    (folder / "ba9876543210-2.json").write_text('{"name": "a row"}')
    (folder / "cccccccccccc-3.json").write_text('{"reason": "no memory left"}')
    broken, *others = results.failures.items()
    assert broken[0] == "0123456789ab"
    assert "0123456789ab-1.json is not the reason of a failure" in broken[1]
    assert others == [("ba9876543210", "failed: no reason was kept"), ("cccccccccccc", "failed: no memory left")]


class TestDiff:
    def test_a_study_and_itself(self, results: Results) -> None:
        text = diff(results.folder, results.folder)
        assert "There is no difference." in text
        assert "only" not in text
        assert not re.search(r"\| +(higher|lower) \|", text)
        assert re.search(r"\b(\d+) of \1 claims have the same verdict", text)

    @pytest.mark.slow
    def test_what_differs_is_said(self, results: Results, tmp_path: Path) -> None:
        other = make_study(tmp_path / "other", rows=3, seeds=3)
        info = dataclasses.replace(other.info, base={**other.info.base, "optimisation.epochs": 7})
        info.save(other.folder)
        for record in other.records:
            versions, data = {**record.versions, "torch": "9.9"}, {"corpus": {"fingerprint": "feedbeef"}}
            rewrite(other, record, versions=versions, data={**record.data_read, **data})
        text = diff(results.folder, other.folder)
        assert re.search(r"\| seeds +\| `0,1` +\| `0,1,2` +\|", text)
        assert re.search(r"\| `optimisation.epochs` +\| `1` +\| `7` +\|", text)
        assert re.search(r"\| version of torch +\| .*`9.9` +\|", text)
        assert re.search(r"\| fingerprint of corpus +\| .*`feedbeef` +\|", text)
        assert "## Rows in `other` only\n\n- `allpalln-Augment`" in text
        assert "## Rows in `study` only" not in text
        assert re.search(rf"\| `{ROW}` +\| +[\d.]+ \(2 seeds\) \| +[\d.]+ \(3 seeds\) \| +\S+ \[\S+, \S+\]", text)
        assert re.search(r"## Claims\n\n\d+ of \d+ claims have the same verdict in both\.\n\n\| Claim", text)

    def test_a_row_that_is_higher_for_sure(self, results: Results, tmp_path: Path) -> None:
        """Without predictions, so that scores may be what the test wants: seeds alone, far apart."""
        other = make_study(tmp_path / "other", seeds=2)
        for study, level in ((results, 50.0), (other, 60.0)):
            for record in study.of_row(ROW):
                scores = {
                    task: {"spearman_wmean": level + 0.01 * record.seed} if task.startswith("STS1") else numbers
                    for task, numbers in record.scores.items()
                }
                rewrite(study, record, scores=scores, predictions=None)
                (study.folder / f"predictions/{record.key}.npz").unlink()
            dataclasses.replace(study.info, across=["items"]).save(study.folder)
        text = diff(results.folder, other.folder)
        assert re.search(
            rf"\| `{ROW}` +\| +50\.0\d \(2 seeds\) \| +60\.0\d \(2 seeds\) \| \+10\.00 .*\| +higher \|", text
        )
        back = diff(other.folder, results.folder)
        assert re.search(rf"\| `{ROW}` .*-10\.00 .*\| +lower \|", back)
        dataclasses.replace(other.info, across=[]).save(other.folder)
        flagged = diff(results.folder, other.folder)
        assert re.search(rf"\| `{ROW}` .*\+10\.00 .*\| +— \| no verdict \(items\) \|", flagged)

    @pytest.mark.slow
    def test_other_code_data_or_steps_get_no_verdict(self, results: Results, tmp_path: Path) -> None:
        """The row was called higher though its trials ran ten times as long; each study agrees with itself."""
        other = make_study(tmp_path / "other", seeds=2)
        assert "no verdict" not in diff(results.folder, other.folder).split("## Rows in both")[1].split("\n\n", 2)[2]
        for record in other.records:
            parts = {"versions": {**record.versions, "trainables": "bbbb2222"}, "training": {"steps": 900}}
            rewrite(other, record, **parts, data={**DATA, "senteval": {"fingerprint": "feedbeef"}})
        names = ["code", "data", "steps"]
        for left_out in (*names, ""):
            across = [name for name in (*names, "tokens") if left_out and name != left_out]
            for study in (results, other):
                dataclasses.replace(study.info, across=across).save(study.folder)
            text = diff(results.folder, other.folder)
            blocked = re.findall(rf"\| `{ROW}` .*\| no verdict \((.*)\) +\|", text)
            assert {*blocked} == {left_out or "code, data, steps, tokens"}, text

    def test_one_seed_decides_nothing(self, results: Results, tmp_path: Path) -> None:
        other = make_study(tmp_path / "other", seeds=1)
        assert "undecided: one seed" in diff(results.folder, other.folder)


class TestExport:
    @pytest.fixture
    def kept(self, tmp_path: Path, make_encoder: Any) -> tuple[Results, Record]:
        """The row's second seed is better on the development part; each saved its model."""

        def fill(folder: Path) -> None:
            results = make_study(folder)
            for record in results.of_row(ROW):
                scores = {**record.scores, "STSBenchmark": {"dev_spearman_cosine": 55.0 + record.seed}}
                place = f"models/{record.key}"
                make_encoder("mean").save(folder / place)
                (folder / place / "seed").write_text(str(record.seed))
                rewrite(results, record, scores=scores, checkpoint=place)

        made_once(tmp_path / "study", "two models of a row", fill)
        results = Results.load(tmp_path / "study")
        (best,) = [record for record in results.of_row(ROW) if record.seed == 1]
        return results, best

    def test_the_best_seed_by_development_score(self, kept: tuple[Results, Record], tmp_path: Path) -> None:
        import yaml
        from sentence_transformers import SentenceTransformer

        results, best = kept
        folder = export(results.folder, ROW, tmp_path / "mine" / "model")
        assert folder == tmp_path / "mine" / "model"
        assert (folder / "seed").read_text() == "1"
        assert SELECTION.of(best.scores, {}) == max(
            SELECTION.of(record.scores, {}) or 0 for record in results.of_row(ROW)
        )
        assert [path.name for path in folder.parent.iterdir()] == ["model"]
        ours, theirs = (
            SentenceTransformer(str(path), device="cpu").encode(["two dogs run"])
            for path in (folder, results.folder / f"models/{best.key}")
        )
        np.testing.assert_array_equal(ours, theirs)

        card = (folder / "README.md").read_text(encoding="utf-8")
        head = yaml.safe_load(card.split("---\n")[1])
        assert head["library_name"] == "sentence-transformers"
        assert head["license"] == "other"
        (entry,) = head["model-index"]
        values = {result["dataset"]["name"]: result["metrics"][0]["value"] for result in entry["results"]}
        assert values["MR"] == round(best.scores["MR"]["test_accuracy"], 2)
        assert "| encoder.name |" in card  # the recipe
        assert f"seed {best.seed}" in card
        assert re.search(r"\| MR +\| `test_accuracy` +\| +[\d.]+ \| +[\d.]+ to [\d.]+ \|", card)
        assert re.search(r"\| STS Avg\. +\| +2 \| .* \[[-+][\d.]+, [-+][\d.]+\] \|", card)
        assert "They are of its authors' model" in card
        assert "one seed only" not in card
        assert "Apache-2.0" in card  # of the built-in corpus and encoder
        assert not re.search(r"\bnan\b", card)

        match = re.search(r"\| TREC +\| `test_accuracy` +\| +([\d.]+) \| +([\d.]+) to ([\d.]+) \|", card)
        value, low, high = map(float, match.groups())  # an accuracy of one test part: the binomial's standard error
        expected = 196 * (value / 100 * (1 - value / 100) / (best.scores["TREC"]["examples"] - 1)) ** 0.5
        assert (high - low) / 2 == pytest.approx(expected, abs=0.02)

    def test_one_seed_decides_nothing(self, tmp_path: Path) -> None:
        results = make_study(tmp_path / "study", seeds=1)
        (record,) = results.of_row(ROW)
        (results.folder / f"models/{record.key}").mkdir(parents=True)
        rewrite(results, record, checkpoint=f"models/{record.key}")
        card = (export(results.folder, ROW, tmp_path / "model") / "README.md").read_text(encoding="utf-8")
        assert "A recipe here has one seed only" in card

    def test_where_a_model_goes(
        self, kept: tuple[Results, Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Into the results folder where none is named, or the folder where one stands; nobody's folder is touched."""
        results, best = kept
        assert export(results.folder, ROW) == results.folder / "export" / best.key
        mine = tmp_path / "mine" / "model.partial"
        mine.mkdir(parents=True)
        (mine / "notes").write_text("mine")
        export(results.folder, ROW, tmp_path / "mine" / "model")
        assert (mine / "notes").read_text() == "mine"
        assert sorted(path.name for path in mine.parent.iterdir()) == ["model", "model.partial"]
        (tmp_path / "here").mkdir()
        monkeypatch.chdir(tmp_path / "here")
        assert export(results.folder, ROW, Path()) == tmp_path / "here"
        assert Path("README.md").is_file()
        for place in (None, Path()):
            with pytest.raises(UserError, match="is there already"):
                export(results.folder, ROW, place)

    def test_an_explored_recipe_by_its_hash(self, kept: tuple[Results, Record], tmp_path: Path) -> None:
        """Its card tells nothing of the machine."""
        results, best = kept
        corpus = {**best.data["corpus"], "source": "STSBenchmark in /home/me/senteval"}
        rewrite(results, best, data={**best.data, "corpus": corpus})
        info = StudyInfo.load(results.folder)
        hashes = {label: None if label == ROW else key for label, key in info.row_hashes.items()}
        dataclasses.replace(info, row_hashes=hashes, explored=[best.recipe_hash]).save(results.folder)
        card = (export(results.folder, best.recipe_hash, tmp_path / "model") / "README.md").read_text(encoding="utf-8")
        assert "It is the explored recipe `#1`" in card
        assert "No verdict on the gain" in card
        assert not re.search(r"[+-]\d+\.\d\d \[[+-]", card)
        assert "## The paper's figures" not in card
        assert "/home/me" not in card
        assert "The training data, `STSBenchmark in senteval`: not known" in card

    def test_a_row_without_a_model_says_how_to_keep_one(self, kept: tuple[Results, Record], tmp_path: Path) -> None:
        results, best = kept
        info = json.loads((results.folder / "study.json").read_text())
        StudyInfo(**{**info, "requests": [{"space": "x"}]}).save(results.folder)
        shutil.rmtree(results.folder / "models")
        with pytest.raises(UserError) as caught:
            export(results.folder, ROW, tmp_path / "model")
        removed, _, command = str(caught.value).partition("remove ")[2].partition(" and run ")
        assert [Path(file).name for file in shlex.split(removed)] == [f"{best.recipe_hash}-{n}.json" for n in (1, 0)]
        assert command == "python study/run.py --space x --keep-models all"
        assert not (tmp_path / "model").exists()
        with pytest.raises(UserError, match=r"no row '3p3n-Augmnt'; did you mean '3p3n-Augment'\?"):
            export(results.folder, "3p3n-Augmnt", tmp_path / "model")
        with pytest.raises(UserError, match=r"no model of the row 'SBERT baseline' was kept: .* --keep-models all"):
            export(results.folder, "SBERT baseline", tmp_path / "model")
        for record in results.of_row("SBERT baseline"):
            rewrite(results, record, data={**record.data_read, "encoder": {"unsavable": "its pooling has no module"}})
        with pytest.raises(UserError, match="the row 'SBERT baseline' has no model: its pooling has no module"):
            export(results.folder, "SBERT baseline", tmp_path / "model")
