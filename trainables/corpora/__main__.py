"""Fetch real data, or write the built-in corpus to disk.

python -m trainables.corpora fetch senteval --to data/senteval
python -m trainables.corpora fetch nli --to data/nli
python -m trainables.corpora fetch wordnet
python -m trainables.corpora write-scenes --to data/scenes --seed 1 --size 10
"""

from __future__ import annotations

import argparse
import sys

from trainables.errors import UserError, answer_user_errors, checked_arguments
from trainables.files import expanded

LARGEST = 10_000
"""Largest allowed `--size`, a factor on the default number of examples; gives hundreds of millions of sentences."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; see `--help`."""
    parser = argparse.ArgumentParser(
        prog="python -m trainables.corpora", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    fetch = commands.add_parser("fetch", help="real data from where it is published")
    fetch.add_argument("what", choices=("senteval", "nli", "wordnet"))
    fetch.add_argument("--to", type=expanded, metavar="DIR", help="where to put it (wordnet: where NLTK looks for it)")
    scenes = commands.add_parser("write-scenes", help="the built-in corpus: NLI, all 28 tasks, documents")
    scenes.add_argument("--to", type=expanded, required=True, metavar="DIR", help="a new or empty folder")
    scenes.add_argument("--seed", type=int, default=0, help="another seed is another corpus (default 0)")
    scenes.add_argument("--size", type=float, default=1.0, help="times the default number of examples (default 1)")
    options = parser.parse_args(checked_arguments(arguments))

    if options.command == "fetch":
        from trainables.corpora.fetch import fetch_nli, fetch_senteval, fetch_wordnet

        if options.what == "wordnet":
            fetch_wordnet(options.to)
        elif options.to is None:
            fetch.error(f"fetch {options.what} needs --to DIR")
        else:
            {"senteval": fetch_senteval, "nli": fetch_nli}[options.what](options.to)
    else:
        if not 0 < options.size <= LARGEST:
            raise UserError(f"--size must be above 0 and at most {LARGEST:,}, not {options.size:g}")
        from trainables.corpora import scenes as built_in

        built_in.write(options.to, seed=options.seed, size=options.size)
        print(f"wrote the scenes corpus to {options.to}: senteval/ (28 tasks), nli/, docs/")


def command() -> int:
    """Run the console script `ses-corpora`; return its exit status."""
    return answer_user_errors(main)


if __name__ == "__main__":
    sys.exit(command())
