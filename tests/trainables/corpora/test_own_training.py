"""A person's own training files: what kind of data they hold, their normal form, and what is put aside of them."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from trainables.corpora.held_out import DEV, FEWEST, LEFT_OUT, TEST, TRAIN, Texts, normalised
from trainables.corpora.own_data import find_kind, take_census, texts
from trainables.errors import UserError

KINDS = {
    "pairs": "anchor,positive\na dog,an animal\n",
    "triplets": "query,pos,neg\na dog,an animal,a car\n",
    "nli": "premise,hypothesis,label\na dog,an animal,entailment\na dog,a cat,2\n",
    "scored": "sentence1,sentence2,score\na dog,an animal,3.5\na dog,a car,0\n",
    "labelled": "text,label\na dog,animals\na cat,animals\na car,things\n",
    "sentences": "sentence\na dog\na cat\n",
}


def write(folder: Path, text: str, name: str = "mine.csv") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_tell_the_kind(kind: str, tmp_path: Path) -> None:
    found = find_kind([write(tmp_path, KINDS[kind])])
    rows = [*found.rows(Counter())]
    assert found.kind == kind
    assert len(rows) == KINDS[kind].count("\n") - 1
    assert texts(rows[0])[0] == "a dog"
    assert take_census(rows, found.kind, found.name).rows == len(rows)


@pytest.mark.parametrize(
    ("text", "kind", "first"),
    [
        (
            "sentence1,sentence2\na dog,an animal\n",
            "pairs",
            {"anchor": "a dog", "positive": ["an animal"], "negative": []},
        ),
        (
            "left side,right side\na dog,an animal\n",
            "pairs",
            {"anchor": "a dog", "positive": ["an animal"], "negative": []},
        ),
        ("sentence1,sentence2,label\na,b,4.5\n", "scored", {"sentence1": "a", "sentence2": "b", "score": 4.5}),
        ("Sentence1,Sentence2,Score\na,b,4\n", "scored", {"sentence1": "a", "sentence2": "b", "score": 4.0}),
        ("words of it\na dog runs\na cat\n", "sentences", {"anchor": "a dog runs", "positive": ["a dog runs"]}),
    ],
)
def test_other_names(text: str, kind: str, first: dict[str, object], tmp_path: Path) -> None:
    found = find_kind([write(tmp_path, text)])
    assert (found.kind, next(found.rows(Counter()))) == (kind, first)


def test_lines_of_text_and_several_files(tmp_path: Path) -> None:
    lines = write(tmp_path, "a dog\n\na cat\n", "mine.txt")
    assert [row["anchor"] for row in find_kind([lines]).rows(Counter())] == ["a dog", "a cat"]
    pairs, triplets = write(tmp_path, KINDS["pairs"], "a.csv"), write(tmp_path, KINDS["triplets"], "b.csv")
    assert find_kind([pairs, triplets]).kind == "triplets"
    assert len([*find_kind([pairs, triplets]).rows(Counter())]) == 2
    with pytest.raises(UserError, match=r"--train takes one kind of data, and .*mine.txt holds plain .* while .*a.csv"):
        find_kind([lines, pairs])


def test_columns_and_labels_of_other_names(tmp_path: Path) -> None:
    mine = write(tmp_path, "a;b;verdict\na dog;an animal;yes\na dog;a car;no\na dog;a pet;\n")
    found = find_kind([mine], "premise=a,hypothesis=b,label=verdict", "entailment=yes,contradiction=no,neutral=maybe")
    left_out: Counter[str] = Counter()
    assert [row["label"] for row in found.rows(left_out)] == ["entailment", "contradiction"]
    assert left_out == {"without a label": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b,c\n1,2,3\n", "what its columns mean is not known .found: a, b, c.; say it"),
        ("review,stars\nvery good,5\n", "what its columns mean is not known"),
        ("anchor,positive\na dog,\n", "line 2: positive is empty"),
        ("anchor,positive\n,a dog\n", "line 2: anchor is empty"),
        ("sentence1,sentence2,score\na,b,high\n", "line 2: score is 'high', and a score is a number"),
        ("sentence1,sentence2,score\na,b,nan\n", "line 2: score is 'nan'"),
        ("sentence1,sentence2,score\na,b,1\nc,d,1\n", "all scores are 1, so nothing can be learnt"),
        ("sentence,label\na,x\nb,x\n", "all labels are 'x'"),
        ("sentence,label\na,x\nb,y\n", "no two texts have the same label"),
        ("premise,hypothesis,label\na,b,2\nc,d,1\nc,e,-\n", "what two numbers mean differs"),
        ("premise,hypothesis,label\na,b,neutral\n", "holds no pair labelled entailment"),
        ("anchor,positive\n", "holds no rows"),
        ("", "is empty"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        found = find_kind([write(tmp_path, text)])
        take_census(found.rows(Counter()), found.kind, found.name)


def test_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_bytes(b"anchor,positive\na dog,an animal\ncaf\xe9,drink\n")
    with pytest.raises(UserError, match="mine.csv, line 3: not UTF-8"):
        [*find_kind([str(tmp_path / "mine.csv")]).rows(Counter())]


def split(rows: list[list[str]], parts: tuple[int, ...] = (DEV, TEST)) -> np.ndarray:
    found = Texts()
    for row in rows:
        found.add(row)
    return found.split(parts, "mine.csv")


def on_several_sides(rows: list[list[str]], part: np.ndarray) -> set[str]:
    """Texts that stand in two parts, but for rows that are left out."""
    sides: dict[str, set[int]] = {}
    for row, code in zip(rows, part.tolist(), strict=True):
        for text in row if code != LEFT_OUT else ():
            sides.setdefault(normalised(text), set()).add(code)
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
    assert 30 <= counts[DEV] <= 70 and 30 <= counts[TEST] <= 70
    assert counts[TRAIN] > 150


def test_the_split_goes_by_the_rows_alone() -> None:
    rows = [[f"anchor {number}", f"positive {number}"] for number in range(100)]
    mixed = random.Random(0).sample(range(100), 100)
    part = split(rows)
    assert Counter(part.tolist()) == {TRAIN: 80, DEV: 10, TEST: 10}
    assert part[mixed].tolist() == split([rows[number] for number in mixed]).tolist()
    assert Counter(split(rows, (TEST,)).tolist()) == {TRAIN: 90, TEST: 10}


def test_too_few_rows_or_all_of_one_piece() -> None:
    with pytest.raises(UserError, match=f"holds {FEWEST - 1} rows, too few"):
        split([[f"anchor {number}"] for number in range(FEWEST - 1)])
    with pytest.raises(UserError, match="hang together by their texts"):
        split([["one anchor", f"positive {number}"] for number in range(100)])
