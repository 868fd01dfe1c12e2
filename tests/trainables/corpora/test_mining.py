"""Mined hard negatives: against a naive loop, against sentence-transformers, and what a recipe may ask for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainables.corpora import mining
from trainables.corpora.layout import Layout
from trainables.corpora.mining import with_mined
from trainables.corpora.nli import NLIPairs, load_nli
from trainables.errors import UserError
from trainables.labels import CONTRADICTION, ENTAILMENT
from trainables.recipe import Recipe
from trainables.trial.data_requests import sampler_request


def corpus(folder: Path, rows: list[tuple[str, str]]) -> NLIPairs:
    file = folder / "pairs.jsonl"
    file.write_text("".join(json.dumps({"anchor": a, "positive": p}) + "\n" for a, p in rows))
    return load_nli(str(file))


def found(pairs: NLIPairs) -> dict[str, list[str]]:
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
        return np.stack([self.vectors.setdefault(one, self.chance.standard_normal(self.dim)) for one in texts])


def naive(rows: list[tuple[str, str]], embed: Drawn, each: int, skip: int, depth: int, margin: float) -> Any:
    vectors = {text: vector / np.linalg.norm(vector) for text, vector in embed.vectors.items()}
    own: dict[str, list[str]] = {}
    for anchor, positive in rows:
        own.setdefault(anchor, []).append(positive)
    expected = {}
    for anchor, positives in own.items():
        limit = min(float(vectors[anchor] @ vectors[one]) for one in positives)
        others = [text for text in dict.fromkeys(positive for _, positive in rows) if text not in [anchor, *positives]]
        ranked = sorted(others, key=lambda text: -float(vectors[anchor] @ vectors[text]))[:depth]
        fit = [text for text in ranked if float(vectors[anchor] @ vectors[text]) <= limit - abs(limit) * margin]
        expected[anchor] = fit[skip : skip + each]
    return expected


ROWS = [(f"a{i % 30}", f"p{i}") for i in range(50)] + [("a3", "a5"), ("p7", "p9"), ("a8", "p12")]


@pytest.mark.parametrize(("each", "skip", "depth", "margin"), [(2, 0, 50, 0.05), (3, 1, 6, 0.0), (1, 2, 40, 0.3)])
@pytest.mark.parametrize("at_once", [7, 1024])
def test_they_are_those_of_a_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, each: int, skip: int, depth: int, margin: float, at_once: int
) -> None:
    monkeypatch.setattr(mining, "AT_ONCE", at_once)
    embed, pairs = Drawn(each), corpus(tmp_path, ROWS)
    mined = with_mined(pairs, embed, each, skip, depth, margin)
    assert found(mined) == naive(ROWS, embed, each, skip, depth, margin)
    kept = [(mined.premises[i], mined.hypotheses[i]) for i in np.flatnonzero(mined.labels == ENTAILMENT)]
    assert kept == list(zip(pairs.premises, pairs.hypotheses, strict=True))
    assert len(mined.file) == len(mined)


def test_they_are_those_of_sentence_transformers(tmp_path: Path) -> None:
    """One positive for each anchor, and candidates that are no anchors: the peer leaves those in."""
    import torch
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import mine_hard_negatives

    class Made(SentenceTransformer):
        def encode(self, sentences: Any, **options: Any) -> Any:
            return torch.tensor(embed(sentences), dtype=torch.float32)

        encode_query = encode_document = encode

    rows = [(f"a{i}", f"p{i}") for i in range(60)]
    for seed, (skip, depth, margin) in enumerate([(0, 20, 0.05), (2, 30, 0.0), (0, 59, 0.2)]):
        embed = Drawn(seed)
        embed([text for row in rows for text in row])
        data = Dataset.from_dict({"anchor": [a for a, _ in rows], "positive": [p for _, p in rows]})
        theirs = mine_hard_negatives(
            data,
            Made(modules=[torch.nn.Identity()], device="cpu"),
            range_min=skip,
            range_max=depth,
            relative_margin=margin,
            num_negatives=1,
            verbose=False,
        )
        ours = found(with_mined(corpus(tmp_path, rows), embed, 1, skip, depth, margin))
        assert {a: [n] for a, n in zip(theirs["anchor"], theirs["negative"], strict=True)} == {
            anchor: negatives for anchor, negatives in ours.items() if negatives
        }


def test_equally_near_texts_come_in_the_corpus_order(tmp_path: Path) -> None:
    def embed(texts: Any) -> np.ndarray:
        return np.array([[1.0, 0.0] if text[0] == "a" or text == "p0" else [0.5, 0.5] for text in texts])

    rows = [(f"a{i}", f"p{i}") for i in range(9)]
    mined = found(with_mined(corpus(tmp_path, rows), embed, 3, 0, 3, 0.0))
    assert mined["a0"] == ["p1", "p2", "p3"]
    with pytest.raises(UserError, match="finds no negative for any anchor"):
        with_mined(corpus(tmp_path, rows[:1]), embed, 3, 0, 3, 0.0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"objective.negatives": None}, "needs a number of hard negatives"),
        ({"objective.negatives": 1, "corpus.mined_skip": 50}, "passes over all of the nearest 50 texts"),
    ],
)
def test_what_cannot_be_mined_is_refused(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    corpus(tmp_path, ROWS)
    asked = {"corpus.nli": str(tmp_path / "pairs.jsonl"), "corpus.layout": "groups", "optimisation.batch_size": 8}
    mined = {"corpus.negatives_from": "mined", "objective.name": "supmpn", **changes}
    recipe = Recipe().preferring({**asked, **mined})
    with pytest.raises(UserError, match=sentence):
        recipe.part(Layout).check(sampler_request(recipe, seed=0))


def test_a_trial_trains_on_what_was_mined(tmp_path: Path) -> None:
    """Pairs have no contradictions, and are refused with hard negatives; mined they train, the same every time."""
    from trainables.trial.build import build_encoder, build_training

    scenes = load_nli("scenes", limit=300)
    rows = zip(scenes.premises, scenes.hypotheses, scenes.labels, strict=True)
    corpus(tmp_path, [(premise, hypothesis) for premise, hypothesis, label in rows if label == ENTAILMENT])
    asked = {
        "encoder.name": "scenes-small",
        "corpus.nli": str(tmp_path / "pairs.jsonl"),
        "corpus.layout": "groups",
        "objective.name": "mnrl",
        "objective.negatives": 1,
        "optimisation.batch_size": 8,
    }
    plain = Recipe().preferring(asked)
    with pytest.raises(UserError, match="no pair labelled contradiction"):
        plain.part(Layout).check(sampler_request(plain, seed=0))
    recipe = plain.override({"corpus.negatives_from": "mined"})
    recipe.part(Layout).check(sampler_request(recipe, seed=0))
    once, again = (build_training(recipe, 0, build_encoder(recipe, 0, None)) for _ in range(2))
    assert once.description["mined_negatives"] > 0
    first, second = (training.sampler.batch(0) for training in (once, again))
    assert first.sentences == second.sentences
    assert CONTRADICTION in first.label
