"""Ranking in several directions, and hard negatives that weigh more, against loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.naive_groups import mnrl
from tests.objective_batches import build, check_equal, check_finite, check_shares, embedded, grouped, options
from trainables.errors import UserError
from trainables.objectives.directions import DIRECTIONS

BOTH = DIRECTIONS[:2]
CHANGES: dict[str, dict[str, Any]] = {
    "back": {"directions": BOTH},
    "back, apart": {"directions": BOTH, "partition": "apart"},
    "queries": {"directions": (DIRECTIONS[0], DIRECTIONS[2])},
    "documents": {"directions": (DIRECTIONS[0], DIRECTIONS[3])},
    "all": {"directions": DIRECTIONS},
    "hard": {"hardness": 5.0, "hardness_of": "hard"},
    "in batch": {"hardness": 9.0, "hardness_of": "in_batch"},
    "all, hard": {"directions": DIRECTIONS, "hardness": 2.0},
    "apart, hard": {"directions": BOTH, "partition": "apart", "hardness": 2.0, "hardness_of": "in_batch"},
}


def config_of(case: str, **changes: Any) -> Any:
    return options("mnrl", temperature=0.3, **CHANGES[case], **changes)


@pytest.mark.parametrize("case", CHANGES)
class TestEachCase:
    def test_against_loops(self, case: str):
        for seed, known in ((1, "mask"), (8, "mask"), (8, "keep"), (5, "guide"), (8, "self")):
            config = config_of(case, false_negatives=known)
            batch, objective = grouped(seed, positives=1), build(config)
            ours, theirs = objective(batch).value, mnrl(batch, config)
            check_equal(ours, theirs, batch, objective)

    def test_parts_of_a_team_add_up(self, case: str):
        check_shares(grouped(6, positives=1), build(config_of(case)), workers=3)

    def test_the_loss_in_parts_is_that_of_the_whole(self, case: str, monkeypatch: pytest.MonkeyPatch):
        batch, objective = grouped(6, positives=1), build(config_of(case))
        whole = objective(batch).value
        monkeypatch.setattr("trainables.objectives.kernel.NUMBERS_AT_ONCE", 40)
        parts = objective(batch).value
        check_equal(parts, whole, batch, objective)

    def test_finite_at_a_low_temperature(self, case: str):
        check_finite(grouped(6, positives=1), build(replace(config_of(case), temperature=0.005)))

    def test_it_is_another_loss(self, case: str):
        batch = grouped(6, positives=1)
        plain = build(options("mnrl", temperature=0.3))(batch).value
        assert abs(build(config_of(case))(batch).value - plain) > 1e-3


def test_counts_of_all_directions():
    """Of four pairs with a hard negative each: the pair is met both ways, and no text is its own negative."""
    rows = [(n, n, 4 + n, 0) for n in range(4)] + [(n, n, 8 + n, 2) for n in range(4)]
    batch = embedded(list(range(12)), rows)
    for case, anchors, positives, negatives in (
        ("all", 4, 8, 4 * (7 + 3 + 3 + 6)),
        ("back, apart", 8, 8, 4 * (7 + 3)),
    ):
        counts = build(config_of(case))(batch).counts
        assert (counts["anchors"], counts["positives"], counts["negatives"]) == (anchors, positives, negatives)


@pytest.mark.parametrize(
    "directions", [(), ("doc_to_query",), ("query_to_doc", "query_to_query", "doc_to_query"), ("query_to_doc", "up")]
)
def test_directions_are_written_in_one_way(directions: tuple[str, ...]):
    with pytest.raises(UserError, match="must be query_to_doc, then any of doc_to_query, query_to_query, doc_to_doc"):
        options("mnrl", directions=directions)
