"""Mined hard negatives: against a naive loop, against sentence-transformers, and what a recipe may ask for."""

from __future__ import annotations

import contextlib
import functools
import io
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from tests.json_lines import write_rows
from tests.peers import Both, Case
from trainables.corpora import mining
from trainables.corpora.layouts.contract import Layout
from trainables.corpora.mining import Embed, Mining, add_negatives, mined_table
from trainables.corpora.nli import NLIPairs, load_nli
from trainables.errors import UserError
from trainables.labels import CONTRADICTION, ENTAILMENT
from trainables.recipe import Recipe
from trainables.trial.data_requests import sampler_request


def corpus(folder: Path, rows: list[tuple[str, str]]) -> NLIPairs:
    return load_nli(write_rows(folder / "pairs.jsonl", ({"anchor": a, "positive": p} for a, p in rows)))


def with_mined(pairs: NLIPairs, embed: Embed, rules: Mining, each: int) -> NLIPairs:
    return add_negatives(pairs, mined_table(pairs, embed, rules, each))


def negatives_of(pairs: NLIPairs) -> dict[str, list[str]]:
    negatives: dict[str, list[str]] = {}
    for premise, hypothesis, label in zip(pairs.premises, pairs.hypotheses, pairs.labels, strict=True):
        negatives.setdefault(premise, [])
        if label == CONTRADICTION:
            negatives[premise].append(hypothesis)
    return negatives


class Drawn:
    """Vectors of texts, drawn once."""

    def __init__(self, seed: int, dim: int = 4) -> None:
        self.chance, self.dim, self.vectors = np.random.default_rng(seed), dim, dict[str, np.ndarray]()

    def __call__(self, texts: Any) -> np.ndarray:
        return np.stack([self.vectors.setdefault(text, self.chance.standard_normal(self.dim)) for text in texts])


def naive(rows: list[tuple[str, str]], embed: Drawn, rules: Mining, each: int) -> Any:
    vectors = {text: vector / np.linalg.norm(vector) for text, vector in embed.vectors.items()}
    own: dict[str, list[str]] = {}
    for anchor, positive in rows:
        own.setdefault(anchor, []).append(positive)
    expected = {}
    for anchor, positives in own.items():
        positive = min(float(vectors[anchor] @ vectors[text]) for text in positives)
        limit = positive - abs(positive) * rules.mined_margin
        limit = limit if rules.mined_absolute_margin is None else min(limit, positive - rules.mined_absolute_margin)
        limit = limit if rules.mined_max_score is None else min(limit, rules.mined_max_score)
        least = -2.0 if rules.mined_min_score is None else rules.mined_min_score
        others = [text for text in dict.fromkeys(positive for _, positive in rows) if text not in [anchor, *positives]]
        ranked = sorted(others, key=lambda text: -float(vectors[anchor] @ vectors[text]))[: rules.mined_depth]
        fit = [text for text in ranked if least <= float(vectors[anchor] @ vectors[text]) <= limit]
        expected[anchor] = fit[rules.mined_skip : rules.mined_skip + each]
    return expected


ROWS = [(f"a{i % 30}", f"p{i}") for i in range(50)] + [("a3", "a5"), ("p7", "p9"), ("a8", "p12")]


@pytest.mark.parametrize(
    ("each", "rules"),
    [
        (2, Mining(mined_margin=0.05)),
        (3, Mining(mined_skip=1, mined_depth=6, mined_margin=0)),
        (1, Mining(mined_skip=2, mined_depth=40, mined_margin=0.3)),
        (3, Mining(mined_absolute_margin=0.2, mined_margin=0)),
        (3, Mining(mined_max_score=0.4, mined_min_score=0.1, mined_margin=0)),
        (2, Mining(mined_skip=1, mined_depth=30, mined_margin=0.1, mined_max_score=0.5, mined_min_score=-0.2)),
    ],
)
@pytest.mark.parametrize("at_once", [7, 1024])
def test_they_are_those_of_a_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, each: int, rules: Mining, at_once: int
) -> None:
    monkeypatch.setattr(mining, "ANCHORS_AT_ONCE", at_once)
    embed, pairs = Drawn(each), corpus(tmp_path, ROWS)
    mined = with_mined(pairs, embed, rules, each)
    assert negatives_of(mined) == naive(ROWS, embed, rules, each)
    kept = [(mined.premises[i], mined.hypotheses[i]) for i in np.flatnonzero(mined.labels == ENTAILMENT)]
    assert kept == list(zip(pairs.premises, pairs.hypotheses, strict=True))
    assert len(mined.file) == len(mined)


PEER_CASES = [  # negatives, rules, and how many of the anchors have a second positive
    (1, Mining(mined_depth=20, mined_margin=0.05), 0),
    (1, Mining(mined_skip=2, mined_depth=30, mined_margin=0), 0),
    (1, Mining(mined_depth=59, mined_margin=0.2), 0),
    (3, Mining(mined_margin=0.05, mined_depth=200), 20),
    (4, Mining(mined_skip=3, mined_margin=0.1, mined_depth=200), 20),
    (3, Mining(mined_absolute_margin=0.2, mined_depth=200, mined_margin=0), 20),
    (2, Mining(mined_skip=1, mined_max_score=0.4, mined_min_score=0.1, mined_depth=200, mined_margin=0), 20),
    (2, Mining(mined_margin=0.1, mined_absolute_margin=0.15, mined_max_score=0.6, mined_depth=200), 60),
]


def beside_the_peer(each: int, rules: Mining, twice: int, seed: int) -> Both:
    """Each anchor with a negative, of candidates that are no anchors: the peer leaves those in. Of several positives it
    reads further than `range_max`, so that these cases read all of the corpus."""
    import torch
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import mine_hard_negatives

    class Made(SentenceTransformer):
        def encode(self, sentences: Any, **options: Any) -> Any:
            return torch.tensor(embed(sentences), dtype=torch.float32)

        encode_query = encode_document = encode

    rows = [(f"a{i}", f"p{i}") for i in range(60)] + [(f"a{i}", f"q{i}") for i in range(twice)]
    embed = Drawn(seed)
    embed([text for row in rows for text in row])
    with contextlib.redirect_stderr(io.StringIO()):  # its bars
        theirs = mine_hard_negatives(
            Dataset.from_dict({"anchor": [a for a, _ in rows], "positive": [p for _, p in rows]}),
            Made(modules=[torch.nn.Identity()], device="cpu"),
            range_min=rules.mined_skip,
            range_max=rules.mined_depth,
            relative_margin=rules.mined_margin,
            absolute_margin=rules.mined_absolute_margin,
            max_score=rules.mined_max_score,
            min_score=rules.mined_min_score,
            num_negatives=each,
            verbose=False,
        )
    expected: dict[str, list[str]] = {}  # the peer repeats an anchor's negatives for each of its positives
    for anchor, negative in zip(theirs["anchor"], theirs["negative"], strict=True):
        known = expected.setdefault(anchor, [])
        known += [] if negative in known else [negative]
    with TemporaryDirectory() as folder:
        ours = negatives_of(with_mined(corpus(Path(folder), rows), embed, rules, each))
    assert max(map(len, expected.values())) == each
    return Both(tuple([(a, n) for a in ours for n in mined.get(a, ())] for mined in (ours, expected)))  # type: ignore[arg-type]


@pytest.mark.parametrize("case", range(len(PEER_CASES)))
def test_they_are_those_of_sentence_transformers(case: int) -> None:
    CASES[case].find(case).check()


CASES = [
    Case("corpus.negatives_from=mined", "mine_hard_negatives", functools.partial(beside_the_peer, *case))
    for case in PEER_CASES
]
"""For `tests.peers_page`."""


def test_equally_near_texts_come_in_the_corpus_order(tmp_path: Path) -> None:
    def embed(texts: Any) -> np.ndarray:
        return np.array([[1.0, 0.0] if text[0] == "a" or text == "p0" else [0.5, 0.5] for text in texts])

    rows = [(f"a{i}", f"p{i}") for i in range(9)]
    mined = negatives_of(with_mined(corpus(tmp_path, rows), embed, Mining(mined_depth=3, mined_margin=0), 3))
    assert mined["a0"] == ["p1", "p2", "p3"]
    with pytest.raises(UserError, match="finds no negative for any anchor"):
        with_mined(corpus(tmp_path, rows[:1]), embed, Mining(mined_depth=3, mined_margin=0), 3)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"objective.negatives": None}, "needs a number of hard negatives"),
        ({"objective.negatives": 1, "corpus.mined_skip": 50}, "passes over all of the nearest 50 texts"),
        (
            {"objective.negatives": 1, "corpus.mined_by": "scenes-small", "corpus.mined_every": 5},
            "leave out one of the two",
        ),
    ],
)
def test_what_cannot_be_mined_is_refused(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    corpus(tmp_path, ROWS)
    settings = {"corpus.nli": str(tmp_path / "pairs.jsonl"), "corpus.layout": "groups", "optimisation.batch_size": 8}
    mined = {"corpus.negatives_from": "mined", "objective.name": "supmpn", **changes}
    recipe = Recipe().preferring({**settings, **mined})
    with pytest.raises(UserError, match=sentence):
        recipe.part(Layout).check(sampler_request(recipe, seed=0))


def asked_of(folder: Path, **changes: Any) -> Recipe:
    """Pairs of the scenes corpus without labels, to train on in groups."""
    scenes = load_nli("scenes", limit=300)
    rows = zip(scenes.premises, scenes.hypotheses, scenes.labels, strict=True)
    corpus(folder, [(premise, hypothesis) for premise, hypothesis, label in rows if label == ENTAILMENT])
    return Recipe().preferring(
        {
            "encoder.name": "scenes-small",
            "corpus.nli": str(folder / "pairs.jsonl"),
            "corpus.layout": "groups",
            "corpus.negatives_from": "mined",
            "objective.name": "mnrl",
            "objective.negatives": 1,
            "optimisation.batch_size": 8,
            **changes,
        }
    )


def test_a_trial_trains_on_what_was_mined(tmp_path: Path) -> None:
    """Pairs have no contradictions, and are refused with hard negatives; mined they train, the same every time."""
    from trainables.trial.build import build_encoder, build_training

    recipe = asked_of(tmp_path)
    plain = recipe.override({"corpus.negatives_from": "labels"})
    with pytest.raises(UserError, match="no pair labelled contradiction"):
        plain.part(Layout).check(sampler_request(plain, seed=0))
    recipe.part(Layout).check(sampler_request(recipe, seed=0))
    once, again = (build_training(recipe, 0, build_encoder(recipe, 0, None)) for _ in range(2))
    assert once.description["mined_negatives"] > 0
    first, second = (training.sampler.batch(0) for training in (once, again))
    assert first.sentences == second.sentences
    assert CONTRADICTION in first.label


def test_without_embeddings_nothing_is_made_but_steps_are_counted(tmp_path: Path) -> None:
    """Premises with contradictions alone are anchors of labelled pairs, not of mined ones."""
    recipe = asked_of(tmp_path).preferring({"optimisation.batch_size": 2, "objective.positives": 1})
    labels = ["entailment" if i % 3 == 0 else "contradiction" for i in range(60)]
    rows = [{"premise": f"a{i}", "hypothesis": f"p{i}", "label": label} for i, label in enumerate(labels)]
    write_rows(tmp_path / "pairs.jsonl", rows)
    request, layout = sampler_request(recipe, seed=0), recipe.part(Layout)
    with pytest.raises(ValueError, match="needs embeddings"):
        layout.make(request)
    made, _ = layout.make(replace(request, embed=Drawn(0)))
    assert layout.count_steps(request) == made.steps_per_epoch == 10
    labelled = recipe.override({"corpus.negatives_from": "labels"})
    assert labelled.part(Layout).count_steps(sampler_request(labelled, seed=0)) == 30


def test_a_guide_mines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its embeddings, not those of the encoder that is trained; and it is asked for before anything runs."""
    from trainables.evaluation_config import EvaluationConfig
    from trainables.trial import build
    from trainables.trial.check import check_recipes

    class Guide(Drawn):
        def encode(self, texts: Any, *, progress: bool = False) -> np.ndarray:
            return self(texts).astype(np.float32)

        def fingerprint(self) -> str:
            return "guide"

    guide, load, loaded = Guide(3), build.load_encoder, list[Any]()

    def loading(config: Any, *rest: Any, **options: Any) -> Any:
        loaded.append(config.name)
        return guide if config.name == "the guide" else load(config, *rest, **options)

    monkeypatch.setattr(build, "load_encoder", loading)
    recipe = asked_of(tmp_path, **{"corpus.mined_by": "the guide"})
    sampler, described = build.build_sampler(recipe, 0, None, tmp_path)  # type: ignore[arg-type]
    assert loaded == ["the guide"]
    pairs = load_nli(str(tmp_path / "pairs.jsonl"))
    expected = negatives_of(with_mined(pairs, guide, Mining(mined_margin=0.05), 1))
    assert described["mined_negatives"] == sum(map(len, expected.values()))
    batch = sampler.batch(0)
    for group in np.unique(batch.group):
        rows = np.flatnonzero((batch.group == group) & (batch.label == CONTRADICTION))
        anchor, negative = (batch.sentences[side[rows[0]]] for side in (batch.premise, batch.hypothesis))
        assert not expected[anchor] or expected[anchor] == [negative]
    with pytest.raises(UserError, match="the guide"):
        check_recipes([recipe], EvaluationConfig("scenes"))
