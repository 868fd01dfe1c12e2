"""An evening beside sentence-transformers' documented search: both sides are read and scored alike."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.training import evening
from benchmarks.training.evening import PEER, of_peer, of_study, table

LINE = {
    "dev": 60.0,
    "test": 59.0,
    "untrained": 34.0,
    "minutes": 5.2,
    "until": 3.0,
    "recipes": 9,
    "recipe": {"learning_rate": 1e-4},
}
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "own_labels"


def test_a_study_is_read_as_its_answer_says():
    own = of_study(EXAMPLE, began=0.0, ended=120.0, goal=None)
    assert own.minutes == 2
    assert own.test > own.untrained
    assert own.until_peer is None
    assert own.recipes > 3
    assert of_study(EXAMPLE, began=0.0, ended=120.0, goal=own.dev - 1).until_peer is not None


def test_the_peers_way_to_score_pairs_counts_equal_texts_once():
    from benchmarks.training._peer_evening import evaluator

    pairs = pd.DataFrame({"question": ["a", "b", "a"], "answer": ["x", "x", "y"]})
    scored = evaluator(pairs, "dev")
    assert len(scored.queries) == 2
    assert sorted(scored.corpus) == ["x", "y"]
    counts = {
        query: len(scored.relevant_docs[key]) for key, query in zip(scored.queries_ids, scored.queries, strict=True)
    }
    assert counts == {"a": 2, "b": 1}


def test_the_table_has_a_line_for_each_side_and_dashes_for_what_is_missing():
    peer = of_peer(LINE)
    lines = table([peer, evening.Evening("ours", 5.0, 12, None, None, 34.0, "open: -")], 5).splitlines()
    assert PEER in lines[4]
    assert "| 60 | 59 | 34 |" in lines[4]
    assert "| — | — | 34 | — |" in lines[5]
