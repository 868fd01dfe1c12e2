"""The one rule of docs/own_data.md on rows that cannot be used, over all kinds and parts of a person's files: what
lacks something is left out and counted; what is there and cannot be what it should be is refused."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from trainables.corpora.own.held_out import prepare
from trainables.corpora.own.training_files import training_files
from trainables.errors import UserError
from trainables.senteval.own_tasks import own_tasks
from trainables.senteval.read_task import read_task

Row = dict[str, Any]
ROWS: dict[str, list[Row]] = {
    "pairs": [{"anchor": f"a {n}", "positive": f"b {n}"} for n in range(9)],
    "triplets": [{"anchor": f"a {n}", "positive": f"b {n}", "negative": f"c {n}"} for n in range(9)],
    "reranking": [{"query": f"a {n}", "pos": [f"b {n}"], "neg": [f"c {n}", f"d {n}"]} for n in range(9)],
    "scored": [{"sentence1": f"a {n}", "sentence2": f"b {n}", "score": n} for n in range(9)],
    "nli": [
        {"premise": f"a {n}", "hypothesis": f"b {n}", "label": ["entailment", "neutral", "contradiction"][n % 3]}
        for n in range(9)
    ],
    "duplicates": [{"question1": f"a {n}", "question2": f"b {n}", "is_duplicate": n % 2} for n in range(9)],
    "labelled": [{"text": f"a {n}", "label": "xyz"[n % 3]} for n in range(9)],
    "clusters": [{"sentence": f"a {n}", "cluster": "xyz"[n % 3]} for n in range(9)],
}
JUDGED = ("score", "label", "is_duplicate", "cluster")
NOTHING: tuple[Any, ...] = (None, "", " \t", float("nan"), ...)
"""As a cell; the last stands for a key that is not there."""
WRONG: dict[str, Any] = {"score": "high", "label": ["x", "y"], "is_duplicate": {"a": 1}, "cluster": ["x"]}
OPTIONAL = {("train", "negative"), ("train", "neg")}
"""A triplet without a negative is a pair to train on, and no test."""


def write(file: Path, rows: list[Row]) -> str:
    kept = ({name: cell for name, cell in row.items() if cell is not ...} for row in rows)
    file.write_text("".join(json.dumps(row) + "\n" for row in kept))
    return str(file)


def read(part: str, file: str) -> tuple[int, int]:
    """How many rows are used, and how many are counted as left out."""
    if part == "train":
        left_out: Counter[str] = Counter()
        return len([*training_files([file]).rows(left_out)]), left_out.total()
    (task,) = own_tasks(*([file] if part == name else [] for name in ("dev", "test")))
    data = read_task(task, Path())
    (split,) = data.splits.values()
    return len(split), sum(int(sentence.split()[0]) for sentence in data.left_out)


CELLS = [(part, kind, name) for part in ("train", "dev", "test") for kind, rows in ROWS.items() for name in rows[0]]


@pytest.mark.parametrize("nothing", NOTHING)
@pytest.mark.parametrize(("part", "kind", "name"), CELLS)
def test_a_row_that_lacks_something_is_left_out_and_counted(
    part: str, kind: str, name: str, nothing: object, tmp_path: Path
) -> None:
    rows = ROWS[kind]
    lacking = {**rows[0], name: [nothing] if isinstance(rows[0][name], list) and nothing is not ... else nothing}
    used = 10 if (part, name) in OPTIONAL else 9
    assert read(part, write(tmp_path / "mine.jsonl", [*rows, lacking])) == (used, 10 - used)
    if used == 9 and nothing is not ...:
        file = write(tmp_path / "mine.jsonl", [lacking] * 3)
        with pytest.raises(UserError, match=r"with no |have no |holds no") as caught:
            prepare(training_files([file]), tmp_path / "data") if part == "train" else read(part, file)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("part", "kind", "name"), CELLS)
def test_a_value_that_is_there_and_wrong_is_refused_with_its_line(
    part: str, kind: str, name: str, tmp_path: Path
) -> None:
    rows = ROWS[kind]
    wrong = WRONG[name] if name in JUDGED else 5
    file = write(tmp_path / "mine.jsonl", [*rows, {**rows[0], name: wrong}])
    with pytest.raises(UserError, match=r"mine.jsonl, line 10: "):
        read(part, file)


QUERIES = [{"_id": f"q{n}", "text": f"a {n}"} for n in range(3)]
CORPUS = [{"_id": f"d{n}", "title": "", "text": f"b {n}"} for n in range(3)]
QRELS = [f"q{n}\td{n}\t1" for n in range(3)]
BENCHMARK: dict[str, tuple[list[Row], list[Row], list[str], str]] = {
    "an empty query": ([*QUERIES, {"_id": "q9", "text": " "}], CORPUS, QRELS, "1 queries in .* have no text"),
    "a query without a text": ([*QUERIES, {"_id": "q9"}], CORPUS, QRELS, "1 queries in .* have no text"),
    "an empty document": (QUERIES, [*CORPUS, {"_id": "d9", "text": ""}], QRELS, "1 documents in .* have no text"),
    "a null document": (QUERIES, [*CORPUS, {"_id": "d9", "text": None}], QRELS, "1 documents in .* have no text"),
    "a query that is absent": (QUERIES, CORPUS, [*QRELS, "q9\td1\t1"], "1 lines of .* name queries that are not in"),
    "a document that is absent": (QUERIES, CORPUS, [*QRELS, "q1\td9\t1"], "1 documents in .* are not in"),
    "an empty grade": (QUERIES, CORPUS, [*QRELS, "q1\td2\t"], "1 lines of .* have no score"),
    "a query that is not asked": (
        [*QUERIES, {"_id": "q9", "text": "x"}],
        CORPUS,
        QRELS,
        "1 of 4 queries in",
    ),
    "nothing relevant": (QUERIES, CORPUS, [*QRELS[:2], "q2\td1\t0"], "1 of 3 queries in .* have no relevant document"),
}


def benchmark(folder: Path, queries: list[Row], corpus: list[Row], qrels: list[str]) -> Path:
    (folder / "qrels").mkdir(parents=True)
    write(folder / "queries.jsonl", queries), write(folder / "corpus.jsonl", corpus)
    for part in ("dev", "test"):
        (folder / "qrels" / f"{part}.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(qrels) + "\n")
    return folder


@pytest.mark.parametrize("part", ["dev", "test"])
@pytest.mark.parametrize("case", BENCHMARK)
def test_what_a_benchmark_lacks_is_counted(case: str, part: str, tmp_path: Path) -> None:
    *files, sentence = BENCHMARK[case]
    folder = benchmark(tmp_path / "faq", *files)  # type: ignore[arg-type]
    (task,) = own_tasks(*([str(folder)] if part == name else [] for name in ("dev", "test")))
    data = read_task(task, Path())
    assert len(data.splits[part]) == 3
    (counted,) = data.left_out
    assert re.search(sentence, counted)


@pytest.mark.parametrize("grade", [0, -1])
def test_a_benchmark_with_nothing_relevant_is_refused(grade: int, tmp_path: Path) -> None:
    folder = benchmark(tmp_path / "faq", QUERIES, CORPUS, [f"q{n}\td{n}\t{grade}" for n in range(3)])
    with pytest.raises(UserError, match=r"test.tsv has no relevant document of any query; a grade of 1 or more"):
        read_task(own_tasks([], [str(folder)])[0], Path())


def test_a_grade_is_a_whole_number_however_it_is_written(tmp_path: Path) -> None:
    folder = benchmark(tmp_path / "faq", QUERIES, CORPUS, ["q0\td0\t1.0", "q1\td1\t2", "q2\td2\t1e0"])
    split = read_task(own_tasks([], [str(folder)])[0], Path()).splits["test"]
    assert split.documents is not None
    assert [[*judged.values()] for judged in split.documents.judged] == [[1], [2], [1]]
    (folder / "qrels" / "test.tsv").write_text("q0\td0\t0.5\n")
    with pytest.raises(UserError, match=r"test.tsv, line 1: score '0.5' is no whole number"):
        read_task(own_tasks([], [str(folder)])[0], Path())
