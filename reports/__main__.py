"""`python -m reports RESULTS`: a study's report, in any format. Needs neither Ray nor torch."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trainables.errors import UserError, answer_user_errors, checked_arguments
from trainables.files import expanded

if TYPE_CHECKING:
    from reports.ledger.location import ResultsLocation

RESULTS = "the folder that a study wrote, or its URL"
USAGE = """python -m reports RESULTS [options]
       python -m reports diff RESULTS RESULTS
       python -m reports export RESULTS ROW [FOLDER]
       python -m reports mteb RESULTS TASK [TASK ...]
       python -m reports size RESULTS [--budget loss=0.5]"""
EXAMPLES = """examples:
  python -m reports results/x                       report.md, its pictures and trials.csv, into that folder
  python -m reports results/x --format md,html      and report.html: one file for any browser, without a network
  python -m reports results/x --format csv          every table as tables/SECTION-N.csv
  python -m reports results/x --across steps        judge also across unequal numbers of steps
  python -m reports results/x --format html --sentences /data/senteval
                                                    the page shows the sentences on which two rows differ
  python -m reports results/x --plugin my_section.py
                                                    with a section of your own
  python -m reports results/x --items mytask        which of its test items the answer mended, and which it broke
  python -m reports results/x --live                the page of a running study, on this machine only
  python -m reports s3://bucket/x                   the same at any URL that a study wrote to
  python -m reports results/x --trust               somebody else's folder, whose space.py and plugins you have read
  python -m reports results/x --check               scores against predictions, the report and its pictures against
                                                    the folder; exit code 1 if a number differs
  python -m reports diff results/x results/y        what differs between two studies
  python -m reports export results/x 'my row' model a model for sentence-transformers, with its card
  python -m reports mteb results/x STS12 NFCorpus   the kept models on tasks or benchmarks of the package mteb
  python -m reports size results/x --budget loss=0.5
                                                    the fewest bytes that are shown to lose half a point at most
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code. Raise `UserError` for a mistake of the user."""
    words = checked_arguments(arguments)
    commands = {"diff": _diff, "export": _export, "mteb": _mteb, "size": _size}
    if words and words[0] in commands:
        return commands[words[0]](words[1:])
    return _report(words)


def _report(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m reports",
        usage=USAGE,
        description="Write a study's report from its folder: study.json, ledger and predictions.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("results", metavar="RESULTS", help=RESULTS)
    parser.add_argument(
        "--format",
        default="md",
        metavar="NAMES",
        help="one or more of md, html, json and csv, with commas between them; md without it",
    )
    parser.add_argument(
        "--across",
        action="append",
        default=[],
        metavar="GUARD",
        help="judge also where this guard says that two rows cannot be compared; may be repeated; --check takes the "
        "guards from the report",
    )
    parser.add_argument(
        "--sentences",
        type=expanded,
        metavar="FOLDER",
        help="SentEval's data: the page shows its sentences, so do not pass the page on where you may not pass them on",
    )
    parser.add_argument(
        "--items",
        metavar="TASK",
        help="no report, but the test items of this task that the picked recipe mended and broke, with their texts "
        "from your own files; with --format json all of them",
    )
    parser.add_argument(
        "--plugin",
        type=expanded,
        action="append",
        default=[],
        metavar="FILE",
        help="a Python file that adds a section or a format; a study's own plugins are known without it",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="run the code in this folder, space.py and plugins/*.py, now and from now on, though no study of yours "
        "made it on this machine; read it first",
    )
    parser.add_argument("--live", action="store_true", help="serve the page on this machine while the study runs")
    parser.add_argument(
        "--check",
        action="store_true",
        help="compute scores again from predictions, and the report from both: texts, the page, tables, pictures and "
        "trials.csv",
    )
    options = parser.parse_args(arguments)
    if options.live and options.check:
        raise UserError("--live and --check do not go together; give one of them")
    from reports.facts.guards import GUARDS
    from trainables.plugins import load_plugin

    for plugin in options.plugin:
        load_plugin(plugin)
    location = _pull_results(options.results)
    if options.trust:
        from reports.ledger.own_code import trust_folder

        trust_folder(location.folder)
    if options.check:
        for name in options.across:  # the report itself lists the guards that it ignored
            GUARDS[name]
        return _check(location, options.sentences)
    if options.live:
        from reports.live import serve

        location.follow()
        serve(location.folder, location.push)
        return 0
    if options.items is not None:
        return _items(location, options.items, options.format, options.sentences)
    from reports.formats import FORMATS
    from reports.report import write_report

    formats = [name.strip() for name in options.format.split(",")]
    write_report(location.folder, formats, across=options.across, sentences=options.sentences)
    location.push_changed()
    for name in formats:
        print(location.address_of(FORMATS[name].file))
    return 0


def _pull_results(results: str) -> ResultsLocation:
    """Open the results that the user named, and copy what a report reads to this machine."""
    from reports.ledger import STUDY
    from reports.ledger.location import open_location

    location = open_location(results, Path())
    location.pull()
    if location.url and not location.exists(STUDY):
        raise UserError(f"{location.shown} holds no {STUDY}; give a folder or a URL that a study wrote")
    return location


def _items(location: ResultsLocation, task: str, format: str, sentences: Path | None) -> int:
    from reports.facts.results import Results
    from reports.items import Items

    if format not in ("md", "json"):
        raise UserError(f"--items is shown on the console, or printed with --format json, not {format!r}")
    answered = Items.of(Results.load(location.folder), task, sentences)
    print(json.dumps(answered.as_json(), indent=1) if format == "json" else answered.as_text())
    return 0


def _check(location: ResultsLocation, sentences: Path | None) -> int:
    from reports.check import check

    problems = check(location.folder, sentences)
    for problem in problems:
        print(problem)
    if not problems:
        print(
            f"{location.shown}: the scores are those of the kept predictions, and the report is what the folder gives, "
            "with its pictures and tables"
        )
    return 1 if problems else 0


def _parser(command: str, description: str, example: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m reports {command}",
        description=description,
        epilog=f"example:\n  python -m reports {command} {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("results", metavar="RESULTS", help=RESULTS)
    return parser


def _diff(arguments: Sequence[str]) -> int:
    parser = _parser(
        "diff",
        "What differs between two studies, as markdown: what they asked, ran on and found.",
        "results/before results/after > diff.md",
    )
    parser.add_argument("second", metavar="RESULTS", help="those of the other study")
    options = parser.parse_args(arguments)
    from reports.diff import diff

    first, second = _pull_results(options.results), _pull_results(options.second)
    print(diff(first.folder, second.folder))
    return 0


def _export(arguments: Sequence[str]) -> int:
    parser = _parser(
        "export",
        "A row's model as a folder for sentence-transformers. Its card has scores, intervals and recipe.",
        "results/x 'SBERT baseline' models/baseline",
    )
    parser.add_argument("row", metavar="ROW", help="the row's label, or an explored recipe's number: '#17'")
    parser.add_argument(
        "folder", type=expanded, nargs="?", metavar="FOLDER", help="where to; within RESULTS without it"
    )
    options = parser.parse_args(arguments)
    location = _pull_results(options.results)
    from reports.export import export

    if location.url and options.folder is None:
        raise UserError("name a FOLDER for the model: its row's results are at a URL")
    print(export(location.folder, options.row, options.folder, location.fetch))
    return 0


def _mteb(arguments: Sequence[str]) -> int:
    parser = _parser(
        "mteb",
        "Score the kept models of rows and finalists, and the original encoder, on tasks of the package mteb, which "
        "loads their data. What it writes is kept in RESULTS/mteb, and the next report shows it.",
        "results/x STS12 NFCorpus",
    )
    parser.add_argument("tasks", nargs="+", metavar="TASK", help="a task, or a benchmark such as 'MTEB(eng, v2)'")
    options = parser.parse_args(arguments)
    from reports.mteb_scores import score, tasks_of

    tasks = tasks_of(options.tasks)
    location = _pull_results(options.results)
    score(location, tasks)
    location.push_changed()
    return 0


def _size(arguments: Sequence[str]) -> int:
    parser = _parser(
        "size",
        "What the model to ship scores with fewer numbers, and with coarser ones: its loss, bytes and time of a "
        "search. Writes RESULTS/size.md, or size.html, and a picture.",
        "results/x --budget bytes=300MB",
    )
    parser.add_argument(
        "--budget",
        metavar="LIMIT",
        help="loss=0.5: the fewest bytes that are shown to lose so many points at most; bytes=300MB: the best of which "
        "a million vectors take no more",
    )
    parser.add_argument("--format", default="md", metavar="NAMES", help="md, html, or both with a comma between")
    options = parser.parse_args(arguments)
    from reports.size import SizeBudget, write

    budget = None if options.budget is None else SizeBudget.of(options.budget)
    location = _pull_results(options.results)
    for line in write(location, budget, [name.strip() for name in options.format.split(",")]):
        print(line)
    location.push_changed()
    return 0


def command() -> int:
    """Run the console script `ses-report`."""
    return answer_user_errors(main)


if __name__ == "__main__":
    sys.exit(command())
