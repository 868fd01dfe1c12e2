"""What the built-in corpus's sentences mean: every text is known, and what follows is what the grammar's labels say."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from trainables.corpora.nli import NLIPairs, load_nli
from trainables.corpora.scene_meanings import Meanings, entails, meanings_of
from trainables.corpora.scenes.scene import relation, sample
from trainables.labels import ENTAILMENT


@pytest.fixture(scope="module")
def pairs() -> NLIPairs:
    return load_nli("scenes")


@pytest.fixture(scope="module")
def meanings() -> Meanings:
    built_in = meanings_of("scenes")
    assert built_in is not None
    return built_in


def test_a_pair_of_the_corpus_follows_where_it_is_labelled_entailment(pairs: NLIPairs, meanings: Meanings) -> None:
    for row in Random(1).sample(range(len(pairs)), 200):
        matrix = meanings.entailed([pairs.premises[row], pairs.hypotheses[row]], [0])
        assert matrix is not None
        assert matrix.tolist() == [[True, pairs.labels[row] == ENTAILMENT], [False, False]]


def test_every_text_is_known(pairs: NLIPairs, meanings: Meanings) -> None:
    assert meanings.entailed([*{*pairs.premises, *pairs.hypotheses}], []) is not None


def test_against_a_loop_over_all_pairs(pairs: NLIPairs, meanings: Meanings) -> None:
    first = 40 * [True] + 20 * [False]
    texts = [*dict.fromkeys([*pairs.premises[:90], *pairs.hypotheses[:90]])]
    rows = [place for place in range(len(texts)) if first[place % 60]]
    scenes = meanings.scenes
    expected = np.zeros((len(texts), len(texts)), dtype=bool)
    for row in rows:
        for column, text in enumerate(texts):
            scene, other = scenes[texts[row]], scenes[text]
            expected[row, column] = scene == other or (not scene.negated and relation(scene, other) == "entailment")
    matrix = meanings.entailed(texts, rows)
    assert matrix is not None
    assert (matrix == expected).all()
    assert expected.sum() > len(rows), "some follow from another text"
    assert expected.sum() < expected.size / 10


def test_from_a_negated_scene_follows_itself_alone() -> None:
    scene = sample(Random(1))
    negated = replace(scene, negated=True)
    assert entails(scene, scene)
    assert entails(negated, negated)
    assert not entails(negated, scene)
    assert not entails(scene, negated)


def test_of_other_texts_nothing_is_known(pairs: NLIPairs, meanings: Meanings) -> None:
    assert meanings.entailed([pairs.premises[0], "a text that no grammar made"], [0]) is None
    assert meanings_of("mine.jsonl") is None
    assert meanings_of(None) is None
