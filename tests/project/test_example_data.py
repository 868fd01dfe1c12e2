"""The files that the examples on own data were given are what they are said to be, here of a few made-up lines."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

from tests.example_data import read_premises, triplets, write_labelled, write_scored, write_search
from trainables.corpora.own.training_files import training_files
from trainables.senteval.own_tasks import own_tasks
from trainables.senteval.read_task import kept_task

NLI = [
    ("A dog runs.", "An animal moves.", "entailment"),
    ("A dog runs.", "A dog sleeps.", "contradiction"),
    ("A dog runs.", "A pet is awake.", "entailment"),
    ("A dog runs.", "A big dog runs.", "neutral"),
    ("A cat runs.", "An animal moves. ", "entailment"),
    ("A cat runs.", "An animal moves.", "entailment"),
    ("A cat sits.", "A cat stands.", "contradiction"),
]


def premises_of(folder: Path) -> dict[str, dict[str, list[str]]]:
    rows = (dict(zip(("premise", "hypothesis", "label"), row, strict=True)) for row in NLI)
    (folder / "nli.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_premises(folder / "nli.jsonl")


def test_a_triplet_has_an_entailed_and_a_contradicting_hypothesis_of_its_premise(tmp_path: Path) -> None:
    assert [*triplets(premises_of(tmp_path))] == [
        {"anchor": "A dog runs.", "positive": "An animal moves.", "negative": "A dog sleeps."}
    ]


def test_a_premise_asks_for_what_it_entails_among_all_hypotheses(tmp_path: Path) -> None:
    write_search(tmp_path / "queries_test", "test", premises_of(tmp_path))
    (task,) = own_tasks([], [f"premises={tmp_path}/queries_test"])
    (split,) = kept_task(task, Path()).splits.values()
    documents = split.documents
    assert (task.name, task.kind) == ("premises", "search")
    entailed = {
        query: {documents.texts[number] for number in judged}
        for query, judged in zip(split.left, documents.judged, strict=True)
    }
    assert entailed == {"A dog runs.": {"An animal moves.", "A pet is awake."}, "A cat runs.": {"An animal moves."}}
    assert {*documents.texts} == {"An animal moves.", "A pet is awake.", "A dog sleeps.", "A big dog runs."}
    write_search(tmp_path / "one", "dev", premises_of(tmp_path), most=1)
    assert len((tmp_path / "one/queries.jsonl").read_text().splitlines()) == 1
    assert len((tmp_path / "one/corpus.jsonl").read_text().splitlines()) == 4


def test_tables_are_read_as_labelled_texts_and_scored_pairs(tmp_path: Path) -> None:
    (tmp_path / "trec").write_bytes("NUM:dist How far is Bogotá, and why ?\nLOC:city Where, then ?\n".encode("latin-1"))
    write_labelled(tmp_path / "trec", tmp_path / "labelled.csv")
    assert training_files([str(tmp_path / "labelled.csv")]).content == "labelled"
    lines = (tmp_path / "labelled.csv").read_text(encoding="utf-8").splitlines()
    assert lines == ["text,label", '"How far is Bogotá, and why ?",NUM', '"Where, then ?",LOC']
    (tmp_path / "sts").write_text('news\tMSR\t2012\t1\t2.5\tA "dog", he said.\tA cat.\nnews\tMSR\t2012\t2\t5.0\tx\ty\n')
    write_scored(tmp_path / "sts", tmp_path / "scored.csv")
    assert training_files([str(tmp_path / "scored.csv")]).content == "scored"


def test_what_own_data_quotes_of_the_three_ways_stands_in_their_reports() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    section = (
        (docs / "own_data.md").read_text(encoding="utf-8").partition("## Three ways, tried\n")[2].split("\n## ")[0]
    )
    parts = re.split(r"\(examples/(\w+)/report\.md\)", section)[1:]
    assert parts[::2] == ["own_pairs", "own_triplets", "own_labels"]
    readme, first = (docs.parent / "README.md").read_text(encoding="utf-8").split("## Two commands")[0], "own_pairs"
    assert f"docs/examples/{first}/report.md" in readme
    for name, screen in [*zip(parts[::2], parts[1::2], strict=True), (first, readme)]:
        report = (docs / "examples" / name / "report.md").read_text(encoding="utf-8").replace("\\@", "@")
        lines = re.findall(r"^    (Use|Keep|Open|Best|Gain|Check|Sure|Next|Cost) +(.*)$", screen, re.MULTILINE)
        assert len(lines) >= 3
        for head, words in lines:
            assert f"- **{head}:** {words}\n" in report


def test_the_sample_is_pairs_and_no_text_stands_twice() -> None:
    file = Path(__file__).parents[2] / "docs" / "sample" / "packages.csv"
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))[1:]
    texts = [text for row in rows for text in row]
    assert training_files([str(file)]).content == "pairs"
    assert len(rows) == 2000
    assert len({*texts}) == len(texts)
