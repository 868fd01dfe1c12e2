"""`--recipe`: one recipe alone, of a search's answer, a row or a file of keys."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from pathlib import Path

import pytest

from reports.facts.answer import Answer
from reports.facts.results import Results
from reports.ledger import STUDY, StudyInfo
from reports.ledger.finals import SHARE
from reports.ledger.own_code import trust_folder
from reports.ledger.request import Request
from study.check import check_plan
from study.one_recipe import read_recipe
from study.plan import Plan
from study.results_folder.check import check_results
from study.results_folder.prepare import prepare_results
from tests.study.plans import plan_of, preview_of
from tests.synthetic_results import SPACES, add_finals, make_results
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.trial.result import TrialResult
from trainables.trial.run import run_trial


def only(plan: Plan) -> Recipe:
    """The recipe of its one row."""
    (recipe,) = plan.rows.values()
    return recipe


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A search of six recipes whose first one is the one to use."""
    monkeypatch.chdir(tmp_path)
    return searched(Path("mine"), (3.0, 1.0, 0.5))


def searched(folder: Path, gains: tuple[float, ...], **parts: float) -> Path:
    make_results(folder, rows=["SBERT baseline"], explored=6, seeds=(0,))
    if gains:
        add_finals(folder, gains, **parts)  # type: ignore[arg-type]
    return folder


class TestOfResults:
    def test_the_recipe_to_use_is_trained_alone(self, mine: Path) -> None:
        before = {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()}
        plan = plan_of("--recipe", "mine")
        (picked,) = Answer.of(Results.load(mine)).picked
        assert [(trial.recipe.hash, trial.seed, trial.row) for trial in plan.fixed_trials()] == [
            (picked.recipe, 0, True)
        ]
        assert list(plan.rows) == ["positives per anchor 1, negatives per anchor 8, mean"]
        assert not plan.trains_several
        assert (plan.scale, plan.reason) == ("laptop", "as mine")
        assert plan.evaluation == Results.load(mine).evaluation
        assert plan.results == Path("results/scl_ablation-recipe-1-laptop").absolute()
        assert "mean, which the search in mine found\n1 trial (1 row, 1 seed), 0 of them done" in preview_of(plan)
        check_plan(plan)
        assert {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()} == before

    @pytest.mark.parametrize(("train", "share"), [((), 0.05), (("all.csv",), 1.0)])
    def test_on_data_of_ones_own_it_trains_on_all_rows(
        self, train: tuple[str, ...], share: float, mine: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A search under a limit may have trained on a part of them."""
        flat = {**Results.load(mine).base.flat(), SHARE: 0.05}
        monkeypatch.setattr("study.one_recipe._answered", lambda *_: (flat, "the best", "1", "what a search chose"))
        assert read_recipe(Request(recipe="mine", train=train)).space.base.flat()[SHARE] == share

    @pytest.mark.slow
    def test_it_trains_again_bit_for_bit_what_the_search_trained(self, mine: Path, tmp_path: Path) -> None:
        """The finalist's recorded recipe and that of `--recipe`, both made short."""
        (picked,) = Answer.of(Results.load(mine)).picked
        record = Results.load(mine).finals[picked.recipe][0]
        recorded = Recipe.from_flat(record.recipe).override({"optimisation.max_steps": 2, "corpus.limit": 300})
        short = ("--set", "optimisation.max_steps=2", "--set", "corpus.limit=300")
        again = only(plan_of("--recipe", "mine", *short))
        evaluation = EvaluationConfig("scenes", ("STS13",), "fast")

        def trained(recipe: Recipe, seed: int, name: str) -> tuple[dict[str, object], bytes]:
            result = run_trial(recipe, seed, evaluation, model_folder=tmp_path / name)
            assert isinstance(result, TrialResult)
            scores = {key: value for key, value in (result.scores["STS13"] or {}).items() if key != "seconds"}
            weights = sorted((tmp_path / name).rglob("*.safetensors"))
            assert weights
            return scores, b"".join(path.read_bytes() for path in weights)

        first = trained(recorded, record.seed, "first")
        assert trained(again, record.seed, "again") == first
        assert trained(again, record.seed + 1, "other")[1] != first[1]

    def test_options_change_it(self, mine: Path, tmp_path: Path) -> None:
        Path("pairs.csv").write_text("premise,hypothesis,label\na,b,0\n")
        own = ("--nli", "pairs.csv", "--set", "tau=0.7", "--seeds", "3", "--senteval", ".", "--results", "own")
        plan = plan_of("--recipe", "mine", *own)
        flat = only(plan).flat()
        assert flat["corpus.nli"] == str(tmp_path / "pairs.csv")
        assert flat["objective.temperature"] == 0.7
        assert plan.evaluation.senteval == str(tmp_path)
        assert plan.results == tmp_path / "own"
        assert [trial.seed for trial in plan.fixed_trials()] == [0, 1, 2]
        other = only(plan_of("--recipe", "mine")).flat()
        assert {key for key in flat if flat[key] != other[key]} == {"corpus.nli", "objective.temperature"}

    @pytest.mark.parametrize(
        ("gains", "parts", "is_base", "title"),
        [
            ((0.0, -0.5, -0.3), {}, True, "the base settings, which the search in"),
            ((0.5, 0.2, 0.1), {"std": 0.6}, True, "the base settings, which the search in"),
            ((0.5, 0.2, 0.1), {"std": 0.6, "base_over_encoder": 0.2}, False, "not shown to be better than the base"),
            ((-0.3, -0.4, -0.5), {"std": 0.6, "base_over_encoder": 0.2}, True, "picked measured no higher"),
        ],
        ids=["base kept", "nothing shown", "best so far", "below the base"],
    )
    def test_where_nothing_is_shown_it_is_the_base_or_the_best_so_far(
        self, gains: tuple[float, ...], parts: dict[str, float], is_base: bool, title: str, tmp_path: Path
    ) -> None:
        folder = searched(tmp_path / "study", gains, **parts)
        plan, results = plan_of("--recipe", str(folder)), Results.load(folder)
        recipe = results.base.hash if is_base else Answer.of(results).picked[0].recipe
        assert only(plan).hash == recipe
        assert title in plan.space.title
        assert (plan.space.name == "scl_ablation-recipe-base-settings") == is_base

    @pytest.mark.parametrize(
        ("gains", "parts", "sentence"),
        [
            ((0.1, -0.5, -0.3), {"base_over_encoder": -3.0}, "keep the original encoder, scenes-small, so there is"),
            ((3.0, 1.0, 0.5), {"missing": 3}, "names no recipe to use yet; its own command goes on with it: python st"),
            ((), {}, "has no finals, so no recipe of it is known to be the one to use; end a search with --finals"),
        ],
    )
    def test_without_an_answer_it_says_what_would_work(
        self, tmp_path: Path, gains: tuple[float, ...], parts: dict[str, float], sentence: str
    ) -> None:
        folder = searched(tmp_path / "study", gains, **parts)
        with pytest.raises(UserError, match=sentence):
            plan_of("--recipe", str(folder))

    def test_it_never_writes_into_the_study_that_it_is_of(self, mine: Path) -> None:
        with pytest.raises(UserError, match="mine holds another study"):
            check_results(plan_of("--recipe", "mine", "--results", "mine"))

    def test_other_recipes_need_other_folders(self, mine: Path) -> None:
        prepare_results(plan_of("--recipe", "mine"), "2 cores")
        check_results(plan_of("--recipe", "mine", "--seeds", "2"))
        with pytest.raises(UserError, match="give this one its own folder with --results"):
            check_results(plan_of("--recipe", "mine", "--set", "tau=0.7"))

    def test_plugins_and_a_space_file_come_along(self, mine: Path) -> None:
        """What they add is known to workers and to the report."""
        info = StudyInfo.load(mine)
        (mine / "plugins").mkdir()
        (mine / "plugins" / "more.py").write_text("MORE = 1\n")
        (mine / "space.py").write_text(
            "import dataclasses\nfrom search_spaces import spaces\n"
            "SPACE = dataclasses.replace(spaces()['scl_ablation'], name='own')\n"
        )
        dataclasses.replace(info, plugins=["more.py"], space="own", space_file="space.py").save(mine)
        with pytest.raises(UserError, match=r"holds code that you have not run .*more\.py', space\.py; .* read it"):
            plan_of("--recipe", "mine", "--dry-run")
        trust_folder(mine)
        plan = plan_of("--recipe", "mine")
        assert [Path(source.path).name for source in plan.draft.sources] == ["more.py", "space.py", "space.py"]
        assert [source.what for source in plan.draft.sources] == ["plugin", "plugin", "space"]
        prepare_results(plan, "2 cores")
        shutil.rmtree(mine)
        assert StudyInfo.load(plan.results).load_space(plan.results) == plan.space


class TestOfASpace:
    @pytest.mark.parametrize("name", sorted(SPACES))
    def test_every_row_of_every_space_is_the_row(self, name: str) -> None:
        whole = plan_of("--space", name)
        for row in {row.needs: row for row in whole.space.rows}.values():  # one of each need
            plan = plan_of("--space", name, "--recipe", row.label)
            assert plan.rows == {row.label: whole.rows[row.label]}
            assert plan.missing.get(row.label) == whole.missing.get(row.label)

    def test_what_the_row_sets_can_be_set(self) -> None:
        row = SPACES["scl_lambda"].rows[1]
        assert "objective.weight" in row.overrides
        plan = plan_of("--space", "scl_lambda", "--recipe", row.label, "--set", "objective.weight=0.123")
        assert only(plan).flat()["objective.weight"] == 0.123

    @pytest.mark.parametrize(
        ("file", "text"),
        [
            (
                "mine.toml",
                '"objective.temperature" = 0.3\n"pooling.mode" = "cls"\n"evaluation.tasks" = ["STS12", "MR"]',
            ),
            ("mine.toml", 'objective.temperature = 0.3\npooling.mode = "cls"\n[evaluation]\ntasks = ["STS12", "MR"]'),
            ("mine.json", json.dumps({"tau": 0.3, "pooling.mode": "cls", "evaluation": {"tasks": ["STS12", "MR"]}})),
        ],
    )
    def test_a_file_of_keys(self, file: str, text: str, tmp_path: Path) -> None:
        (tmp_path / file).write_text(text)
        plan = plan_of("--space", "scl_ablation", "--recipe", str(tmp_path / file), "--set", "pooling.mode=max")
        base = plan_of("--space", "scl_ablation").base
        assert only(plan).hash == base.override({"objective.temperature": 0.3, "pooling.mode": "max"}).hash
        assert plan.evaluation.tasks == ("STS12", "MR")
        assert plan.results.name == "scl_ablation-recipe-mine-laptop"


def test_what_cannot_be_is_said_in_a_sentence(mine: Path) -> None:
    assert (mine / STUDY).is_file()
    Path("bad.toml").write_text("a = = 1")
    Path("list.json").write_text("[1]")
    Path("key.json").write_text('{"objective.temprature": 1}')
    Path("value.json").write_text('{"objective.temperature": "warm"}')
    for arguments, sentence in (
        ("--recipe nowhere", "--recipe nowhere is neither a study's results nor a file that ends in .toml or .json"),
        ("--recipe some.toml", "some.toml changes the base recipe of a space; name the space with --space"),
        ("--recipe mine --search optuna", "--recipe trains one recipe and --search looks for one; leave one of them"),
        ("--recipe mine --scale paper", "--recipe mine is of the scale laptop, not paper; leave --scale out"),
        ("--space scl_lambda --recipe mine", "--recipe 'mine' is no row of 'scl_lambda'; its rows are "),
        ("--space scl_lambda --recipe gone.json", "--recipe gone.json cannot be read: "),
        ("--space scl_lambda --recipe bad.toml", "--recipe bad.toml cannot be read: "),
        ("--space scl_lambda --recipe list.json", "--recipe list.json must hold keys with their values"),
        ("--space scl_lambda --recipe key.json", "--recipe key.json: 'objective.temprature' is not a key"),
        ("--space scl_lambda --recipe value.json", "--recipe value.json: objective.temperature must be "),
    ):
        with pytest.raises(UserError, match=re.escape(sentence)):
            plan_of(*arguments.split())
