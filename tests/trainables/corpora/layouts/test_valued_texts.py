"""Scored pairs and labelled texts: what a table may look like, and what a batch of it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.json_lines import write_rows
from trainables.corpora.layouts import LAYOUTS, Layout, SamplerRequest, make_sampler
from trainables.corpora.samplers import SameLabelSampler
from trainables.errors import UserError

SHARED = Path("../shared/data/senteval/downstream")
STSB = "main\tnews\t2012\t{0}\t{1}\t{2}\t{3}\n"
SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"


def request(size: int = 2) -> SamplerRequest:
    return SamplerRequest(size, 1, None, None, max_length=16)


def layout(name: str, file: Path | str, **more: Any) -> Layout:
    return LAYOUTS[name](**{"nli": str(file), **more})


def pairs_of(made: Layout, size: int = 2) -> list[tuple[str, str, float]]:
    """Those of an epoch, sorted."""
    sampler, _ = make_sampler(made, request(size))
    pairs = []
    for step in range(sampler.steps_per_epoch):
        batch = sampler.batch(step)
        assert batch.score is not None
        rows = zip(batch.premise, batch.hypothesis, batch.score.tolist(), strict=True)
        pairs += [(batch.sentences[a], batch.sentences[b], round(score, 6)) for a, b, score in rows]
    return sorted(pairs)


class TestScoredPairs:
    @pytest.mark.parametrize(
        ("name", "text", "more"),
        [
            ("mine.csv", "sentence1,sentence2,score\na,b,0.5\nc,d,1\n", {}),
            ("mine.tsv", "x\ty\tz\na\tb\t0.5\nc\td\t1\n", {"columns": "sentence1=x,sentence2=y,score=z"}),
            ("mine.csv", "label,sentence2,sentence1\n0.5,b,a\n1,d,c\n,e,f\n", {}),
            (
                "sts-train.csv",
                STSB.format(1, 2.5, "a", "b") + STSB.format(2, 5, "c", "d") + STSB.format(3, 0, "e", "f"),
                {},
            ),
            ("SICK_train.txt", SICK + "1\ta\tb\t3\tNEUTRAL\n2\tc\td\t5\tENTAILMENT\n3\te\tf\t1\tNEUTRAL\n", {}),
        ],
    )
    def test_tables(self, tmp_path: Path, name: str, text: str, more: dict[str, str]):
        """Scores of 0 to 5, or of 1 to 5, are read as 0 to 1."""
        (tmp_path / name).write_text(text)
        pairs = pairs_of(layout("scored_pairs", tmp_path / name, **more), 1)
        assert pairs[:2] == [("a", "b", 0.5), ("c", "d", 1.0)]
        assert pairs[2:] in ([], [("e", "f", 0.0)])

    def test_the_built_in_corpus_and_what_is_said_of_it(self):
        made = layout("scored_pairs", "scenes", limit=50)
        sampler, described = make_sampler(made, request(50))
        score = sampler.batch(0).score
        assert score is not None
        assert (score.min(), score.max()) == (0.0, 1.0)
        assert described["pairs"] == 50
        low, high = described["scores"]
        assert made.remarks(request()) == [
            f"corpus.nli='scenes': scores lie between {low:g} and {high:g}, read as 0 to 1"
        ]

    @pytest.mark.skipif(not SHARED.is_dir(), reason="the real data is not on this machine")
    @pytest.mark.parametrize(
        ("place", "pairs"), [("STS/STSBenchmark/sts-train.csv", 5749), ("SICK/SICK_train.txt", 4500)]
    )
    def test_real_files(self, place: str, pairs: int):
        rows = pairs_of(layout("scored_pairs", SHARED / place))
        assert len(rows) == pairs - pairs % 2
        scores = [score for *_, score in rows]
        assert (min(scores), max(scores)) == (0.0, 1.0)


class TestSameLabel:
    @given(
        st.lists(st.integers(0, 4), min_size=2, max_size=60).filter(lambda labels: max(Counter(labels).values()) > 1),
        st.integers(1, 5),
        st.integers(2, 4),
        st.integers(0, 5),
    )
    def test_groups_are_whole_classes(self, labels: list[int], size: int, each: int, seed: int):
        texts = [f"text {place}" for place in range(len(labels))]
        sampler = SameLabelSampler(texts, [str(label) for label in labels], size, seed, each)
        label_of = dict(zip(texts, labels, strict=True))
        counts = Counter[str]()
        for step in range(sampler.steps_per_epoch):
            batch = sampler.batch(step)
            for group in np.unique(batch.group):
                rows = batch.group == group
                named = [
                    batch.sentences[i] for i in (*set(batch.premise[rows].tolist()), *batch.hypothesis[rows].tolist())
                ]
                assert len(named) == len(set(named)) >= 2
                assert len({label_of[text] for text in named}) == 1
                counts.update(named)
            groups = [label_of[batch.sentences[premise]] for premise in set(batch.premise.tolist())]
            assert len(groups) == len(set(groups)), "texts of one label are one group"
            assert (batch.label == 0).all()
        assert set(counts.values()) == {1}, "a text comes once in an epoch"
        alone = sum(1 for count in Counter(labels).values() if count % each == 1)
        if not sampler.left_out_each_epoch:
            assert len(counts) == len(texts) - alone

    def test_a_single_text_waits_for_another_epoch(self):
        sampler = SameLabelSampler(["a", "b", "c", "x", "y"], ["1", "1", "1", "2", "2"], 2, 1, 2)
        epochs = [frozenset(sampler.batch(step).sentences) for step in range(12)]
        assert {len(epoch) for epoch in epochs} == {4}
        assert len(set(epochs)) == 3

    def test_a_table(self, tmp_path: Path):
        rows: Sequence[dict[str, Any]] = [
            {"text": "a", "label": 1},
            {"text": "b", "label": 1.0},
            {"text": "c", "label": "no"},
            {"text": "d", "label": "no"},
            {"text": "d", "label": "no"},
            {"text": "e", "label": None},
        ]
        sampler, described = make_sampler(layout("same_label", write_rows(tmp_path / "mine.jsonl", rows)), request())
        batch = sampler.batch(0)
        rows = zip(batch.premise, batch.hypothesis, strict=True)
        groups = {frozenset((batch.sentences[a], batch.sentences[b])) for a, b in rows}
        assert groups == {frozenset("ab"), frozenset("cd")}
        assert (described["texts"], described["labels"], described["without_label"]) == (4, 2, 1)

    def test_the_built_in_corpus(self):
        sampler, described = make_sampler(layout("same_label", "scenes", each=4), request(8))
        assert described["labels"] > 2
        assert len(sampler.batch(0).sentences) > 24


PAIRS = "sentence1,sentence2,score\n"


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        (
            "scored_pairs",
            "sentence1,sentence2\na,b\n",
            r"no column score, .*, label, .*: sentence1, sentence2\)",
        ),
        ("scored_pairs", f"{PAIRS}a,b,much\n", "line 2: the score 'much' is no finite number"),
        ("scored_pairs", f"{PAIRS}a,b,inf\n", "line 2: the score 'inf' is no finite number"),
        ("scored_pairs", f"{PAIRS}a,,1\n", "line 2: sentence2 is empty"),
        ("scored_pairs", f"{PAIRS}a,b,1\nc,d,1\n", "all scores are 1, so there is nothing to learn"),
        ("scored_pairs", f"{PAIRS}a,b,\n", "holds no row with a score"),
        ("scored_pairs", STSB.format(1, 2, "a", "b") + "x\ty\n", "line 2: 2 fields where STSBenchmark has 7 or more"),
        ("same_label", "sentence,label\na,1\nb,1\n", "all labels are '1', so there are no negatives"),
        ("same_label", "sentence,label\na,1\nb,2\n", "no label has two texts, so there are no positives"),
        ("same_label", "sentence,kind\na,1\n", r"no column gold_label, .* kind\); name others by --columns"),
    ],
)
def test_refused(tmp_path: Path, name: str, text: str, sentence: str):
    (tmp_path / "mine.csv").write_text(text)
    with pytest.raises(UserError, match=sentence):
        layout(name, tmp_path / "mine.csv").check(request())
