"""The command line of `study/run.py`, made of the fields of `Request`. It imports nothing heavy: `--help` is fast."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from reports.ledger.options import Option
from reports.ledger.request import DATA, HOW, OPTIONS, OWN, RUN, SEARCH, Request
from trainables.errors import checked_arguments
from trainables.registry import load

PACKAGE = "sentence-embedding-studies"
EXAMPLES = """examples:
  python study/run.py --train pairs.csv --encoder sentence-transformers/all-MiniLM-L6-v2 --limit minutes=60
  python study/run.py --train triplets.jsonl --encoder DIR --dev queries_dev/ --test queries_test/
  python study/run.py --list                                        the spaces
  python study/run.py --keys                                        what --set can change
  python study/run.py --space scl_ablation                          the paper's rows, at the scale that fits here
  python study/run.py --space scl_ablation --search optuna --goals sts,seconds --limit gpu_hours=20
  python study/run.py --space scl_ablation --search optuna --trials 50 --seeds 1:10
  python study/run.py --space scl_lambda --scale laptop --dry-run
  python study/run.py --space clsr_main --evaluate 'SBERT-base=sentence-transformers/bert-base-nli-mean-tokens'
  python study/run.py --recipe results/mine --train all_my_pairs.csv   what its answer says to use, on all your data
  python study/run.py --space ./my_space.py --nli mine.csv --columns premise=text_a,hypothesis=text_b,label=y
  python study/run.py --space clsr_batch_size --plugin my_objective.py --set objective.name=alignment
  ray job submit --working-dir . -- python study/run.py --space scl_ablation

Running the same command again continues: finished trials are skipped, unfinished ones resume, and a larger
--trials or --seeds extends the study.
"""


def parse(arguments: Sequence[str] | None = None) -> Request:
    """Read the command line. A mistake prints one sentence and exits with code 2. Without arguments print the help."""
    words = checked_arguments(arguments)
    parser = argparse.ArgumentParser(
        prog="study/run.py",
        description="Run, continue or extend a hyperparameter study, and write its report.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
    )
    groups = {title: parser.add_argument_group(title) for title in (RUN, OWN, SEARCH, DATA, HOW)}
    for option in OPTIONS.values():
        _add(groups[option.group], option)
    groups[RUN].add_argument("--version", action="version", version=f"{PACKAGE} {own_version()}")
    if not words:
        parser.print_help()
        parser.exit()
    request = Request.of(vars(parser.parse_args(words)))
    request.check()
    return request


def _add(group: argparse._ArgumentGroup, option: Option) -> None:
    """Add an option to the group; its help lists the entries of its registry."""
    text = option.help
    if option.registry is not None:
        entries = load(option.registry).values()
        text += ". " + "; ".join(f"{entry.name}: {entry.meaning}" for entry in entries)
    text = text.replace("%", "%%")
    if option.shown is None:
        group.add_argument(option.word, action="store_true", help=text)
    elif option.repeats == "no":
        group.add_argument(option.word, metavar=option.shown or None, help=text)
    else:
        many = "+" if option.repeats == "in a row" else 1
        group.add_argument(option.word, nargs=many, action="extend", metavar=option.shown or None, help=text)


def own_version() -> str:
    """Return this project's version, installed or run from its checkout."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
        return str(project["project"]["version"])
