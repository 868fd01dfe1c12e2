"""What people bring: forms of other libraries, index columns, data sets with configurations and splits, many rows."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas
import pytest

from study.own.judge_files import fetch_data_set, rename_columns
from tests.json_lines import write_rows
from trainables.corpora.hub import load_data_set
from trainables.corpora.nli import load_nli
from trainables.corpora.own.held_out import prepare
from trainables.corpora.own.split import DEV, TEST
from trainables.corpora.own.training_files import UNREAD_ROWS, training_files
from trainables.errors import UserError
from trainables.senteval.own_tasks import own_tasks
from trainables.senteval.read_task import read_task

TRIPLET = {"anchor": "a b", "positive": ["a c"], "negative": ["d e"]}
PAIR = {"anchor": "a b", "positive": ["a c"]}


def rows(file: Path | str, *more: Any) -> tuple[str, list[dict[str, Any]]]:
    source = training_files([str(file)], *more)
    return source.content, [*source.rows(Counter())]


def passages(*texts: str) -> list[dict[str, str]]:
    return [{"docid": str(n), "title": "", "text": text} for n, text in enumerate(texts)]


FORMS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "SimCSE": ({"sent0": "a b", "sent1": "a c", "hard_neg": "d e"}, "triplets", TRIPLET),
    "SimCSE without negatives": ({"sent0": "a b", "sent1": "a c"}, "pairs", PAIR),
    "a list of two": (["a b", "a c"], "pairs", PAIR),
    "a list of three": (["a b", "a c", "d e"], "triplets", TRIPLET),
    "a set": ({"set": ["a b", "a c", "a d"]}, "pairs", {"anchor": "a b", "positive": ["a c", "a d"]}),
    "FlagEmbedding": ({"query": "a b", "pos": ["a c"], "neg": ["d e"]}, "triplets", TRIPLET),
    "FlagEmbedding with scores": (
        {"query": "a b", "pos": ["a c"], "neg": ["d e"], "pos_scores": [0.9], "neg_scores": [0.1], "prompt": "find"},
        "triplets",
        {**TRIPLET, "teacher": [0.9, 0.1]},
    ),
    "Tevatron": (
        {"query_id": "1", "query": "a b", "positive_passages": passages("a c"), "negative_passages": passages("d e")},
        "triplets",
        TRIPLET,
    ),
    "Tevatron with a title": (
        {"query_id": "1", "query": "a b", "positive_passages": [{"docid": "1", "title": "T", "text": "a c"}]},
        "pairs",
        {"anchor": "a b", "positive": ["T a c"]},
    ),
}


@pytest.mark.parametrize("name", ["mine.jsonl", "mine.json", "lines.json"])
@pytest.mark.parametrize("form", FORMS)
def test_forms_of_other_libraries(form: str, name: str, tmp_path: Path) -> None:
    record, kind, normal = FORMS[form]
    text = json.dumps([record]) if name == "mine.json" else f"{json.dumps(record)}\n" * 2
    (tmp_path / name).write_text(text)
    assert rows(tmp_path / name) == (kind, [normal] * (1 if name == "mine.json" else 2))
    if "set" not in form:
        (task,) = own_tasks([], [str(tmp_path / name)])
        assert read_task(task, Path()).splits["test"].left[0] == "a b"
        pairs = load_nli(str(tmp_path / name))
        assert set(pairs.hypotheses) == {*normal["positive"], *normal.get("negative", ())}


@pytest.mark.parametrize("line", ['["a"]', '["a", 1]', '["a", "b", "c", "d"]', "[]", '"a"'])
def test_other_lists_are_refused(line: str, tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text(f'["a", "b"]\n{line}\n')
    with pytest.raises(UserError, match="line 2: not a JSON object but"):
        rows(tmp_path / "mine.jsonl")


def test_a_set_of_one_text_is_counted(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"set": ["a b", "a c"]}\n{"set": ["a b"]}\n')
    left_out: Counter[str] = Counter()
    assert len([*training_files([str(tmp_path / "mine.jsonl")]).rows(left_out)]) == 1
    assert left_out == {"with no positive": 1}


PROSE = ["a dog runs home", "a cat sleeps here", "a car drives by"]


@pytest.mark.parametrize("index", ["", "id", "Unnamed: 0", "_id", "index", "pairID", "row_id", "__index_level_0__"])
def test_columns_that_number_the_rows_are_in_nobodys_way(index: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    table = pandas.DataFrame({"text": PROSE})
    table.to_csv(file, index_label=index)
    assert rows(file) == ("texts", [{"text": [text]} for text in PROSE])
    assert rows(file, "sentence=text")[0] == "texts"
    table.assign(title=PROSE[::-1])[["title", "text"]].rename(columns={"text": "body"}).to_csv(file, index_label=index)
    assert rows(file)[1][0] == {"anchor": PROSE[2], "positive": [PROSE[0]]}
    assert rows(file, "anchor=body,positive=title")[1][0] == {"anchor": PROSE[0], "positive": [PROSE[2]]}


def test_a_column_that_is_named_is_enough_where_names_tell_the_others(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("question,body,note\nwhat is it,a dog,x\n")
    assert rows(file, "positive=body") == ("pairs", [{"anchor": "what is it", "positive": ["a dog"]}])
    file.write_text("text,author,stars\na good one,me,5\n")
    assert rows(file, "sentence=text")[0] == "texts"
    assert rows(file, "label=stars") == ("labelled", [{"sentence": "a good one", "label": "5"}])
    with pytest.raises(UserError, match="or sentence=YOURS alone"):
        rows(file)
    with pytest.raises(UserError, match=r"--columns names score, and .* is read as texts alone, which have"):
        rows(file, "sentence=text,score=stars")


LETTERS = "abcdefgh"
WORDS = [first + second for first in LETTERS for second in LETTERS]
TWO_COLUMNS: dict[str, tuple[bool, list[str], list[str]]] = {
    "a dictionary": (True, WORDS, [word[::-1] * 2 for word in WORDS]),
    "a glossary": (True, WORDS, [f"{word} is a word of two letters" for word in WORDS]),
    "another script": (True, WORDS, [f"\u0939\u093f{chr(0x905 + n)}" for n in range(len(WORDS))]),
    "few answers": (True, WORDS, ["you can pay in our shop", "no you can not do so"] * 32),
    "gaps": (True, WORDS, [word * (place % 3 > 0) for place, word in enumerate(WORDS[::-1])]),
    "too few rows": (False, WORDS[:12], WORDS[12:24]),
    "the same": (False, [f"{word} {word}" for word in WORDS], [f"{word} {word}" for word in WORDS]),
    "hardly any": (False, WORDS, [word * (place % 3 > 1) for place, word in enumerate(WORDS[::-1])]),
    "yes and no": (False, WORDS, ["yes", "no"] * 32),
    "labels with spaces": (False, WORDS, ["very good", "not so good"] * 32),
    "labels as names": (False, WORDS, [f"card_{word}" for word in WORDS]),
    "numbers": (False, WORDS, [f"{n / 7}" for n in range(64)]),
    "times": (False, WORDS, [f"Mon Apr {n % 30} 22:19:{n} UTC 2009" for n in range(64)]),
    "telephones": (False, WORDS, [f"+49 30 {n:06}" for n in range(64)]),
    "keys": (False, WORDS, [f"AB{n}" for n in range(64)]),
    "addresses": (False, WORDS, [f"https://example.org/{word}" for word in WORDS]),
    "files": (False, WORDS, [f"{word}.jpg" for word in WORDS]),
}
"""Of two columns that no name tells from each other: whether they are pairs."""


@pytest.mark.parametrize("case", TWO_COLUMNS)
@pytest.mark.parametrize("turned", [False, True])
def test_two_columns_are_pairs_only_where_both_are_texts(case: str, turned: bool, tmp_path: Path) -> None:
    pairs, first, second = TWO_COLUMNS[case]
    file = tmp_path / "mine.csv"
    columns = (second, first) if turned else (first, second)
    pandas.DataFrame(dict(zip(("left", "right"), columns, strict=True))).to_csv(file, index=False)
    if pairs:
        assert rows(file)[0] == "pairs"
        assert own_tasks([], [str(file)])[0].kind == "search"
    else:
        with pytest.raises(UserError, match="what its columns mean is not known"):
            rows(file)
        with pytest.raises(UserError, match="the columns are left, right; a task needs"):
            own_tasks([], [str(file)])


LABELLED = {
    ("message", "topic"): True,
    ("text", "Category"): True,
    ("query", "intent"): True,
    ("sentence", "section"): True,
    ("utterance", "intent_name"): True,
    ("text", "label_text"): True,
    ("answer", "topic"): False,
    ("message", "lang"): False,
    ("title", "text"): False,
    ("message", "topic", "source"): False,
}
"""Columns of a table of texts whose second column has few words: whether they are labelled texts."""


@pytest.mark.parametrize("columns", LABELLED)
@pytest.mark.parametrize("rows_of_it", [6, 64])
@pytest.mark.parametrize("labels", [("an order", "prices"), (1, 2), ("x" * 61, "y")])
def test_a_column_that_is_called_as_labels_are_is_the_label_of_the_only_text(
    columns: tuple[str, ...], rows_of_it: int, labels: tuple[Any, Any], tmp_path: Path
) -> None:
    """However many rows there are, in training and in a task alike; not where it holds texts."""
    file = tmp_path / "mine.csv"
    texts = [f"how many of {word} do I get" for word in WORDS[:rows_of_it]]
    cells = dict(zip(columns, (texts, [*labels] * (rows_of_it // 2), ["here"] * rows_of_it), strict=False))
    pandas.DataFrame(cells).to_csv(file, index=False)
    if not LABELLED[columns] or len(str(labels[0])) > 60:
        with contextlib.suppress(UserError):
            assert rows(file)[0] != "labelled"
        with contextlib.suppress(UserError):
            assert own_tasks([], [str(file)])[0].kind != "classes"
        return
    assert rows(file) == (
        "labelled",
        [{"sentence": text, "label": str(label)} for text, label in zip(texts, [*labels] * 32, strict=False)],
    )
    assert own_tasks([], [str(file)])[0].kind == "classes"


def test_what_differs_in_most_rows_is_no_label(tmp_path: Path) -> None:
    """Names of sections beside their texts are pairs."""
    file = tmp_path / "mine.csv"
    texts = [f"how many of {word} do I get" for word in WORDS]
    pandas.DataFrame({"text": texts, "section_name": [f"about {word}" for word in WORDS]}).to_csv(file, index=False)
    assert rows(file)[0] == "pairs"


@pytest.mark.parametrize("name", ["label", "score", "negative", "teacher"])
def test_a_column_whose_name_says_something_else_is_no_side_of_a_pair(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    pandas.DataFrame({"body": PROSE, name: PROSE[::-1]}).to_csv(file, index=False)
    with pytest.raises(UserError, match="what its columns mean is not known"):
        rows(file)


@pytest.mark.parametrize(("yes", "no"), [(1, 0), ("1", "0"), (True, False), (1.0, 0.0), ("true", "false")])
def test_duplicates_need_no_labels(yes: Any, no: Any, tmp_path: Path) -> None:
    pairs = [{"question1": "a b", "question2": "a c", "is_duplicate": label} for label in (yes, no)]
    write_rows(tmp_path / "mine.jsonl", pairs)
    kind, records = rows(tmp_path / "mine.jsonl")
    assert (kind, [row["label"] for row in records]) == ("nli", ["entailment", "contradiction"])
    kind, records = rows(tmp_path / "mine.jsonl", None, "entailment=0,entailment=false,neutral=1,neutral=true")
    assert [row["label"] for row in records] == ["neutral", "entailment"], "what is said goes before a name"


def test_lists_that_a_table_made_texts_of_are_refused(tmp_path: Path) -> None:
    for column, cells in (("positive", [["a", "b"], ["c"]]), ("label", [["x"], ["y"]])):
        other = "anchor" if column == "positive" else "text"
        pandas.DataFrame({other: PROSE[:2], column: cells}).to_csv(tmp_path / "mine.csv", index=False)
        with pytest.raises(UserError, match=f"'{column}' holds lists that were written as text, such as .*JSON lines"):
            training_files([str(tmp_path / "mine.csv")])


def test_rows_that_would_count_twice_are_refused(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("anchor,positive\na dog,a pet\n")
    first, second = (str(tmp_path / name) for name in ("a.csv", "b.csv"))
    (tmp_path / "link.csv").symlink_to(first)
    for given in ([first, first], [f"{first},{first}"], [str(tmp_path), first]):
        if given[0] == str(tmp_path):
            (tmp_path / "train.csv").write_text("anchor,positive\na cat,a pet\n")
            given[1] = str(tmp_path / "train.csv")
        with pytest.raises(UserError, match="is given twice, and its rows would count twice"):
            training_files(given)
    for other in (second, str(tmp_path / "link.csv")):
        with pytest.raises(UserError, match=r"has the same content as .*a.csv, and its rows would count twice"):
            training_files([first, other])


def test_where_all_answers_are_alike_that_is_the_cause(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("anchor,positive\n" + "".join(f"what is {n},it depends\n" for n in range(80)))
    with pytest.raises(UserError, match="all positives are one text, so nothing can be learnt from them"):
        prepare(training_files([str(tmp_path / "mine.csv")]), tmp_path / "data", (DEV, TEST))


def test_other_files_are_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "mine.xlsx").write_bytes(b"PK")
    for given in (lambda file: training_files([file]), lambda file: own_tasks([], [file])):
        with pytest.raises(UserError, match=r"mine.xlsx is no .*; save it as one of these: a spreadsheet as CSV"):
            given(str(tmp_path / "mine.xlsx"))


@pytest.mark.parametrize("name", ["mine.csv", "mine.jsonl", "mine.parquet", "mine.jsonl.gz"])
def test_no_more_rows_are_read_than_is_said(name: str, tmp_path: Path) -> None:
    table = pandas.DataFrame({"anchor": [f"a {n}" for n in range(20)], "positive": [f"b {n}" for n in range(20)]})
    file = tmp_path / name
    if "csv" in name:
        table.to_csv(file, index=False)
    elif "parquet" in name:
        table.to_parquet(file)
    else:
        table.to_json(file, orient="records", lines=True)
    for most, more in ((19, True), (20, False)):
        left_out: Counter[str] = Counter()
        assert len([*training_files([str(file)], most_rows=most).rows(left_out)]) == most
        assert (UNREAD_ROWS in left_out) == more


def test_a_large_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    """What stands after the most rows is broken, and nobody sees it."""
    lines = [json.dumps({"anchor": f"a {n}", "positive": f"b {n}"}) for n in range(1001)]
    (tmp_path / "mine.jsonl").write_text("\n".join([*lines, "{", "{"]))
    assert len([*training_files([str(tmp_path / "mine.jsonl")], most_rows=1000).rows(Counter())]) == 1000


@pytest.fixture
def saved(tmp_path: Path) -> dict[str, str]:
    """Splits that `datasets` saved, and a folder as one of the hub: with configurations, three a search."""
    import datasets

    datasets.disable_progress_bars()

    def pairs(name: str, count: int = 9) -> Any:
        return {"anchor": [f"{name} a {n}" for n in range(count)], "positive": [f"{name} b {n}" for n in range(count)]}

    made = {split: datasets.Dataset.from_dict(pairs(split)) for split in ("train", "validation", "test")}
    datasets.DatasetDict(made).save_to_disk(str(tmp_path / "splits"))
    hub = tmp_path / "nfcorpus"
    files: dict[str, list[dict[str, Any]]] = {
        "corpus/corpus": [{"_id": f"d{n}", "title": "", "text": f"b {n}"} for n in range(4)],
        "queries/queries": [{"_id": f"q{n}", "text": f"a {n}"} for n in range(4)],
        "default/dev": [{"query-id": "q0", "corpus-id": "d0", "score": 1}],
        "default/test": [{"query-id": f"q{n}", "corpus-id": f"d{n}", "score": 1} for n in (1, 2)],
        "pairs/train": [{"anchor": f"x {n}", "positive": f"y {n}"} for n in range(3)],
    }
    splits: dict[str, list[str]] = {}
    for name, records in files.items():
        write_rows(hub / f"{name}.jsonl", records)
        splits.setdefault(name.split("/")[0], []).append(name)
    card = ["---", "configs:"]
    for configuration, names in splits.items():
        card += [f"- config_name: {configuration}", "  data_files:"]
        card += [f"  - split: {name.split('/')[1]}\n    path: {name}.jsonl" for name in names]
    (hub / "README.md").write_text("\n".join([*card, "---", ""]))
    return {"splits": str(tmp_path / "splits"), "hub": str(hub)}


@pytest.fixture(autouse=True)
def _cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))


def test_configuration_and_split_of_training_data(saved: dict[str, str]) -> None:
    splits, hub = saved["splits"], saved["hub"]
    assert rows(splits)[1][0]["anchor"] == "train a 0"
    assert rows(f"{splits}::validation")[1][0]["anchor"] == "validation a 0"
    assert [row["anchor"] for row in rows(f"{hub}:pairs")[1]] == ["x 0", "x 1", "x 2"]
    assert [row["anchor"] for row in rows(f"{hub}:pairs:train[:2]")[1]] == ["x 0", "x 1"]
    for given, sentence in (
        (f"{splits}::more", "has the splits train, validation or test; name one"),
        (f"{hub}:default", "has the splits dev or test; name one"),
        (f"{hub}:other", "cannot be loaded: BuilderConfig 'other' not found"),
        (hub + ":", "has the splits dev or test; name one, as in .*nfcorpus::test"),
    ):
        with pytest.raises(UserError, match=sentence):
            rows(given)


def test_data_sets_as_dev_and_test(saved: dict[str, str], tmp_path: Path) -> None:
    splits, hub = saved["splits"], saved["hub"]
    dev, test = (
        fetch_data_set(f"{splits}::{split}", part, tmp_path) for part, split in (("dev", ""), ("test", "test"))
    )
    (task,) = own_tasks([dev], [test])
    data = read_task(task, Path())
    assert (task.name, task.kind) == ("splits", "search")
    assert [split.left[0] for split in data.splits.values()] == ["validation a 0", "test a 0"]
    dev, test = fetch_data_set(f"{hub}::", "dev", tmp_path), fetch_data_set(f"faq={hub}:default:test", "test", tmp_path)
    assert (dev, test) == (str(tmp_path / "dev/nfcorpus"), f"faq={tmp_path / 'test/nfcorpus'}")
    parts = [read_task(own_tasks([dev], [])[0], Path()), read_task(own_tasks([], [test])[0], Path())]
    assert [next(iter(part.splits.values())).left for part in parts] == [["a 0"], ["a 1", "a 2"]]
    for given in (splits, "scenes:search", "nowhere.csv", "x=./nowhere"):
        assert fetch_data_set(given, "dev", tmp_path) == given


def test_a_name_of_the_hub_is_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trainables.corpora import hub

    monkeypatch.setattr(hub, "reachable", lambda: False)
    for name in ("mteb/nfcorpus", "mteb/nfcorpus:default:test"):
        with pytest.raises(UserError, match=f"the data set '{name}' is neither a local path nor in the hub's cache"):
            fetch_data_set(name, "test", tmp_path)
        with pytest.raises(UserError, match=f"the data set '{name}' is neither a local path nor in the hub's cache"):
            load_data_set(name)


def test_a_label_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"text": "a", "label": "b"}\n{"text": "c", "label": "\\ud800"}\n')
    with pytest.raises(UserError, match="line 2: the label holds half of a character"):
        [*training_files((str(path),), None, None).rows(Counter())]


def test_so_is_a_row_of_a_test_whose_columns_are_named(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "faq.jsonl", [{"Frage": "a", "Antwort": "b"}, {"Frage": "\ud800", "Antwort": "c"}])
    with pytest.raises(UserError, match=r"faq.jsonl, line 2: this row holds half of a character"):
        rename_columns(file, "test", tmp_path, {"anchor": ("Frage",), "positive": ("Antwort",)})
