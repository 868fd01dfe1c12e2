"""The table of what equals sentence-transformers': every entry that has a peer is in it, and all are close."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from tests import peers_page
from tests.peers import Both, Case, by_entry
from tests.peers_page import BEGIN, CASES, END, main
from trainables.errors import UserError

PAGE = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| `(.+?)` +\| +(.+?) \| +(.+?) \| +(.+?) \| +(\d+) \|$", PAGE.partition(BEGIN)[2].partition(END)[0], re.M
)


def test_each_entry_stands_there_with_its_peer_and_is_close():
    assert [tuple(row[:2]) for row in ROWS] == list(by_entry(CASES)), "python -m tests.peers_page writes it"
    for entry, _, value, gradient, batches in ROWS:
        assert int(batches) >= peers_page.SEEDS, entry
        if gradient == "—":
            assert re.fullmatch(r"0 of [\d,]+ places", value), entry
        else:
            assert max(float(value), float(gradient)) < 1e-5, entry


def both(ours: Sequence[float], theirs: Sequence[float]) -> Both:
    return Both((torch.tensor(ours), torch.tensor(theirs)), ([torch.tensor(ours)], [torch.tensor(theirs)]))


def test_the_table_says_the_largest_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pairs = {
        "a": lambda seed: both([1.0, 4.0 + (seed == 3)], [1.0, 4.0]),
        "b": lambda seed: Both(([1, 2, 3], [1, 5] if seed else [1, 2, 3])),
    }
    monkeypatch.setattr(peers_page, "CASES", [Case(f"key={name}", "Peer", find) for name, find in pairs.items()])
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert main(["--out", str(page)]) == 0
    before, first, second, after = re.findall(r"^(?:before|after|\| `key.*)$", page.read_text(), re.M)
    assert [cell.strip() for cell in first.split("|")[1:-1]] == ["`key=a`", "Peer", "2e-01", "2e-01", "20"]
    assert [cell.strip() for cell in second.split("|")[1:-1]] == ["`key=b`", "Peer", "38 of 41 places", "—", "20"]
    assert (before, after, "old" in page.read_text()) == ("before", "after", False)
    with pytest.raises(UserError, match="is no page with the line"):
        main(["--out", str(tmp_path / "none.md")])


@pytest.mark.parametrize("wrong", [both([1.0], [1.001]), both([0.0], [0.0]), Both(([1], [2]))])
def test_a_difference_is_found(wrong: Both):
    with pytest.raises(AssertionError):
        wrong.check()
