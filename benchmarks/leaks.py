"""How long a million training sentences are held against a test of 10,000, and in how much memory.

    python -m benchmarks leaks --nli ../shared/data/nli/snli_train_part.jsonl

Templated text is the hard case: a few words make up all sentences, so that no word is rare. Zipf's text has a
vocabulary of 50,000 with the frequencies of a language. Real sentences are repeated with two words exchanged until
there are enough. A tenth of each test stands in the rows with one word exchanged, an eighth of these as they are.
Processor seconds of one process each, the memory at its peak with the rows that a study reads from its file.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import random
import resource
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from trainables.corpora.leaks import leaks
from trainables.errors import UserError
from trainables.files import expanded

WORDS, LENGTHS = 50_000, range(5, 25)
"""Of Zipf's text."""
TEMPLATES = (
    "{a} {n} is {v} {p} {a2} {n2}",
    "there is {a} {n} {v} {p} {a2} {n2} in the {w}",
    "in the {w} {a} {n} is {v} {p} {a2} {n2}",
    "{a} {n} and {a2} {n2} are {v} {p} the {w}",
)
_FILLINGS = {
    "a": "a|the|one young|an old|some tall|a small|the red|a happy|my tired|that brave",
    "n": "man|woman|dog|child|girl|boy|player|singer|horse|cat|baker|nurse|farmer|clown|pilot",
    "v": "running|sleeping|playing|standing|waiting|singing|dancing|sitting|walking|jumping",
    "p": "near|behind|in front of|next to|with|far from|around|beside",
    "w": "park|kitchen|street|garden|forest|station|school|market|field|harbour|museum",
}
LISTS = {name: words.split("|") for name, words in _FILLINGS.items()}
"""What fills the places of the templates."""


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table."""
    asked = _parser().parse_args(arguments)
    if not 0 < asked.test <= asked.train:
        raise UserError(f"--test must be from 1 to the {asked.train:,} of --train, not {asked.test:,}")
    print("| text | processor seconds | peak memory, MB | test sentences found |\n|---|---|---|---|")
    for kind in ["templated", "zipf", *(["NLI"] if asked.nli else [])]:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, memory, found = pool.apply(measured, (kind, asked.train, asked.test, asked.nli))
        print(f"| {kind} | {seconds:.1f} | {memory:,.0f} | {found:,} |", flush=True)


def measured(kind: str, train: int, test: int, nli: Path | None) -> tuple[float, float, int]:
    """Processor seconds, MB, and how many of the test sentences the rows hold, on text of this kind."""
    rows = list(itertools.islice(sentences(kind, nli, seed=0), train))
    chosen = random.Random(2)
    planted = [exchanged(row, chosen) if number % 8 else row for number, row in enumerate(rows[: test // 10])]
    items = [*planted, *itertools.islice(sentences(kind, nli, seed=1), test - len(planted))]
    began = time.process_time()
    found = leaks(((row,) for row in rows), {"test": [(item,) for item in items]})
    seconds = time.process_time() - began
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, found.parts["test"].texts.all


def sentences(kind: str, nli: Path | None, seed: int) -> Iterator[str]:
    """Without end."""
    chosen = random.Random(seed)
    if kind == "templated":
        while True:
            words = {name: chosen.choice(LISTS[name[0]]) for name in ("a", "n", "v", "p", "w", "a2", "n2")}
            yield chosen.choice(TEMPLATES).format(**words)
    if kind == "zipf":
        names = [f"w{number}" for number in range(WORDS)]
        shares = [*itertools.accumulate(1 / (number + 1) for number in range(WORDS))]
        while True:
            yield " ".join(chosen.choices(names, cum_weights=shares, k=chosen.choice(LENGTHS)))
    assert nli is not None
    pairs = [json.loads(line) for line in nli.read_text(encoding="utf-8").splitlines()]
    real = [pair[side] for pair in pairs for side in ("premise", "hypothesis")]
    yield from real[seed::2]
    while True:
        yield exchanged(exchanged(chosen.choice(real[seed::2]), chosen), chosen)


def exchanged(sentence: str, chosen: random.Random) -> str:
    """With one word that no other sentence has in the place of one of its own."""
    words = sentence.split()
    words[chosen.randrange(len(words))] = f"x{chosen.randrange(10**9)}"
    return " ".join(words)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks leaks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--train", type=int, default=1_000_000, metavar="N", help="training sentences (default 1000000)"
    )
    parser.add_argument("--test", type=int, default=10_000, metavar="N", help="test sentences (default 10000)")
    parser.add_argument("--nli", type=expanded, metavar="FILE", help="JSON lines with premise and hypothesis")
    return parser
