"""The front door: what a person may get wrong, and that each mistake is one sentence and exit code 2."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from study.run import main
from trainables.errors import answer_user_errors

ROOT = Path(__file__).resolve().parents[1]
TINY = ("--scale", "laptop", "--only", "SBERT baseline")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and stderr of the front door."""
    code = answer_user_errors(lambda: main(arguments))
    return code, capsys.readouterr().err


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test runs in an empty folder, and nothing may be written there."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return folder


def broken_rows(folder: Path) -> list[str]:
    rows = [{"premise": "A dog runs.", "hypothesis": "It moves.", "label": "entailment"}] * 3
    lines = [json.dumps(row) for row in rows] + ['{"premise": "A dog runs.", "label": "entailment"}']
    (folder / "broken.jsonl").write_text("\n".join(lines))
    return ["--nli", str(folder / "broken.jsonl")]


def half_senteval(folder: Path) -> list[str]:
    (folder / "half" / "downstream" / "MR").mkdir(parents=True)
    (folder / "half" / "downstream" / "MR" / "rt-polarity.pos").write_text("good\n")
    return ["--senteval", str(folder / "half"), "--set", "evaluation.tasks=MR"]


def no_model(folder: Path) -> list[str]:
    (folder / "empty").mkdir()
    return ["--set", f"encoder.name={folder / 'empty'}"]


def foreign_results(folder: Path) -> list[str]:
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.txt").write_text("years of work")
    return ["--results", str(folder / "mine")]


MISTAKES = {
    "unknown space": (["--space", "scl_ablatoin"], "did you mean 'scl_ablation'"),
    "space file missing": (["--space", "./mine.py"], "mine.py does not exist"),
    "misspelt key": (["--set", "objective.temprature=1"], "did you mean 'objective.temperature'"),
    "no equals sign": (["--set", "objective.temperature"], "has no '='"),
    "value out of range": (["--set", "optimisation.learning_rate=-1"], "must be above 0, not -1.0"),
    "value of the wrong type": (["--set", "optimisation.batch_size=many"], "must be a whole number, not 'many'"),
    "unknown choice": (["--set", "pooling.mode=median"], "'first_last_mean', not 'median'"),
    "unknown objective": (["--set", "objective.name=magic"], "objective.name"),
    "unknown task": (["--set", "evaluation.tasks=STS99"], "STS99"),
    "unknown row": (["--only", "SBERT"], "is no row of"),
    "no trials": (["--search", "optuna", "--trials", "0"], "--trials must be at least 1, not 0"),
    "trials without Optuna": (["--trials", "5"], "--trials is how many recipes Optuna explores; add --search optuna"),
    "nothing to stop": (["--scheduler", "asha"], "--scheduler stops explored trials, never the paper's rows"),
    "no number of GPUs": (["--gpus-per-worker", "nan"], "--gpus-per-worker must be a number from 0 on, not nan"),
    "nowhere to write": (["--results", "/proc/results"], "the results folder /proc/results cannot be written"),
    "missing data folder": (["--senteval", "nowhere"], "nowhere"),
    "half a data folder": (half_senteval, "rt-polarity.neg"),
    "missing NLI file": (["--nli", "./nowhere.jsonl"], "nowhere.jsonl"),
    "broken rows": (broken_rows, "line 4"),
    "missing encoder folder": (["--set", "encoder.name=./nowhere"], "no encoder at './nowhere'"),
    "folder without a model": (no_model, "is no encoder"),
    "encoder from the hub without network": (["--set", "encoder.name=bert-base-uncased"], "hub cannot be reached"),
    "corpus from the hub without network": (["--nli", "stanfordnlp/snli"], "stanfordnlp/snli"),
    "word vectors missing": (["--word-vectors", "nowhere.txt"], "no word vectors at"),
    "too many workers": (["--workers", "999"], "lower --workers"),
    "a GPU that is not there": (["--gpus-per-worker", "9999"], "lower --workers, --cpus-per-worker or"),
    "results folder of something else": (foreign_results, "is not empty and holds no study"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_clear_sentence_and_writes_nothing(
    name: str, tmp_path: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, expected = MISTAKES[name]
    mistake = made(tmp_path) if callable(made) else made
    own_rows = any(argument in mistake for argument in ("--only", "--word-vectors", "--space"))
    scope = ("--scale", "laptop") if own_rows or "unknown objective" in name else TINY
    code, stderr = answer(capsys, *scope, *mistake)
    assert code == 2, stderr
    assert expected in stderr
    assert stderr.startswith("error: ")
    assert stderr.count("\n") == 1
    assert "Traceback" not in stderr
    assert list(elsewhere.iterdir()) == []


def test_the_papers_scale_without_hub_or_data_is_a_sentence_and_never_the_scenes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, stderr = answer(capsys, "--scale", "paper")
    assert code == 2
    assert "google/bert_uncased_L-8_H-512_A-8" in stderr


def test_a_results_folder_of_another_study_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from reports.ledger import StudyInfo
    from study.options import parse
    from study.plan import make_plan

    base = make_plan(parse(TINY), 0).base
    results = tmp_path / "results"
    StudyInfo(space="scl_tau", scale="laptop", base=base.flat()).save(results)
    code, stderr = answer(capsys, *TINY, "--results", str(results))
    assert code == 2
    assert "holds another study (scl_tau" in stderr
    StudyInfo(space="scl_ablation", scale="laptop", base=base.flat()).save(results)
    code, stderr = answer(capsys, *TINY, "--results", str(results), "--set", "optimisation.max_steps=3")
    assert code == 2
    assert "optimisation.max_steps" in stderr


def test_dry_run_prints_trials_resources_and_cost_and_writes_nothing(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--scale", "laptop", "--search", "optuna", "--trials", "7", "--seeds", "2", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("scale laptop (asked for with --scale laptop)")
    assert "50 trials (36 fixed, 7 recipes from Optuna, 2 seeds), 0 of them done" in out
    assert "not run: Avg. GloVe embeddings: no word vectors were given (`--word-vectors`)" in out
    assert "minutes a trial" in out
    assert "objective.weight=0.3" in out
    assert list(elsewhere.iterdir()) == []


def test_list_names_every_space(capsys: pytest.CaptureFixture[str]) -> None:
    from search_spaces import spaces

    assert main(["--list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in spaces())


def test_from_a_plain_checkout_as_a_file(tmp_path: Path) -> None:
    """As the README says it, from any folder, with nothing installed but the dependencies."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "study" / "run.py"), "--space", "nothing"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is no space 'nothing'")
