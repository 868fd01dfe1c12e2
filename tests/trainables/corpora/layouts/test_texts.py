"""Texts alone: files of text as documents, each source of positives against a plain reading of it, and batches."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.json_lines import write_rows
from trainables.corpora.layouts.positives import (
    MAX_PIECE_WORDS,
    MIN_SPAN_WORDS,
    MIN_TWO_SPAN_WORDS,
    SOURCES,
    TitledText,
)
from trainables.corpora.layouts.texts import TextLayout
from trainables.corpora.own.census import take_census
from trainables.corpora.own.training_files import training_files
from trainables.corpora.request import SamplerRequest
from trainables.errors import UserError

MARKDOWN = """About birds.
# The heron
A tall bird.

## Food ##
It eats fish
and frogs.
```
# no heading
```
## Nothing
# Nests
In trees.
"""
LONG = " ".join(f"w{number}" for number in range(40))


def rows(*places: Path) -> list[dict[str, object]]:
    files = training_files([str(place) for place in places])
    assert files.content == "texts"
    return [*files.rows(Counter())]


def write(folder: Path, documents: list[dict[str, object]]) -> str:
    return write_rows(folder / "mine.jsonl", documents)


def request(size: int = 4, seed: int = 1) -> SamplerRequest:
    return SamplerRequest(size, seed, 1, None, max_length=None)


def pairs_of(layout: TextLayout, step: int, ask: SamplerRequest) -> list[tuple[str, str]]:
    batch = layout.make(ask)[0].batch(step)
    sides = zip(batch.premise.tolist(), batch.hypothesis.tolist(), strict=True)
    return [(batch.sentences[first], batch.sentences[second]) for first, second in sides]


def test_markdown_has_a_title_and_sections_and_no_headings_in_code(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(MARKDOWN)
    (row,) = rows(tmp_path / "a.md")
    assert row["title"] == "The heron"
    assert row["heading"] == ["", "Food", "Nests"]
    assert row["text"][-1] == "In trees."  # type: ignore[index]
    assert "# no heading" in row["text"][-2]  # type: ignore[index]


@pytest.mark.parametrize(
    ("head", "title", "text"),
    [
        ('---\ntitle: "Two: herons"\ntags:\n  - bird\n---\n', "Two: herons", "A tall bird."),
        ("---\r\ntitle: Two\r\n---\r\n# The heron\n", "The heron", "A tall bird."),
        ("---\ndate: 2024-01-01\n---\n", None, "A tall bird."),
        ("---\nAbout: birds\n", None, "--- About: birds A tall bird."),
        ("---\nOf birds.\n---\n", None, "--- Of birds. --- A tall bird."),
    ],
)
def test_the_front_matter_of_markdown_is_no_text(head: str, title: str | None, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"{head}A tall bird.\n", newline="")
    (row,) = rows(tmp_path / "a.md")
    assert (row.get("title"), row["text"]) == (title, [text])


def test_a_folder_is_a_document_for_each_file_but_hidden_ones(tmp_path: Path) -> None:
    (tmp_path / "deep" / ".git").mkdir(parents=True)
    for name, text in (("b.txt", "one\n\ntwo\n"), ("deep/a.md", "x\n"), ("deep/.git/c.md", "no\n"), ("d.md", "\n")):
        (tmp_path / name).write_text(text)
    assert [row["text"] for row in rows(tmp_path)] == [["one two"], ["x"]]
    (tmp_path / "train.jsonl").write_text('{"anchor": "a b", "positive": "c d"}\n')
    assert training_files([str(tmp_path)]).content == "pairs", "tables go first"


@pytest.mark.parametrize(
    ("text", "documents", "how"),
    [
        ("one\ntwo\n\n", ["one", "two"], ""),
        ("one\n\ntwo\n\n", ["one", "two"], ""),
        ("one\nmore\n \n\ntwo\n", ["one more", "two"], ": 3 lines in 2 documents, divided by blank lines"),
        ("\ufeffone\n", ["one"], ""),
    ],
)
def test_blank_lines_divide_a_file_of_text(text: str, documents: list[str], how: str, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(text, encoding="utf-8")
    assert [row["text"] for row in rows(tmp_path / "mine.txt")] == [[each] for each in documents]
    assert training_files([str(tmp_path / "mine.txt")]).read_as == f"texts alone{how}"


def test_columns_with_a_title_are_documents(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("id,title,text\n1,A heron,It waits.\n2,,It nests.\n")
    assert rows(tmp_path / "mine.csv") == [{"title": "A heron", "text": ["It waits."]}, {"text": ["It nests."]}]
    (tmp_path / "mine.csv").write_text("title,body\nA heron,It waits here.\n")
    assert training_files([str(tmp_path / "mine.csv")], "title=title,sentence=body").content == "texts"
    assert rows(Path(write(tmp_path, [{"title": [""], "heading": {"text": ""}, "text": "a"}]))) == [{"text": ["a"]}]
    with pytest.raises(UserError, match="2 headings and 1 texts; give one for each"):
        rows(Path(write(tmp_path, [{"text": "a", "heading": ["b", "c"]}])))


def test_a_folder_without_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_text("x")
    with pytest.raises(UserError, match=r"holds no train file.*nor a \.txt or \.md file"):
        training_files([str(tmp_path)])
    (tmp_path / "a.txt").write_bytes(b"one\n\xff\n")
    with pytest.raises(UserError, match=r"a\.txt, line 2: not UTF-8"):
        rows(tmp_path)
    with pytest.raises(UserError, match="has no columns; leave --columns out"):
        training_files([str(tmp_path)], "sentence=a")


DOCUMENT = TitledText("Heron", (("", LONG), ("Food", "Fish.")))


def test_each_source_of_pairs_by_hand() -> None:
    assert SOURCES["title"].units(DOCUMENT) == [("Heron", LONG)]
    assert SOURCES["heading"].units(DOCUMENT) == [("Heron: Food", "Fish.")]
    whole = f"{LONG} Fish."
    assert SOURCES["dropout"].units(DOCUMENT) == SOURCES["crops"].units(DOCUMENT) == [(whole, whole)]
    short = TitledText(None, (("Food", "Fish."),))
    assert SOURCES["heading"].units(short) == [("Food", "Fish.")]
    assert {name for name, source in SOURCES.items() if source.suits(source.units(short))} == {"heading", "dropout"}
    assert SOURCES["neighbours"].units(short) == []


@given(st.integers(1, 2000))
def test_pieces_are_all_of_a_text_in_parts_that_can_be_read(count: int) -> None:
    words = [f"w{number}" for number in range(count)]
    pieces = [piece.split() for piece in TitledText(None, (("", " ".join(words)),)).pieces()]
    assert [word for piece in pieces for word in piece] == words
    assert max(map(len, pieces)) <= MAX_PIECE_WORDS
    assert max(map(len, pieces)) - min(map(len, pieces)) <= 1


@given(
    st.lists(st.integers(1, MAX_PIECE_WORDS), min_size=1, max_size=6), st.integers(0, 99), st.integers(0, 3),
    st.sampled_from(["crops", "neighbours"]),
)  # fmt: skip
def test_views_are_spans_of_their_piece(counts: list[int], seed: int, epoch: int, name: str) -> None:
    """Crops begin at most where the other ends; neighbours begin there, or end where the other begins."""
    views = SOURCES[name].views
    assert views is not None
    pieces = [" ".join(map(str, range(count))) for count in counts]
    first, second = views(pieces, np.arange(len(pieces)), seed, epoch)
    assert views(pieces[-1:], np.arange(len(pieces))[-1:], seed, epoch) == (first[-1:], second[-1:]), "by its number"
    for count, piece, span, other in zip(counts, pieces, first, second, strict=True):
        if count < MIN_TWO_SPAN_WORDS:
            assert span == other == piece
            continue
        (start, *_, end), (begin, *_, stop) = ([*map(int, side.split())] for side in (span, other))
        for side in (span, other):
            assert side in piece
            assert len(side.split()) <= count // 2 or name == "neighbours"
        assert len(span.split()) >= MIN_SPAN_WORDS
        assert begin <= end + 1
        assert start <= stop + 1
        if name == "neighbours":
            assert begin == end + 1 or stop + 1 == start


def test_views_differ_by_epoch_and_seed_and_no_document_is_twice_in_a_batch(tmp_path: Path) -> None:
    text = " ".join(f"w{number}" for number in range(3 * MAX_PIECE_WORDS))
    layout = TextLayout(
        nli=write(tmp_path, [{"text": f"d{number} {text}".replace("w", f"{number}w")} for number in range(6)])
    )
    sampler, description = layout.make(request())
    assert description["texts"] == 24
    assert sampler.steps_per_epoch == 6
    for step in range(12):
        batch = sampler.batch(step)
        assert len({batch.sentences[item].partition("w")[0][-1:] for item in batch.premise}) == len(batch.premise)
    assert pairs_of(layout, 0, request()) != pairs_of(layout, 6, request())
    assert pairs_of(layout, 0, request()) != pairs_of(layout, 0, request(seed=2))


def test_dropout_is_each_text_with_itself(tmp_path: Path) -> None:
    layout = TextLayout(nli=write(tmp_path, [{"text": f"a text {n}"} for n in range(4)]), positives_from="dropout")
    pairs = pairs_of(layout, 0, request())
    assert sorted(pairs) == [(f"a text {n}", f"a text {n}") for n in range(4)]
    assert len(layout.make(request())[0].batch(0).sentences) == 8, "each is encoded twice"


def test_titles_are_groups_that_may_have_mined_negatives(tmp_path: Path) -> None:
    documents = [{"title": f"t{n % 3}", "text": f"body {n}"} for n in range(4)]
    layout = TextLayout(nli=write(tmp_path, documents), positives_from="title")  # type: ignore[arg-type]
    assert layout.count_steps(request(3)) == 1, "equal titles are one anchor"
    assert {*pairs_of(layout, 0, request(3))} >= {("t1", "body 1"), ("t2", "body 2")}
    mined = TextLayout(nli=layout.nli, positives_from="title", negatives_from="mined", mined_margin=0.0)
    ask = SamplerRequest(3, 1, 1, 1, max_length=None, embed=lambda texts: np.eye(len(texts)) + 1)
    assert mined.make(ask)[1]["mined_negatives"] > 0
    with pytest.raises(
        UserError, match=r"mined needs pairs that stay the same, and corpus\.positives_from=crops draws"
    ):
        TextLayout(nli=layout.nli, negatives_from="mined").check(ask)


def test_a_share_is_of_documents_and_part_of_a_larger_one(tmp_path: Path) -> None:
    source = write(tmp_path, [{"text": [f"{LONG} {n}", f"more {n}"]} for n in range(20)])
    half, all_but = (
        {*TextLayout(nli=source, share=share).sentences(request())} for share in (0.5, 0.9)
    )  # fmt: skip
    assert (len(half), len(all_but)) == (20, 36)
    assert half < all_but


def test_no_text_for_a_source(tmp_path: Path) -> None:
    layout = TextLayout(nli=write(tmp_path, [{"text": "a b"}]), positives_from="neighbours")
    with pytest.raises(
        UserError, match=r"holds no text for corpus\.positives_from=neighbours .*take title, heading, crops"
    ):
        layout.check(request())


@pytest.mark.parametrize(
    ("document", "sources"),
    [
        ({"text": ["a b"]}, ["dropout"]),
        ({"text": [LONG]}, ["crops", "neighbours", "dropout"]),
        ({"title": "t", "text": [LONG]}, ["title", "crops", "neighbours", "dropout"]),
        ({"title": "t", "heading": ["h"], "text": ["a b"]}, ["title", "heading", "dropout"]),
    ],
)
def test_the_census_has_the_sources_that_half_of_the_texts_suit(
    document: dict[str, object], sources: list[str]
) -> None:
    census = take_census([document, {"text": ["another"]}], "texts", "mine")
    assert [*census.sources] == sources
