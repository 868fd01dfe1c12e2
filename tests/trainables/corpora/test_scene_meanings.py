"""What the built-in corpus's sentences mean: every text is known, and what follows is what the grammar's labels say."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from trainables.corpora.nli import NLIPairs, load_nli
from trainables.corpora.scene_meanings import Meanings, follows, meanings_of
from trainables.corpora.scenes.scene import relation, sample
from trainables.labels import ENTAILMENT


@pytest.fixture(scope="module")
def pairs() -> NLIPairs:
    return load_nli("scenes")


@pytest.fixture(scope="module")
def meanings() -> Meanings:
    found = meanings_of("scenes")
    assert found is not None
    return found


def test_a_pair_of_the_corpus_follows_where_it_is_labelled_entailment(pairs: NLIPairs, meanings: Meanings) -> None:
    for row in Random(1).sample(range(len(pairs)), 200):
        found = meanings.entailed([pairs.premises[row], pairs.hypotheses[row]], [0])
        assert found is not None
        assert found.tolist() == [[True, pairs.labels[row] == ENTAILMENT], [False, False]]


def test_every_text_is_known(pairs: NLIPairs, meanings: Meanings) -> None:
    assert meanings.entailed([*{*pairs.premises, *pairs.hypotheses}], []) is not None


def test_against_a_loop_over_all_pairs(pairs: NLIPairs, meanings: Meanings) -> None:
    first = 40 * [True] + 20 * [False]
    texts = [*dict.fromkeys([*pairs.premises[:90], *pairs.hypotheses[:90]])]
    asked = [place for place in range(len(texts)) if first[place % 60]]
    scenes = meanings.scenes
    wanted = np.zeros((len(texts), len(texts)), dtype=bool)
    for row in asked:
        for column, text in enumerate(texts):
            one, other = scenes[texts[row]], scenes[text]
            wanted[row, column] = one == other or (not one.negated and relation(one, other) == "entailment")
    found = meanings.entailed(texts, asked)
    assert found is not None
    assert (found == wanted).all()
    assert wanted.sum() > len(asked), "some follow from another text"
    assert wanted.sum() < wanted.size / 10


def test_from_a_negated_scene_follows_itself_alone() -> None:
    scene = sample(Random(1))
    negated = replace(scene, negated=True)
    assert follows(scene, scene)
    assert follows(negated, negated)
    assert not follows(negated, scene)
    assert not follows(scene, negated)


def test_of_other_texts_nothing_is_known(pairs: NLIPairs, meanings: Meanings) -> None:
    assert meanings.entailed([pairs.premises[0], "a text that no grammar made"], [0]) is None
    assert meanings_of("mine.jsonl") is None
    assert meanings_of(None) is None
