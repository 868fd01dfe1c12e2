"""Files that are not what their names or places say: read for what they are, or refused with what would work."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path

import pandas
import pytest

from tests.json_lines import write_rows
from tests.trainables.test_refuse_or_count import CORPUS, QRELS, QUERIES, benchmark
from trainables.corpora.own.training_files import training_files
from trainables.errors import UserError, point_hint
from trainables.senteval.own_tasks import own_tasks
from trainables.senteval.read_task import read_task

QUESTIONS = [{"question": f"Where is {n}?", "answer": f"It is behind {n}."} for n in range(9)]
ANCHORS = [{"anchor": f"Who is {n}?", "positive": f"It is the child of {n}."} for n in range(9)]
TEXTS = [{"text": f"A text of {n}.", "label": "xyz"[n % 3]} for n in range(9)]
FORM = r"a JSON file is a list of rows, .* to_json\(orient='records', lines=True\)"


def rows_of(file: str, columns: str | None = None) -> tuple[int, Counter[str]]:
    left_out = Counter[str]()
    return len([*training_files([file], columns).rows(left_out)]), left_out


def rows_of_test(place: str | Path) -> int:
    """How many rows a test of a file, or of a benchmark's folder, has."""
    (task,) = own_tasks([], [str(place)])
    return len(read_task(task, Path()).splits["test"])


VOCABULARIES = {
    "others": (ANCHORS + QUESTIONS, "line 10: this row has question, answer where others have anchor, positive"),
    "half of them": (
        ANCHORS + [{"query": row["question"], "positive": row["answer"]} for row in QUESTIONS],
        "line 10: this row has query where others have anchor, positive",
    ),
    "of other content": (
        [*QUESTIONS, {"text": "A text."}],
        "line 10: this row has text where others have question, ans",
    ),
}


@pytest.mark.parametrize("case", VOCABULARIES)
def test_rows_of_two_vocabularies_are_refused(case: str, tmp_path: Path) -> None:
    rows, sentence = VOCABULARIES[case]
    file = write_rows(tmp_path / "mine.jsonl", rows)
    with pytest.raises(UserError, match=f"{sentence}.* would be lost; give all rows the same names"):
        rows_of(file)
    with pytest.raises(UserError, match=sentence):
        rows_of_test(file)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_also_where_the_other_cells_are_empty(form: str, tmp_path: Path) -> None:
    table, file = pandas.concat([pandas.DataFrame(ANCHORS), pandas.DataFrame(QUESTIONS)]), tmp_path / f"mine.{form}"
    table.to_csv(file, index=False) if form == "csv" else table.to_parquet(file)
    with pytest.raises(UserError, match=r"mine.*1[01]: this row has question, answer where others have anchor, pos"):
        rows_of(str(file))
    assert rows_of(str(file), "anchor=anchor,positive=positive") == (9, {"with no anchor": 9})


TWO_OF_ONE = {
    "answers": {"query": "Who is {}?", "positive": "The child of {}.", "answer": "A child."},
    "labels": {"text": "A text of {}.", "label": "{kind}", "cluster": "z"},
    "scores": {"sentence1": "{} is one.", "sentence2": "{} is none.", "score": "{kind}.5", "similarity": "0.5"},
}


@pytest.mark.parametrize("form", TWO_OF_ONE)
def test_a_second_column_of_one_kind_is_no_other_vocabulary(form: str, tmp_path: Path) -> None:
    """Where rows fill both columns, one that lacks a cell is counted."""
    rows = [{name: cell.format(n, kind=n % 3) for name, cell in TWO_OF_ONE[form].items()} for n in range(9)]
    lacking = {"answers": "positive", "labels": "label", "scores": "score"}[form]
    file = write_rows(tmp_path / "mine.jsonl", [*rows, {**rows[0], lacking: ""}])
    assert rows_of(file) == (9, {f"with no {lacking}": 1})
    assert rows_of_test(file) == 9


def test_columns_that_are_not_used_are_named(tmp_path: Path) -> None:
    rows = [{"id": str(n), **row, "split": "test", "source": "web"} for n, row in enumerate(QUESTIONS)]
    read_as = training_files([write_rows(tmp_path / "mine.jsonl", rows)]).read_as
    assert read_as == "pairs: anchor = question, positive = answer; not used: split, source"


@pytest.mark.parametrize("label", ["nan", "NA", "None", "null"])
def test_a_label_in_letters_is_one_whatever_they_are(label: str, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "mine.jsonl", [*TEXTS, {"text": "And another.", "label": label}])
    assert rows_of(file) == (10, {})
    assert rows_of_test(file) == 10


@pytest.mark.parametrize("name", ["tab.txt", "comma.txt", "comma.tsv", "tab.csv"])
@pytest.mark.parametrize("rows", [QUESTIONS, TEXTS])
def test_a_table_under_another_name_is_one(rows: list[dict[str, str]], name: str, tmp_path: Path) -> None:
    pandas.DataFrame(rows).to_csv(file := tmp_path / name, sep="\t" if "tab" in name else ",", index=False)
    assert training_files([str(file)]).content == ("pairs" if rows is QUESTIONS else "labelled")
    assert rows_of(str(file)) == (9, {})
    assert rows_of_test(file) == 9


def test_lines_with_commas_are_no_table(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("Hello, world\nGood morning, class\n")
    assert rows_of(str(tmp_path / "mine.txt")) == (2, {})
    (tmp_path / "mine.tsv").write_text("Hello, world\nGood morning, class\nOne, two\n")
    assert training_files([str(tmp_path / "mine.tsv")]).content == "texts"


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ("Chapter 1\tThe first day\nIt was a bright cold day.\nThe clocks struck.\n", 3),
        ("1\tThis is a sentence.\n2\tThis is another one.\n", 2),
        ("Title, text\nThis is prose without any.\nAnd more.\n", 3),
    ],
)
def test_prose_with_a_tab_is_text(text: str, documents: int, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(text)
    assert rows_of(str(tmp_path / "mine.txt")) == (documents, {})


def test_one_row_of_passages_is_a_row(tmp_path: Path) -> None:
    row = {"query": "Who?", "positive_passages": [{"title": "A", "text": "It is he."}], "negative_passages": []}
    (tmp_path / "mine.jsonl").write_text(json.dumps(row))
    assert rows_of(str(tmp_path / "mine.jsonl")) == (1, {})


JSON_FORMS = {
    "an object with the rows": json.dumps({"data": QUESTIONS}),
    "the same on several lines": json.dumps({"data": QUESTIONS}, indent=1),
    "SQuAD": json.dumps({"version": "v2.0", "data": [{"title": "x", "paragraphs": [{"context": "y", "qas": []}]}]}),
    "pandas, columns": pandas.DataFrame(QUESTIONS).to_json(),
    "pandas, split": pandas.DataFrame(QUESTIONS).to_json(orient="split"),
}


@pytest.mark.parametrize("name", ["mine.json", "mine.jsonl"])
@pytest.mark.parametrize("form", JSON_FORMS)
def test_json_that_is_no_rows_is_told_how_rows_look(form: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(JSON_FORMS[form])
    with pytest.raises(UserError, match=FORM):
        rows_of(str(tmp_path / name))


def test_a_list_is_read_whatever_the_file_is_called(tmp_path: Path) -> None:
    pandas.DataFrame(QUESTIONS).to_json(tmp_path / "mine.jsonl", orient="records", indent=2)
    assert rows_of(str(tmp_path / "mine.jsonl")) == (9, {})


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json", "a.txt", "a.parquet"])
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "a pointer of Git LFS"),
        ("\ufeff<!DOCTYPE html>\n<html><body>Not found</body></html>\n", "a page of the web and no data"),
        ("<HTML><body>Not found</body></HTML>\n", "a page of the web and no data"),
    ],
)
def test_what_was_downloaded_instead_is_said(content: str, sentence: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=sentence):
        rows_of(str(tmp_path / name))


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ("anchor=question,positive=question", "names the column 'question' twice; give each thing one of its own"),
        ("premise=question,sentence1=answer", "names two columns for one thing; only positive and negative may be"),
        ("sentence1=question,premise=answer", "names two columns for one thing; only positive and negative may be"),
    ],
)
def test_a_column_and_a_thing_are_named_once(columns: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=sentence):
        rows_of(write_rows(tmp_path / "mine.jsonl", QUESTIONS), columns)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (("sentence1", "sentence2", "score"), "score is '{}', and a score is a number"),
        (("premise", "hypothesis", "label"), "unknown label '{}'"),
        (("anchor", "positive", "negative", "margin"), "margin holds '{}', and what a teacher says is a number"),
    ],
)
@pytest.mark.parametrize("number", ["0,5", "3,25", "0,875", "-12,3456", "85%"])
def test_a_number_with_a_comma(columns: tuple[str, ...], sentence: str, number: str, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "mine.jsonl", [{**dict.fromkeys(columns, "a text"), columns[-1]: number}])
    hint = "; write a point and no comma or %, as in 0.5"
    with pytest.raises(UserError, match=re.escape(sentence.format(number) + hint)):
        rows_of(file)


@pytest.mark.parametrize("number", ["1,234", "1,234,567", "a,5", ""])
def test_other_commas_are_no_points(number: str) -> None:
    assert point_hint(number) == ""


def test_a_score_of_very_many_digits_is_looked_at_once() -> None:
    """By the processor's time: each digit used to be tried with all that follow."""
    began = time.process_time()
    assert point_hint("9" * 30_000) == ""
    assert time.process_time() - began < 1


def test_a_benchmark_with_its_columns_the_other_way(tmp_path: Path) -> None:
    folder = benchmark(tmp_path / "faq", QUERIES, CORPUS, [f"d{n}\tq{n}\t1" for n in range(3)])
    with pytest.raises(UserError, match=r"test.tsv names documents before queries; its columns are query-id, corpus-"):
        rows_of_test(folder)


def test_a_benchmark_whose_ids_are_called_id(tmp_path: Path) -> None:
    queries, corpus = ([{"id": row["_id"], "text": row["text"]} for row in rows] for rows in (QUERIES, CORPUS))
    folder = benchmark(tmp_path / "faq", queries, corpus, QRELS)
    assert rows_of_test(folder) == 3


@pytest.mark.parametrize("text", ["\u200b\u200b", "\ufeff \u2060", "\u00ad"])
def test_signs_that_are_not_seen_are_no_text(text: str, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "mine.jsonl", [*QUESTIONS, {"question": "Who is it?", "answer": text}])
    assert rows_of(file) == (9, {"with no positive": 1})
    folder = benchmark(tmp_path / "faq", [*QUERIES, {"_id": "q9", "text": text}], CORPUS, QRELS)
    (counted,) = read_task(own_tasks([], [str(folder)])[0], Path()).left_out
    assert "1 queries in" in counted
    assert "have no text" in counted
