"""What of a test stands in the training data already."""

import random
from pathlib import Path

import pytest

from trainables.corpora import leaks as module
from trainables.corpora.leaks import Counts, find_leaks, normalise
from trainables.text_lines import numbered_lines

LONG = "a man in a red coat walks his two small dogs along the empty beach in the rain at night"
STSB = Path("../shared/data/senteval/downstream/STS/STSBenchmark")
TEST = [("Where is the cat?", "It sleeps on the mat."), (LONG, "somebody is outside"), ("no row", "holds this")]


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (("Where is the cat?", "It sleeps on the mat."), "exact"),
        (("It sleeps on the mat.", "Where is the cat?"), "exact"),
        (("Where is the cat?", "It sleeps on the mat.", "It flies."), "exact"),
        (("where is  the CAT", "It sleeps on the mat."), "normalised"),
        ((LONG.replace("empty", "lonely"), "Somebody is outside!"), "near"),
    ],
)
def test_a_planted_pair_of_each_kind_is_found_and_its_row_named(row, kind):
    result = find_leaks([("clean", "row"), row, ("another", "one")], {"test": TEST, "dev": [("else", "where")]})
    assert result.leaking_rows == (1,)
    assert result.rows == 3
    assert result.parts["test"].items == Counts(**{kind: 1})
    assert result.parts["test"].texts.all == 2
    assert (result.parts["test"].item_count, result.parts["test"].text_count) == (3, 6)
    assert result.parts["dev"].items == result.parts["dev"].texts == Counts()


def test_single_texts_are_counted_apart_and_leave_no_row_out():
    rows = [("Where is the cat?", "On the roof."), ("where is the cat", "Under the bed.")]
    result = find_leaks(rows, {"test": TEST})
    assert result.leaking_rows == ()
    assert result.parts["test"].items == Counts()
    assert result.parts["test"].texts == Counts(exact=1)  # once, as what it is most alike to


def test_one_text_that_is_like_both_of_a_pair_is_not_the_pair():
    alike = [(LONG, LONG + " !")]
    assert find_leaks([(LONG, "something else")], {"test": alike}).parts["test"].items == Counts()
    assert find_leaks([(LONG, LONG)], {"test": alike}).parts["test"].items == Counts(normalised=1)


def test_labelled_texts_are_items_of_one_text():
    result = find_leaks([("Great film!",), ("dull",), ("great film",)], {"test": [("Great film!",), ("new",)]})
    assert result.leaking_rows == (0, 2)
    assert result.parts["test"].items == result.parts["test"].texts == Counts(exact=1)


def test_words_in_another_order_or_one_other_word_in_a_short_text_are_another_text():
    clean = [("the dog bites the man",), ("a man plays a flute in the park",)]
    result = find_leaks([("the man bites the dog",), ("a man plays a guitar in the park",)], {"test": clean})
    assert result.parts["test"].texts == Counts()


def test_languages_without_spaces_have_near_duplicates_too():
    text = "昨日友人と一緒に新しい映画を見に行きました"
    result = find_leaks([(text.replace("新", "古"),)], {"test": [(text,)]})
    assert result.parts["test"].items == Counts(near=1)


@pytest.mark.parametrize(("letters", "longest"), [("abcdefghij", 14), ("abc", 6), ("abcdefghijlmnopqrst", 80)])
def test_near_duplicates_are_those_that_every_pair_compared_would_give(letters, longest):
    """Also where few words make up all texts, so that none is rare, and of texts of one shingle and of many."""
    chosen = random.Random(0)
    texts = [" ".join(chosen.choices(letters, k=chosen.randint(1, longest))) for _ in range(80)]
    for text in texts[:40]:
        words = text.split()
        words[chosen.randrange(len(words))] = "k"
        texts += [" ".join(words), text + " k", " ".join(words[1:]) or "k"]
    rows, test = texts[::2], texts[1::2]
    shingles = {text: module._shingles(normalise(text)) for text in texts}
    near = {
        other
        for other in test
        for text in rows
        if 100 * len(shingles[text] & shingles[other]) >= module.NEAR_PERCENT * len(shingles[text] | shingles[other])
    }
    result = find_leaks([(text,) for text in rows], {"test": [(text,) for text in test]}).parts["test"].texts
    assert result.all == len(near) > result.exact
    assert result.near > 5


@pytest.mark.skipif(not STSB.is_dir(), reason="needs ../shared/data/senteval")
def test_twelve_test_pairs_of_the_sts_benchmark_stand_in_its_train_part():
    train, test = (
        [tuple(line.rstrip("\n").split("\t")[5:7]) for _, line in numbered_lines(STSB / f"sts-{split}.csv")]
        for split in ("train", "test")
    )
    assert find_leaks(train, {"test": test}).parts["test"].items == Counts(exact=12, near=2)
