"""`--train`, `--dev` and `--test`: what is left out, not read or fetched is said, and lies where the study runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.ledger.request import OPTIONS
from study.cli.options import parse
from study.own.leaks import splits_of
from study.plan import read_request
from study.run import main
from tests.study.own.test_study import SMALL, write
from tests.study.plans import plan_of
from trainables.corpora.own.training_files import MOST_ROWS
from trainables.errors import UserError
from trainables.senteval.tasks import TASKS, task_names
from trainables.trial.run import run_trial

pytestmark = pytest.mark.usefixtures("own_folder")


def test_what_is_left_out_and_what_is_not_read_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    write("pairs", 100)
    with open("mine.csv", "a") as file:
        file.write("a question,\n,an answer\n" + "".join(f"more {n},of it {n}\n" for n in range(9)))
    read_request(parse(["--train", "mine.csv", *SMALL, "--max-rows", "104", "--dry-run"]))
    console = capsys.readouterr().out
    assert "mine.csv: 102 rows, pairs: " in console
    assert "; 1 more with no positive left out; 1 more with no anchor left out" in console
    assert "warning: mine.csv: it has more than the 104 rows that are read; --max-rows N reads others" in console
    read_request(parse(["--train", "mine.csv", *SMALL, "--dry-run"]))
    assert "--max-rows" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--max-rows", "0"], "--max-rows must be at least 1, not 0"),
        (["--test", "mteb/nfcorpus"], "the data set 'mteb/nfcorpus' is neither a local path nor in the hub's cache"),
    ],
)
def test_what_cannot_be_is_refused(given: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from trainables.corpora import hub

    monkeypatch.setattr(hub, "reachable", lambda: False)
    with pytest.raises(UserError, match=sentence):
        plan_of("--train", write("pairs"), *SMALL, *given)
    with pytest.raises(UserError, match="--max-rows goes with --train"):
        parse(["--space", "scl_ablation", "--max-rows", "9"])
    assert f"(default {MOST_ROWS:,})" in OPTIONS["max_rows"].help


@pytest.mark.slow
def test_what_a_teacher_says_in_the_data_is_a_choice_and_trains(capsys: pytest.CaptureFixture[str]) -> None:
    """With both losses; without it none is offered. The model learns the numbers, whatever they are."""

    def written(name: str, sign: int) -> str:
        rows = [f"what eats {n},an animal eats {n},nobody {n},{sign * (n % 10 - 8.5)}" for n in range(100)]
        Path(name).write_text("\n".join(["query,positive,negative,label", *rows]) + "\n")
        return name

    domains = {domain.key: domain for domain in plan_of("--train", written("mine.csv", 1), *SMALL).space.domains}
    assert "distill" in domains["objective.name"].choices
    assert domains["objective.matches"].choices == ("similarities", "margins")
    without = plan_of("--train", write("triplets", name="other.csv"), *SMALL).space.domains
    assert not any("distill" in domain.choices or domain.key == "objective.matches" for domain in without)
    taught = ("--set", "objective.name=distill", "--set", "objective.matches=margins", "--set", "optimisation.epochs=4")
    assert main(["--train", "mine.csv", *SMALL, *taught, "--dry-run"]) == 0
    assert "negative = negative, teacher = label" in (console := capsys.readouterr().out)
    assert "a teacher's scores stand beside 160 of its 160 pairs" in console
    losses = {}
    for sign, rate in ((1, 1e-9), (-1, 1e-9), (-1, 1e-3)):
        plan = plan_of("--train", written(f"by{sign}.csv", sign), *SMALL, *taught)
        recipe = plan.base.override({"optimisation.learning_rate": rate})
        losses[sign, rate] = run_trial(recipe, 0, plan.exploring).training["last_loss"]
    assert losses[1, 1e-9] != losses[-1, 1e-9]
    assert losses[-1, 1e-3] < 0.5 * losses[-1, 1e-9]


def test_tests_of_a_data_set_lie_among_the_prepared_data_and_go_on(tmp_path: Path) -> None:
    import datasets

    datasets.disable_progress_bars()
    made = {
        split: datasets.Dataset.from_dict(
            {"anchor": [f"{split} what {n}" for n in range(9)], "positive": [f"{split} so {n}" for n in range(9)]}
        )
        for split in ("validation", "test")
    }
    datasets.DatasetDict(made).save_to_disk("splits")
    given = ("--train", write("pairs"), *SMALL, "--dev", "splits::", "--test", "splits::test")
    for _ in range(2):
        plan = plan_of(*given, "--results", "here")
        assert "splits" in plan.evaluation.tasks
        text = Path("here/data/space.py").read_text()
        assert "dev/splits.parquet" in text
        assert ".tmp" not in text
        assert Path("here/data/test/splits.parquet").is_file()


@pytest.mark.parametrize("names", [("Frage", "Antwort"), ("anchor", "positive")], ids=["as in training", "known"])
def test_columns_that_are_named_are_those_of_dev_and_test_too(names: tuple[str, str]) -> None:
    """A file without these columns is read by the known names."""
    rows = [f"{n},what is it {n},this is it {n}" for n in range(60)]
    Path("mine.csv").write_text("\n".join(["Nr,Frage,Antwort", *rows]) + "\n")
    Path("judge.csv").write_text("\n".join([f"Nr,{','.join(names)}", *rows[:50]]).replace(" it", " that") + "\n")
    columns = ["--columns", "anchor=Frage,positive=Antwort"]
    plan = plan_of("--train", "mine.csv", *SMALL, *columns, "--test", "faq=judge.csv")
    (task,) = (TASKS[name] for name in task_names(plan.evaluation.tasks) if name == "faq")
    assert task.kind == "search"
    assert len(splits_of(task, "test")[0]) == 50
    assert Path(task.files[-1]).name == ("judge.csv" if names[0] == "anchor" else "judge.csv.jsonl")


@pytest.mark.parametrize(
    ("columns", "row", "judge", "broken", "sentence"),
    [
        (
            "anchor=Frage,positive=Antwort",
            "what is it {0},this is it {0}",
            "judge.jsonl",
            '{"Frage": "what", "Antwort": 5}',
            r"judge\.jsonl, line 1: 'positive' is 5, not text$",
        ),
        (
            "anchor=Frage,positive=Antwort",
            "what is it {0},this is it {0}",
            "a.b.jsonl",
            '{"Frage": "what", "Antwort": 5}',
            r"a\.b\.jsonl, line 1: 'positive' is 5, not text$",
        ),
        (
            "sentence1=A,sentence2=B,score=Wert",
            "a {0},b {0},{0}",
            "bad.csv",
            "A,B,Wert\na,b,1\na,c,x",
            r"bad\.csv: score 'x' ",
        ),
    ],
)
def test_a_row_of_dev_or_test_that_is_wrong_is_said_of_that_file(
    columns: str, row: str, judge: str, broken: str, sentence: str
) -> None:
    """With its line where that is the same in the table that is made of it."""
    names = ",".join(part.partition("=")[2] for part in columns.split(","))
    Path("mine.csv").write_text("\n".join([names, *(row.format(number) for number in range(60))]) + "\n")
    Path(judge).write_text(f"{broken}\n")
    with pytest.raises(UserError, match=f"^--test {sentence}"):
        plan_of("--train", "mine.csv", *SMALL, "--columns", columns, "--test", judge)
