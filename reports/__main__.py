"""`python -m reports RESULTS`: rebuild a study's report. Needs neither Ray nor torch."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trainables.errors import answer_user_errors

EXAMPLES = """examples:
  python -m reports results/scl_ablation      write report.md, its pictures and trials.csv into that folder
  python -m reports results/x --plugin my_section.py
                                              with a section of your own
  watch -n 60 python -m reports results/x     keep the report of a running study fresh
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m reports",
        description="Write a study's report.md, pictures and trials.csv from its study.json and ledger.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("results", type=Path, help="the folder that a study wrote")
    parser.add_argument(
        "--plugin",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a Python file that adds a section; a study's own plugins are known without it",
    )
    asked = parser.parse_args()
    from reports.report import write_report
    from trainables.plugins import load_plugin

    for plugin in asked.plugin:
        load_plugin(plugin)
    print(write_report(asked.results))


def command() -> int:
    """What the console script `ses-report` runs."""
    return answer_user_errors(main)


if __name__ == "__main__":
    sys.exit(command())
