"""Every entry that has a peer in sentence-transformers beside it, on random batches: how far the two lie apart.

    python -m tests.peers_page --out docs/studies.md

The cases are those of the tests of losses, static encoders, mining and mixtures.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.tables import check_page, write_between
from reports.document import DataTable
from reports.words.markdown import DASH
from tests.peers import Case, by_entry
from tests.trainables.corpora import test_mining
from tests.trainables.corpora.layouts import test_mix
from tests.trainables.encoders import test_static
from tests.trainables.objectives import test_peers
from trainables.errors import answer_user_errors

CASES: Sequence[Case] = [*test_peers.CASES, *test_mining.CASES, *test_mix.CASES, *test_static.CASES]
BEGIN, END = "<!-- peers: begin -->", "<!-- peers: end -->"
"""Between these lines of a page the table stands."""
HEAD = ["key or entry", "in sentence-transformers", "values differ by", "gradients by", "batches"]
SEEDS = 20
"""Random batches of each case."""


def page() -> str:
    """A line for each entry and peer."""
    lines = [_line(entry, peer, cases) for (entry, peer), cases in by_entry(CASES).items()]
    return DataTable(HEAD, lines).markdown


def _line(entry: str, peer: str, cases: Sequence[Case]) -> list[str]:
    pairs = [case.find(seed) for case in cases for seed in range(SEEDS)]
    apart = [pair.apart() for pair in pairs]
    if pairs[0].gradients[0]:
        largest = max(apart), max(pair.gradients_apart() for pair in pairs)
        numbers = [f"{share:.0e}" if share else "0" for share in largest]
    else:
        numbers = [f"{sum(apart):.0f} of {sum(len(pair.value[1]) for pair in pairs):,} places", DASH]
    return [f"`{entry}`", peer, *numbers, str(len(pairs))]


def main(arguments: Sequence[str]) -> int:
    """Print the table, and write it where it is asked to stand."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers_page", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, metavar="PAGE", help=f"a page to write the table into, after {BEGIN}")
    out = parser.parse_args(arguments).out
    check_page(out, BEGIN)
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)  # of epochs that are short, as some shall be
    text = page()
    write_between(out, BEGIN, text, END)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(answer_user_errors(lambda: main(sys.argv[1:])))
