"""What a teacher says in the data: its forms, what is asked about, what is missing, and the batches."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.json_lines import write_rows
from trainables.corpora.layouts import SamplerRequest, make_sampler
from trainables.corpora.layouts.contract import Layout
from trainables.corpora.nli import load_nli
from trainables.corpora.own.training_files import training_files
from trainables.errors import UserError
from trainables.labels import ENTAILMENT
from trainables.recipe import Recipe
from trainables.trial.data_requests import sampler_request


def write(folder: Path, *rows: Mapping[str, Any], name: str = "mine.jsonl") -> str:
    return write_rows(folder / name, rows)


def normal(folder: Path, *rows: Mapping[str, Any], columns: str | None = None) -> str:
    """The rows in their normal form, as a search trains on them."""
    return write(folder, *training_files([write(folder, *rows)], columns).rows(Counter()), name="normal.jsonl")


def scores(file: str, columns: str | None = None) -> dict[tuple[str, str], float]:
    """What is known of anchors and texts."""
    pairs = load_nli(file, columns=columns)
    known = [math.nan] * len(pairs) if pairs.scores is None else pairs.scores.tolist()
    each = zip(pairs.premises, pairs.hypotheses, known, strict=True)
    return {(anchor, text): round(score, 4) for anchor, text, score in each if not math.isnan(score)}


A, B = {"query": "q", "positive": "p", "negative": "n"}, {"query": "r", "positive": "s", "negative": "t"}
MARGINS = {("q", "p"): 0.0, ("q", "n"): -0.4, ("r", "s"): 0.0, ("r", "t"): 0.3}
SCORES = {("q", "p"): 0.9, ("q", "n"): 0.5, ("r", "s"): 0.1, ("r", "t"): 0.4}
FORMS: dict[str, tuple[list[Mapping[str, Any]], dict[tuple[str, str], float]]] = {
    **{
        f"a margin called {name}": ([{**A, name: 0.4}, {**B, name: -0.3}], MARGINS)
        for name in ("label", "score", "margin", "Teacher margin", "margin_score", "teacher")
    },
    "lists of margins": ([{**A, "label": [0.4]}, {**B, "label": [-0.3]}], MARGINS),
    "miners' scores": ([{**A, "scores": [0.9, 0.5]}, {**B, "scores": [0.1, 0.4]}], SCORES),
    "FlagEmbedding": (
        [
            {"query": "q", "pos": ["p"], "neg": ["n"], "pos_scores": [0.9], "neg_scores": [0.5]},
            {"query": "r", "pos": ["s"], "neg": ["t"], "pos_scores": [0.1], "neg_scores": [0.4]},
        ],
        SCORES,
    ),
    "several negatives": (
        [{"anchor": "q", "positive": "p", "negative_1": "n", "negative_2": "m", "label": [0.4, -1.5]}],
        {("q", "p"): 0.0, ("q", "n"): -0.4, ("q", "m"): 1.5},
    ),
    "a row for each negative": (
        [{**A, "label": 0.4}, {**A, "negative": "m", "label": -0.5}],
        {("q", "p"): 0.0, ("q", "n"): -0.4, ("q", "m"): 0.5},
    ),
    "margins to two positives": (
        [{**A, "label": 0.4}, {**A, "positive": "o", "negative": "m", "label": -0.5}],
        {("q", "p"): 0.0, ("q", "n"): -0.4},
    ),
    "numbers that are missing": (
        [
            {"query": "q", "pos": ["p", "o"], "neg": ["n", "m"], "pos_scores": [0.9, None], "neg_scores": None},
            {"query": "r", "pos": ["s"], "neg": ["", "t"], "pos_scores": [0.1], "neg_scores": [7.0, 0.4]},
        ],
        {("q", "p"): 0.9, ("r", "s"): 0.1, ("r", "t"): 0.4},
    ),
    "logits": (
        [{**A, "label": 8.0}, {**B, "label": -2.0}],
        {("q", "p"): 0.0, ("q", "n"): -1.0, ("r", "s"): 0.0, ("r", "t"): 0.25},
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_says_the_same_of_the_same_texts(form: str, tmp_path: Path) -> None:
    rows, expected = FORMS[form]
    assert scores(normal(tmp_path, *rows)) == expected


@pytest.mark.parametrize(
    ("labels", "columns"),
    [
        ((1, 0), None),
        ((0, 1, 2), None),
        ((-1, 1), None),
        ((0.9, 0.2), None),  # how alike the two are, as well
        ((4.5, 3.0), None),
        (("good", "bad"), None),
        ((0.4, -0.3), "anchor=query,positive=positive"),  # no negative
    ],
)
def test_numbers_that_may_mean_something_else_are_asked_about(
    labels: tuple[Any, ...], columns: str | None, tmp_path: Path
) -> None:
    rows = [{**A, "query": f"q {n}", "label": label} for n, label in enumerate(labels)]
    if columns is not None:
        rows = [{name: row[name] for name in row if name != "negative"} for row in rows]
    file = write(tmp_path, *rows)
    with pytest.raises(UserError, match="beside 'query' and 'positive' stands 'label', which may say that some are"):
        training_files([file])
    if columns is None and "good" not in labels:
        source = training_files([file], "anchor=query,positive=positive,negative=negative,teacher=label")
        assert [row["teacher"] for row in source.rows(Counter())] == [[label] for label in labels]
    without = training_files([file], "anchor=query,positive=positive").rows(Counter())
    assert not any("teacher" in row for row in without)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({**A, "teacher": "high"}, "line 1: teacher holds 'high', and what a teacher says is a number"),
        (
            {**A, "teacher": [0.1, 0.2, 0.3]},
            "line 1: teacher holds 3 numbers for 1 positives and 1 negatives; it takes",
        ),
        (
            {"query": "q", "pos": ["p"], "neg": ["n", "m"], "pos_scores": [0.1, 0.2], "neg_scores": [0.3]},
            "pos_scores and neg_scores holds 2 and 1 numbers for 1 positives and 2 negatives; it takes",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(row: Mapping[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=sentence):
        normal(tmp_path, row)
    with pytest.raises(UserError, match=sentence):
        load_nli(write(tmp_path, row))


def test_a_recipe_reads_them_of_the_file_itself(tmp_path: Path) -> None:
    rows, expected = FORMS["FlagEmbedding"]
    assert scores(write(tmp_path, *rows)) == expected
    rows, expected = FORMS["a margin called label"]
    named = "anchor=query,positive=positive,negative=negative,teacher=label"
    assert scores(write(tmp_path, *rows), named) == expected
    plain = load_nli(write(tmp_path, *rows))
    assert plain.scores is None
    assert plain.fingerprint != load_nli(write(tmp_path, *rows), columns=named).fingerprint


def test_rows_without_are_counted_and_said(tmp_path: Path) -> None:
    file = normal(tmp_path, {**A, "label": 0.4}, {**B, "label": None}, {**A, "positive": "o", "label": -0.5})
    pairs = load_nli(file)
    assert pairs.lacking == {"teacher": 1, "a margin to its anchor's first positive": 1}
    remarks = groups(file)[0].remarks(groups(file)[1])
    assert any(remark.endswith("a teacher's scores stand beside 2 of its 5 pairs") for remark in remarks)
    wide = groups(normal(tmp_path, {**A, "label": -8.0}))
    assert any(remark.endswith("beside 2 of its 2 pairs; they are divided by 8, the most that two of one anchor differ")
               for remark in wide[0].remarks(wide[1]))  # fmt: skip


def groups(file: str, **shape_keys: Any) -> tuple[Layout, SamplerRequest]:
    layout = Recipe().override({"corpus.layout": "groups", "objective.name": "mnrl", "corpus.nli": file}).part(Layout)
    shape = {"positives": None, "negatives": None, **shape_keys}
    return layout, SamplerRequest(batch_size=4, seed=1, max_length=64, **shape)


@pytest.mark.parametrize("shape", [{}, {"positives": 2, "negatives": 2}, {"positives": 1, "negatives": 1}])
def test_each_pair_of_a_batch_has_its_score_and_what_fills_in_has_none(shape: dict[str, int], tmp_path: Path) -> None:
    rows = [
        {
            "query": f"q {n}",
            "pos": [f"p {n} {k}" for k in range(1 + n % 3)],
            "neg": [f"n {n} {k}" for k in range(1 + n % 2)],
            "pos_scores": [0.1 * k for k in range(1 + n % 3)],
            "neg_scores": [None if n == 5 else -0.01 * n - k for k in range(1 + n % 2)],
        }
        for n in range(12)
    ]
    known = scores(file := normal(tmp_path, *rows))
    sampler, _ = make_sampler(*groups(file, **shape))
    unknown = 0
    for step in range(2 * sampler.steps_per_epoch):
        batch = sampler.batch(step)
        assert batch.score is not None
        for premise, hypothesis, score in zip(batch.premise, batch.hypothesis, batch.score, strict=True):
            anchor, text = (batch.sentences[item] for item in (premise, hypothesis))
            assert known.get((anchor, text), math.nan) == pytest.approx(score, nan_ok=True)
            unknown += np.isnan(score)
    assert (unknown > 4) == (shape.get("positives") == 2)
    assert {ENTAILMENT} < set(batch.label.tolist())


def test_what_learns_it_refuses_data_without(tmp_path: Path) -> None:
    taught, untaught = normal(tmp_path, {**A, "label": -0.4}, B), write(tmp_path, A, B)
    for file, mined in ((taught, {}), (untaught, {}), (taught, {"corpus.negatives_from": "mined"})):
        settings = {"corpus.layout": "groups", "objective.name": "distill", "objective.negatives": 1, **mined}
        recipe = Recipe().preferring({**settings, "corpus.nli": file, "optimisation.batch_size": 2})
        layout, request = recipe.part(Layout), sampler_request(recipe, 0)
        if file == taught and not mined:
            layout.check(request)
            continue
        with pytest.raises(UserError, match=r"holds nothing that a teacher says.*, from which objective"):
            layout.check(request)
