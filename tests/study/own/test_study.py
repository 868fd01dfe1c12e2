"""`--train`: the space that is made of a person's own data."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from reports.diff import diff
from reports.ledger import LEDGER, Ledger, StudyInfo
from reports.testing import changed
from reports.words.commands import recipe_command
from search_spaces.goals import searched
from search_spaces.own_data import FIRST_FINISHED, FIRST_NARROW, FIRST_WIDE, GENERAL_TASK, RATE, TF_IDF, contents_of
from study import Outcome
from study.check import check_plan
from study.own.space import NO_TF_IDF
from study.own.words import LEAKS
from study.plan import Plan
from study.results_folder.check import check_results
from study.results_folder.prepare import prepare_results
from study.rows import as_it_came
from study.run import main
from tests.contributing import PLUGINS
from tests.study.plans import model_folder, plan_of
from tests.synthetic_results import make_record
from trainables.corpora import scenes
from trainables.errors import UserError
from trainables.objectives import OBJECTIVES
from trainables.recipe import Recipe, Value
from trainables.senteval.tasks import TASKS
from trainables.trial.check import check_recipes
from trainables.trial.run import run_trial

pytestmark = pytest.mark.usefixtures("own_folder")

SMALL = ("--encoder", "scenes-small")
MINE = ("--train", "mine.csv", *SMALL)

ROWS = {
    "pairs": ("anchor,positive", "a dog eats {0},an animal eats {0}"),
    "triplets": (
        "anchor,positive,negative_1,negative_2",
        "a dog eats {0},an animal eats {0},nobody eats {0},{0} sleeps",
    ),
    "no negatives": ("anchor,positive,negative", "a dog eats {0},an animal eats {0},"),
    "taught": ("query,positive,negative,label", "a dog eats {0},an animal eats {0},{0} sleeps,-0.{0}"),
    "nli": (
        "premise,hypothesis,label",
        "a dog eats {0},an animal eats {0},entailment\na dog eats {0},{0} sleeps,contradiction",
    ),
    "unopposed": (
        "premise,hypothesis,label",
        "a dog eats {0},an animal eats {0},entailment\na dog eats {0},{0} sleeps,neutral",
    ),
    "scored": ("sentence1,sentence2,score", "a dog eats {0},an animal eats {0},{0}"),
    "labelled": ("text,label", "a dog eats {0},animals\na car takes {0},things"),
    "texts": ("sentence", "a dog eats {0}"),
    "documents": (
        "title,text",
        "what dog {0} does,a dog eats {0} and then sleeps near the house of its master in the sun until it is night",
    ),
}
NLI = "premise,hypothesis,label"
DOUBTFUL = {
    "three labels": (
        NLI,
        "a dog eats {0},an animal eats {0},entailment\na dog eats {0},{0} sleeps,contradiction\n"
        "a dog eats {0},{0} is hot,neutral",
    ),
    "a third": (
        "anchor,positive,negative",
        "a dog eats {0},an animal eats {0},{0} sleeps\na cat eats {0},it eats {0},\na pig eats {0},that eats {0},",
    ),
    "doubtful": (
        "anchor,positive,negative",
        "a dog eats {0},an animal eats {0},{0} sleeps\na cat eats {0},it eats {0},{0} waits\na pig {0},ham,ham",
    ),
}
"""Rows of which few, or not all, are whole triplets."""
LAYOUTS = {
    "triplets": "groups",
    "taught": "groups",
    "nli": "groups",
    "scored": "scored_pairs",
    "labelled": "same_label",
    "texts": "texts",
    "documents": "texts",
}


def write(kind: str, count: int = 100, name: str = "mine.csv") -> str:
    head, row = (ROWS | DOUBTFUL)[kind]
    Path(name).write_text("\n".join([head, *(row.format(number) for number in range(count))]) + "\n")
    return name


@pytest.mark.parametrize("kind", ROWS)
def test_every_kind_of_data_makes_a_space_that_can_run_and_a_recipe_on_all_of_them(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every choice of every domain goes with the base; what decides is put aside, or given. The answer's recipe trains
    on all that was put aside, and without what was left out for `--test`, as its command says."""
    dev = ["--dev", write("scored", name="sts_dev.csv")] if kind == "texts" else []
    test = ["--test", write("pairs", 3, "tested.csv"), "--drop-leaks"]
    plan = plan_of("--train", write(kind), *SMALL, *dev, *test)
    check_plan(plan)
    assert plan.base.corpus.layout == LAYOUTS.get(kind, "pairs")
    assert (plan.scale, plan.explored) == ("paper", 20)
    assert list(plan.rows) == ["original encoder", "base settings", TF_IDF]
    assert plan.rows["base settings"] == plan.base
    assert plan.finals is not None
    assert plan.rows["original encoder"] == as_it_came(plan.base)
    assert plan.results == Path("results/mine-scenes-small").absolute()
    assert list(plan.space.goals) == (["own_sts"] if dev else ["heldout"])
    for domain in plan.space.domains:
        for value in domain.choices or (domain.low, domain.high):
            changed = plan.base.preferring({domain.key: value})
            if domain.key not in plan.base.flat():
                continue
            check_recipes([changed], plan.exploring)
    answered(plan, plan.base, monkeypatch)
    again = plan_of(*shlex.split(recipe_command(StudyInfo.load(plan.results)))[2:])
    check_plan(again)
    rows = len((again.results / "data" / "train.jsonl").read_text().splitlines())
    assert rows == {"nli": 197, "unopposed": 197, "labelled": 200, "texts": 100, "documents": 100}.get(kind, 97)


def test_of_several_negatives_the_base_draws_one_and_every_objective_goes_with_that() -> None:
    rows = [
        {"query": f"a dog eats {n}", "pos": [f"an animal eats {n}"], "neg": [f"a car takes {n}", f"a car has {n}"]}
        for n in range(100)
    ]
    Path("several.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = plan_of("--train", "several.jsonl", *SMALL)
    domains = {domain.key: domain for domain in plan.space.domains}
    assert plan.base.flat()["objective.negatives"] == domains["objective.negatives"].low == 1
    assert domains["objective.negatives"].high == 2
    for name in domains["objective.name"].choices:
        check_recipes([plan.base.preferring({"objective.name": name})], plan.exploring)
    Path("one.jsonl").write_text("".join(json.dumps({**row, "neg": row["neg"][:1]}) + "\n" for row in rows))
    assert plan_of("--train", "one.jsonl", *SMALL, "--results", "one").base.flat()["objective.negatives"] is None


def test_rows_that_disagree_or_repeat_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(write("labelled"))
    file.write_text(file.read_text() + "a dog eats 0,things\na car takes 3,animals\n" + "a dog eats 1,animals\n")
    plan_of("--train", str(file), *SMALL)
    assert "of these rows: 2 texts with two labels or more; 1 row equal to another\n" in capsys.readouterr().out


@pytest.mark.parametrize("animals", [80, 81])
def test_a_label_of_most_test_items_is_named_with_its_share(animals: int, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"a dog sees {number},{'animals' if number < animals else 'things'}\n" for number in range(100)]
    Path("judge.csv").write_text("".join(["text,label\n", *rows]))
    plan_of("--train", write("labelled"), "--test", "judge.csv", *SMALL)
    sentence = f"judge: always 'animals' would score {animals}.00 (test)\n"
    assert (sentence in capsys.readouterr().out) == (animals > 80)


@pytest.mark.slow
def test_texts_alone_are_offered_the_sources_of_positives_that_they_allow(capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_of("--train", write("documents", 700), *SMALL)
    keys = {domain.key: domain for domain in plan.space.domains}
    assert keys["corpus.positives_from"].choices == ("title", "crops", "neighbours", "dropout")
    assert plan.base.flat()["corpus.positives_from"] == "title"
    assert {"corpus.positives_from": "dropout"} in plan.space.first
    assert keys["corpus.negatives_from"].when == ("corpus.positives_from", ("title",))
    mined = {"corpus.negatives_from": "mined", "objective.negatives": 2}
    check_recipes([plan.base.preferring(mined)], plan.exploring)
    assert "no real queries are known: what is put aside is judged in a form of the training's own, title" in (
        capsys.readouterr().out
    )
    assert any(note.startswith("no real queries") for note in plan.space.notes)
    given = ["--dev", write("pairs", name="dev.csv")]
    assert not plan_of(*MINE, *given, "--results", "other").space.notes[0].startswith("no")


def test_many_pairs_are_offered_mined_negatives_that_the_search_can_choose(tmp_path: Path) -> None:
    few, many = (plan_of("--train", write("pairs", count, f"{count}.csv"), *SMALL)
                 for count in (200, 800))  # fmt: skip
    assert not any("mined" in domain.key for domain in few.space.domains)
    keys = {domain.key: domain for domain in many.space.domains}
    assert keys["corpus.layout"].when == ("objective.name", ("mnrl",))
    mined = {"corpus.layout": "groups", "corpus.negatives_from": "mined", "objective.negatives": 3}
    for skip in keys["corpus.mined_skip"].choices:
        recipe = many.base.preferring({**mined, "corpus.mined_skip": skip})
        check_recipes([recipe], many.exploring)
        assert recipe.corpus.layout == "groups"
    assert all(keys[key].when == ("corpus.negatives_from", ("mined",)) for key in keys if "mined_" in key)


def test_a_plugins_objective_is_offered_and_its_own_keys_are_searched() -> None:
    """Where it learns from the data, and over the ranges that its keys name; without it nothing is different."""
    Path("my_objective.py").write_text(PLUGINS["my_objective.py"])
    arguments = ["--train", write("pairs"), *SMALL]
    without = plan_of(*arguments, "--results", "without").space.domains
    plan = plan_of(*arguments, "--plugin", "my_objective.py", "--results", "with")
    domains = {domain.key: domain for domain in plan.space.domains}
    assert domains.pop("objective.name").choices == ("mnrl", "alignment")
    power, evenness = domains.pop("objective.power"), domains.pop("objective.evenness")
    assert [(key.low, key.high, key.when) for key in (power, evenness)] == [(0.5, 4.0, None), (0.0, 1.0, None)]
    assert [*domains.values()] == [domain for domain in without if domain.key != "objective.name"]
    chosen = plan.base.preferring({"objective.name": "alignment"})
    assert [power.is_asked(recipe.flat()) for recipe in (plan.base, chosen)] == [False, True]
    check_recipes([chosen], plan.exploring)
    groups = plan_of("--train", write("triplets"), *SMALL, "--plugin", "my_objective.py")
    assert not any(domain.key == "objective.power" for domain in groups.space.domains)  # it learns from pairs alone
    OBJECTIVES.remove("alignment")


def test_the_written_space_is_the_same_study(capsys: pytest.CaptureFixture[str]) -> None:
    mine = write("triplets")
    arguments = ["--train", mine, *SMALL, "--trials", "7"]
    own = plan_of(*arguments)
    settings = ["--set", "optimisation.epochs=2", "--limit", "minutes=60"]
    assert main([*arguments, *settings, "--write-space", "my_space.py"]) == 0
    command = capsys.readouterr().out.splitlines()[-1].split()
    assert command[:4] == ["python", "study/run.py", "--space", "./my_space.py"]
    assert " ".join(command[4:]) == "--set optimisation.epochs=2 --search optuna --trials 7 --limit minutes=60"
    kept = plan_of("--space", "./my_space.py", "--search", "optuna", "--trials", "7")
    assert [(trial.key, trial.name) for trial in kept.fixed_trials()] == [
        (trial.key, trial.name) for trial in own.fixed_trials()
    ]
    assert kept.space.domains == own.space.domains
    assert (kept.scoring.data, kept.scoring.tasks) == (own.scoring.data, own.scoring.tasks)
    with pytest.raises(UserError, match=r"my_space\.py exists; remove it, or give another name"):
        main([*arguments, "--write-space", "my_space.py"])


def test_a_dry_run_ends_with_what_is_done_after_the_space_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--train", write("pairs"), *SMALL, "--limit", "minutes=60", "--dry-run"]) == 0
    console = capsys.readouterr().out
    order = (
        "mine.csv: 100 rows, pairs",
        "put aside 10 to choose by and 10 to judge by",
        "leaks: no text",
        "STS-B is scored, too: a check that general sentences do not get worse",
        "warning: the test has 10 items, so the interval of a gain is about 9.48 points to each side",
        "the space that it runs, which --write-space my_space.py keeps; its DATA are written when it runs:",
        "SPACE = Space(",
        "then the finals, up to",
        "finals: no gain is planned, as 10 test items decide more of it than seeds do",
        "searched for heldout",
        "limit minutes=60",
        "then 200 recipes over optimisation.learning_rate",
        "in short:\n  budget    60 minutes of the whole study",
        "  training  how long one takes is not known before the first has ended",
        "  stages    a search of 200 recipes from Optuna at most, then finals",
        f"  results   {Path('results/mine-scenes-small').absolute()}: report.md",
    )
    positions = [console.find(words) for words in order]
    assert -1 not in positions
    assert positions == sorted(positions)


@pytest.mark.slow
def test_a_dry_run_says_that_recipes_begin_on_a_part_of_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    """Where an eighth is enough to train on."""
    sample = Path(__file__).parents[3] / "docs" / "sample" / "packages.csv"
    assert main(["--train", str(sample), *SMALL, "--limit", "minutes=60", "--dry-run"]) == 0
    assert (
        "a search of 200 recipes from Optuna at most, on a part of the data first, then finals"
        in capsys.readouterr().out
    )


def test_the_same_data_go_on_and_others_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--train", write("pairs"), *SMALL]
    monkeypatch.setattr("study.results_folder.prepare.versions", lambda plugins: {})
    plan = plan_of(*arguments)
    check_results(plan)
    prepare_results(plan, "2 cores")
    assert capsys.readouterr().out == (
        "mine.csv: 100 rows, pairs: anchor = anchor, positive = positive; the first: "
        '"a dog eats 0" -> "an animal eats 0"\n'
        "put aside 10 to choose by and 10 to judge by; the 80 rows to train on hold none of these texts exactly (near "
        "copies: leaks)\n"
        "leaks: no text of dev and test stands in the training data, and none of test in dev, not even nearly\n"
        "STS-B is scored, too: a check that general sentences do not get worse; no search looks at it\n"
        "heldout searches among 10 (dev) and 10 (test) texts; among more, scores are lower\n"
    )
    again = plan_of(*arguments)
    check_results(again)
    assert again.base.hash == plan.base.hash
    write("pairs", 101)
    with pytest.raises(UserError, match="holds a study of other data for --train, or of a version that puts"):
        plan_of(*arguments)
    assert len((plan.results / "data" / "train.jsonl").read_text().splitlines()) == 80
    write("pairs")
    (tmp_path / "mine.csv").rename("yours.csv")
    kept = (plan.results / "data" / "space.py").read_text()
    renamed = plan_of("--train", "yours.csv", *arguments[2:], "--results", "results/mine-scenes-small")
    check_results(renamed)
    assert (renamed.space.name, renamed.base.hash) == (plan.space.name, plan.base.hash)
    model_folder("other", pooling="")
    with pytest.raises(UserError, match=r"holds a study whose encoder.name is 'scenes-small', not '.*other'"):
        check_results(plan_of("--train", "yours.csv", "--encoder", "other", "--results", "results/mine-scenes-small"))
    assert (plan.results / "data" / "space.py").read_text() == kept


def test_what_lies_where_the_prepared_data_go_is_never_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("data").mkdir()
    arguments = ["--train", write("pairs", name="data/mine.csv"), *SMALL, "--dry-run"]
    with pytest.raises(UserError, match=f"go to {tmp_path}/data, which holds something else; remove it, or give"):
        plan_of(*arguments, "--results", ".")
    assert [path.name for path in Path("data").iterdir()] == ["mine.csv"]
    plan_of(*arguments, "--results", "results")
    written = Path("results/data/train.jsonl").stat().st_ino
    monkeypatch.setattr("study.own.space._put", set())  # as in another process
    plan_of(*arguments, "--results", "results")
    with pytest.raises(UserError, match="holds something else"):
        plan_of(*arguments, "--dev", write("scored", name="sts.csv"), "--results", "results")
    assert Path("results/data/train.jsonl").stat().st_ino == written


def test_commas_in_names_hide_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dev = write("scored", name="a,b.csv")
    arguments = ["--train", write("pairs"), *SMALL, "--dev", dev, "--results", "x,y"]
    monkeypatch.setattr("study.results_folder.prepare.versions", lambda plugins: {})
    plan = plan_of(*arguments)
    check_plan(plan)
    prepare_results(plan, "2 cores")
    again = plan_of(*arguments)
    check_results(again)
    assert again.base.hash == plan.base.hash
    write("scored", 101, name=dev)
    with pytest.raises(UserError, match="a study of other data for --dev"):
        plan_of(*arguments)


def study_of(folder: str, *arguments: str) -> Plan:
    """With its base settings' trial in the ledger."""
    plan = plan_of(*arguments, *SMALL, "--results", folder)
    prepare_results(plan, "2 cores")
    (goal,) = plan.space.searched_goals
    figures = dict.fromkeys([*goal.test_weights, *((task, goal.number) for task in goal.tasks)], 50.0)
    for recipe in filter(None, plan.rows.values()):
        record = make_record(recipe, plan.evaluation, 0, figures)
        on = {"senteval": {"fingerprint": min(plan.scoring.data)}}
        Ledger(plan.results / LEDGER).write(changed(record, data=on))
    return plan


def test_two_studies_of_ones_own_are_read_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both call what was put aside `heldout`; only one of them has a goal of this name, judged by another task."""
    monkeypatch.setattr("study.results_folder.prepare.versions", lambda plugins: {})
    sts = write("scored", name="sts.csv")
    study_of("a", "--train", write("pairs"), "--test", sts)
    study_of("b", "--train", write("scored", name="scored.csv"))
    study_of("c", "--train", "mine.csv")
    outcomes = {name: Outcome(name) for name in "abc"}
    for _ in range(2):
        for name, kind, tested in (
            ("a", "search", ("own_sts", "test_spearman")),
            ("b", "scored_pairs", ("heldout", "test_spearman")),
            ("c", "search", ("heldout", "test_ndcg@10")),
        ):
            assert outcomes[name].answer.kind == "unfinished"
            assert TASKS["heldout"].kind == kind
            assert Path(TASKS["heldout"].files[0]).is_relative_to(Path(name).absolute() / "data")
            (goal,) = searched(["heldout"])
            assert [*goal.test_weights] == [tested]
    again = plan_of("--train", "mine.csv", "--test", sts, *SMALL, "--results", "a")
    check_results(again)
    assert again.evaluation.tasks == ("heldout", "own_sts", GENERAL_TASK)
    with pytest.raises(UserError, match="both studies have a task 'heldout', of the kind search in a and scored_pairs"):
        diff(Path("a"), Path("b"))
    assert "no row that both have with a figure that both have" in diff(Path("a"), Path("c"))


def test_where_embeddings_are_cut_no_head_is_searched() -> None:
    """A head compares others in their place: its trials would fail."""
    plan = plan_of("--train", write("pairs"), *SMALL, "--set", "objective.dims=8,4")
    assert plan.base.flat()["objective.dims"] == ("8", "4")
    searched_for = [domain.key for domain in plan.space.domains]
    assert "optimisation.learning_rate" in searched_for
    assert not any(key.startswith("head.") for key in searched_for)


def test_a_task_is_no_goal_of_the_same_name() -> None:
    plan = plan_of("--train", write("pairs"), *SMALL, "--dev", write("scored", name="seconds_dev.csv"))
    (goal,) = plan.space.searched_goals
    assert (goal.tasks, goal.cost) == (("own_seconds",), "")


def test_classes_that_are_given_as_tests_alone_are_never_searched_by() -> None:
    test = write("labelled", name="intents.csv")
    plan = plan_of("--train", write("pairs"), *SMALL, "--test", test)
    assert list(plan.space.goals) == ["heldout"]
    assert plan.exploring.tasks == ("heldout",)
    assert searched(["heldout"])[0].judged_by == (("intents", "test_accuracy"),)


def test_tests_of_ones_own_judge_what_a_part_of_the_training_data_chose() -> None:
    plan = plan_of("--train", write("pairs"), *SMALL, "--test", write("scored", name="sts.csv"))
    (goal,) = plan.space.searched_goals
    assert goal.tasks == ("heldout",)
    assert goal.judged_by == (("own_sts", "test_spearman"),)
    assert plan.evaluation.tasks == ("heldout", "own_sts", GENERAL_TASK)
    assert plan.exploring.tasks == ("heldout",)
    check_plan(plan)
    both = plan_of(*MINE, "--dev", "sts.csv", write("labelled", name="x.csv"))
    assert [(goal.name, goal.needs) for goal in both.space.searched_goals] == [("own", {"own_sts", "x"})]
    assert [*both.space.searched_goals[0].test_weights] == [("heldout", "test_ndcg@10")]


@pytest.mark.parametrize(
    ("train", "columns", "row", "aside"),
    [
        ("triplets", "anchor,positive,negative", "a cat {0},an animal {0},a car {0}", ("mine_test", "triplets")),
        ("triplets", "anchor,positive,neg_1,neg_2", "a cat {0},an animal {0},a car {0},b", ("mine_test", "reranking")),
        ("triplets", "question,answer", "a cat {0},an animal {0}", ("heldout", "search")),
        ("no negatives", "anchor,positive,negative", "a cat {0},an animal {0},a car {0}", ("heldout", "search")),
        ("nli", "sentence1,sentence2,is_duplicate", "a {0},b {0},0\na {0},c {0},1", ("mine_test", "labelled_pairs")),
        ("nli", "sentence1,sentence2,same", "a {0},b {0},False\na {0},c {0},True", ("mine_test", "labelled_pairs")),
        (
            "three labels",
            NLI,
            "a {0},{0} b,entailment\na {0},{0} c,neutral\na {0},{0} d,contradiction",
            ("mine_test", "classes"),
        ),
        ("three labels", NLI, "a {0},{0} b,0\na {0},{0} c,1\na {0},{0} d,2", ("mine_test", "classes")),
        ("three labels", NLI, "a {0},{0} b,cause\na {0},{0} c,effect\na {0},{0} d,none", ("heldout", "search")),
        ("three labels", "sentence,label", "a {0},0\nb {0},1\nc {0},2", ("heldout", "search")),
        ("three labels", "sentence1,sentence2,class", "a {0},b,0\na {0},c,1\na {0},d,2", ("heldout", "search")),
        ("nli", NLI, "a {0},{0} b,0\na {0},{0} c,1\na {0},{0} d,2", ("heldout", "search")),
        ("unopposed", "sentence1,sentence2,score", "a {0},b {0},0.5\na {0},c {0},0.{0}", ("heldout", "search")),
        ("unopposed", "sentence1,sentence2,is_duplicate", "a {0},b {0},0\na {0},c {0},1", ("heldout", "search")),
        ("taught", "anchor,positive,neg_1,neg_2", "a cat {0},an animal {0},a car {0},b", ("heldout", "search")),
        ("a third", "anchor,positive,negative", "a cat {0},an animal {0},a car {0}", ("heldout", "search")),
        ("doubtful", "anchor,positive,negative", "a cat {0},an animal {0},a car {0}", ("mine_test", "triplets")),
    ],
)
def test_what_is_put_aside_is_measured_as_what_is_given(
    train: str, columns: str, row: str, aside: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the rows allow it: else a sentence says that one measure chooses and another one judges."""
    rows = "\n".join(row.format(number) for number in range(50))
    Path("other_set_test.csv").write_text(f"{columns.replace('same', 'label')}\n{rows}\n")
    plan = plan_of("--train", write(train), *SMALL, "--test", "mine_test=other_set_test.csv")
    name, kind = aside
    chooses = TASKS[plan.space.searched_goals[0].tasks[0]]
    assert (chooses.name, chooses.kind) == (name, kind)
    judges = TASKS[plan.space.searched_goals[0].judged_by[0][0]] if plan.space.searched_goals[0].judged_by else chooses
    alike = judges.kind == kind
    note = f"{name} {chooses.development} chooses, {judges.name} {judges.metric} judges: what gains by one measure"
    assert (note in capsys.readouterr().out) is not alike
    assert any(note in line for line in plan.space.notes) is not alike
    if name != "heldout":
        record = run_trial(plan.base.override({"optimisation.max_steps": 1}), 0, plan.evaluation)
        assert {chooses.development, chooses.metric} <= {*record.scores[name]}


def test_a_name_that_was_given_is_that_of_the_task_whose_other_part_is_put_aside() -> None:
    Path("mine_dev.csv").write_text("anchor,positive,negative\n" + "".join(f"a {n},b {n},c\n" for n in range(50)))
    plan = plan_of("--train", write("triplets", name="rows.csv"), *SMALL, "--dev", "faq=mine_dev.csv")
    (goal,) = plan.space.searched_goals
    assert (goal.tasks, TASKS["faq"].kind, TASKS["faq"].splits) == (("faq",), "triplets", ("dev", "test"))
    assert [Path(file).name for file in TASKS["faq"].files] == ["mine_dev.csv", "heldout_test.jsonl"]


def test_where_a_search_judges_too_what_is_put_aside_is_a_search() -> None:
    Path("one_test.csv").write_text("anchor,positive,negative\n" + "".join(f"a {n},b {n},c\n" for n in range(50)))
    Path("two_test.csv").write_text("question,answer\n" + "".join(f"a {n},b {n}\n" for n in range(50)))
    plan_of("--train", write("triplets", name="rows.csv"), *SMALL, "--test", "one_test.csv", "two_test.csv")
    assert {task.kind for task in TASKS.values() if task.of_own_data and "dev" in task.splits} == {"search"}


@pytest.mark.parametrize(
    ("pooling", "config", "more", "first"),
    [
        ("cls_token", {"hidden_size": 384, "num_hidden_layers": 6}, (), FIRST_FINISHED),
        ("cls_token", {"hidden_size": 384, "num_hidden_layers": 6}, ("--set", "encoder.layers=2"), FIRST_NARROW),
        ("cls_token", {"hidden_size": 384, "num_hidden_layers": 2}, (), FIRST_NARROW),
        ("", {"hidden_size": 384, "num_hidden_layers": 6}, (), FIRST_NARROW),
        ("cls_token", {"hidden_size": 768, "num_hidden_layers": 12}, (), FIRST_WIDE),
    ],
    ids=["finished", "cut", "shallow", "plain", "wide"],
)
def test_what_is_tried_first_goes_by_the_encoder(
    pooling: str, config: Mapping[str, int], more: Sequence[str], first: Sequence[Mapping[str, Value]]
) -> None:
    model_folder("model", pooling=pooling, config=config)
    plan = plan_of("--train", write("pairs"), "--encoder", "model", *more)
    assert list(plan.space.first) == list(first)
    if config["hidden_size"] == 384:
        rates = [plan.base.optimisation.learning_rate, *(recipe[RATE] for recipe in first)][:4]
        assert min(rates) == 2e-5
        assert max(rates) >= 10 * min(rates)


@pytest.mark.parametrize(
    ("content", "rows", "passes"),
    [("labelled", 200, 10), ("labelled", 2_500, 3), ("labelled", 12_500, 1), ("pairs", 200, 1)],
)
def test_few_labelled_texts_are_passed_over_more_often(content: str, rows: int, passes: int) -> None:
    assert plan_of("--train", write(content, rows), *SMALL).base.optimisation.epochs == passes


def test_tf_idf_is_scored_where_not_too_many_texts_are_tested(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_of("--train", write("pairs"), *SMALL, "--results", "few")
    assert plan.finals.baseline == plan.rows[TF_IDF]
    assert plan.space.baseline is None
    assert Path(plan.rows[TF_IDF].encoder.name) == Path("few/data/train.jsonl").absolute()
    monkeypatch.setattr("study.own.space.MOST_COUNTED", 30)
    plan = plan_of("--train", write("pairs"), *SMALL, "--results", "many")
    assert (plan.finals.baseline, TF_IDF in plan.rows) == (None, False)
    assert NO_TF_IDF in plan.space.notes
    assert capsys.readouterr().out.count(NO_TF_IDF) == 1


def test_several_encoders_are_a_choice_and_each_is_a_row_as_it_came(tmp_path: Path) -> None:
    model_folder("first", query="ask: ")
    model_folder("second", pooling="max_tokens", query="find: ", passage="text: ")
    plan = plan_of("--train", write("pairs"), "--encoder", "first", "second")
    assert list(plan.rows) == [
        *(f"{name}, {what}" for name in ("first", "second") for what in ("original", "base settings")),
        TF_IDF,
    ]
    assert (plan.base.pooling.mode, plan.base.encoder.query_prompt) == ("cls", "ask: ")
    second = plan.rows["second, base settings"]
    assert (Path(second.encoder.name).name, second.pooling.mode) == ("second", "max")
    assert (second.encoder.query_prompt, second.encoder.document_prompt) == ("find: ", "text: ")
    choices = {domain.key: domain.choices for domain in plan.space.domains}
    assert choices["encoder.name"] == (str(tmp_path / "first"), str(tmp_path / "second"))
    assert choices["encoder.query_prompt"] == ("ask: ", "find: ", None)
    assert choices["encoder.document_prompt"] == ("text: ", None)
    alone = plan_of("--train", "mine.csv", "--encoder", "first", "--results", "alone")
    assert {domain.key: domain.choices for domain in alone.space.domains}["encoder.query_prompt"] == ("ask: ", None)


def answered(plan: Plan, recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """The study has come to say that this recipe is to be used."""
    monkeypatch.setattr("study.results_folder.prepare.versions", lambda plugins: {})
    answer = recipe.flat(), "learning rate 0.002", "4", "the best"
    monkeypatch.setattr("study.one_recipe._answered", lambda results, where: answer)
    prepare_results(plan, "2 cores")
    Ledger(plan.results / LEDGER).write(make_record(plan.base, plan.evaluation, 0, {("heldout", "dev_ndcg@10"): 50.0}))


def test_the_recipe_of_an_answer_is_trained_on_all_of_ones_data(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--recipe", "found", "--train", write("pairs", name="all.csv")]
    searched_for = plan_of("--train", "all.csv", *SMALL, "--results", "found")
    came_from = {"corpus.columns": "anchor=a,positive=b"}  # the prepared file has no such names
    picked = searched_for.base.preferring({"optimisation.learning_rate": 0.002, **came_from})
    answered(searched_for, picked, monkeypatch)
    capsys.readouterr()
    plan = plan_of(*arguments)
    check_plan(plan)
    check_results(plan)
    console = capsys.readouterr().out
    assert console.startswith(
        "all.csv: 100 rows, pairs: anchor = anchor, positive = positive; the first: "
        '"a dog eats 0" -> "an animal eats 0"\n'
        "leaks: heldout (dev): the training data "
    )
    ((label, recipe),) = plan.rows.items()
    assert plan.results == Path("results/all-scenes-small-recipe-4").absolute()
    assert label == "learning rate 0.002"
    differing = {key for key, value in recipe.flat().items() if value != picked.flat().get(key)}
    assert differing == {"corpus.nli", *came_from}
    train = plan.results / "data" / "train.jsonl"
    assert recipe.flat()["corpus.nli"] == str(train)
    assert len(train.read_text().splitlines()) == 100
    assert plan.request.keep_models == "rows"
    assert plan.evaluation.tasks == ("heldout", GENERAL_TASK)
    (leaks,) = (line for line in console.splitlines() if line.startswith(LEAKS))
    others = [note for note in searched_for.space.notes if not note.startswith(LEAKS)]
    now = [f"{LEAKS}{sentence}" for sentence in leaks.removeprefix(LEAKS).split("; ")]
    assert prepare_results(plan, "2 cores").notes == [*others, *now]
    check_results(plan_of(*arguments))
    capsys.readouterr()
    plan_of(*arguments, "--drop-leaks", "--results", "clean")  # what the search put aside is trained on all the same
    assert len(Path("clean/data/train.jsonl").read_text().splitlines()) == 100
    assert "--drop-leaks leaves" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "other", "sentence"),
    [
        ("pairs", "labelled", r"pairs, triplets or NLI, and \S*other\.csv holds labelled texts; give --train a"),
        ("triplets", "texts", r"pairs, triplets or NLI, and \S*other\.csv holds texts alone"),
        ("scored", "pairs", r"pairs with scores, and \S*other\.csv holds pairs; "),
        ("labelled", "scored", r"labelled texts, and \S*other\.csv holds pairs with scores"),
        ("documents", "nli", r"texts alone, and \S*other\.csv holds premises and hypotheses"),
    ],
)
def test_a_recipe_refuses_data_of_another_kind_before_anything_is_written(
    kind: str, other: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of("--train", write(kind), *SMALL, "--results", "found")
    answered(plan, plan.base, monkeypatch)
    write(other, name="other.csv")
    before = {*Path().rglob("*")}
    with pytest.raises(UserError, match=f"^--recipe found trains on {sentence}"):
        plan_of("--recipe", "found", "--train", "other.csv")
    assert {*Path().rglob("*")} == before


def test_layouts_read_every_kind_of_data_of_their_form() -> None:
    assert contents_of("pairs") == contents_of("groups") == ("pairs", "triplets", "nli")
    assert (contents_of("texts"), contents_of("same_label")) == (("texts", "labelled"), ("labelled",))
    assert contents_of("rows") == (), "of no own data"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--recipe", "found", "--train", "mine.csv", *SMALL], "--recipe has its encoder and what"),
        (["--recipe", "found", "--train", "mine.csv", "--search", "optuna"], "--recipe trains one recipe and --search"),
        (["--recipe", "found", "--train", "mine.csv"], "--recipe found is neither a study's results nor a file"),
        ([*SMALL], "--encoder goes with --train"),
        (["--train", "mine.csv"], "--train needs an encoder to begin with"),
        ([*MINE, "--space", "scl_lambda"], "and --space names another"),
        ([*MINE, "--write-space", "s.py", "--dry-run"], "leave --dry-run"),
        (["--train", "mine.csv", "--encoder", "./nowhere"], "no encoder at './nowhere'"),
        (["--train", "none.csv", *SMALL], r"no such file or folder: 'none\.csv' in /"),
        (["--train", "none.csv", *SMALL, "--limit", "minute=60"], "did you mean 'minutes'"),
        ([*MINE, "scenes-small"], "is given twice"),
        ([*MINE, "--dev", "none.csv"], r"none\.csv does not exist"),
        (["--train", "few.csv", *SMALL], r"39 rows, too few to put some .*, which takes 40; give"),
        (["--train", "plain.csv", *SMALL], "less than 16 words without titles, which do not say what a good model is"),
        ([*MINE, "--labels", "neutral=x"], "--labels names the labels of"),
        ([*MINE, "--columns", "anchor=a,positive=b"], "no column 'a'"),
        ([*MINE, "--results", "s3://a/b"], "keeps the prepared data in"),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence(arguments: list[str], sentence: str) -> None:
    write("pairs"), write("pairs", 39, "few.csv"), write("texts", name="plain.csv")
    with pytest.raises(UserError, match=sentence):
        plan_of(*arguments)


def test_what_is_wrong_with_rows_put_aside_is_said_of_the_file_that_was_given() -> None:
    rows = [f"a dog eats {number},an animal eats {number},{int(not number)}" for number in range(100)]
    Path("mine.csv").write_text("\n".join(["sentence1,sentence2,score", *rows]))
    with pytest.raises(UserError, match=r"all scores in what is put aside of \S*mine\.csv are 0, which .*; give --dev"):
        plan_of(*MINE)
    Path("dev.csv").write_text("text,label\n" + "".join(f"one {number},{number % 2}\n" for number in range(20)))
    with pytest.raises(
        UserError, match=r"^what is put aside of \S*yours\.csv: label '(animals|things)' is none of 0, 1, nor"
    ):
        plan_of("--train", write("labelled", name="yours.csv"), *SMALL, "--dev", "dev.csv")


def test_two_files_of_one_content_are_refused_before_anything_runs() -> None:
    given = [f"first={write('scored', name='a.csv')}", f"second={write('scored', name='b.csv')}"]
    plan = plan_of("--train", write("pairs"), *SMALL, "--dev", given[0], "--test", given[1])
    with pytest.raises(UserError, match=r"b\.csv \(second\) has the same content as .*a\.csv \(second\); give files"):
        check_plan(plan)


@pytest.mark.slow
def test_pairs_train_a_model_that_is_judged_by_those_put_aside(tmp_path: Path) -> None:
    """Without Ray: the base settings and the original encoder, on built-in pairs."""
    nli = (scenes.ensure() / "nli" / "train.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in nli[:3000]]
    entailed = [f"{row['premise']}\t{row['hypothesis']}\n" for row in rows if row["label"] == "entailment"][:200]
    (tmp_path / "pairs.tsv").write_text("".join(["anchor\tpositive\n", *entailed]))
    plan = plan_of("--train", "pairs.tsv", *SMALL, "--set", "optimisation.epochs=5")
    (goal,) = plan.space.searched_goals
    trained, untrained = (plan.rows[label] for label in ("base settings", "original encoder"))
    scores = [run_trial(recipe, 0, plan.evaluation).scores for recipe in (trained, untrained)]
    chosen = [goal.of(numbers, {}) for numbers in scores]
    judged = [goal.test_of(numbers) for numbers in scores]
    assert chosen[0] > chosen[1] + 2  # points of nDCG@10
    assert judged[0] > judged[1] + 2
    mined = {"corpus.layout": "groups", "corpus.negatives_from": "mined", "objective.negatives": 2}
    result = run_trial(trained.preferring({**mined, "corpus.mined_skip": 5}), 0, plan.evaluation)
    assert result.data["corpus"]["mined_negatives"] > 0
    assert goal.of(result.scores, {}) > chosen[1] + 2
    explored = run_trial(untrained, 0, plan.exploring)
    assert goal.of(explored.scores, {}) == pytest.approx(chosen[1])
    assert goal.test_of(explored.scores) is None


@pytest.mark.parametrize("built_in", [True, False])
def test_finalists_are_checked_on_general_sentences_where_they_are_there(built_in: bool, tmp_path: Path) -> None:
    """Explored recipes are not; and nothing is said where neither SentEval's data nor built-in ones fit."""
    folder = Path("sts/downstream/STS/STSBenchmark")
    if not built_in:
        folder.mkdir(parents=True)
        rows = [f"main-news\theadlines\t2012\t{n}\t{n % 6}\ta {n} dog\ta {n} cat" for n in range(30)]
        (folder / "sts-test.csv").write_text("\n".join(rows) + "\n")
    senteval = [] if built_in else ["--senteval", "sts"]
    plan = plan_of("--train", write("pairs"), *SMALL, *senteval)
    check_plan(plan)
    assert plan.evaluation.tasks == ("heldout", GENERAL_TASK)
    assert plan.exploring.tasks == ("heldout",)
    assert list(plan.space.goals) == ["heldout"]
    lines = Path(TASKS[GENERAL_TASK].files[0]).read_text().splitlines()
    assert (len(lines) == 31) is not built_in
    assert list(TASKS[GENERAL_TASK].numbers) == [name for name in TASKS[GENERAL_TASK].numbers if "test" in name]


def test_labelled_texts_are_read_by_a_fit_to_all_labels_that_were_given() -> None:
    """Those to train on and those that are put aside, which alone choose; the labels of another task are not theirs."""
    test = write("labelled", 30, "mine_test.csv")
    Path("mood.csv").write_text("text,label\n" + "a film,good\na book,bad\n" * 4)
    plan = plan_of("--train", write("labelled"), *SMALL, "--test", test, "mood.csv")
    names = {name: [Path(file).name for file in TASKS[name].files] for name in plan.evaluation.tasks[:3]}
    assert names == {
        "heldout": ["train.jsonl", "heldout_dev.jsonl"],
        "mine": ["train.jsonl", "mine_test.csv"],
        "mood": ["mood.csv"],
    }
    alone = plan_of(*MINE, "--test", test, "--results", "alone")
    (goal,) = alone.space.searched_goals
    assert [*goal.test_weights] == [("mine", "test_accuracy")]
    task = TASKS["mine"]
    assert (task.kind, task.splits) == ("classes", ("train", "dev", "test"))
    assert [Path(file).name for file in task.files] == ["train.jsonl", "heldout_dev.jsonl", "mine_test.csv"]
    check_plan(alone)
