"""The command line: what a person may get wrong, and that each mistake is one sentence and exit code 2."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from reports.ledger import StudyInfo
from reports.words.commands import results_location
from search_spaces import spaces
from study.cli.options import parse
from study.results_folder.prepare import prepare_results
from study.run import main
from tests.conftest import lend_scenes
from tests.study.plans import CLUSTER, plan_of
from trainables.errors import answer_user_errors
from trainables.objectives import OBJECTIVES
from trainables.recipe import keys

ROOT = Path(__file__).resolve().parents[3]
JOB_WITH_COPY = '{"runtime_env": {"working_dir": "gcs://_ray_pkg_0.zip"}}'
"""What Ray tells a job that was given a working directory."""
TINY = ("--space", "scl_ablation", "--scale", "laptop", "--only", "SBERT baseline")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and stderr of the command line."""
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
    "no space": (["--space", ""], "--space is missing"),
    "unknown space": (["--space", "scl_ablatoin"], "did you mean 'scl_ablation'"),
    "space file missing": (["--space", "./mine.py"], "mine.py does not exist"),
    "misspelt key": (["--set", "objective.temprature=1"], "did you mean 'objective.temperature'"),
    "no equals sign": (["--set", "objective.temperature"], "has no '='"),
    "value out of range": (["--set", "optimisation.learning_rate=-1"], "must be above 0, not -1.0"),
    "value of the wrong type": (["--set", "optimisation.batch_size=many"], "must be a whole number, not 'many'"),
    "unknown choice": (["--set", "pooling.mode=median"], "not 'median'"),
    "unknown objective": (["--set", "objective.name=magic"], "objective.name"),
    "unknown task": (["--set", "evaluation.tasks=STS99"], "STS99"),
    "unknown row": (["--only", "SBERT"], "is no row of"),
    "no trials": (["--search", "optuna", "--trials", "0"], "--trials must be at least 1, not 0"),
    "trials without Optuna": (["--trials", "5"], "--trials is how many recipes Optuna explores; add --search optuna"),
    "nothing to stop": (["--scheduler", "asha"], "--scheduler stops explored trials, never the paper's rows"),
    "no number of GPUs": (["--gpus-per-worker", "nan"], "--gpus-per-worker must be a number from 0 on, not 'nan'"),
    "a number with a comma": (
        ["--gpus-per-worker", "0,5"],
        "not '0,5'; write a point and no comma or %, as in 0.5",
    ),
    "a key with a percent sign": (
        ["--set", "optimisation.warmup=10%"],
        "not '10%'; write a point and no comma or %, as in 0.5",
    ),
    "a limit with a comma": (["--limit", "minutes=0,5"], "such as gpu_hours=20; write a point and no comma or %"),
    "nowhere to write": (["--results", "/proc/results"], "the results in /proc/results cannot be written"),
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
    scope = TINY[:4] if own_rows or "unknown objective" in name else TINY
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
    code, stderr = answer(capsys, "--space", "scl_ablation", "--scale", "paper")
    assert code == 2
    assert "google/bert_uncased_L-8_H-512_A-8" in stderr


def test_dry_run_prints_trials_resources_and_cost_and_writes_nothing(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*TINY[:4], "--search", "optuna", "--trials", "7", "--seeds", "2", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("scale laptop (asked for with --scale laptop)")
    assert "50 trials (36 of 18 rows, 14 of 7 recipes from Optuna, 2 seeds), 0 of them done" in out
    assert "not run, because no word vectors were given (`--word-vectors`): Avg. GloVe embeddings" in out
    assert "estimate: 15 s per trial (as measured for the built-in encoder and corpus on two cores)" in out
    assert "objective.weight=0.3" in out
    assert list(elsewhere.iterdir()) == []


def begun(results: str, *arguments: str) -> list[str]:
    """The command of a study that has written what it is, and not more."""
    command = ["--space", "scl_lambda", "--scale", "laptop", "--results", results]
    prepare_results(plan_of(*command, *arguments), "hardware")
    return command


def test_a_study_at_a_url_goes_on_from_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it holds is brought before anything is asked."""
    idle = ["--set", "head.dim=32"]
    url = f"memory://{uuid.uuid4().hex}/results"
    lend_scenes(tmp_path / "machine")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "machine"))
    command = begun(url)
    lend_scenes(tmp_path / "another")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    assert main([*command, "--dry-run"]) == 0
    code, stderr = answer(capsys, *command[:-1], str(tmp_path / "new"), *idle, "--dry-run")
    assert code == 2
    assert "--set head.dim changes nothing in this study" in stderr
    assert not (tmp_path / "new").exists()


def test_a_search_that_goes_on_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the command does not say it again."""
    unsearchable = ["--set", "evaluation.tasks=STS12"]
    command = begun(str(tmp_path / "results"), "--search", "optuna", "--trials", "2", *unsearchable)
    code, stderr = answer(capsys, *command, *unsearchable, "--dry-run")
    assert code == 2
    assert "evaluation.tasks has no task that gives it" in stderr


def test_a_bare_command_prints_its_help(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert "examples:" in capsys.readouterr().out
    assert list(elsewhere.iterdir()) == []


LIGHT = """
import runpy, sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in getattr(finder, "__module__", "")]
file = sys.argv[1]
sys.path[0] = file.rpartition("/")[0]
sys.argv = [file, "--space", "nothing"]
try:
    runpy.run_path(file, run_name="__main__")
except SystemExit as ended:
    assert ended.code == 2
heavy = {"ray", "torch", "transformers", "optuna", "pandas", "scipy", "sklearn", "datasets"}
for option in ("--list", "--keys", "--version"):
    sys.argv = ["study", option]
    try:
        runpy.run_module("study", run_name="__main__")
    except SystemExit as ended:
        assert not ended.code
    assert heavy.isdisjoint(sys.modules), option
import study.dry_run
assert {"ray", "torch", "transformers"}.isdisjoint(sys.modules)
"""


def test_what_only_prints_loads_nothing_heavy_nor_does_a_preview_load_torch(tmp_path: Path) -> None:
    """Also: `python -m study` is the same command line, and so is the file of a plain checkout from any folder, with
    nothing installed but the dependencies."""
    command = [sys.executable, "-c", LIGHT, str(ROOT / "study" / "run.py")]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr.startswith("error: there is no space 'nothing'")
    assert [name for name in spaces() if name not in done.stdout] == []
    assert "objective.temperature = " in done.stdout
    assert done.stdout.splitlines()[-1].startswith("sentence-embedding-studies ")


def test_keys_are_all_listed_with_what_they_say_of_themselves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.py").write_text(
        "from trainables.objectives import OBJECTIVES\n"
        "OBJECTIVES.add(type('Outside', (OBJECTIVES['scl'],), {'name': 'from_outside'}))\n"
    )
    assert main(["--keys", "--plugin", str(tmp_path / "own.py")]) == 0
    explained = [item.full_meaning for item in keys().values()]
    OBJECTIVES.remove("from_outside")
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 100
    text = " ".join(out.split())
    assert [name for name in keys() if f"  {name} = " not in out] == []
    assert [words for words in explained if words not in text] == []
    assert "objective.temperature = 1.0 'learned' or a number; or tau" in text
    assert "; or lambda" in text
    assert "; or lr" in text
    assert "'from_outside'" in text
    assert "Only with objective.name 'mnrl' or 'simcse'. A search looks between 0 and 10." in text
    assert "Only with corpus.layout 'mix'. A search looks among size, equal." in text
    assert "evaluation.tasks = sts,transfer,STSBenchmark a list of names" in text


def test_in_a_ray_job_results_lie_below_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def results(*more: str) -> Path:
        return plan_of(*TINY, *more).results

    assert results("--results", "mine") == Path("mine").absolute()
    assert results() == Path("results/scl_ablation-laptop").absolute()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", JOB_WITH_COPY)
    assert results("--results", "mine") == tmp_path / "home" / "mine"
    assert results("--results", "~/mine") == tmp_path / "home" / "mine"
    assert results("--results", "/tmp/mine") == Path("/tmp/mine")
    assert results() == tmp_path / "home" / "results" / "scl_ablation-laptop"
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")  # it runs in the folder itself
    assert results("--results", "mine") == Path("mine").absolute()


def test_a_ray_job_says_where_its_results_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("study.engine.cluster.find_cluster", lambda: CLUSTER)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", JOB_WITH_COPY)
    for more, times in ((("--results", "mine"), 1), (("--results", str(tmp_path / "mine")), 0), ((), 0)):
        assert main([*TINY, "--dry-run", *more]) == 0
        out = capsys.readouterr().out
        assert (
            out.count(f"results in {tmp_path / 'home' / 'mine'}: a Ray job's copy of a working directory is") == times
        )


@pytest.mark.slow
def test_a_ray_job_s_study_keeps_where_its_results_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the commands which its report prints name that folder, and not one in the copy."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", JOB_WITH_COPY)
    for more in (("--results", "mine"), ("--results=mine", "--seeds", "2"), ()):
        plan = plan_of(*TINY, *more)
        info = prepare_results(plan, "2 cores")
        assert results_location(info) == str(plan.results)
        assert "SBERT baseline" in info.commands[-1]


def test_after_ctrl_c_without_a_finished_trial_there_is_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`test_signals.py` has studies of which a trial has finished."""

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("study.engine.launch._run_trials", interrupted)
    monkeypatch.setattr("study.engine.launch.start_cluster", lambda cluster: None)
    results = tmp_path / "results"
    assert main([*TINY, "--results", str(results)]) == 130
    out = capsys.readouterr().out
    assert "no trial had finished" in out
    assert "stopped; run the same command again to continue" in out
    assert not (results / "report.md").exists()
    assert StudyInfo.load(results).status_counts["finished"] == 0


def test_a_slow_precision_is_said_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("study.engine.cluster.find_cluster", lambda: CLUSTER)
    monkeypatch.setattr("trainables.encoders.precision.native_bf16", lambda device: False)
    assert main([*TINY, "--dry-run", "--set", "encoder.precision=bf16"]) == 0
    assert capsys.readouterr().out.count("warning: encoder.precision is bf16, which this processor has no") == 1
    monkeypatch.setattr("trainables.encoders.precision.native_bf16", lambda device: True)
    assert main([*TINY, "--dry-run", "--set", "encoder.precision=bf16"]) == 0
    assert "warning" not in capsys.readouterr().out


@pytest.mark.parametrize("option", ["train", "encoder", "dev", "test"])
def test_what_is_given_again_adds_up(option: str) -> None:
    words = {"train": ["a.csv"], "encoder": ["one"]}
    words[option] = ["first", "second", f"--{option.replace('_', '-')}", "third"]
    lines = {name: [f"--{name.replace('_', '-')}", *given] for name, given in words.items()}
    for _ in range(2):  # nothing of the first command line is left for the second
        request = parse([word for line in lines.values() for word in line])
        assert [str(given) for given in getattr(request, option)] == ["first", "second", "third"]
