"""Every task, kind and layout against its contract; tasks of one's own, from a plugin file to a score."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainables.errors import UserError, answer_user_errors
from trainables.evaluation_config import EvaluationConfig
from trainables.senteval import (
    GROUPS,
    SentEvalResult,
    check_data,
    evaluate,
    logistic,
    projections,
    task_names,
)
from trainables.senteval.__main__ import main, table
from trainables.senteval.file_layouts import FILE_LAYOUTS, FileLayout
from trainables.senteval.items import Answers
from trainables.senteval.kinds import KINDS, TaskKind
from trainables.senteval.own_tasks import own_tasks as tasks_of_files
from trainables.senteval.ranking import CAPTIONS, FOLDS
from trainables.senteval.read_task import read_task
from trainables.senteval.tasks import TASKS, Task, groups
from trainables.testing.tasks import FileLayoutContract, TaskContract, TaskKindContract, bag_of_words
from trainables.trial.evaluation import describe_senteval

pytestmark = pytest.mark.xdist_group("whole")


@pytest.fixture(autouse=True)
def small_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retrieval keeps its contract in 50 dimensions as in 1000, in which `whole` is scored, and after four epochs as
    after twenty; classes where two penalties are tried, not five."""
    monkeypatch.setattr(projections, "_SPACE", 50)
    monkeypatch.setattr(projections, "_MAX_EPOCHS", 3)
    monkeypatch.setattr(logistic, "PENALTIES", logistic.PENALTIES[1::2])


SENTENCES = [
    *((f"the day was fine and warm in week {week}", "good", 4.0 + week / 20) for week in range(12)),
    *((f"it rained on us without an end in week {week}", "bad", 1.0 + week / 20) for week in range(12)),
]


def write_table(path: Path, pairs: bool = False, score: bool = False, skip: int = 0) -> str:
    """A table with every example but the first `skip` of each half; the format is the file's ending."""
    lines = []
    for number, (text, label, value) in enumerate(SENTENCES):
        if number % 12 >= skip:
            sides = {"sentence1": text, "sentence2": text.replace("in", "of")} if pairs else {"sentence": text}
            lines.append({**sides, **({"score": value} if score else {"label": label}), "id": number})
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*lines[0]], delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(lines)
    return str(path)


def own_tasks(folder: Path) -> list[Task]:
    """A task of every kind that a table can serve, over all formats."""
    single = [
        write_table(folder / f"{name}{suffix}", skip=skip)
        for skip, (name, suffix) in enumerate((("train", ".tsv"), ("dev", ".csv"), ("test", ".jsonl")))
    ]
    pairs = [write_table(folder / f"pairs-{skip}.jsonl", pairs=True, skip=skip) for skip in range(3)]
    scored = [write_table(folder / f"scores-{skip}.tsv", pairs=True, score=True, skip=skip) for skip in range(3)]
    return [
        Task("mine_nested", "nested_cv", "table", (single[0],)),
        Task("mine_kfold", "kfold", "table", (single[0], single[2]), labels=("bad", "good"), f1=True),
        Task("mine", "split", "table", tuple(single), groups=("own", "transfer")),
        Task("mine_pairs", "split", "table", tuple(pairs), both_embeddings=True),
        Task("mine_similarity", "similarity", "table", tuple(scored[:2]), groups=("own",)),
        Task("mine_relatedness", "relatedness", "table", tuple(scored)),
    ]


BUILT_IN = [f"scenes:{kind.name}" for kind in KINDS.values() if kind.scenes]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Task]]:
    tasks = [*own_tasks(tmp_path_factory.mktemp("own")), *tasks_of_files(BUILT_IN, BUILT_IN)]
    TASKS.add(*tasks)
    yield tasks
    for task in tasks:
        TASKS.remove(task.name)


class TestEveryTask(TaskContract):
    def test_it_is_scored_with_the_numbers_that_it_names(self, task: Task, whole: SentEvalResult) -> None:  # type: ignore[override]
        self.check_scores(task, whole)

    @pytest.fixture(params=list(TASKS))
    def task(self, request: pytest.FixtureRequest) -> Task:
        return TASKS[request.param]

    @pytest.fixture
    def data(self, corpus: Path) -> Path:
        return corpus


class TestOwnTasks(TaskContract):
    """What a stranger's test looks like."""

    @pytest.fixture(params=range(6 + len(BUILT_IN)))
    def task(self, own: list[Task], request: pytest.FixtureRequest) -> Task:
        return own[request.param]

    @pytest.fixture
    def data(self) -> Path:
        return Path("no/such/folder")  # files with absolute names need none


class TestEveryKind(TaskKindContract):
    """One task of each kind; of `kfold` the one with an F1."""

    @pytest.fixture(params=list(KINDS))
    def kind(self, request: pytest.FixtureRequest) -> TaskKind:
        return KINDS[request.param]

    @pytest.fixture
    def task(self, kind: TaskKind, own: list[Task]) -> Task:
        of_kind = [task for task in TASKS.values() if task.kind == kind.name]
        return max(of_kind, key=lambda task: task.f1)

    @pytest.fixture
    def data(self, corpus: Path) -> Path:
        return corpus

    def check_left_out(self, kind: TaskKind, task: Task, number: str, answers: Answers, effects: np.ndarray) -> None:
        """Of retrieval all captions of an image, and one image of each fold, since folds are of one size."""
        if kind.name != "retrieval":
            super().check_left_out(kind, task, number, answers, effects)
            return
        place = np.arange(len(effects)) % (len(effects) // FOLDS) // CAPTIONS
        moved, expected = [], []
        for image in range(place.max() + 1):
            kept = place != image
            more = {name: array[kept] for name, array in answers.further_arrays.items()}
            fewer = dataclasses.replace(
                answers, predicted=answers.predicted[kept], gold=answers.gold[kept], further_arrays=more
            )
            moved.append(kind.numbers(task, fewer, None)[number])
            expected.append(effects[~kept].sum())
        assert np.corrcoef(moved, expected)[0, 1] < -0.999


class TestEveryFileLayout(FileLayoutContract):
    @pytest.fixture(params=list(FILE_LAYOUTS))
    def layout(self, request: pytest.FixtureRequest) -> FileLayout:
        return FILE_LAYOUTS[request.param]

    @pytest.fixture
    def task(self, layout: FileLayout, own: list[Task]) -> Task:
        return next(task for task in TASKS.values() if task.layout == layout.name)

    @pytest.fixture
    def data(self, corpus: Path) -> Path:
        return corpus


class TestOwnGroups:
    def test_a_task_joins_a_group_or_makes_one(self, own: list[Task]) -> None:
        assert groups()["own"] == ("mine", "mine_similarity") == task_names(["own"])
        assert groups()["transfer"] == (*GROUPS["transfer"], "mine")
        assert "own" not in GROUPS, "papers' groups stay what they are"
        assert "mine" not in {*GROUPS["transfer"], *GROUPS["all"]}

    def test_they_stand_beside_the_others_in_one_evaluation(self, own: list[Task], corpus: Path) -> None:
        result = evaluate(bag_of_words, corpus, ["STS12", "own"], "fast")
        assert list(result.tasks) == ["STS12", "mine", "mine_similarity"]
        assert result.tasks["mine"]["test_accuracy"] == 100.0
        assert result.kept["parts.STS12"].tolist() == [
            len(s) for s in read_task(TASKS["STS12"], corpus).splits.values()
        ]
        assert result.kept["parts.mine_similarity"].tolist() == [24, 22]
        check_data(corpus, ["STS12", "own"])

    def test_items_stay_in_the_order_of_the_file(self, own: list[Task]) -> None:
        kept = evaluate(bag_of_words, "no/folder", ["mine", "mine_similarity"], "fast").kept
        good, bad = 1, 0  # in the order of the alphabet
        assert kept["gold.mine"].tolist() == [good] * 10 + [bad] * 10
        assert kept["gold.mine_similarity"][:24].tolist() == [value for _, _, value in SENTENCES]


def test_a_mistake_in_an_own_file_does_not_wait_until_a_model_is_trained(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(PAIR + "x\ty\tfive\n")
    TASKS.add(Task("broken", "similarity", "table", (str(tmp_path / "a.tsv"),)))
    with pytest.raises(UserError, match=r"a\.tsv, line 2: score 'five' is no finite number"):
        check_data(corpus, ["STS12", "broken"])


PLUGIN = """
from trainables.senteval.tasks import TASKS, Task

TASKS.add(
    Task("weather", "split", "table", ("days/train.tsv", "days/dev.csv", "days/test.jsonl"), groups=("sky",)),
    Task("alike", "similarity", "table", ({alike!r},), groups=("sky",)),
)
"""


@pytest.mark.slow
def test_a_plugin_adds_tasks_to_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for skip, name in enumerate(("train.tsv", "dev.csv", "test.jsonl")):
        write_table(tmp_path / "data" / "days" / name, skip=skip)
    plugin, wrong, out = (tmp_path / name for name in ("my_tasks.py", "wrong.py", "scores.json"))
    plugin.write_text(PLUGIN.format(alike=write_table(tmp_path / "elsewhere" / "alike.tsv", pairs=True, score=True)))
    options = ["--encoder", "scenes-small", "--data", str(tmp_path / "data"), "--protocol", "fast", "--quiet"]
    more = ["--plugin", str(plugin), "--tasks", "sky", "--json", str(out)]
    try:
        assert answer_user_errors(lambda: main([*options, *more])) == 0
    finally:
        for name in {"weather", "alike"} & {*TASKS}:
            TASKS.remove(name)
    written = json.loads(out.read_text())
    accuracy, spearman = written["tasks"]["weather"]["test_accuracy"], written["tasks"]["alike"]["spearman_wmean"]
    assert accuracy > 50
    assert written["means"] == {"sky": pytest.approx((accuracy + spearman) / 2)}
    assert "mean of sky" in capsys.readouterr().out

    wrong.write_text(
        'from trainables.senteval.tasks import TASKS, Task\nTASKS.add(Task("mine", "splits", "table", ()))'
    )
    assert answer_user_errors(lambda: main([*options, "--plugin", str(wrong), "--tasks", "mine"])) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"error: {wrong}, line 2: there is no kind of task 'splits'; did you mean 'split'? the ")
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"kind": "nested"}, "no kind of task 'nested'; did you mean 'nested_cv'"),
        ({"layout": "tables"}, "no layout of task files 'tables'; did you mean 'table'"),
        ({"files": ("a.tsv", "b.tsv")}, "takes 3 files, 1 for each of train, dev, test, not 2 files"),
        ({"files": ("a.tsv", "b.tsv", "a.tsv")}, "a file is named twice"),
        ({"kind": "similarity", "files": ()}, "takes 1 for each sub-corpus, not 0 files"),
        ({"layout": "probing"}, "takes one file, not 3 files"),
        ({"layout": "mrpc"}, "kind 'split' needs the splits train, dev, test; the layout 'mrpc' has train, test"),
        ({"layout": "coco"}, "kind 'split' needs classes; the layout 'coco' has images"),
        ({"kind": "retrieval"}, "kind 'retrieval' needs images; the layout 'table' has classes or scores or documents"),
        ({"metric": "test_f1"}, "metric 'test_f1' is none of the numbers of kind 'split': dev_accuracy, test_acc"),
        ({"kind": "relatedness", "f1": True}, "no F1 where the kind is 'relatedness'"),
        ({"name": "my task"}, "'my task' cannot name a task or a group"),
        ({"name": "gold.mine"}, "'gold.mine' cannot name a task or a group"),
        ({"name": "sts"}, "'sts' names a group of tasks"),
        ({"groups": ("a,b",)}, "'a,b' cannot name a task or a group"),
    ],
)
def test_what_does_not_fit_together_is_refused_when_it_is_added(arguments: dict, sentence: str) -> None:
    given = {"name": "mine", "kind": "split", "layout": "table", "files": ("a.tsv", "b.tsv", "c.tsv")} | arguments
    with pytest.raises(UserError) as refused:
        Task(**given)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


HEAD, PAIR = "sentence\tlabel\n", "sentence1\tsentence2\tscore\n"


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("a.tsv", "words\tlabel\nx\tgood\n", "a.tsv, line 2: no 'sentence'; the columns are words, label"),
        ("a.tsv", "sentence\tkind\nx\tgood\n", "a.tsv, line 2: no 'label'; the columns are"),
        ("a.tsv", HEAD + "x\tgood\ny\tgood\n", "all 2 examples for all in"),
        (
            "a.csv",
            'sentence,label\n"x\ny",good\nz,bad,1\n',
            "a.csv, line 4: 3 columns where the header has 2; a text or number with ',' in it stands",
        ),
        ("a.jsonl", '{"sentence": ["x"], "label": 0}\n', "a.jsonl, line 1: 'sentence' is ['x'], not text"),
        ("a.xml", "x good\n", "a.xml is no .jsonl, .json, .csv, .tsv, .txt, .parquet, "),
        ("a.tsv", PAIR + "x\ty\t1\nx\ty\tinf\n", "a.tsv, line 3: score 'inf' is no finite number"),
        ("a.tsv", "sentence\tscore\nx\t1\n", "must be a pair of sentences"),
    ],
)
def test_a_broken_table_is_one_sentence_with_file_and_line(
    tmp_path: Path, file: str, content: str, sentence: str
) -> None:
    """What no table may look like, `test_delimited.py` and `test_nli.py` have."""
    (tmp_path / file).write_text(content)
    with pytest.raises(UserError) as refused:
        read_task(Task("mine", "similarity" if "score" in content else "nested_cv", "table", (file,)), tmp_path)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_tables_of_one_task_must_agree(tmp_path: Path) -> None:
    files = ("train.tsv", "dev.tsv", "test.tsv")
    for file in files:
        (tmp_path / file).write_text(HEAD + "x\tgood\ny\tbad\n")
    (tmp_path / "dev.tsv").write_text(HEAD + "x\tfair\n")
    with pytest.raises(UserError, match=r"dev\.tsv, line 2: label 'fair' is none of bad, good"):
        read_task(Task("mine", "split", "table", files), tmp_path)
    (tmp_path / "dev.tsv").write_text("sentence1\tsentence2\tlabel\nx\ty\tgood\n")
    with pytest.raises(UserError, match=r"dev.tsv must be a sentence"):
        read_task(Task("mine", "split", "table", files), tmp_path)


def test_quotes_in_a_tsv_file_are_text(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(HEAD + '"Go!" she said\tgood\n"no\tbad\n')
    (tmp_path / "a.csv").write_text('label,sentence\ngood,"""Go!"" she\n said"\nbad,"""no"\n')
    for file in ("a.tsv", "a.csv"):
        split = read_task(Task("mine", "clustering", "table", (file,), parts=("test",)), tmp_path).splits["test"]
        assert split.left == ['"Go!" she said', '"no']
        assert split.labels.tolist() == [1, 0]


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".jsonl"])
def test_line_ends_of_every_system_and_blank_lines_before_the_first(tmp_path: Path, suffix: str) -> None:
    file = Path(write_table(tmp_path / f"a{suffix}"))
    task = Task("mine", "nested_cv", "table", (str(file),))
    whole, content = read_task(task, tmp_path).splits["all"], file.read_bytes().replace(b"\r\n", b"\n")
    for before, end in ((b"", b"\r"), (b"", b"\r\n"), (b"\n", b"\n"), (b" \r\n\r\n", b"\n")):
        file.write_bytes(before + content.replace(b"\n", end))
        again = read_task(task, tmp_path).splits["all"]
        assert again.left == whole.left
        assert again.labels.tolist() == whole.labels.tolist()


def test_a_second_sentence_that_only_the_first_line_lacks_is_not_dropped_from_all(tmp_path: Path) -> None:
    file = Path(write_table(tmp_path / "a.jsonl", pairs=True))
    first, *rest = file.read_text().splitlines()
    file.write_text("\n".join([first.replace("sentence2", "sentence_2"), *rest]))
    (part,) = read_task(Task("mine", "nested_cv", "table", (str(file),)), tmp_path).splits.values()
    assert part.right is not None
    assert len(part.right) == len(part) == len(rest)


def scaled(folder: Path, low: float, high: float, **more: Any) -> Task:
    """Relatedness of the same pairs on the scale from `low` to `high`, whose steps numbers of base two can write."""
    rng, files = np.random.RandomState(0), []
    words = [*"abcdefghijklmnop"]
    for part in ("train", "dev", "test"):
        lines = [PAIR.strip()]
        for step in [0, 16, *rng.randint(0, 17, size=60)]:
            left = rng.choice(words, 16)
            right = [word if place < step else rng.choice(words) for place, word in enumerate(left)]
            lines.append("\t".join((" ".join(left), " ".join(right), f"{low + (high - low) * int(step) / 16:g}")))
        files.append(folder / f"{part}-{low}-{high}.tsv")
        files[-1].write_text("\n".join(lines))
    return Task("mine_scaled", "relatedness", "table", tuple(map(str, files)), **more)


@pytest.mark.slow
def test_any_scale_of_relatedness_scores_as_its_map_to_1_to_5(tmp_path: Path) -> None:
    by_scale = {}
    for low, high in ((1, 5), (0, 1), (0, 5), (-1, 1), (0, 100)):
        TASKS.add(scaled(tmp_path, low, high))
        try:
            result = evaluate(bag_of_words, tmp_path, ["mine_scaled"], "fast")
            described = describe_senteval(EvaluationConfig(str(tmp_path), ("mine_scaled",)), result)
        finally:
            TASKS.remove("mine_scaled")
        assert described["scales of scores"] == {"mine_scaled": f"{low} to {high}"}
        assert result.scales == {"mine_scaled": (low, high)}
        assert f"scores from {low} to {high}" in table(result, {})
        by_scale[low, high] = {number: result.tasks["mine_scaled"][number] for number in KINDS["relatedness"].reported}
    as_sick = by_scale.pop((1, 5))
    assert as_sick["test_spearman_regressor"] > 30
    for scores in by_scale.values():
        assert scores == pytest.approx(as_sick, abs=1e-4)


def test_an_entry_may_say_its_scale(tmp_path: Path) -> None:
    task = scaled(tmp_path, 0, 1, scale=(0, 2))
    assert read_task(task, tmp_path).splits["train"].scale == (0, 1)
    with pytest.raises(UserError, match=r"-0-1.tsv, line 2: score 0 is not between 0.5 and 1"):
        read_task(dataclasses.replace(task, scale=(0.5, 1)), tmp_path)
    for wrong in ({"scale": (1, 1)}, {"scale": (0, 1), "kind": "similarity"}):
        with pytest.raises(UserError, match=r"scale=\(., 1\) must be the lowest and highest score of relatedness"):
            dataclasses.replace(task, **wrong)
    with pytest.raises(UserError, match=r"the scores in .*train-0.5-0.5.tsv go from 0.5 to 0.5, which is no scale"):
        read_task(scaled(tmp_path, 0.5, 0.5), tmp_path)


def test_f1_is_for_two_classes(tmp_path: Path) -> None:
    lines = "".join(f"word{i} {label}\t{label}\n" for i in range(8) for label in ("a", "b", "c"))
    for file in ("train.tsv", "test.tsv"):
        (tmp_path / file).write_text(HEAD + lines.replace("word", file[:2]))
    task = Task("three", "kfold", "table", ("train.tsv", "test.tsv"), f1=True)
    with pytest.raises(UserError, match="three: F1 is for two classes, not 3"):
        read_task(task, tmp_path)
