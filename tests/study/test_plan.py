"""From a command line to trials: scale, rows, grid, resources. Nothing here starts Ray."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from pathlib import Path

import pytest

from reports.ledger import LEDGER, Ledger
from reports.ledger.finals import PART_SEED
from reports.ledger.request import Request
from reports.testing import made_record
from search_spaces import spaces
from study.check import check_plan
from study.cli.options import parse
from study.engine.cluster import Cluster, allot
from study.plan import Plan
from study.results_folder.prepare import prepare_results
from study.rows import as_it_came
from study.search.ladder import on_part
from tests.conftest import NO_WEIGHTS, lend_scenes
from tests.study import plans
from tests.study.plans import preview_of
from trainables.errors import UserError

CONDITIONAL = """
from search_spaces.space import Domain, Space
from trainables.recipe import Recipe
DIMS = Domain("head.dim", (8, 16), when=("head.kind", ("linear",)))
SPACE = Space("mine", "Mine", "me", Recipe(), {}, domains=(Domain("head.kind", ("none", "linear")), DIMS))
"""


def plan_of(*arguments: str, gpus: float = 0) -> Plan:
    named = () if "--space" in arguments else ("--space", "scl_ablation")
    return plans.plan_of(*named, *arguments, gpus=gpus)


def request_of(*arguments: str) -> Request:
    return parse(["--space", "scl_ablation", *arguments])


def cluster_of(*nodes: tuple[float, float]) -> Cluster:
    return Cluster(True, tuple({"CPU": cpus, "GPU": gpus} for cpus, gpus in nodes))


@pytest.mark.parametrize("name", sorted(spaces()))
@pytest.mark.parametrize("scale", ["paper", "laptop"])
def test_every_space_makes_a_plan(name: str, scale: str) -> None:
    plan = plan_of("--space", name, "--scale", scale, "--seeds", "2")
    trials = plan.fixed_trials()
    assert len({trial.key for trial in trials}) == len(trials)
    recipes = {recipe.hash for recipe in plan.rows.values() if recipe is not None}
    assert {trial.recipe.hash for trial in trials} == recipes
    assert all(trial.row for trial in trials)
    assert Counter(trial.recipe.hash for trial in trials) == {
        recipe.hash: 2 if recipe.uses_seed else 1 for recipe in plan.rows.values() if recipe is not None
    }


def test_auto_takes_the_papers_scale_where_there_is_a_gpu_and_says_why() -> None:
    laptop, paper = plan_of(), plan_of(gpus=8)
    assert (laptop.scale, laptop.reason) == ("laptop", "auto: the cluster has no GPU")
    assert (paper.scale, paper.reason) == ("paper", "auto: the cluster has 8 GPUs")
    assert laptop.base.flat()["corpus.nli"] == "scenes"
    assert paper.base.flat()["corpus.nli"] == "stanfordnlp/snli"
    assert paper.base.encoder.name == "google/bert_uncased_L-8_H-512_A-8"


def test_a_row_without_its_word_vectors_is_not_run(tmp_path: Path) -> None:
    label = "Avg. GloVe embeddings"
    without = plan_of("--scale", "laptop")
    assert without.rows[label] is None
    vectors = tmp_path / "glove.txt"
    vectors.write_text("dog 1 2\n")
    recipe = plan_of("--scale", "laptop", "--word-vectors", str(vectors)).rows[label]
    assert recipe.encoder.name == str(vectors)
    assert recipe.optimisation.epochs == 0


def test_set_reaches_every_recipe_and_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.jsonl").write_text("{}")
    monkeypatch.chdir(tmp_path)
    plan = plan_of("--scale", "laptop", "--nli", "mine.jsonl", "--set", "optimisation.max_steps=7")
    assert all(r.optimisation.max_steps == 7 for r in plan.rows.values() if r is not None)
    assert plan.base.flat()["corpus.nli"] == str(tmp_path / "mine.jsonl")


def test_own_columns_and_labels_have_options_of_their_own() -> None:
    columns, labels = "premise=text_a,hypothesis=text_b,label=y", "entailment=yes,neutral=maybe,contradiction=no"
    options = ("--columns", columns, "--labels", labels)
    corpus = plan_of(*options).base.flat()
    assert (corpus["corpus.columns"], corpus["corpus.labels"]) == (columns, labels)
    assert plan_of(*options, "--set", "corpus.labels=none").base.flat()["corpus.labels"] is None  # the last word


@pytest.mark.parametrize("name", ["mine.py", "mine.py:mine", "a.pyfolder/mine.py", "a.pyfolder/mine.py:mine"])
def test_a_space_file_travels_whatever_it_is_called(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path(name.partition(":")[0])
    file.parent.mkdir(exist_ok=True)
    file.write_text(MODELS.replace('"models"', '"mine"'))
    source = plan_of("--space", name, "--scale", "laptop").draft.subject.file
    assert source.text == file.read_text()
    assert Path(source.path) == tmp_path / file
    assert plan_of().draft.subject.file is None


def test_set_may_not_flatten_what_the_rows_vary() -> None:
    with pytest.raises(UserError, match=r"--set objective\.weight: the row .* sets this key itself"):
        plan_of("--space", "scl_lambda", "--set", "objective.weight=0.5")


def test_set_leaves_rows_alone_that_are_evaluated_as_they_are() -> None:
    plan = plan_of("--space", "supmpn_main", "--scale", "laptop", "--set", "pooling.mode=cls")
    assert {r.pooling.mode for r in plan.rows.values() if r is not None and r.trains} == {"cls"}
    untouched = plan.rows["Avg. BERT embedding"]
    assert untouched.pooling.mode == "mean"


def test_what_is_set_is_not_searched(tmp_path: Path) -> None:
    plan = plan_of("--space", "scl_tau", "--search", "optuna", "--set", "optimisation.learning_rate=0.001")
    assert "optimisation.learning_rate" not in {domain.key for domain in plan.space.domains}
    file = tmp_path / "mine.py"
    file.write_text(CONDITIONAL)
    search = ("--space", str(file), "--search")
    grid = plan_of(*search, "grid", "--set", "head.kind=linear", "--scale", "paper").grid
    assert sorted((recipe.head.kind, recipe.flat().get("head.dim")) for recipe in grid) == [
        ("linear", 8),
        ("linear", 16),
    ]
    with pytest.raises(UserError, match="has no domains left"):
        plan_of(*search, "optuna", "--set", "head.kind=linear", "--set", "head.dim=8", "--scale", "paper")
    with pytest.raises(UserError, match="nothing can run: the space has no rows; explore it with --search optuna"):
        check_plan(plan_of("--space", str(file), "--scale", "paper"))


@pytest.mark.slow
def test_a_continued_study_keeps_what_is_known_of_its_rows(tmp_path: Path) -> None:
    """Whichever command came first: rows asked for, reasons of the missing ones, commands."""
    everything = ("--space", "scl_ablation", "--scale", "laptop", "--results")
    some = ("--only", "SBERT baseline")
    for number, order in enumerate((((), some), (some, ()))):
        folder = str(tmp_path / str(number))
        for more in order:
            info = prepare_results(plan_of(*everything, folder, *more), "hardware")
        assert len(info.row_hashes) == 19
        assert info.row_hashes["Avg. GloVe embeddings"] is None
        assert list(info.missing) == ["Avg. GloVe embeddings"]
        assert len(info.commands) == 2
    words = tmp_path / "glove.txt"
    words.write_text("a 1 2\n")
    info = prepare_results(plan_of(*everything, folder, "--word-vectors", str(words)), "hardware")
    assert info.missing == {}
    assert info.row_hashes["Avg. GloVe embeddings"]


def test_only_picks_rows() -> None:
    plan = plan_of("--only", "SBERT baseline", "--only", "3p3n-Augment")
    assert list(plan.rows) == ["SBERT baseline", "3p3n-Augment"]


@pytest.mark.parametrize(("rows", "several"), [(["SBERT baseline"], False), ([], True)])
def test_several_recipes_train(rows: list[str], several: bool) -> None:
    only = [word for row in rows for word in ("--only", row)]
    assert plan_of(*only).trains_several == several
    assert plan_of(*only, "--search", "optuna").trains_several


def test_grid_is_every_combination_once_with_conditions(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(CONDITIONAL)
    plan = plan_of("--space", str(file), "--scale", "paper", "--search", "grid")
    points = [(recipe.head.kind, recipe.flat().get("head.dim")) for recipe in plan.grid]
    assert sorted(points, key=str) == [("linear", 16), ("linear", 8), ("none", None)]
    assert not any(trial.row for trial in plan.fixed_trials())


# --- resources


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_trials_never_ask_for_more_than_there_is(workers: int) -> None:
    for cpus, gpus, nodes in itertools.product((2, 5, 16), (0, 1, 4), (1, 3)):
        cluster = cluster_of(*[(cpus, gpus)] * nodes)
        request = request_of("--workers", str(workers))
        try:
            allotment = allot(cluster, request)
        except UserError:
            assert min(cpus, gpus or cpus) * nodes < workers
            continue
        used = allotment.concurrent * workers
        assert used * allotment.resources.cpus <= cluster.cpus
        assert used * allotment.resources.gpus <= max(cluster.gpus, 0)
        assert allotment.concurrent >= 1


@pytest.mark.parametrize("workers", ["2", "1:2"])
def test_workers_of_a_trial_cannot_share_a_gpu(workers: str) -> None:
    with pytest.raises(UserError, match=r"cannot share a GPU, but --gpus-per-worker is 0.5 and --workers up to 2"):
        allot(cluster_of((16, 2)), request_of("--gpus-per-worker", "0.5", "--workers", workers))


def test_a_worker_that_never_fits_is_one_clear_sentence() -> None:
    with pytest.raises(UserError, match=r"needs 5 workers of 1 CPU each, but the cluster .* holds 2 such workers"):
        allot(cluster_of((2, 0)), request_of("--workers", "5"))
    with pytest.raises(UserError, match="needs 1 worker of 64 CPU"):
        allot(cluster_of((2, 0), (2, 0)), request_of("--cpus-per-worker", "64"))


MODELS = """
from search_spaces import Row, Space
from trainables.recipe import Recipe
EVALUATED = {"optimisation.epochs": 0, "encoder.kind": "pipeline"}
SPACE = Space(
    "models", "Models", "nobody", Recipe(),
    {"encoder.name": "scenes-small", "corpus.nli": "scenes", "evaluation.senteval": "scenes"},
    rows=(
        Row("ours", {}),
        Row("known", {**EVALUATED, "encoder.name": "owner/known"}, needs="checkpoint"),
        Row("unknown", EVALUATED, needs="checkpoint"),
        Row("whitened", {**EVALUATED, "encoder.kind": "transformer", "pooling.after": "whiten"}, needs="checkpoint"),
        Row("words", {"corpus.augmentation": "synonyms", "corpus.layout": "groups"}, needs="wordnet"),
    ),
)
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "no wordnet here"))
    lend_scenes(tmp_path / "cache")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "models.py").write_text(MODELS)
    for name, file in (("finished", "modules.json"), ("plain", "config.json")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("[]")
        (tmp_path / name / "model.safetensors").write_bytes(NO_WEIGHTS)
    return str(tmp_path / "models.py")


class TestModelsOfOthers:
    def test_without_a_model_a_row_is_a_dash_with_its_reason(self, models: str) -> None:
        plan = plan_of("--space", models, "--scale", "laptop")
        assert [label for label, recipe in plan.rows.items() if recipe is not None] == ["ours"]
        assert "not fetched at the scale laptop" in plan.missing["known"]
        assert "no public checkpoint is known" in plan.missing["unknown"]
        assert "fetch wordnet" in plan.missing["words"]
        assert [trial.name for trial in plan.fixed_trials()] == ["ours"]

    def test_at_the_papers_scale_the_hub_is_asked(self, models: str, monkeypatch: pytest.MonkeyPatch) -> None:
        names = []
        monkeypatch.setattr("study.rows.available", lambda config: names.append(config.name))
        recipe = plan_of("--space", models, "--scale", "paper").rows["known"]
        assert (recipe.encoder.kind, recipe.encoder.name, recipe.trains) == ("pipeline", "owner/known", False)
        monkeypatch.setattr("study.rows.available", lambda config: "the hub cannot be reached")
        assert plan_of("--space", models, "--scale", "paper").missing["known"] == "the hub cannot be reached"
        assert names == ["owner/known"]

    @pytest.mark.parametrize(
        ("row", "model", "kind"),
        [
            ("unknown", "finished", "pipeline"),
            ("unknown", "plain", "transformer"),
            ("known", "finished", "pipeline"),
            ("whitened", "finished", "transformer"),  # the row is about a pooling of its own
            ("ours", "finished", "pipeline"),  # evaluated in place of the model that we would train
        ],
    )
    def test_evaluate_gives_or_replaces_one(self, models: str, row: str, model: str, kind: str, tmp_path: Path) -> None:
        given = str(tmp_path / model)
        recipe = plan_of("--space", models, "--scale", "laptop", "--evaluate", f"{row}={given}").rows[row]
        assert (recipe.encoder.kind, recipe.encoder.name, recipe.trains) == (kind, given, False)
        assert recipe.pooling.after == ("whiten" if row == "whitened" else "none")

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("ours", "is not ROW=MODEL"),
            ("ours=", "is not ROW=MODEL"),
            ("nobody=x", "is no row of 'models'"),
        ],
    )
    def test_mistakes(self, models: str, text: str, sentence: str) -> None:
        with pytest.raises(UserError, match=sentence):
            plan_of("--space", models, "--evaluate", text)

    def test_a_finished_model_of_the_hub_keeps_its_pooling(self, models: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            "study.rows.available", lambda config: None if config.name == "a/finished" else "it is plain"
        )
        for name, kind in (("a/finished", "pipeline"), ("a/plain", "transformer")):
            recipe = plan_of("--space", models, "--scale", "laptop", "--evaluate", f"unknown={name}").rows["unknown"]
            assert recipe.encoder.kind == kind

    def test_nothing_to_run_says_why(self, models: str) -> None:
        with pytest.raises(UserError, match="nothing can run: unknown: no public checkpoint"):
            check_plan(plan_of("--space", models, "--scale", "laptop", "--only", "unknown"))


def test_bad_input_of_documents(tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("a short document\nand another\n")
    (tmp_path / "one.txt").write_text("word " * 5000 + "\n")
    (tmp_path / "long.txt").write_text(("word " * 200 + "\n") * 16)
    space = ("--space", "declutr_memory_bank", "--scale", "laptop")
    for arguments, sentence in (
        (("--documents", str(tmp_path / "short.txt")), "all documents of .* are too short: the longest has 16 bytes"),
        (("--set", "spans.shortest=64"), "spans.shortest 64 is over spans.longest 32"),
        (("--set", "spans.longest=1000"), "spans.longest 1000 is over the 128 tokens"),
        (("--documents", str(tmp_path / "one.txt")), "optimisation.batch_size=16 is more than .* at most 1 of its"),
        (("--set", "corpus.share=0.5", "--documents", str(tmp_path / "long.txt")), "at most 8 of its documents"),
        (("--set", "evaluation.heat_map=nowhere.txt"), "the heat map's sentences nowhere.txt do not exist"),
    ):
        with pytest.raises(UserError, match=sentence):
            check_plan(plan_of(*space, *arguments))
    check_plan(plan_of(*space, "--documents", str(tmp_path / "long.txt")))
    unmasked = tmp_path / "unmasked"
    unmasked.mkdir()
    (unmasked / "config.json").write_text("{}")
    (unmasked / "model.safetensors").write_bytes(NO_WEIGHTS)
    (unmasked / "tokenizer_config.json").write_text('{"pad_token": "[PAD]"}')
    with pytest.raises(UserError, match="masked language modelling needs a mask token"):
        check_plan(plan_of(*space, "--set", f"encoder.name={unmasked}"))
    small = ("--search", "optuna", "--set", "objective.bank=31")
    with pytest.raises(UserError, match=r"objective\.bank=31 is smaller than one batch, which has 32 anchors"):
        check_plan(plan_of("--space", "declutr_main", "--only", "DeCLUTR-small", "--scale", "laptop", *small))


def test_wordnet_that_is_not_there_is_seen_before_anything_runs(models: str) -> None:
    space = ("--space", "supmpn_main", "--only", "SupMPN-BERT-base", "--scale", "laptop")
    with pytest.raises(UserError, match="fetch wordnet"):
        check_plan(plan_of(*space, "--set", "corpus.augmentation=synonyms"))


def test_lora_is_not_put_into_word_vectors(tmp_path: Path) -> None:
    arguments = ("--space", "scl_ablation", "--scale", "laptop", "--set", "encoder.adapter=lora")
    assert plan_of(*arguments).base.encoder.adapter == "lora"
    with pytest.raises(
        UserError, match=r"row 'Avg. GloVe .* leave out --word-vectors, or choose rows with --only"
    ) as caught:
        plan_of(*arguments, "--word-vectors", str(tmp_path / "glove.txt"))
    assert "\n" not in str(caught.value)
    plan_of(*arguments, "--word-vectors", str(tmp_path / "glove.txt"), "--only", "SBERT baseline")


@pytest.mark.parametrize(
    ("space", "scale", "gpus", "sentence"),
    [
        ("scl_tau --set encoder.name=mine", "laptop", 0, "no estimate: nothing is known of such trials here"),
        ("scl_tau --set encoder.adapter=lora", "laptop", 0, "no estimate: nothing is known of such trials here"),
        ("scl_tau", "paper", 1, "estimate: 61 min per trial (the paper's figures"),
        ("scl_tau", "paper", 0, "no estimate: nothing is known of such trials here"),
        ("scl_tau", "laptop", 0, "estimate: 15 s per trial (as measured"),
        ("declutr_main", "laptop", 0, "estimate: 15 s per trial (as measured"),
        ("clsr_main", "paper", 1, "no estimate: nothing is known of such trials here"),
    ],
)
def test_an_estimate_has_a_source(tmp_path: Path, space: str, scale: str, gpus: int, sentence: str) -> None:
    plan = plan_of("--space", *space.split(), "--scale", scale, "--results", str(tmp_path / "results"))
    assert sentence in preview_of(plan, cluster_of((2, gpus)))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("", "1 trial (1 row, 1 seed), 0 of them done"),
        ("--seeds 2", "2 trials (2 of 1 row, 2 seeds), 0 of them done"),
        ("--search optuna --trials 2", "3 trials (1 row, 2 recipes from Optuna, 1 seed), 0 of them done"),
        ("--search grid", "6 trials (1 row, 5 recipes of the grid, 1 seed), 0 of them done"),
    ],
)
def test_trials_are_counted_by_what_they_are(tmp_path: Path, arguments: str, sentence: str) -> None:
    space = spaces()["scl_lambda"]
    plan = plan_of("--space", space.name, "--only", space.rows[0].label, "--results", str(tmp_path), *arguments.split())
    assert f"\n{sentence}" in preview_of(plan)


@pytest.mark.parametrize("layers", ["3", "99"])
def test_more_layers_than_the_encoder_has_are_refused_before_anything_runs(layers: str) -> None:
    check_plan(plan_of("--scale", "laptop", "--set", "encoder.layers=2"))
    with pytest.raises(UserError, match=rf"encoder\.layers is {layers}, but 'scenes-small' has 2 layers; ask for"):
        check_plan(plan_of("--scale", "laptop", "--set", f"encoder.layers={layers}"))


class TestRungs:
    def plan(self, search: str, rungs: str, *more: str) -> Plan:
        options = ("--space", "scl_lambda", "--scale", "laptop", "--search", search, "--scheduler", "asha")
        return plan_of(*options, "--rungs", rungs, *more)

    def test_those_that_no_training_comes_to_are_refused(self) -> None:
        sentence = r"--rungs .*: no training comes to the first of them, .* has 90 steps; take"
        for search, rungs in zip(
            ("grid", "optuna", "grid", "optuna"),
            ("steps:10000000", "steps:90,180", "epochs:1000", "epochs:100000000,1e9"),
            strict=True,
        ):
            with pytest.raises(UserError, match=sentence):
                check_plan(self.plan(search, rungs))

    def test_others_are_not(self) -> None:
        for rungs in ("steps:89", "steps:10,10000000", "epochs:0.1", "8", "tokens:1e6"):
            check_plan(self.plan("optuna", rungs))

    @pytest.mark.parametrize("search", ["grid", "optuna"])
    def test_the_longest_training_counts(self, search: str, tmp_path: Path) -> None:
        (tmp_path / "lengths.py").write_text(
            "import dataclasses\nfrom search_spaces import Domain, spaces\n"
            "SPACE = dataclasses.replace(spaces()['scl_lambda'], name='lengths',\n"
            "    domains=(Domain('optimisation.max_steps', choices=(50, 200)),))\n"
        )
        longer = ("--space", str(tmp_path / "lengths.py"), "--set", "optimisation.epochs=100")
        check_plan(self.plan(search, "steps:150", *longer))
        with pytest.raises(UserError, match="has 200 steps"):
            check_plan(self.plan(search, "steps:250", *longer))


class TestLimited:
    """A search under a limit, whose trials cost more and less than one of all of the data."""

    def plan(self, folder: Path) -> Plan:
        arguments = ("--space", "scl_tau", "--scale", "laptop", "--search", "optuna", "--limit", "minutes=40")
        return plan_of(*arguments, "--set", "optimisation.max_steps=none", "--results", str(folder))

    def test_an_estimate_is_of_trainings_on_all_of_the_data(self, tmp_path: Path) -> None:
        plan = self.plan(tmp_path)
        ledger, part = Ledger(tmp_path / LEDGER), on_part(plan.base, 0.125)
        for recipe, seed, seconds in ((plan.base, 0, 120.0), (part, PART_SEED, 20.0), (as_it_came(plan.base), 0, 5.0)):
            cost = {"seconds": seconds, "train_seconds": seconds}
            ledger.write(made_record(dict(recipe.flat()), recipe.hash, seed, cost=cost))
        text = preview_of(plan)
        assert "estimate: 2 min per whole training (mean of 1 finished trial), room for about 39 trainings; " in text
        assert "min spent, room for about 39 trials" in text
        assert f"{plan.explored} recipes from Optuna at most" in text

    def test_a_run_says_in_one_line_what_it_may_take_and_which_rows_do_not_run(self, tmp_path: Path) -> None:
        plan = dataclasses.replace(self.plan(tmp_path), missing={"a row": "no file", "another": "no file"})
        first, *missing = preview_of(plan, brief=True).splitlines()
        assert "limit minutes=40: 2 places on 1 node" in first
        assert missing == ["not run, because no file: a row, another"]
