"""A study goes on where its folder, data, encoders and space file were moved, and its report is made there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from ray.tune.search import Searcher

from reports.facts.results import Results
from reports.ledger import LEDGER, Ledger
from reports.report import write_report
from study.plan import Plan
from study.results_folder.check import check_results
from study.results_folder.prepare import prepare_results, save_info
from tests.conftest import NO_WEIGHTS
from tests.study.plans import plan_of
from tests.study.search.test_search import finish, run_all, searcher_of
from trainables.corpora import scenes
from trainables.errors import UserError
from trainables.sections import STSB

PAIR = '{"premise": "A dog runs.", "hypothesis": "It moves.", "label": "entailment"}\n'
SPACE = """
from search_spaces.space import Domain, Row, Space
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe

HOME = "{home}"
SPACE = Space(
    name="moved", title="moved", paper="nobody",
    base=Recipe().preferring({{"encoder.name": HOME + "/one", "corpus.nli": HOME + "/pairs.jsonl"}}),
    evaluation=EvaluationConfig(senteval=HOME + "/senteval", tasks=("STSBenchmark",)),
    rows=(Row("one", {{}}), Row("two", {{"encoder.name": HOME + "/two"}})),
    domains=(
        Domain("objective.temperature", low=0.05, high=1.0),
        Domain("encoder.name", choices=(HOME + "/one", HOME + "/two")),
    ),
    goals=("sts",), shown=(),
)
"""


def plan_in(home: Path) -> Plan:
    (home / "space.py").write_text(SPACE.format(home=home))
    options = ["--search", "optuna", "--trials", "4", "--finals", "2x2", "--scale", "laptop"]
    paths = ["--space", str(home / "space.py"), "--results", str(home / "results")]
    return plan_of(*paths, *options)


def run(plan: Plan, limit: int = 1000) -> list[str]:
    """The keys of what ran, in their order."""
    check_results(plan)
    info = prepare_results(plan, "hardware")
    ledger = Ledger(plan.results / LEDGER, plan.scoring_of)
    searcher = searcher_of(plan, ledger)
    ran = [trial for task in run_all(searcher, ledger, limit=limit) for trial in task["trials"]]
    assert all(str(trial.recipe.encoder.name).startswith(f"{plan.results.parent}/") for trial in ran)
    save_info(plan, info, searcher.explored, searcher.finals)
    return [trial.key for trial in ran]


@pytest.fixture
def begun(tmp_path: Path) -> tuple[Path, list[str]]:
    """The folder of a study that is half-way, and what has run."""
    home = tmp_path / "old"
    shutil.copytree(scenes.ensure() / "senteval" / STSB, home / "senteval" / STSB)
    (home / "pairs.jsonl").write_text(PAIR)
    for name in ("one", "two"):
        (home / name).mkdir()
        (home / name / "weights").write_text(name)
    return home, run(plan_in(home), limit=4)


@pytest.mark.slow  # it writes a report
def test_a_study_that_was_moved_half_way_goes_on(begun: tuple[Path, list[str]], tmp_path: Path) -> None:
    old, first = begun
    new = old.rename(tmp_path / "new")
    assert not Results.load(new / "results").set_aside
    later = run(plan_in(new))
    assert len(first) == 4
    assert not {*first} & {*later}
    write_report(new / "results")
    study = Results.load(new / "results")
    assert {record.key for record in study.of_all_trials} == {*first, *later}
    assert len(study.info.explored) == 4
    assert not study.set_aside
    assert run(plan_in(new)) == []


@pytest.mark.parametrize(
    ("what", "moved", "sentence"),
    [
        ("pairs.jsonl", False, r"whose corpus\.nli is '.*/old/pairs\.jsonl', which holds something else now"),
        ("pairs.jsonl", True, r"whose corpus\.nli is '.*/old/pairs\.jsonl', not '.*/new/pairs\.jsonl'"),
        (f"senteval/{STSB}/sts-test.csv", True, r"goes by scores of evaluation\.senteval '.*/old/senteval', not '"),
        ("one/weights", True, r"whose encoder\.name is '.*/old/one', not '.*/new/one'"),
    ],
)
def test_a_study_whose_data_changed_is_refused(
    begun: tuple[Path, list[str]], tmp_path: Path, what: str, moved: bool, sentence: str
) -> None:
    home = begun[0].rename(tmp_path / "new") if moved else begun[0]
    file = home / what
    file.write_text(file.read_text().replace("dog", "cow") + "\n")
    with pytest.raises(UserError, match=f"{sentence}.*; run that study's own command to continue it"):
        check_results(plan_in(home))


OWN = {"pairs.csv": "anchor,positive", "sts_test.csv": "sentence1,sentence2,score"}


def own_data(home: Path) -> None:
    home.mkdir()
    for name, head in OWN.items():
        rows = (f"a dog eats {n},an animal eats {n}{f',{n}' * ('score' in head)}" for n in range(100))
        (home / name).write_text("\n".join([head, *rows]) + "\n")
    (home / "encoder").mkdir()
    (home / "encoder" / "config.json").write_text('{"model_type": "bert", "num_hidden_layers": 2}')
    (home / "encoder" / "model.safetensors").write_bytes(NO_WEIGHTS)


def own_run(home: Path, limit: int = 1000) -> list[str]:
    """The command of a study of own data with the paths of that folder; the keys of what ran."""
    paths = ["--train", "pairs.csv", "--encoder", "encoder", "--test", "sts_test.csv", "--results", "results"]
    words = [word if word.startswith("--") else str(home / word) for word in paths]
    plan = plan_of(*words, "--trials", "4", "--finals", "2x2")
    check_results(plan)
    info = prepare_results(plan, "hardware")
    ledger = Ledger(plan.results / LEDGER, plan.scoring_of)
    searcher, ran = searcher_of(plan, ledger), []
    scores = {
        "heldout": {"dev_ndcg@10": 50.0, "examples": 10},
        "own_sts": {"test_spearman": 60.0, "test_pearson": 60.0, "examples": 100},
    }
    while len(ran) < limit and (config := searcher.suggest(f"t{len(ran)}")) != Searcher.FINISHED:
        finish(searcher, ledger, config, None, scores=scores)
        ran += [trial.key for trial in config["trials"]]
        own = {str(home / "encoder"), str(home / "results/data/train.jsonl")}  # the texts of TF-IDF
        assert {str(trial.recipe.encoder.name) for trial in config["trials"]} <= own
    save_info(plan, info, searcher.explored, searcher.finals)
    return ran


@pytest.mark.usefixtures("own_spaces")
def test_a_study_of_own_data_goes_on_with_new_paths_and_its_report_is_made_there(tmp_path: Path) -> None:
    """Its results are copied to one folder, its data and its encoder moved to it; nothing is left where they were."""
    old, new = tmp_path / "old", tmp_path / "elsewhere" / "new"
    own_data(old)
    first = own_run(old, limit=4)
    new.parent.mkdir()
    shutil.copytree(old / "results", new / "results")
    alone = new.with_name("alone")
    shutil.copytree(old / "results", alone)
    for name in (*OWN, "encoder"):
        (old / name).rename(new / name)
    shutil.rmtree(old)
    later = own_run(new)
    assert len(first) == 4
    assert later
    assert not {*first} & {*later}
    assert own_run(new) == []
    for results, keys in (new / "results", {*first, *later}), (alone, {*first}):
        text = write_report(results).read_text(encoding="utf-8")
        assert "own_sts" in text
        study = Results.load(results)
        assert {record.key for record in study.of_all_trials} == keys
        assert not study.set_aside
