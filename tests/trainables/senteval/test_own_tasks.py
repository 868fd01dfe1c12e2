"""Tasks from files of one's own: what kind each is, which parts are one task, and what is refused."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas
import pytest

from trainables.corpora.own.training_files import training_files
from trainables.corpora.own_rows import texts
from trainables.corpora.tables import open_table
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.senteval import check_data, development, evaluate, examples, fingerprint
from trainables.senteval.folds import fold_numbers
from trainables.senteval.items import Answers, digest
from trainables.senteval.kinds import KINDS
from trainables.senteval.own_tasks import own_tasks
from trainables.senteval.protocol import PROTOCOLS
from trainables.senteval.read_task import read_task
from trainables.senteval.tasks import TASKS, Task
from trainables.testing.tasks import bag_of_words
from trainables.trial import task_remarks

TABLES = {
    "sts.csv": ("scored_pairs", "sentence1,sentence2,score\na b,a c,80\nb d,c e,10\n"),
    "similar.tsv": ("scored_pairs", "sentence1\tsentence2\tlabel\na b\ta c\t0.8\nb d\tc e\t0.1\n"),
    "quora.csv": ("labelled_pairs", "question1,question2,is_duplicate\na b,a c,1\nb d,c e,0\n"),
    "nli.csv": ("classes", "premise,hypothesis,label\na b,a c,0\nb d,c e,2\nb d,c e,1\na,c,1\nb,d,1\n"),
    "topics.tsv": ("classes", "text\tlabel\na b\tgood\nb d\tbad\na d\tbad\nc d\tbad\n"),
    "groups.tsv": ("clustering", "sentence\tcluster\na b\tgood\nb d\tbad\n"),
    "triplets.csv": ("triplets", "anchor,positive,negative\na b,a c,b d\n"),
    "mined.csv": ("reranking", "query,positive,negative_1,negative_2\na b,a c,b d,e f\n"),
    "lists.jsonl": ("reranking", '{"query": "a b", "pos": ["a c"], "neg": ["b d", "e f"]}\n'),
    "pairs.csv": ("search", "anchor,positive\na b,a c\nb d,c e\n"),
    "unlabelled.csv": ("search", "sentence1,sentence2\na b,a c\nb d,c e\n"),
}


@pytest.mark.parametrize("split", ["dev", "test"])
@pytest.mark.parametrize("name", TABLES)
def test_the_columns_tell_the_kind(name: str, split: str, tmp_path: Path) -> None:
    kind, content = TABLES[name]
    file = tmp_path / name
    file.write_text(content)
    (task,) = own_tasks([str(file)] * (split == "dev"), [str(file)] * (split == "test"))
    assert task.kind == kind
    assert (task.name, task.files) == (f"own_{file.stem}" if file.stem == "sts" else file.stem, (str(file),))
    assert task.parts == (split,)
    assert {number.split("_")[0] for number in task.numbers} == {split}
    assert task.development == (KINDS[kind].development if split == "dev" else "")
    read_task(task, Path())


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS.values() if kind.scenes])
def test_the_files_of_a_built_in_task_are_of_its_kind_and_always_the_same(kind: str) -> None:
    (task,), (again,) = (own_tasks([f"scenes:{kind}"], [f"scenes:{kind}"]) for _ in range(2))
    assert task == again
    folder = Path(task.files[0]).parent
    files = [task.files[0], task.files[1]] if task.layout == "table" else [str(folder), str(folder)]
    assert [same.kind for same in own_tasks(files[:1], files[1:])] == [task.kind] == [kind]


FORMS: Mapping[str, Callable[[pandas.DataFrame, Path], object]] = {
    "mine.csv": lambda table, file: table.to_csv(file, index=False),
    "mine.tsv": lambda table, file: table.to_csv(file, index=False, sep="\t", quoting=csv.QUOTE_ALL),
    "mine.csv.gz": lambda table, file: table.to_csv(file, index=False),
    "mine.json": lambda table, file: table.to_json(file, orient="records"),
    "mine.jsonl.gz": lambda table, file: table.to_json(file, orient="records", lines=True),
    "mine.parquet": lambda table, file: table.to_parquet(file),
}
HEADS = {
    ("search", "pairs"): ("Question", "answer"),
    ("triplets", "triplets"): ("query", "pos", "Neg_1"),
    ("scored_pairs", "scored"): ("Sentence A", "sentence_B", "relatedness_score"),
    ("classes", "nli"): ("premise", "hypothesis", "gold_label"),
    ("classes", "labelled"): ("text", "class"),
}


@pytest.mark.parametrize(
    ("kinds", "form"), [*((kinds, "mine.csv") for kinds in HEADS), *((("classes", "nli"), form) for form in FORMS)]
)
def test_forms_and_names_are_those_of_training_data(kinds: tuple[str, str], form: str, tmp_path: Path) -> None:
    numbers = range(9)
    table = pandas.DataFrame({name: [f"{name}, {number}" for number in numbers] for name in HEADS[kinds]})
    if kinds[1] in ("scored", "nli", "labelled"):
        table[HEADS[kinds][-1]] = [0.5, 1.5, 2.5] * 3 if kinds[1] == "scored" else [0, 1, 2] * 3
    FORMS[form](table, tmp_path / form)
    (task,) = own_tasks([], [str(tmp_path / form)])
    assert task.kind == kinds[0]
    split = next(iter(read_task(task, Path()).splits.values()))
    source = training_files([str(tmp_path / form)])
    rows = [*source.rows(Counter())]
    assert source.content == kinds[1]
    assert split.left == [texts(row)[0] for row in rows] == [f"{HEADS[kinds][0]}, {number}" for number in numbers]


def test_a_label_beside_a_question_and_its_answer_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("question,answer,label\na,b,1\na,c,0\n")
    with pytest.raises(UserError, match="call them sentence1, sentence2 and label or score, or leave 'label' out"):
        own_tasks([], [str(tmp_path / "mine.csv")])


def test_a_whole_number_is_one_label_however_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "dev.jsonl").write_text("".join(f'{{"text": "a {n}", "label": {n % 2}.0}}\n' for n in range(6)))
    (tmp_path / "test.csv").write_text("text,label\nb,1\nc,0\nd, 1.0\n")
    (task,) = own_tasks([str(tmp_path / "dev.jsonl")], [str(tmp_path / "test.csv")])
    assert read_task(task, Path()).splits["test"].labels.tolist() == [1, 0, 1]
    (tmp_path / "test.csv").write_text("text,label\nb,1\nc,2\nd,3\n")
    with pytest.raises(UserError, match="csv, line 3: label '2' is none of 0, 1, nor are those of 1 more"):
        read_task(task, Path())


@pytest.mark.parametrize(
    ("columns", "lines"),
    [("question,answer", ["a, a", "b,c", "a,d"]), ("anchor,positive,negative", ["a,a,x", "b,c,x", "a,d,x"])],
)
def test_a_positive_that_is_its_anchor_is_no_item(columns: str, lines: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("\n".join([columns, *lines]))
    (task,) = own_tasks([], [str(tmp_path / "mine.csv")])
    data = read_task(task, Path())
    assert sorted(data.splits["test"].left) == ["a", "b"]
    assert any("1 of 3 rows" in note and "no positive that differs from the anchor" in note for note in data.left_out)
    (tmp_path / "mine.csv").write_text("\n".join([columns, *lines[:1]]))
    with pytest.raises(UserError, match=r"holds no example: 1 of 1 rows .* no positive that differs from the anchor"):
        read_task(task, Path())


def names(tasks: Sequence[Task]) -> dict[str, tuple[str, ...]]:
    return {task.name: tuple(Path(file).name for file in task.files) for task in tasks}


def write(folder: Path, *names: str, of: str = "sts.csv") -> list[str]:
    for name in names:
        (folder / name).write_text(TABLES[of][1])
    return [str(folder / name) for name in names]


def test_a_dev_and_a_test_file_with_one_name_are_one_task(tmp_path: Path) -> None:
    files = write(tmp_path, "faq_dev.csv", "news.valid.csv", "test-faq.csv", "news.csv", "alone-test.csv")
    (tmp_path / "news.csv").write_text("sentence1,sentence2,score\nx y,x z,3\ny,z,1\n")
    assert names(own_tasks(files[:2], files[2:])) == {
        "faq": ("faq_dev.csv", "test-faq.csv"),
        "news": ("news.valid.csv", "news.csv"),
        "alone": ("alone-test.csv",),
    }


def test_one_dev_and_one_test_of_a_kind_are_one_task(tmp_path: Path) -> None:
    scored, triplets = write(tmp_path, "mine.csv", "other.csv"), write(tmp_path, "hard.csv", of="triplets.csv")
    assert names(own_tasks(scored[:1], scored[1:])) == {"other": ("mine.csv", "other.csv")}
    assert names(own_tasks(scored[:1], triplets)) == {"mine": ("mine.csv",), "hard": ("hard.csv",)}
    assert names(own_tasks(write(tmp_path, "dev.csv"), write(tmp_path, "test.csv"))) == {
        "scored_pairs": ("dev.csv", "test.csv")
    }


def test_a_task_may_be_named(tmp_path: Path) -> None:
    dev, test = write(tmp_path, "a b.csv", "c.csv")
    assert [*names(own_tasks([], [dev]))] == ["a_b"]
    assert [*names(own_tasks([], [f"no_dev={dev}", f"yours={test}"]))] == ["no_dev", "yours"]
    assert [*names(own_tasks([f"mine={dev}"], [f"yours={test}", f"mine={test}"]))] == ["mine", "yours"]
    with pytest.raises(UserError, match=r"which of them is 'x'\? Give each a name, as in NAME="):
        own_tasks([], [f"x={dev}", f"x={test}"])


def folder_of(place: Path, **files: Sequence[Mapping[str, object]] | str) -> Path:
    """As BEIR has it; what is not given is as in a small one."""
    content: dict[str, Sequence[Mapping[str, object]] | str] = {
        "queries": [{"_id": "q1", "text": "a b"}, {"_id": "q2", "text": "c d"}, {"_id": "q3", "text": "e f"}],
        "corpus": [{"_id": f"d{n}", "title": "T" * (n == 1), "text": t} for n, t in enumerate(("a b x", "c y", "e"))],
        "test": "query-id\tcorpus-id\tscore\nq1\td0\t2\nq2\td1\t1\nq2\td0\t0\n",
        **files,
    }
    (place / "qrels").mkdir(parents=True, exist_ok=True)
    for name, lines in content.items():
        file = place / (f"{name}.jsonl" if name in ("queries", "corpus") else f"qrels/{name}.tsv")
        file.write_text(lines if isinstance(lines, str) else "".join(json.dumps(line) + "\n" for line in lines))
    return place


def test_a_folder_of_a_search(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "faq", dev="q3 0 d2 1\nq1 0 d7 1\n")
    (task,) = own_tasks([str(folder)], [str(folder)])
    assert (task.name, task.kind, task.layout, task.metric) == ("faq", "search", "beir", "test_ndcg@10")
    data = read_task(task, Path())
    dev, test = data.splits["dev"], data.splits["test"]
    assert test.documents is not None
    assert test.documents.texts == ["e", "T c y", "a b x"]  # ids fall, as trec_eval ranks equal ones
    assert (test.left, test.documents.judged) == (["a b", "c d"], [{2: 2}, {1: 1, 2: 0}])
    assert (dev.left, dev.labels.tolist()) == (["a b", "e f"], [1, 1])
    TASKS.add(task)
    scores = evaluate(bag_of_words, "nowhere", ["faq"])
    assert scores.tasks["faq"]["test_ndcg@10"] == pytest.approx(100.0)
    assert scores.tasks["faq"]["dev_recall@100"] == 50.0, "what is not in the corpus cannot be found"
    assert development(bag_of_words, "nowhere", ["faq"])["faq.dev_ndcg@10"] == scores.tasks["faq"]["dev_ndcg@10"]
    notes = task_remarks(EvaluationConfig(str(tmp_path), ("faq",)))
    assert [note.split(" in ")[0] for note in notes] == [
        "task faq: 1 of 3 queries",
        "task faq: 1 documents",
        "task faq: 1 of 3 queries",
    ]


@pytest.mark.parametrize("kind", ["search", "triplets", "reranking"])
def test_documents_may_have_embeddings_of_their_own(kind: str, tmp_path: Path) -> None:
    """A text that is a query and a document has one as each. Here queries point the other way than documents."""
    rows = [
        {"anchor": f"{n} {n}", "positive": f"{n} {n} x", "negative": f"{n + 1} {n + 1}"}
        | ({"negative_2": "y z"} if kind == "reranking" else {})
        for n in range(10, 30)
    ]
    if kind == "search":
        rows = [{"anchor": row["anchor"], "positive": row["positive"]} for row in rows]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (task,) = own_tasks([], [str(tmp_path / "mine.jsonl")])
    TASKS.add(task)
    assert task.kind == kind

    def turned(texts: Sequence[str]) -> np.ndarray:
        return -bag_of_words(texts)

    alike = evaluate(bag_of_words, "nowhere", [task.name]).tasks[task.name]
    both = evaluate(turned, "nowhere", [task.name], encode_documents=turned).tasks[task.name]
    apart = evaluate(bag_of_words, "nowhere", [task.name], encode_documents=turned).tasks[task.name]
    number = task.metric
    assert both[number] == alike[number]
    assert apart[number] < alike[number] - 30  # type: ignore[operator]


def test_other_texts_under_the_same_numbers_are_another_part(tmp_path: Path) -> None:
    places = [folder_of(tmp_path / part, **{part: "q1\td0\t1\n"}) for part in ("dev", "test")]
    TASKS.add(*own_tasks([f"faq={places[0]}"], [f"faq={places[1]}"]))
    for place in places:
        (place / "qrels" / f"{place.name}.tsv").write_text("q1\td0\t1\n")
    with pytest.raises(UserError, match=r"test\.tsv \(faq\) has the same content as \S*dev\.tsv \(faq\); give files"):
        check_data(tmp_path, ["faq"])
    (places[1] / "queries.jsonl").write_text('{"_id": "q1", "text": "other"}\n')
    check_data(tmp_path, ["faq"])
    assert evaluate(bag_of_words, "nowhere", ["faq"]).errors == {}


def test_what_is_drawn_of_a_large_corpus_while_training_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trainables.senteval.kinds import search

    count = 40
    folder = folder_of(
        tmp_path / "faq",
        queries=[{"_id": f"q{n}", "text": f"query {n}"} for n in range(count)],
        corpus=[{"_id": f"{'q' * (n % 2)}{n}", "text": f"text {n}"} for n in range(count)],
        test="".join(f"q{n}\t{'q' * ((n + 2) % 2)}{(n + 2) % count}\t1\n" for n in range(count)),
    )
    (task,) = own_tasks([str(folder)], [])
    whole = read_task(task, Path())
    assert KINDS["search"].development_part(whole).left == whole.splits["dev"].left
    monkeypatch.setattr(search, "PROBED_QUERIES", 5)
    monkeypatch.setattr(search, "PROBED_DOCUMENTS", 12)
    few = KINDS["search"].development_part(whole)
    assert few.documents is not None
    assert (len(few), len(few.documents.texts)) == (5, 12)
    for text, judged, own in zip(few.left, few.documents.judged, few.documents.own, strict=True):
        number = int(text.split()[1])
        assert [few.documents.texts[place] for place in judged] == [f"text {(number + 2) % count}"]
        assert own == -1 or few.documents.texts[own] == f"text {number}"


def test_items_are_named_by_their_documents_too(tmp_path: Path) -> None:
    first, second = folder_of(tmp_path / "a"), folder_of(tmp_path / "b")
    more = [{"_id": f"d{n}", "text": text} for n, text in enumerate(("a b x", "c y", "other"))]
    third = folder_of(tmp_path / "c", corpus=more)
    digests = [
        digest([*read_task(own_tasks([], [str(folder)])[0], Path()).splits.values()])
        for folder in (first, second, third)
    ]
    assert digests[0] == digests[1] != digests[2]


def test_pairs_without_labels_are_a_search_among_all_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("anchor,positive\na,b\nc,d\na,e\nb,c\n")
    data = read_task(own_tasks([], [str(file)])[0], Path())
    split = data.splits["test"]
    assert split.documents is not None
    assert (split.left, split.documents.texts) == (["a", "c", "b"], ["b", "d", "e", "c"])
    assert split.documents.judged == [{0: 1, 2: 1}, {1: 1}, {3: 1}], "lines with one anchor are one query"
    assert split.documents.own.tolist() == [-1, 3, 0], "no text finds itself"
    assert data.left_out == (f"the 4 rows of {file} are 3 items: rows that share a query are one",)


def test_their_order_says_nothing_where_a_name_says_something_else(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("text,remark\n" + "".join(f"one of {n},it is {n}\n" for n in range(9)))
    with pytest.raises(UserError, match="the columns are text, remark; a task needs"):
        own_tasks([], [str(tmp_path / "mine.csv")])


def test_two_columns_of_texts_without_known_names_are_a_search_by_their_order(tmp_path: Path) -> None:
    file = tmp_path / "test.csv"
    file.write_text("id,title,body\n1,how to a,a is done so\n2,how to b,b is done so\n")
    (task,) = own_tasks([], [str(file)])
    data = read_task(task, Path())
    assert (task.kind, data.splits["test"].left) == ("search", ["how to a", "how to b"])
    assert data.left_out == (f"{file}: 'title' is read as the anchor, 'body' as its positive, by their order",)
    file.write_text("title,body\n" + "how to a,\n" * 5 + "".join(f"word{n},{n} is done so\n" for n in range(5)))
    data = read_task(own_tasks([], [str(file)])[0], Path())
    assert len(data.splits["test"]) == 5, "what is decided by all rows holds for those that are kept"


def test_a_column_called_topic_beside_a_text_is_its_label(tmp_path: Path) -> None:
    file = tmp_path / "test.csv"
    topics = ("order", "prices")
    file.write_text("message,topic\n" + "".join(f"how many of {n} do I get,{topics[n % 2]}\n" for n in range(40)))
    data = read_task(own_tasks([], [str(file)])[0], Path())
    assert (len(data.splits["test"]), {*data.splits["test"].labels.tolist()}) == (40, {0, 1})
    assert data.left_out == (f"{file}: 'message' is read as the text, 'topic' as its label, by its name",)


TRIPLETS = "anchor,positive,negative\n"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            "one,two\na,b\n",
            "mine.csv, line 2: the columns are one, two; a task needs anchor, positive and negative; or ",
        ),
        ("", "mine.csv is empty"),
        ("sentence1,sentence2,score\n", "mine.csv holds no example"),
        ("sentence1,sentence2,score\na,b,high\n", "mine.csv, line 2: score 'high' is no finite number"),
        ("sentence1,sentence2,score\na,b,1\nc,d,1\n", "all scores in {file} are 1, which nothing can follow"),
        ("sentence1,sentence2,label\na,b,1\nc,d,1\n", "all 2 pairs in {file} have one label, '1'; it needs two"),
        ("sentence,label\na,x\nb,x\n", "mine: all 2 examples for test in {file} have one label"),
        (
            "sentence,label\na,x\nb,y\n",
            "mine: {file} holds 2 examples of 2 labels, and no label has more than 1; it takes 2 of one at least",
        ),
        ("sentence,cluster\na,x\nb,x\n", "mine: {file} must hold sentences in at least two clusters"),
        (TRIPLETS + "a,b,b\n", "mine.csv, line 2: 'b' is both a positive and a negative"),
        (b"sentence1,sentence2,score\na,b,1\n\xff,d,2\n", "mine.csv, line 3: not UTF-8 (invalid start byte)"),
    ],
)
def test_a_broken_table_is_one_sentence_with_file_and_line(content: str | bytes, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(file, sentence)


QUERY, DOCUMENT = '{"_id": "q1", "text": "a"}\n', '{"_id": "d0", "text": "a"}\n'


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"test": "q9\td0\t1\n"}, "test.tsv names no query of {file}/queries.jsonl, but 'q9' and the like"),
        ({"test": "q1\td9\t1\n"}, "test.tsv names no document of {file}/corpus.jsonl, but 'd9' and the like"),
        ({"test": "query-id\tcorpus-id\tscore\n"}, "test.tsv holds no example"),
        ({"test": "q1\td0\t1\nq1\td1\thigh\n"}, "test.tsv, line 2: score 'high' is no whole number"),
        ({"test": "q1\td0\t1\nq1\td0\t2\n"}, "test.tsv, line 2: 'd0' was judged for 'q1' before, and otherwise"),
        ({"test": "q1\td0\n"}, "test.tsv, line 1: expected query-id, corpus-id and score between tabs, found 'q1"),
        ({"corpus": "\n"}, "corpus.jsonl holds no text"),
        ({"corpus": DOCUMENT + '{"_id": "d1", "text": 5}\n'}, "corpus.jsonl, line 2: title or text of 'd1' is no text"),
        ({"corpus": DOCUMENT * 2}, "corpus.jsonl, line 2: the id 'd0' comes twice"),
        ({"queries": QUERY * 2}, "queries.jsonl, line 2: the id 'q1' comes twice"),
        (
            {"queries": '{"name": "q1", "text": "a"}\n'},
            "queries.jsonl, line 1: no '_id' or 'id'; the keys are name, text",
        ),
        ({"queries": QUERY + "{\n"}, "queries.jsonl, line 2: not a JSON object ("),
        ({"train": "q1\td0\t1\n", "test": "", "other": "q1\td0\t1\n"}, "test.tsv holds no example"),
    ],
)
def test_a_broken_folder_is_one_sentence_with_file_and_line(
    files: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    refused(folder_of(tmp_path / "mine", **files), sentence)


def refused(place: Path, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        read_task(own_tasks([], [str(place)])[0], Path())
    assert sentence.format(file=place) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_in_a_corpus(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "mine")
    (folder / "corpus.jsonl").write_bytes(DOCUMENT.encode() + b'{"_id": "d1", "text": "\xff"}\n')
    refused(folder, "corpus.jsonl, line 2: not UTF-8 (invalid start byte)")


def test_what_is_no_task_at_all(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for given, sentence in (
        (str(tmp_path / "none.csv"), "--test .*none.csv: .*none.csv does not exist"),
        (str(tmp_path / "empty"), "empty is no folder of a search task: it has no queries.jsonl"),
        ("scenes:rings", "--test scenes:rings: the built-in tasks are scenes:triplets, scenes:reranking"),
    ):
        with pytest.raises(UserError, match=sentence):
            own_tasks([], [given])
    folder = folder_of(tmp_path / "two", a="q1\td0\t1\n", b="q1\td0\t1\n")
    (folder / "qrels" / "test.tsv").unlink()
    with pytest.raises(UserError, match=r"qrels holds a.tsv, b.tsv, and none of them is test.tsv"):
        own_tasks([], [str(folder)])


@pytest.mark.parametrize("parts", [("train",), ("test", "dev"), ("dev", "dev")])
def test_parts_that_a_kind_does_not_have(parts: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match="needs the splits dev, test, of which it can lack dev or test"):
        Task("mine", "triplets", "table", ("a.csv",), parts=parts)
    with pytest.raises(UserError, match=r"needs the splits train, dev, test$"):
        Task("mine", "split", "table", ("a.csv",), parts=("dev",))


def test_one_part_alone_is_scored_in_both_ways(tmp_path: Path) -> None:
    built_in = [f"{name}=scenes:triplets" for name in ("first", "second")]
    TASKS.add(*own_tasks([built_in[0]], []), *own_tasks([], [built_in[1]]))
    check_data(tmp_path, ["first", "second"])
    whole = evaluate(bag_of_words, tmp_path, ["first", "second"])
    assert [*whole.tasks["first"]] == ["dev_accuracy", "dev_ndcg@10", "examples", "seconds"]
    assert [*whole.tasks["second"]] == ["test_accuracy", "test_ndcg@10", "examples", "seconds"]
    assert {*whole.answers} == {"dev.first", "second"}
    alone = evaluate(bag_of_words, tmp_path, ["first", "second"], parts="development")
    assert alone.tasks["first"]["dev_accuracy"] == whole.tasks["first"]["dev_accuracy"]
    assert alone.tasks["second"]["reason"] == "no data: second has no development part"
    assert alone.errors == {}
    assert [*development(bag_of_words, tmp_path, ["first", "second"])] == ["first.dev_accuracy", "score"]


@pytest.mark.slow
def test_few_examples_of_many_classes_make_fewer_folds(tmp_path: Path) -> None:
    rows = [f"{f'word{number % 5} ' * 9}{number},{number % 5}\n" for number in range(20)]
    (tmp_path / "dev.csv").write_text("text,label\n" + "".join(rows))
    files = [str(tmp_path / "dev.csv")]
    TASKS.add(*own_tasks([f"first={files[0]}"], []), *own_tasks([], [f"second={files[0]}"]))
    for name, number in (("first", "dev_accuracy"), ("second", "test_accuracy")):
        scores = evaluate(bag_of_words, tmp_path, [name])
        assert scores.errors == {}
        score = scores.tasks[name][number]
        assert isinstance(score, float)
        assert score > 20
    answers, kind = scores.answers["second"], KINDS["classes"]
    protocol = PROTOCOLS["full"]
    assert kind.numbers(TASKS["second"], answers, protocol)["test_accuracy"] == pytest.approx(score)
    assert kind.effects(TASKS["second"], "test_accuracy", answers, protocol) is not None


def test_the_place_of_files_is_no_part_of_what_they_are(tmp_path: Path) -> None:
    digits = set()
    for first, second in (("a", "b"), ("b", "a")):
        places = [folder_of(tmp_path / first / "dev", dev="q1\td0\t1\n"), folder_of(tmp_path / second / "test")]
        (task,) = own_tasks([f"faq={places[0]}"], [f"faq={places[1]}"])
        TASKS.add(task)
        digits.add(fingerprint("anywhere", ["faq"]))
        TASKS.remove("faq")
    assert len(digits) == 1


def test_embeddings_that_are_all_the_same_show_no_skill() -> None:
    given = [f"scenes:{name}" for name in ("labelled_pairs", "triplets", "search", "reranking", "clustering")]
    tasks = own_tasks([], given)
    TASKS.add(*tasks)
    scores = evaluate(lambda texts: np.ones((len(texts), 3), np.float32), "nowhere", [t.name for t in tasks]).tasks
    assert scores["triplets"]["test_accuracy"] == scores["clustering"]["test_v_measure"] == 0.0
    assert (scores["search"]["test_ndcg@10"] or 0) < 10
    assert (scores["reranking"]["test_mrr@10"] or 0) < 25


def test_shares_of_few_and_uneven_folds_add_up_to_the_accuracy() -> None:
    gold = np.array([0] * 4 + [1] * 3 + [2] * 3)
    hit = np.arange(10) % 3 != 0
    answers, protocol, kind = Answers(np.where(hit, gold, 9), gold), PROTOCOLS["full"], KINDS["nested_cv"]
    fold = fold_numbers(gold, protocol.folds)
    assert fold is not None
    assert len({*np.bincount(fold).tolist()}) > 1
    assert len({*fold.tolist()}) < protocol.folds
    naive = np.mean([100 * hit[fold == number].mean() for number in {*fold.tolist()}])
    shares = kind.shares("test_accuracy", answers, protocol)
    assert shares is not None
    assert shares.sum() == pytest.approx(naive)


@pytest.mark.parametrize("numbers", [range(6), range(1, 6), (0, 0.5, 1)])
def test_numbers_of_pairs_are_scores_where_training_data_take_them_for_such(tmp_path: Path, numbers: range) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("sentence1,sentence2,label\n" + "".join(f"a cat {n},a dog,{n}\n" for n in numbers))
    (task,) = own_tasks([], [str(file)])
    assert (task.kind, training_files([str(file)]).content) == ("scored_pairs", "scored")


@pytest.mark.parametrize("numbers", [(0, 1, 2), (-1, 0, 1), (1, 2)])
def test_numbers_of_pairs_that_may_be_two_things_are_asked_about(tmp_path: Path, numbers: Sequence[int]) -> None:
    def written(header: str) -> str:
        rows = "".join(f"a cat {n},a dog {m},{n}\n" for n in numbers for m in range(9))
        (tmp_path / "pairs.csv").write_text(f"{header}\n{rows}")
        return str(tmp_path / "pairs.csv")

    file = written("sentence1,sentence2,label")
    with pytest.raises(UserError, match=r"'label' holds .*, which may be classes, .*; call it class or score"):
        own_tasks([], [file])
    with pytest.raises(UserError, match=r"'label' holds .*, which may stand for entailment, .* or by --columns"):
        training_files([file])
    assert training_files([file], labels="entailment=2,neutral=1,contradiction=0").content == "nli"
    assert training_files([file], "sentence1=sentence1,sentence2=sentence2,score=label").content == "scored"
    assert training_files([file], "premise=sentence1,hypothesis=sentence2,label=label").content == "nli"
    assert own_tasks([], [written("sentence1,sentence2,class")])[0].kind == "classes"
    assert own_tasks([], [written("sentence1,sentence2,score")])[0].kind == "scored_pairs"
    file = written("premise,hypothesis,label")
    assert own_tasks([], [file])[0].kind in ("classes", "labelled_pairs")  # -1 of NLI is none
    assert training_files([file]).content == "nli"


@pytest.mark.parametrize("limit", ["MOST_LINES", "MOST_LETTERS"])
@pytest.mark.parametrize("name", ["sts.csv", "topics.tsv", "lists.jsonl", "corpus.jsonl"])
def test_a_file_that_is_too_large_to_be_held_is_refused(
    name: str, limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its second line or later; one that is as large as it may be is read."""
    if name == "corpus.jsonl":
        (tmp_path / "qrels").mkdir()
        (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "a"}\n')
        (tmp_path / name).write_text('{"_id": "d", "text": "a b"}\n{"_id": "e", "text": "c d"}\n')
        (tmp_path / "qrels" / "test.tsv").write_text("q\td\t1\n")
        place, letters, lines = tmp_path, 6, 2
    else:
        place, content = tmp_path / name, TABLES[name][1]
        place.write_text(content)
        rows = [*open_table(place).read(open_table(place).columns)]
        letters, lines = sum(len(str(value)) for _, row in rows for value in row.values()), len(rows)
    most = {"MOST_LINES": lines, "MOST_LETTERS": letters}[limit]

    def read() -> None:
        task, *_ = own_tasks([], [str(place)])
        read_task(task, tmp_path)

    monkeypatch.setattr(examples, limit, most)
    read()
    monkeypatch.setattr(examples, limit, most - 1)
    with pytest.raises(UserError, match=rf"{name}, line {lines}: a dev or test file may have .* give a part of it"):
        read()


def test_some_of_the_answers_keep_their_parts_and_groups() -> None:
    numbers = np.arange(6)
    answers = Answers(
        numbers, numbers % 2, np.array([4, 2]), {"seen": numbers > 2}, items_digest="abc", groups=numbers // 2
    )
    some = answers.select(np.array([True, False, False, True, True, False]))
    assert (some.predicted.tolist(), some.gold.tolist(), some.sizes.tolist()) == ([0, 3, 4], [0, 1, 0], [2, 1])
    assert (some.further_arrays["seen"].tolist(), some.groups.tolist()) == ([False, True, True], [0, 1, 2])
    assert some.items_digest.startswith("abc")
    assert some.items_digest != answers.select(numbers > 2).items_digest
    assert Answers(numbers, numbers).select(numbers > 2).parts is None
