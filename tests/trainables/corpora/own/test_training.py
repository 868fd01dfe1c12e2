"""A person's own training files: what kind of data they hold, their normal form, and what is put aside of them."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from trainables.corpora.leaks import normalise
from trainables.corpora.own.census import take_census
from trainables.corpora.own.held_out import leave_out, prepare
from trainables.corpora.own.split import (
    DEV,
    LEFT_OUT,
    MAX_HELD_OUT,
    MIN_LABEL_TEXTS,
    MIN_ROWS,
    TEST,
    TRAIN,
    HashedTexts,
)
from trainables.corpora.own.training_files import training_files
from trainables.corpora.own_rows import keep_texts, row_in_words, texts
from trainables.errors import UserError
from trainables.senteval.own_tasks import own_tasks
from trainables.senteval.read_task import read_task
from trainables.tabular import NAMES, near_role

KINDS = {
    "pairs": "anchor,positive\na dog,an animal\n",
    "triplets": "query,pos,neg\na dog,an animal,a car\n",
    "nli": "premise,hypothesis,label\na dog,an animal,entailment\na dog,a cat,2\n",
    "scored": "sentence1,sentence2,score\na dog,an animal,3.5\na dog,a car,0\n",
    "labelled": "text,label\na dog,animals\na cat,animals\na car,things\n",
    "texts": "sentence\na dog\na cat\n",
}


def write(folder: Path, text: str, name: str = "mine.csv") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_tell_the_kind(kind: str, tmp_path: Path) -> None:
    data = training_files([write(tmp_path, KINDS[kind])])
    rows = [*data.rows(Counter())]
    assert data.content == kind
    assert len(rows) == KINDS[kind].count("\n") - 1
    assert texts(rows[0])[0] == "a dog"
    assert take_census(rows, data.content, data.name).rows == len(rows)


@pytest.mark.parametrize("column", ["label", "score"])
def test_a_label_beside_pairs_is_not_passed_over(column: str, tmp_path: Path) -> None:
    file = write(tmp_path, f"question,answer,{column}\nwho,he,1\nwho,a car,0\n")
    with pytest.raises(UserError, match=f"sentence1=question,sentence2=answer,score={column}, or leave it out"):
        training_files([file])
    assert training_files([file], "anchor=question,positive=answer").content == "pairs"
    assert training_files([file], f"sentence1=question,sentence2=answer,score={column}").content == "scored"


@pytest.mark.parametrize(
    ("text", "kind", "first"),
    [
        ("sentence1,sentence2\na dog,a pet\n", "pairs", {"anchor": "a dog", "positive": ["a pet"]}),
        ("left side,right side\na dog,a pet\n", "pairs", {"anchor": "a dog", "positive": ["a pet"]}),
        ("sentence1,sentence2,label\na,b,4.5\n", "scored", {"sentence1": "a", "sentence2": "b", "score": 4.5}),
        ("Sentence1,Sentence2,Score\na,b,4\n", "scored", {"sentence1": "a", "sentence2": "b", "score": 4.0}),
        (
            "first,second,similarity\na dog,a pet,4\n",
            "scored",
            {"sentence1": "a dog", "sentence2": "a pet", "score": 4.0},
        ),
        ("words of it\na dog runs\na cat\n", "texts", {"text": ["a dog runs"]}),
    ],
)
def test_other_names(text: str, kind: str, first: dict[str, object], tmp_path: Path) -> None:
    data = training_files([write(tmp_path, text)])
    assert (data.content, next(data.rows(Counter()))) == (kind, first)


def test_lines_of_text_and_several_files(tmp_path: Path) -> None:
    lines = write(tmp_path, "a dog\n\na cat\n", "mine.txt")
    assert [row["text"] for row in training_files([lines]).rows(Counter())] == [["a dog"], ["a cat"]]
    pairs, triplets = write(tmp_path, KINDS["pairs"], "a.csv"), write(tmp_path, KINDS["triplets"], "b.csv")
    assert training_files([pairs, triplets]).content == "triplets"
    assert len([*training_files([pairs, triplets]).rows(Counter())]) == 2
    with pytest.raises(UserError, match=r"--train takes one kind of data, and .*mine.txt holds texts .* while .*a.csv"):
        training_files([lines, pairs])


def test_columns_and_labels_of_other_names(tmp_path: Path) -> None:
    mine = write(tmp_path, "a;b;verdict\na dog;an animal;yes\na dog;a car;no\na dog;a pet;\n")
    data = training_files(
        [mine], "premise=a,hypothesis=b,label=verdict", "entailment=yes,contradiction=no,neutral=maybe"
    )
    left_out: Counter[str] = Counter()
    assert [row["label"] for row in data.rows(left_out)] == ["entailment", "contradiction"]
    assert left_out == {"with no label": 1}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b,c\n1,2,3\n", "line 2: what its columns mean is not known .found: a, b, c.; say it"),
        ("review,stars\nvery good,5\n", "what its columns mean is not known"),
        ("query,my words,score\na dog,a pet,1\n", "what its columns mean is not known"),
        ("my words,score\na dog,1\n", "what its columns mean is not known"),
        ("post,reply,score\na dog runs,a cat sleeps,2178\n", "what its columns mean is not known"),
        ("text,score\na dog runs,1\n", "what its columns mean is not known"),
        (
            "premise,hypothesis,label\na,b,1\nc,d,2\ne,f,3\n",
            "which may stand for entailment, neutral and contradiction",
        ),
        ("amount,topic\n3,a\n4,b\n", "what its columns mean is not known"),
        ("id\n1\n2\n", "what its columns mean is not known .found: id"),
        ("anchor,positive\na dog,\n", "holds no rows to train on: 1 with no positive"),
        ("anchor,positive\n,a dog\n", "holds no rows to train on: 1 with no anchor"),
        ("sentence1,sentence2,score\na,b,high\n", "line 2: score is 'high', and a score is a number"),
        ("sentence1,sentence2,score\na,b,nan\n", "holds no rows to train on: 1 with no score"),
        ("sentence1,sentence2,score\na,b,1\nc,d,1\n", "all scores are 1, so nothing can be learnt"),
        ("sentence,label\na,x\nb,x\n", "all labels are 'x'"),
        ("anchor,positive\na,x\nb,x\n", "all positives are one text, so nothing can be learnt from them"),
        ("anchor,positive\na,x\na,y\n", "all anchors are one text"),
        ("premise,hypothesis,label\na,x,entailment\nb,x,entailment\n", "all positives are one text"),
        ("sentence\na dog\na dog\n", "all texts are one, so nothing"),
        ("sentence,label\na,x\nb,y\n", "no two texts have the same label"),
        ("premise,hypothesis,label\na,b,2\nc,d,1\nc,e,-\n", "what two numbers mean differs"),
        ("premise,hypothesis,label\na,b,neutral\n", "holds no pair labelled entailment"),
        ("anchor,positive\n", "holds no rows"),
        ("", "is empty"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    mine = write(tmp_path, text)
    with pytest.raises(UserError, match=sentence):
        prepare(training_files([mine]), tmp_path / "data")


PROSE = '"How do I pay?","Open the page of the shop, then pay."\n"May I cancel?","Yes, on the page of your orders."\n'
"""Two rows, of whose first no name of a column is like."""


@pytest.mark.parametrize(
    ("column", "cells", "warns"),
    [
        ("relevance", tuple("2130"), True),
        ("is_match", ("yes", "no", "yes", "yes"), True),
        ("checked", tuple("0110"), True),
        ("checked", ("True", "true", "False", ""), True),
        ("rating", tuple("5555"), False),
        ("checked", tuple("1111"), False),
        ("views", tuple("1034"), False),
        ("split", ("train", "test", "train", "train"), False),
    ],
)
def test_a_column_that_may_say_which_pairs_are_wrong(
    column: str, cells: tuple[str, ...], warns: bool, tmp_path: Path
) -> None:
    rows = "".join(f"question {number},answer {number},{cell}\n" for number, cell in enumerate(cells))
    file = write(tmp_path, f"question,answer,{column}\n{rows}")
    (*doubts,) = training_files([file]).doubts
    assert [f"{column!r} is not used, and may say that some pairs are wrong" in doubt for doubt in doubts] == [
        True
    ] * warns
    assert not training_files([file], "anchor=question,positive=answer").doubts


@pytest.mark.parametrize(("high", "refused"), [(1, False), (2, False), (100, True)])
def test_scores_of_two_files_on_different_scales_are_refused(high: int, refused: bool, tmp_path: Path) -> None:
    tables = {"a.csv": 1, "b.csv": high}
    files = [
        write(
            tmp_path,
            "\n".join(["sentence1,sentence2,score", *(f"{name} {n},b,{n * top / 20}" for n in range(21))]),
            name,
        )
        for name, top in tables.items()
    ]
    source = training_files(files)
    if not refused:
        assert len([*source.rows(Counter())]) == 42
        return
    with pytest.raises(
        UserError, match=r"scores of .*b.csv from 0 to 100 and .*a.csv from 0 to 1 may be of two scales"
    ):
        [*source.rows(Counter())]


def test_a_positive_that_is_its_anchor_is_left_out(tmp_path: Path) -> None:
    rows = [{"anchor": "a", "positive": each} for each in ("a", ["a", "b"], ["a", "a"], "c")]
    left_out: Counter[str] = Counter()
    lines = write(tmp_path, "\n".join(map(json.dumps, rows)), "mine.jsonl")
    assert [row["positive"] for row in training_files([lines]).rows(left_out)] == [["b"], ["c"]]
    assert left_out == {"with no positive that differs from the anchor": 2}


def test_texts_that_programs_write_for_empty_cells_are_counted(tmp_path: Path) -> None:
    table = "".join(f"anchor {n},{['NaN', 'null', 'a word'][n % 3]} \n" for n in range(9))
    made = prepare(training_files([write(tmp_path, f"anchor,positive\n{table}")]), tmp_path / "data")
    assert (made.rows, made.empty_words) == (9, {"NaN": 3, "null": 3})


def test_two_files_with_the_same_columns_in_another_order_need_names(tmp_path: Path) -> None:
    first, second = (
        write(tmp_path, f"title,body\n{PROSE}", "a.csv"),
        write(tmp_path, f"body,title\n{PROSE}a b,c d\n", "b.csv"),
    )
    with pytest.raises(
        UserError, match="another order; say which is which, as in --columns anchor=title,positive=body"
    ):
        training_files([first, second])
    assert training_files([first, second], "anchor=title,positive=body").content == "pairs"


def test_how_columns_were_read_is_said(tmp_path: Path) -> None:
    data = training_files([write(tmp_path, f"question,answer\n{PROSE}")])
    assert (data.read_as, data.doubts) == ("pairs: anchor = question, positive = answer", [])
    first = next(data.rows(Counter()))
    assert row_in_words(first) == '"How do I pay?" -> "Open the page of the shop, then pay."'
    long = {"anchor": "x" * 60, "positive": ["one", "other"], "negative": []}
    assert row_in_words(long) == f'"{"x" * 38} …" -> "one"'
    assert row_in_words({"sentence1": "a", "sentence2": "b", "score": 0.5}) == '"a" -> "b" -> 0.5'


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (
            f"title,body\n{PROSE}",
            "their order decides; --columns anchor=title,positive=body says it, and anchor=body,positive",
        ),
        (f"qestion,body\n{PROSE}", "their order decides; did you mean 'question'"),
        (
            "message,topic\nHow do I pay?,order\nMay I cancel it?,prices\n",
            "'topic' is read as the label of 'message'; --columns sentence=message,label=topic says it, and --columns",
        ),
        (PROSE, 'looks like texts ("How do I pay?"); if so, it is lost: put a line of names above it'),
    ],
)
def test_what_may_be_read_wrongly_is_said(table: str, sentence: str, tmp_path: Path) -> None:
    """The order of columns where it decides, a name that makes a column the label, a file without a header."""
    (doubt,) = training_files([write(tmp_path, table)]).doubts
    assert sentence in doubt


@pytest.mark.parametrize("header", ["anwser,question", "anwser,body", "body,qestion", "answer,body", "body,query"])
def test_names_against_the_order_are_refused(header: str, tmp_path: Path) -> None:
    first, second = header.split(",")
    with pytest.raises(UserError, match=f"which is which, as in --columns anchor={second},positive={first}"):
        training_files([write(tmp_path, f"{header}\n{PROSE}")])


def test_names_that_are_nearly_known_or_no_names_are_told_of(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"not known .*; the first line is read as names of the columns, but looks"):
        training_files([write(tmp_path, "1,How do I pay?,Open the page.\n2,May I?,Yes.\n")])
    with pytest.raises(UserError, match=r"did you mean 'question'\? did you mean 'answer'\? say it"):
        training_files([write(tmp_path, "note,qestion,anwser\n1,a b,c d\n")])
    with pytest.raises(UserError, match=r"no column 'bdy'.*; did you mean 'body'\?"):
        training_files([write(tmp_path, f"title,body\n{PROSE}")], "anchor=title,positive=bdy")
    known = [name for names in NAMES.values() for name in names if name.isidentifier()]
    assert [near_role(name) for name in (*known, "positive_2", "source", "context", "title", "body")] == [None] * (
        len(known) + 5
    )


def test_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_bytes(b"anchor,positive\na dog,an animal\ncaf\xe9,drink\n")
    with pytest.raises(
        UserError, match=r"mine\.csv, line 3: not UTF-8 .*: iconv -f WINDOWS-1252 -t UTF-8 .*mine.csv > .*mine_utf8"
    ):
        [*training_files([str(tmp_path / "mine.csv")]).rows(Counter())]


def split(rows: list[list[str]], parts: tuple[int, ...] = (DEV, TEST)) -> np.ndarray:
    data = HashedTexts()
    for row in rows:
        data.add(row)
    return data.split(parts, "mine.csv", lambda: rows).code


def near_copies(count: int, copies: int, words: int = 12) -> list[list[str]]:
    """Pairs of new words; the positive of each of the first `copies` differs in a last word from that of another."""
    draw = random.Random(0)
    texts = [" ".join(f"w{draw.randrange(10**6)}" for _ in range(words)) for _ in range(count)]
    texts[:copies] = [f"{texts[copies + number]} x" for number in range(copies)]
    return [[f"question {number} {draw.randrange(10**6)}", text] for number, text in enumerate(texts)]


@pytest.mark.parametrize("labelled", [False, True])
def test_near_copies_of_texts_of_another_part_are_trained_on(labelled: bool) -> None:
    rows = near_copies(1000, 200)
    rows = [row[1:] for row in rows] if labelled else rows
    data, before = HashedTexts(), HashedTexts()
    for number, row in enumerate(rows):
        for each in (data, before):
            each.add(row, str(number % 2) if labelled else None)
    code = data.split((DEV, TEST), "mine", lambda: rows).code
    fresh = [[f"{number}"] * len(row) for number, row in enumerate(rows)]  # no near copies: the split by equal texts
    by_equal = before.split((DEV, TEST), "mine", lambda: fresh).code
    apart = {number for number in range(200) if by_equal[number] != by_equal[number + 200]}
    assert len(apart) > 40
    assert all(code[number] == code[number + 200] for number in range(200))
    moved = set(np.flatnonzero(code != by_equal).tolist())
    assert moved == {each for number in apart for each in (number, number + 200) if by_equal[each] != TRAIN}
    assert all(code[number] == TRAIN for number in moved)


def test_near_copies_stay_where_little_else_could_be_held_out() -> None:
    rows = [
        [f"question {number}", f"the same eleven words of a letter to each of them {number}"] for number in range(400)
    ]
    code = split(rows)
    assert [(code == part).sum() for part in (DEV, TEST)] == [40, 40]


def test_no_part_loses_a_label_whose_texts_are_all_near_copies() -> None:
    """Nine of twenty texts are of a form; the others are like no other."""
    draw = random.Random(0)
    data, rows = HashedTexts(), list[list[str]]()
    labels = ["order" if number % 20 < 9 else str(number % 4) for number in range(2000)]
    for number, label in enumerate(labels):
        words = " ".join(f"w{draw.randrange(10**6)}" for _ in range(9))
        rows.append([f"please order item {number} and send it to the usual address" if label == "order" else words])
        data.add(rows[-1], label)
    code = data.split((DEV, TEST), "mine", lambda: rows).code
    for part in (DEV, TEST):
        assert np.mean(np.array(labels)[code == part] == "order") == pytest.approx(0.45, abs=0.02)


def test_rows_that_share_a_text_are_held_out_as_often_as_others() -> None:
    """Half of the rows share their positive with nine others: by the least hash of ten anchors it was nine tenths."""
    rows = near_copies(6000, 0)
    for number in range(3000, 6000):
        rows[number][1] = rows[number - number % 10][1]
    code = split(rows)
    for part in (DEV, TEST):
        held_out = np.flatnonzero(code == part)
        assert len(held_out) > 500
        assert np.mean(held_out >= 3000) == pytest.approx(0.5, abs=0.08)


def test_a_small_part_stays_as_it_is() -> None:
    rows = near_copies(60, 20)
    code = split(rows)
    assert [(code == part).sum() for part in (DEV, TEST)] == [6, 6]


def on_several_sides(rows: list[list[str]], part: np.ndarray) -> set[str]:
    """Texts that stand in two parts, but for rows that are left out."""
    sides: dict[str, set[int]] = {}
    for row, code in zip(rows, part.tolist(), strict=True):
        for text in row if code != LEFT_OUT else ():
            sides.setdefault(normalise(text), set()).add(code)
    return {text for text, codes in sides.items() if len(codes) > 1}


@pytest.mark.parametrize("common", [0, 3, 40])
@pytest.mark.parametrize("seed", range(4))
def test_no_text_stands_on_two_sides(common: int, seed: int) -> None:
    """With few texts that all rows share, and with many that hang nearly all rows together."""
    draw = random.Random(seed)
    rows = [
        [
            f"Anchor {draw.randrange(400)}!",
            f"positive {draw.randrange(900) if draw.random() > common / 50 else -draw.randrange(9)}",
        ]
        for _ in range(600)
    ]
    part = split(rows)
    counts = {code: int((part == code).sum()) for code in (TRAIN, DEV, TEST, LEFT_OUT)}
    assert sum(counts.values()) == len(rows)
    assert not on_several_sides(rows, part)
    assert all(30 <= counts[part] <= 70 for part in (DEV, TEST))
    assert counts[TRAIN] > 150


def mined(rows: int, negatives: int, draw: random.Random) -> list[tuple[str, list[str], list[str]]]:
    """Questions with their answers, and the answers of others as wrong ones."""
    answers = [f"answer {number}" for number in range(rows)]
    return [
        (f"question {number}", [answers[number]], draw.sample(answers[:number] + answers[number + 1 :], negatives))
        for number in range(rows)
    ]


def as_lines(path: Path, rows: list[tuple[str, list[str], list[str]]]) -> str:
    path.write_text("".join(json.dumps({"query": q, "pos": p, "neg": n}) + "\n" for q, p, n in rows))
    return str(path)


@pytest.mark.parametrize("negatives", [1, 7])
@pytest.mark.parametrize("parts", [(DEV,), (DEV, TEST)])
def test_negatives_mined_among_the_positives_of_others_cost_no_rows(
    negatives: int, parts: tuple[int, ...], tmp_path: Path
) -> None:
    """No text stands on two sides all the same: what another part has is no negative there."""
    rows = mined(300, negatives, random.Random(0))
    data = prepare(training_files([as_lines(tmp_path / "mined.jsonl", rows)]), tmp_path / "data", parts)
    assert data.parts == {TRAIN: 300 - 30 * len(parts), LEFT_OUT: 0, **dict.fromkeys(parts, 30)}
    trained_on = lines(data.train)
    sides = [{text for row in trained_on for text in texts(row)}]
    for folder in data.held_out.values():
        files = [folder / name for name in ("corpus.jsonl", "queries.jsonl")]
        sides.append({str(row["text"]) for file in files for row in lines(file)})
    assert all(not first & other for first, other in itertools.combinations(sides, 2))
    aside = {text for side in sides[1:] for text in side if text.startswith("answer")}
    before = {anchor: [text for text in wrong if text not in aside] for anchor, _, wrong in rows}
    assert all(row["negative"] == before[str(row["anchor"])] for row in trained_on)
    lost = [number for number, row in enumerate(trained_on) if len(before[str(row["anchor"])]) < negatives]
    assert [*data.cut_rows] == lost != []
    assert not data.anchors_only
    fewer = leave_out(data, lost[::2], "mined.jsonl")
    assert [lines(fewer.train)[number] for number in fewer.cut_rows] == [trained_on[number] for number in lost[1::2]]


def test_a_pool_of_wrong_texts_goes_to_what_judges_while_enough_is_left(tmp_path: Path) -> None:
    """So that a search is among them; of a small pool, which training needs, none is searched among."""
    for pool, unsearched in ((4000, 0), (20, 20)):
        draw = random.Random(0)
        rows = [
            (f"question {number}", [f"answer {number}"], [f"wrong {draw.randrange(pool)}" for _ in range(4)])
            for number in range(300)
        ]
        data = prepare(training_files([as_lines(tmp_path / f"{pool}.jsonl", rows)]), tmp_path / str(pool), (DEV, TEST))
        corpora = [{str(row["text"]) for row in lines(own / "corpus.jsonl")} for own in data.held_out.values()]
        trained_on = lines(data.train)
        assert not corpora[0] & corpora[1]
        assert not set.union(*corpora) & {text for row in trained_on for text in texts(row)}
        assert (data.negatives_in_training, max(map(len, corpora)) > 100) == (unsearched, not unsearched)
        assert sum(len(row["negative"]) for row in trained_on) > 0.5 * 4 * len(trained_on)  # type: ignore[arg-type]


def test_positives_are_kept_apart_where_that_costs_little(tmp_path: Path) -> None:
    """Rows that hang together by their anchors, but for a few positives."""
    shops = [(f"shop {number % 100}", [f"product {number % 3950}"], list[str]()) for number in range(4000)]
    data = prepare(training_files([as_lines(tmp_path / "shops.jsonl", shops)]), tmp_path / "data", (DEV, TEST))
    assert (data.anchors_only, data.shared_positives) == (False, 0)
    assert 0 < data.parts[LEFT_OUT] < 400


def test_what_is_lost_leaves_a_row_as_it_was_else() -> None:
    row = {"anchor": "a", "positive": ["b", "c"], "negative": ["d"], "teacher": [1.0, 2.0, 3.0]}
    assert keep_texts(row, [True, False, True, True]) == {**row, "positive": ["c"], "teacher": [2.0, 3.0]}
    margins = {"anchor": "a", "positive": ["b"], "negative": ["c", "d"], "teacher": [0.5, 0.7]}
    assert keep_texts(margins, [True, True, False, True]) == {**margins, "negative": ["d"], "teacher": [0.7]}
    assert keep_texts(margins, [True, True, False, False]) == {"anchor": "a", "positive": ["b"], "negative": []}
    assert keep_texts({"anchor": "a", "positive": ["b", "c"]}, [True, True, False]) == {
        "anchor": "a",
        "positive": ["b"],
    }


def test_few_answers_of_many_questions_stand_on_both_sides(tmp_path: Path) -> None:
    """Only anchors are kept apart there, in whatever role; answers that have few questions are not shared."""
    rows = [(f"question {number}", [f"answer {number % 5}"], list[str]()) for number in range(200)]
    rows += [(f"note {number}", [f"question {number}"], ["answer 0"]) for number in range(0, 200, 40)]
    data = prepare(training_files([as_lines(tmp_path / "few.jsonl", rows)]), tmp_path / "data", (DEV, TEST))
    trained_on = lines(data.train)
    anchors = [str(row["text"]) for file in data.held_out.values() for row in lines(file / "queries.jsonl")]
    assert (data.anchors_only, data.shared_positives) == (True, 5)
    assert data.parts[TRAIN] == len(trained_on) > 150
    assert len({*anchors}) == data.parts[DEV] + data.parts[TEST] == len(anchors)
    assert not {*anchors} & {text for row in trained_on for text in texts(row)}
    few = [(question, [f"answer {number % 100}"], list[str]()) for number, (question, *_) in enumerate(rows[:200])]
    apart = prepare(training_files([as_lines(tmp_path / "apart.jsonl", few)]), tmp_path / "apart", (DEV, TEST))
    assert (apart.shared_positives, apart.parts) == (0, {TRAIN: 160, DEV: 20, TEST: 20, LEFT_OUT: 0})


@pytest.mark.parametrize("seed", range(8))
def test_whatever_the_rows_share_no_text_that_is_kept_apart_has_two_parts(seed: int) -> None:
    draw = random.Random(seed)
    anchors, positives = draw.choice([50, 400, 2000]), draw.choice([8, 60, 600])
    rows = [
        (
            f"anchor {draw.randrange(anchors)}",
            [f"text {draw.randrange(positives)}" for _ in range(draw.randrange(1, 3))],
            [f"text {draw.randrange(positives)}" for _ in range(draw.randrange(4))] + [f"anchor {draw.randrange(9)}"],
        )
        for _ in range(600)
    ]
    data = HashedTexts()
    for anchor, right, wrong in rows:
        data.add([anchor, *right, *wrong], negatives=len(wrong))
    made = data.split(
        (DEV, TEST), "mine", lambda: ([anchor, *right, *wrong] for anchor, right, wrong in rows), may_share=True
    )
    sides: dict[str, set[int]] = {}
    for number, (anchor, right, wrong) in enumerate(rows):
        stays = made.kept_texts.get(number, [True] * (1 + len(right) + len(wrong)))
        if made.code[number] != LEFT_OUT:
            assert stays[0]
            assert any(stays[1 : 1 + len(right)])
            apart = [] if made.anchors_only else [*right, *wrong]
            for text in itertools.compress([anchor, *apart], stays):
                sides.setdefault(text, set()).add(int(made.code[number]))
    assert max(map(len, sides.values())) == 1
    assert made.count(TRAIN) >= 60
    assert made.anchors_only or not made.shared_positives


def test_the_split_goes_by_the_rows_alone() -> None:
    rows = [[f"anchor {number}", f"positive {number}"] for number in range(100)]
    mixed = random.Random(0).sample(range(100), 100)
    part = split(rows)
    assert Counter(part.tolist()) == {TRAIN: 80, DEV: 10, TEST: 10}
    assert part[mixed].tolist() == split([rows[number] for number in mixed]).tolist()
    assert Counter(split(rows, (TEST,)).tolist()) == {TRAIN: 90, TEST: 10}


def test_too_few_rows_or_all_of_one_piece() -> None:
    with pytest.raises(UserError, match=f"holds {MIN_ROWS - 1} rows, too few"):
        split([[f"anchor {number}"] for number in range(MIN_ROWS - 1)])
    with pytest.raises(UserError, match="hang together by their texts"):
        split([["one anchor", f"positive {number}"] for number in range(100)])
    draw = random.Random(0)
    with pytest.raises(UserError, match=r"hang together by their texts, so that .* \d+ trained on; give --dev"):
        split([[f"text {draw.randrange(60)}", f"text {draw.randrange(60)}"] for _ in range(600)])


def test_each_label_is_put_aside_of_and_trained_on(tmp_path: Path) -> None:
    """Many labels of few texts each; one label has too few to be judged by, and texts of several labels stay."""
    rows = [f"text {number} of {label},{label}\n" for label in range(60) for number in range(10)]
    mine = write(tmp_path, "text,label\n" + "".join(rows) + "rare,rare\nrarer,rare\ntwofold,1\ntwofold,2\n")
    data = prepare(training_files([mine]), tmp_path / "data", (DEV, TEST))
    labels = {part: Counter(str(row["label"]) for row in lines(file)) for part, file in data.held_out.items()}
    assert labels[DEV] == labels[TEST] == dict.fromkeys(map(str, range(60)), 2)
    assert (data.labels_not_held_out, data.census.labels["rare"], data.census.labels["1"]) == (1, 2, 7)
    (task,) = own_tasks([str(data.held_out[DEV])], [str(data.held_out[TEST])])
    assert read_task(task, Path()).classes == 60
    few = write(tmp_path, "text,label\n" + "".join(f"text {n},{n // 5}\n" for n in range(60)), "few.csv")
    with pytest.raises(UserError, match="takes two labels with 6 different texts, and 0 of its 12 labels have so many"):
        prepare(training_files([few]), tmp_path / "few", (DEV, TEST))
    assert prepare(training_files([few]), tmp_path / "less", (DEV,)).parts == {DEV: 24, TRAIN: 36, LEFT_OUT: 0}


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class TestPrepare:
    def test_pairs_put_aside_are_a_search_for_what_stands_beside_an_anchor(self, tmp_path: Path) -> None:
        rows = "".join(f"question {number},answer {number},wrong {number}\n" for number in range(100))
        mine = write(tmp_path, "anchor,positive,negative\n" + rows)
        data = prepare(training_files([mine]), tmp_path / "data", (DEV, TEST))
        assert (data.rows, data.parts) == (100, {TRAIN: 80, DEV: 10, TEST: 10, LEFT_OUT: 0})
        assert data.census.units == len(lines(data.train)) == 80
        folder = data.held_out[DEV]
        assert folder == tmp_path / "data" / "heldout_dev"
        corpus = {row["_id"]: str(row["text"]) for row in lines(folder / "corpus.jsonl")}
        queries = {row["_id"]: str(row["text"]) for row in lines(folder / "queries.jsonl")}
        assert {text.split()[0] for text in corpus.values()} == {"answer", "wrong"}
        assert (len(corpus), len(queries)) == (20, 10)
        head, *judged = (folder / "qrels" / "dev.tsv").read_text().splitlines()
        assert head == "query-id\tcorpus-id\tscore"
        pairs = {(queries[query], corpus[text]) for query, text, _ in map(str.split, judged)}
        assert pairs == {(text, text.replace("question", "answer")) for text in queries.values()}
        assert not {*corpus.values(), *queries.values()} & {text for row in lines(data.train) for text in texts(row)}
        assert sorted(path.name for path in (tmp_path / "data").iterdir()) == [
            "heldout_dev",
            "heldout_test",
            "train.jsonl",
        ]

    def test_they_are_the_task_that_the_same_pairs_are_when_given(self, tmp_path: Path) -> None:
        """A text that stands on both sides is not looked for under its own words."""
        rows = [f"question {number},answer {number}" for number in range(200)]
        rows += [f"answer {number},question {number}" for number in range(0, 200, 2)]
        data = prepare(
            training_files([write(tmp_path, "\n".join(["anchor,positive", *rows]))]), tmp_path / "d", (TEST,)
        )
        aside = {str(row["text"]) for row in lines(data.held_out[TEST] / "queries.jsonl")}
        given = write(tmp_path, "\n".join(["anchor,positive", *(row for row in rows if row.split(",")[0] in aside)]))
        both = [
            read_task(*own_tasks([], [str(path)]), tmp_path).splits["test"] for path in (data.held_out[TEST], given)
        ]
        searches = []
        for split in both:
            documents = split.documents
            assert documents is not None
            judged = [{documents.texts[place]: grade for place, grade in graded.items()} for graded in documents.judged]
            own = [documents.texts[place] if place >= 0 else None for place in documents.own]
            searches.append((dict(zip(split.left, zip(judged, own, strict=True), strict=True)), {*documents.texts}))
        assert searches[0] == searches[1]
        assert {own is None for _, own in searches[0][0].values()} == {True, False}

    def test_scored_pairs_and_labelled_texts_stay_tables(self, tmp_path: Path) -> None:
        rows = "".join(f"one {number},other {number},{number}\n" for number in range(50))
        data = prepare(
            training_files([write(tmp_path, "sentence1,sentence2,score\n" + rows)]), tmp_path / "data", (TEST,)
        )
        assert len(lines(data.held_out[TEST])) == data.parts[TEST] == 5
        assert lines(data.train)[0].keys() == {"sentence1", "sentence2", "score"}

    def test_without_parts_all_rows_are_trained_on(self, tmp_path: Path) -> None:
        rows = "a dog,an animal,0\na dog,a car,2\na cat,a dog,-1\na cat,a pet,1\n"
        data = prepare(training_files([write(tmp_path, "premise,hypothesis,label\n" + rows)]), tmp_path / "data")
        assert (data.rows, data.parts, data.left_out) == (3, {TRAIN: 3}, {"with no label": 1})
        assert lines(data.train)[0] == {"premise": "a dog", "hypothesis": "an animal", "label": "entailment"}


AGREEMENT = {
    "labelled": ("text,label\na,x\nb,y\na,y\na,z\nb,y\nc,x\n", 1, 1),
    "scored": ("sentence1,sentence2,score\na,b,-1\nb,a,-2\na,c,1\na,c,1.0\nd,e,2\n", 1, 1),
    "nli": ("premise,hypothesis,label\na,b,entailment\na,b,neutral\nb,a,neutral\nb,c,entailment\n", 1, 0),
    "triplets": ("anchor,positive,negative\na,b,c\na,b,d\na,d,e\nb,a,f\nb,a,f\n", 1, 1),
    "pairs": ("anchor,positive\na,b\na,c\nb,c\n", 0, 0),
    "texts": ("sentence\na\na\nb\n", 0, 1),
}


@pytest.mark.parametrize("content", AGREEMENT)
def test_rows_that_disagree_or_repeat_are_counted(content: str, tmp_path: Path) -> None:
    text, contradicted, repeated = AGREEMENT[content]
    data = prepare(training_files([write(tmp_path, text)]), tmp_path / "data")
    assert (data.content, data.contradicted, data.repeated) == (content, contradicted, repeated)


@pytest.mark.parametrize("sizes", [[20_000] + [6] * 499, [6] * 700, [9_000, 3_000]])
def test_no_part_of_uneven_labels_has_more_than_a_thousand(sizes: list[int]) -> None:
    data, labels = HashedTexts(), np.repeat(np.arange(len(sizes)), sizes)
    rows = [[f"text {number}"] for number in range(len(labels))]
    for row, label in zip(rows, labels, strict=True):
        data.add(row, str(label))
    code = data.split((DEV, TEST), "mine", lambda: rows).code
    for part in (DEV, TEST):
        assert 990 <= (code == part).sum() <= MAX_HELD_OUT
        assert np.unique(labels[code == part], return_counts=True)[1].min() >= MIN_LABEL_TEXTS


def test_no_part_of_uneven_groups_has_more_than_a_thousand() -> None:
    code = split([[f"anchor {group}", f"positive {group} {row}"] for group in range(150) for row in range(90)])
    assert min((code == part).sum() for part in (DEV, TEST)) >= 900
    assert max((code == part).sum() for part in (DEV, TEST)) <= MAX_HELD_OUT


@pytest.mark.parametrize(
    ("counts", "most"),
    [([1] * 9 + [5], 5), ([1] * 10 + [5], 1), ([1] * 18 + [5, 2], 2), ([3] * 7, 3), ([0] * 30 + [2], 1), ([0, 0], 0)],
)
def test_how_many_negatives_are_worth_a_search_a_tenth_of_the_anchors_says(counts: list[int], most: int) -> None:
    rows = [
        {"anchor": f"a{number}", "positive": [f"p{number}"], "negative": [f"n{number}" for number in range(count)]}
        for number, count in enumerate(counts)
    ]
    data = take_census(rows, "triplets", "mine")
    assert (data.most_positives, data.most_negatives) == (1, most)
