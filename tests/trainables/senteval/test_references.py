"""Numbers of the kinds of tasks for files of one's own, against the plainest way to reckon them, and against others."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import average_precision_score, f1_score, v_measure_score

from trainables.senteval import ranking
from trainables.senteval.embedded import Embedded
from trainables.senteval.examples import JudgedDocuments, Split, TaskData
from trainables.senteval.items import Answers
from trainables.senteval.kinds import KINDS
from trainables.senteval.kinds.clustering import Clustering
from trainables.senteval.kinds.labelled_pairs import MATCHED
from trainables.senteval.protocol import PROTOCOLS
from trainables.senteval.ranking import (
    MAP,
    MRR,
    NDCG,
    RECALL,
    STEPS,
    average_precision,
    best_threshold,
    measures,
    nearest,
)
from trainables.senteval.tasks import Task

SEEDS = range(8)


@pytest.mark.parametrize("seed", SEEDS)
def test_average_precision(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 40))
    predicted = random.integers(0, random.integers(1, 12), count) / 8  # many ties, and sometimes nothing else
    gold = random.permutation(np.arange(count) < random.integers(1, count + 1)).astype(int)
    ours = average_precision(predicted, gold)
    assert ours == pytest.approx(average_precision_score(gold, predicted), abs=1e-12)
    tried = [f1_score(gold, predicted >= at) for at in predicted]
    assert f1_score(gold, predicted >= best_threshold(predicted, gold)) == pytest.approx(max(tried))


def test_average_precision_without_a_positive() -> None:
    assert average_precision(np.array([0.5, 0.1]), np.array([0, 0])) == 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_v_measure(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 40))
    gold, clusters = (random.integers(0, random.integers(1, 6), count) for _ in range(2))
    value = Clustering().measure("v_measure", Answers(clusters, gold))
    assert value == pytest.approx(v_measure_score(gold, clusters), abs=1e-9)


Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]


def searched(seed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Run, Qrels, dict[str, dict[str, float]]]:
    """Queries among documents of which many are equally near; some queries are documents, too, some documents that were
    judged are not there, and some queries have none that is relevant. What the search finds in blocks of any size."""
    random = np.random.default_rng(seed)
    queries, documents = int(random.integers(1, 7)), int(random.integers(1, 260))
    rows = torch.from_numpy(random.integers(-1, 2, (queries + documents, random.integers(1, 4))).astype(np.float32))
    names = sorted((f"d{random.integers(1000)}é{number}" for number in range(documents)), key=str.encode, reverse=True)
    own = random.integers(-1, documents, queries)
    judged = [
        {int(place): int(random.integers(-1, 4)) for place in random.integers(-2, documents, random.integers(1, 9))}
        for _ in range(queries)
    ]
    monkeypatch.setattr(ranking, "QUERIES_AT_ONCE", int(random.integers(1, 5)))
    monkeypatch.setattr(ranking, "DOCUMENTS_AT_ONCE", int(random.integers(1, 80)))
    ranked = nearest(rows, torch.arange(queries), torch.arange(queries, len(rows)), torch.from_numpy(own))

    unit = rows.double() / rows.double().norm(dim=1, keepdim=True).clamp(min=1e-12)
    cosines = ((unit[:queries] @ unit[queries:].T) * STEPS).round() / STEPS
    run = {
        f"q{query}": {names[place]: float(cosines[query, place]) for place in range(documents) if place != own[query]}
        for query in range(queries)
    }
    qrels = {
        f"q{query}": {names[place] if place >= 0 else f"gone{place}": grade for place, grade in grades.items()}
        for query, grades in enumerate(judged)
    }
    ours = {
        f"q{query}": measures([place for place in ranked[query].tolist() if place >= 0], judged[query])
        for query in range(queries)
    }
    return run, qrels, ours


@pytest.mark.parametrize("seed", SEEDS)
def test_search_as_pytrec_eval(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytrec = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    run, qrels, ours = searched(seed, monkeypatch)
    runs = {query: ranked for query, ranked in run.items() if ranked}  # it takes no query that finds nothing
    first = {query: sorted(ranked, key=lambda name: (ranked[name], name))[-10:] for query, ranked in runs.items()}
    cut = {query: {name: run[query][name] for name in names} for query, names in first.items()}
    theirs = pytrec.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map", "recall.100"}).evaluate(runs)
    ranks = pytrec.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(cut)
    for query in runs:
        expected = theirs[query] | ranks[query]
        names = {NDCG: "ndcg_cut_10", MRR: "recip_rank", MAP: "map", RECALL: "recall_100"}
        assert ours[query] == pytest.approx({name: expected[theirs] for name, theirs in names.items()}, abs=1e-6)
    assert not any(value for query in run.keys() - runs.keys() for value in ours[query].values())


def test_no_more_than_the_depth_is_found_and_the_best_of_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "DOCUMENTS_AT_ONCE", 7)
    angles = torch.linspace(0, 3, 100, dtype=torch.float64)
    order = torch.from_numpy(np.random.default_rng(0).permutation(100))
    rows = torch.stack([angles.cos(), angles.sin()], dim=1).float()
    ranked = nearest(rows, torch.tensor([0]), order, torch.tensor([-1]), most=5)
    assert order[ranked[0]].tolist() == [0, 1, 2, 3, 4]
    assert nearest(rows, torch.tensor([0]), order[:3], torch.tensor([1]), most=5)[0].tolist().count(-1) == 1


def embedded(
    kind: str, splits: Mapping[str, Split], vectors: Mapping[str, Sequence[float]], classes: int = 0
) -> Embedded:
    """A task whose texts have these vectors."""
    files = tuple(f"{name}.tsv" for name in splits)
    task = Task("mine", kind, "table", files, parts=tuple(splits) if len(splits) == 1 else ())
    places = {text: place for place, text in enumerate(vectors)}
    return Embedded(
        task,
        TaskData(splits, classes),
        torch.tensor([*vectors.values()], dtype=torch.float32),
        lambda texts: torch.tensor([places[text] for text in texts], dtype=torch.long),
    )


def numbers(given: Embedded) -> dict[str, float | None]:
    kind = KINDS[given.task.kind]
    values: dict[str, float | None] = {}
    for answers in kind.score(given, PROTOCOLS["fast"], 0).answers:
        values |= kind.numbers(given.task, answers, None)
    return values


def angle(degrees: float, length: float = 1.0) -> list[float]:
    return [length * math.cos(math.radians(degrees)), length * math.sin(math.radians(degrees))]


def judged(queries: Sequence[str], grades: Sequence[Mapping[str, int]]) -> Split:
    texts = list(dict.fromkeys(text for graded in grades for text in graded))
    documents = JudgedDocuments(
        texts,
        [{texts.index(text): grade for text, grade in graded.items()} for graded in grades],
        np.full(len(queries), -1),
    )
    return Split([*queries], None, documents.relevant, documents=documents)


def test_triplets_by_hand() -> None:
    """Lengths do not matter, and of two that are equally near the negative wins."""
    vectors = {"a": angle(0), "near": angle(10, 5), "far": angle(40, 0.1), "as near": angle(-10)}
    grades = [{"near": 1, "far": 0}, {"far": 1, "near": 0}, {"near": 1, "as near": 0}, {"far": 0, "as near": 1}]
    given = embedded("triplets", {"test": judged("aaaa", grades)}, vectors)
    assert numbers(given) == {"test_accuracy": 50.0, "test_ndcg@10": 100.0}  # all three are right for the one anchor
    assert KINDS["triplets"].groups([given.data.splits["test"]]).tolist() == [0, 0, 0, 0]


def test_triplets_are_checked_by_a_search_among_all_their_texts() -> None:
    """The positive of `a` is the second of three texts, that of `b` the first."""
    vectors = {"a": angle(0), "near": angle(10), "far": angle(40), "b": angle(95), "off": angle(90)}
    given = embedded("triplets", {"test": judged("ab", [{"far": 1, "off": 0}, {"off": 1, "near": 0}])}, vectors)
    assert numbers(given) == {"test_accuracy": 100.0, "test_ndcg@10": pytest.approx(50 * (1 + 1 / np.log2(3)))}


def drawn(random: np.random.Generator, names: Sequence[str]) -> dict[str, list[float]]:
    """Vectors of few directions and of several lengths, zero among them: many are equally near to any other, and to the
    last digit, as lengths are whole numbers times powers of two."""
    directions = np.array([(0, 0), (1, 0), (0, 1), (-1, 0), (3, 4), (4, 3), (-3, 4)])
    return {name: (random.choice(directions) * 2.0 ** random.integers(-2, 3)).tolist() for name in names}


def cosine_of(first: Sequence[float], other: Sequence[float]) -> float:
    """Equal ones are equal, whatever rounding does."""
    lengths = math.hypot(*first) * math.hypot(*other)
    return round(math.fsum(a * b for a, b in zip(first, other, strict=True)) / lengths, 6) if lengths else 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_reranking_as_pytrec_eval(seed: int) -> None:
    """Of texts that are equally near the less relevant ones are given the names that trec_eval puts first. Some
    queries have no relevant text, and some a single text."""
    pytrec = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    random = np.random.default_rng(seed)
    texts = [f"t{number}" for number in range(random.integers(1, 40))]
    queries = [f"q{number}" for number in range(1 if seed % 5 == 0 else int(random.integers(2, 9)))]
    vectors = drawn(random, [*queries, *texts])
    grades = [
        {texts[place]: int(random.integers(0, 3)) for place in random.permutation(len(texts))[: random.integers(1, 40)]}
        for _ in queries
    ]
    grades[-1] = dict.fromkeys(grades[-1], 0)
    called = [{text: f"{9 - grade}{text}" for text, grade in graded.items()} for graded in grades]
    runs = {
        query: {names[text]: cosine_of(vectors[query], vectors[text]) for text in names}
        for query, names in zip(queries, called, strict=True)
    }
    qrels = {
        query: {names[text]: grade for text, grade in graded.items()}
        for query, names, graded in zip(queries, called, grades, strict=True)
    }
    first = {query: dict(sorted(run.items(), key=lambda pair: pair[::-1])[-10:]) for query, run in runs.items()}
    theirs = pytrec.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map"}).evaluate(runs)
    ranks = pytrec.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(first)
    expected = {
        "test_map": np.mean([100 * theirs[query]["map"] for query in queries]),
        "test_ndcg@10": np.mean([100 * theirs[query]["ndcg_cut_10"] for query in queries]),
        "test_mrr@10": np.mean([100 * ranks[query]["recip_rank"] for query in queries]),
    }
    scores = numbers(embedded("reranking", {"test": judged(queries, grades)}, vectors))
    assert scores == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_scored_pairs_as_scipy(seed: int) -> None:
    """A single pair, and sides that are constant, have no correlation, which counts as 0."""
    random = np.random.default_rng(seed)
    names = [f"t{number}" for number in range(random.integers(2, 12))]
    vectors, count = drawn(random, names), 1 if seed % 5 == 0 else int(random.integers(2, 60))
    left, right = ([names[place] for place in random.integers(0, len(names), count)] for _ in range(2))
    gold = random.integers(0, random.integers(1, 6), count) / 2
    near = [cosine_of(vectors[a], vectors[b]) for a, b in zip(left, right, strict=True)]
    none = len({*near}) < 2 or len({*gold}) < 2
    scores = numbers(embedded("scored_pairs", {"test": Split(left, right, gold)}, vectors))
    assert scores == {
        "test_spearman": pytest.approx(0 if none else 100 * spearmanr(near, gold).statistic, abs=1e-6),
        "test_pearson": pytest.approx(0 if none else 100 * pearsonr(near, gold).statistic, abs=1e-3),
    }


def test_the_development_part_chooses_the_threshold_of_f1() -> None:
    vectors = {"x": angle(0)} | {f"{degrees}": angle(degrees) for degrees in (10, 20, 30, 40, 50, 60)}

    def pairs(labels: Mapping[str, int]) -> Split:
        return Split(["x"] * len(labels), [*labels], np.array([*labels.values()]))

    dev = pairs({"10": 1, "20": 1, "40": 0, "50": 0})  # between 20 and 40 degrees
    test = pairs({"10": 0, "20": 1, "30": 1, "50": 1, "60": 0})
    whole = embedded("labelled_pairs", {"dev": dev, "test": test}, vectors, classes=2)
    answers = KINDS["labelled_pairs"].score(whole, PROTOCOLS["fast"], 0).answers[1]
    assert answers.further_arrays[MATCHED].tolist() == [1, 1, 1, 0, 0]
    ap, f1 = 100 * (1 / 2 + 2 / 3 + 3 / 4) / 3, 100 * 2 / 3
    assert numbers(whole) == {"dev_ap": 100.0, "test_ap": pytest.approx(ap), "test_f1": pytest.approx(f1)}
    assert whole.task.numbers == ("dev_ap", "test_ap", "test_f1")
    alone = embedded("labelled_pairs", {"test": test}, vectors, classes=2)
    assert [*numbers(alone)] == ["test_ap"] == [*alone.task.numbers]


def test_clusters_that_lie_apart_are_found() -> None:
    """Whatever the lengths."""
    vectors = {f"{group}{number}": angle(group * 90 + number, 9**number) for group in range(3) for number in range(5)}
    split = Split([*vectors], None, np.repeat(np.arange(3), 5))
    assert numbers(embedded("clustering", {"test": split}, vectors, classes=3)) == {"test_v_measure": 100.0}


A_MILLION = """
import resource
import torch
from trainables.senteval.ranking import nearest

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10

torch.set_num_threads(1)
documents, queries = 1_000_000, 300
rows = torch.randn((documents + queries, 8), generator=torch.Generator().manual_seed(0))
places = torch.arange(documents)
nearest(rows, places[:3], places[:100], torch.full((3,), -1))
before = peak()
found = nearest(rows, torch.arange(documents, documents + queries), places, torch.full((queries,), -1))
cosines = torch.nn.functional.cosine_similarity(rows[documents].double(), rows[:documents].double())
assert found.shape == (queries, 1000) and (cosines[found[0]].diff() <= 1e-7).all()
assert cosines[found[0, -1]] >= cosines.sort(descending=True).values[999] - 1e-7
print(peak() - before)
"""


@pytest.mark.slow
def test_a_million_documents_are_searched_in_little_memory() -> None:
    """All cosines would take 2.4 GB."""
    ended = subprocess.run([sys.executable, "-c", A_MILLION], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert float(ended.stdout) < 400, "MiB"
