"""`python -m reports RESULTS`: rebuild a study's report. Needs neither Ray nor torch."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trainables.errors import answer_user_errors

EXAMPLES = """examples:
  python -m reports results/scl_ablation      write report.md, its pictures and trials.csv into that folder
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
    results = parser.parse_args().results
    from reports.report import write_report

    print(write_report(results))


def command() -> int:
    """What the console script `ses-report` runs."""
    return answer_user_errors(main)


if __name__ == "__main__":
    sys.exit(command())
