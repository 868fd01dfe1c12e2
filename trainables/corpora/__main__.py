"""Fetch real data, or write the built-in corpus to disk.

python -m trainables.corpora fetch senteval --to data/senteval
python -m trainables.corpora fetch nli --to data/nli
python -m trainables.corpora write-scenes --to data/scenes --seed 1 --size 10
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trainables.errors import answer_user_errors


def main(arguments: list[str] | None = None) -> None:
    """The door; see `--help`."""
    parser = argparse.ArgumentParser(
        prog="python -m trainables.corpora", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    fetch = commands.add_parser("fetch", help="real data from where it is published")
    fetch.add_argument("what", choices=("senteval", "nli"))
    fetch.add_argument("--to", type=Path, required=True, metavar="DIR", help="where to put it")
    scenes = commands.add_parser("write-scenes", help="the built-in corpus: NLI, all 28 tasks, documents")
    scenes.add_argument("--to", type=Path, required=True, metavar="DIR", help="a new or empty folder")
    scenes.add_argument("--seed", type=int, default=0, help="another seed is another corpus (default 0)")
    scenes.add_argument("--size", type=float, default=1.0, help="times the default number of examples (default 1)")
    given = parser.parse_args(arguments)

    if given.command == "fetch":
        from trainables.corpora.fetch import fetch_nli, fetch_senteval

        {"senteval": fetch_senteval, "nli": fetch_nli}[given.what](given.to)
    else:
        from trainables.corpora import scenes as built_in

        built_in.write(given.to, seed=given.seed, size=given.size)
        print(f"wrote the scenes corpus to {given.to}: senteval/ (28 tasks), nli/, docs/")


if __name__ == "__main__":
    sys.exit(answer_user_errors(main))
