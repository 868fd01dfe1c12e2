"""Labels of one's own: read as scikit-learn reads them, from rows that neither encoder nor classifier has seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from trainables.errors import UserError
from trainables.senteval import check_data, evaluate, logistic
from trainables.senteval.evaluation import notes_on_left_out_rows
from trainables.senteval.examples import Split
from trainables.senteval.folds import SEED
from trainables.senteval.kinds import KINDS
from trainables.senteval.kinds.contract import TRAIN_DEV_TEST
from trainables.senteval.logistic import (
    FOLDS,
    NEIGHBOUR_COUNT,
    PENALTIES,
    best_penalty,
    predict_classes,
    predict_in_folds,
)
from trainables.senteval.own_tasks import own_tasks, with_training_file
from trainables.senteval.read_task import read_task
from trainables.senteval.tasks import TASKS, Task
from trainables.testing.tasks import bag_of_words

WORDS = {"animals": ("dog", "cat", "cow", "horse", "goose"), "things": ("car", "box", "pen", "hammer", "lamp")}


def blobs(rows: int, classes: int, dim: int = 24, apart: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes of uneven sizes, with dimensions of very different scales and one that is constant."""
    random = np.random.default_rng(rows + classes)
    labels = random.integers(0, classes, rows) * random.integers(0, 2, rows)
    features = random.normal(size=(classes, dim))[labels] * apart + random.normal(size=(rows, dim)) * 2
    features = features * np.exp(random.normal(size=dim) * 2) + 5
    features[:, 3] = 7.0
    return features.astype(np.float32), labels


@pytest.mark.parametrize(("rows", "classes"), [(60, 2), (540, 6)])
def test_the_regression_is_scikit_learns_fitted_to_its_end(rows: int, classes: int) -> None:
    features, labels = blobs(rows + 4_000, classes)
    predicted = predict_classes(features[:rows], labels[:rows], features[rows:])
    whole = [
        make_pipeline(StandardScaler(), LogisticRegression(C=penalty / 23, tol=1e-8, max_iter=100_000))
        for penalty in PENALTIES
    ]
    fit = whole[PENALTIES.index(best_penalty(features[:rows].astype(float), labels[:rows]))]
    theirs = fit.fit(features[:rows].astype(float), labels[:rows]).predict(features[rows:].astype(float))
    assert (predicted.by_regression == labels[rows:]).mean() == pytest.approx(
        (theirs == labels[rows:]).mean(), abs=1e-3
    )
    assert (predicted.by_regression == theirs).mean() > 0.997


@pytest.mark.parametrize("apart", [0.3, 3.0])
def test_the_penalty_is_the_one_that_scikit_learns_folds_choose(apart: float) -> None:
    features, labels = blobs(500, 3, apart=apart)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    fits = [
        make_pipeline(StandardScaler(), LogisticRegression(C=penalty / 23, max_iter=10_000)) for penalty in PENALTIES
    ]
    means = [cross_val_score(fit, features.astype(float), labels, cv=folds).mean() for fit in fits]
    assert means[PENALTIES.index(best_penalty(features.astype(float), labels))] == pytest.approx(max(means), abs=2e-3)


def test_neighbours_are_the_nearest_by_cosine() -> None:
    features, labels = blobs(300, 4)
    theirs = KNeighborsClassifier(NEIGHBOUR_COUNT, metric="cosine").fit(features[:200], labels[:200])
    near = theirs.kneighbors(features[200:], return_distance=False)
    nearest = predict_classes(features[:200], labels[:200], features[200:]).by_neighbours
    assert all(label in labels[rows] for label, rows in zip(nearest, near, strict=True))
    same = theirs.predict(features[200:]) == nearest  # but for votes that are nearly even, which distances decide
    assert same.mean() > 0.8


def test_rows_of_a_group_are_never_read_by_each_other() -> None:
    """Each group has a row of each label, and nothing else tells: divided groups would say which label is missing."""
    random = np.random.default_rng(0)
    groups, labels = np.repeat(np.arange(150), 3), np.tile(np.arange(3), 150)
    features = random.normal(size=(150, 40))[groups] + random.normal(size=(450, 40)) / 50
    divided, whole = (predict_in_folds(features, labels, each) for each in (None, groups))
    for reader in ("by_regression", "by_neighbours"):
        assert (getattr(divided, reader) == labels).mean() < 0.15
        assert (getattr(whole, reader) == labels).mean() == pytest.approx(1 / 3, abs=0.08)
    assert (predict_in_folds(features, labels, groups * 0).by_regression == labels).mean() < 0.15


@pytest.mark.filterwarnings("error")
def test_a_label_of_two_rows_is_read_in_groups_without_a_warning() -> None:
    labels, groups = np.array([0] * 20 + [1] * 20 + [2] * 2), np.arange(42) // 2
    features = np.random.default_rng(0).normal(size=(42, 5)) + labels[:, None] * 4
    assert (predict_in_folds(features, labels, groups).by_regression[:40] == labels[:40]).mean() > 0.9


def test_equal_texts_and_pairs_that_share_a_text_are_one_draw() -> None:
    texts = Split(["a", "b", "a", "c"], None, np.zeros(4))
    assert KINDS["classes"].groups([texts]).tolist() == [0, 1, 0, 2]
    assert KINDS["classes"].groups([texts, texts]).tolist() == [0, 1, 0, 2] * 2
    assert KINDS["classes"].groups([texts.select(np.array([0, 1, 3]))]) is None
    pairs = Split(["a", "b", "d"], ["x", "a", "y"], np.zeros(3))
    assert KINDS["classes"].groups([pairs]).tolist() == [0, 0, 1]


def test_embeddings_that_are_all_the_same_and_one_label_alone_are_no_error() -> None:
    same = np.ones((12, 3))
    assert {*predict_in_folds(same, np.arange(12) % 2).by_regression.tolist()} <= {0, 1}
    assert predict_classes(same, np.full(12, 4), same[:2]).by_regression.tolist() == [4, 4]
    assert predict_in_folds(np.eye(3), np.array([0, 0, 1])).by_regression.shape == (3,)


def write(file: Path, start: int, rows: int) -> str:
    lines = [
        f"a {words[(start + row) % 5]} number{start + row},{label}"
        for row in range(rows)
        for label, words in WORDS.items()
    ]
    file.write_text("\n".join(["text,label", *lines]) + "\n")
    return str(file)


def task_of(folder: Path, *parts: str) -> Task:
    files = {part: write(folder / f"{part}.csv", 100 * place, 30) for place, part in enumerate(TRAIN_DEV_TEST)}
    (task,) = own_tasks([files["dev"]] * ("dev" in parts), [files["test"]] * ("test" in parts))
    return with_training_file(task, Path(files["train"]), [*WORDS]) if "train" in parts else task


@pytest.mark.parametrize(
    ("parts", "numbers"),
    [
        (("train", "dev", "test"), ["dev_accuracy", "dev_knn_accuracy", "test_accuracy", "test_knn_accuracy"]),
        (("train", "dev"), ["dev_accuracy", "dev_knn_accuracy"]),
        (("dev", "test"), ["dev_accuracy", "dev_knn_accuracy", "test_accuracy", "test_knn_accuracy"]),
        (("train", "test"), ["test_accuracy", "test_knn_accuracy"]),
        (("test",), ["test_accuracy", "test_knn_accuracy"]),
    ],
)
def test_whatever_parts_there_are(parts: Sequence[str], numbers: list[str], tmp_path: Path) -> None:
    task = task_of(tmp_path, *parts)
    TASKS.add(task)
    check_data(tmp_path, [task.name])
    assert task.splits == parts
    scores = evaluate(bag_of_words, tmp_path, [task.name])
    values = scores.tasks[task.name]
    assert [*values] == [*numbers, "examples", "seconds"]
    assert all((values[number] or 0) > 80 for number in numbers)
    assert {answers.split for answers in scores.answers.values()} == {*parts} - {"train"}
    if "dev" in parts:
        alone = evaluate(bag_of_words, tmp_path, [task.name], parts="development").tasks[task.name]
        assert [*alone] == ["dev_accuracy", "dev_knn_accuracy", "examples", "seconds"]
        assert all(alone[number] == values[number] for number in numbers[:2])
    else:
        with pytest.raises(UserError, match="has no development part"):
            evaluate(bag_of_words, tmp_path, [task.name], parts="development")


@pytest.mark.parametrize("columns", ["text,label", "sentence1,sentence2,class"])
def test_how_long_embeddings_are_changes_no_score(columns: str, tmp_path: Path) -> None:
    """As with a model's own last Normalize, which export writes again."""
    random = np.random.default_rng(0)
    texts = {text: random.normal(size=12) + (number % 3) for number, text in enumerate(f"text {n}" for n in range(400))}
    rows = [f"{text},c{number % 3}" for number, text in enumerate(texts)]
    if "sentence1" in columns:
        rows = [f"{text},text {399 - number},c{number % 3}" for number, text in enumerate(texts)]
    for part, lines in (("train", rows[:150]), ("test", rows[150:])):
        (tmp_path / f"{part}.csv").write_text("\n".join([columns, *lines]) + "\n")
    (task,) = own_tasks([], [str(tmp_path / "test.csv")])
    TASKS.add(task := with_training_file(task, tmp_path / "train.csv", ["c0", "c1", "c2"]))
    scores = []
    for lengths in (np.ones(400), np.exp(random.normal(size=400) * 2)):
        scaled = {text: row * length for (text, row), length in zip(texts.items(), lengths, strict=True)}
        result = evaluate(lambda texts: np.stack([scaled[text] for text in texts]), tmp_path, [task.name])  # noqa: B023
        scores.append([result.tasks[task.name][number] for number in task.numbers])
    assert scores[0] == pytest.approx(scores[1], abs=0.41)  # a row in 250, by rounding
    assert 55 < scores[0][0] < 99


def test_an_encoder_that_knows_its_training_rows_by_heart_gains_nothing_by_it(tmp_path: Path) -> None:
    """Neither on the development part nor on the tests, which it has not seen."""
    task = task_of(tmp_path, "train", "dev", "test")
    TASKS.add(task)
    known = {line.partition(",")[0]: line.rpartition(",")[2] for line in Path(task.files[0]).read_text().splitlines()}
    random = np.random.default_rng(0)

    def encode(texts: Sequence[str]) -> np.ndarray:
        learned = [{"animals": 9.0, "things": -9.0}.get(known.get(text, ""), 0.0) for text in texts]
        return np.column_stack([learned, random.normal(size=(len(texts), 4))])

    numbers = evaluate(encode, tmp_path, [task.name]).tasks[task.name]
    assert all(20 < (numbers[f"{part}_accuracy"] or 0) < 80 for part in ("dev", "test"))


def test_labels_of_another_task_are_not_fitted_to(tmp_path: Path) -> None:
    task = task_of(tmp_path, "dev", "test")
    assert with_training_file(task, tmp_path / "train.csv", ["good", "bad"]) is task
    assert with_training_file(task, tmp_path / "train.csv", ["things", "bad"]).splits == ("train", "dev", "test")
    (tmp_path / "pairs.csv").write_text("premise,hypothesis,label\na,b,animals\na,c,things\nb,c,things\n")
    (pairs,) = own_tasks([], [str(tmp_path / "pairs.csv")])
    assert with_training_file(pairs, tmp_path / "train.csv", [*WORDS]) is pairs


def test_examples_of_labels_that_nothing_is_fitted_to_are_left_out_while_they_are_few(tmp_path: Path) -> None:
    task = task_of(tmp_path, "train", "dev", "test")
    whole = read_task(task, tmp_path).splits["test"]
    with open(task.files[2], "a") as file:
        file.write("a stone,minerals\nan oak,plants\na rock,minerals\n")
    data = read_task(task, tmp_path)
    assert data.splits["test"].left == whole.left
    (note,) = data.left_out
    assert note.startswith(f"3 of 63 rows in {task.files[2]} have labels that nothing is fitted to (minerals, plants)")
    with open(task.files[2], "a") as file:
        file.write("a stone,minerals\n" * 57)
    TASKS.add(task)
    with pytest.raises(UserError, match=r"test.csv, line 62: label 'minerals' is none of animals, things"):
        check_data(tmp_path, [task.name])


def test_of_many_labelled_rows_a_draw_is_fitted_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logistic, "MAX_FITTED_ROWS", 40)
    task = task_of(tmp_path, "train", "dev", "test")
    TASKS.add(task)
    note = f"task {task.name}: 40 of 60 labelled rows ({{}}), drawn by chance, stand for all"
    assert notes_on_left_out_rows(tmp_path, [task.name]) == [note.format("train"), note.format("dev")]
    assert evaluate(bag_of_words, tmp_path, [task.name]).tasks[task.name]["examples"] == [40, 60]
