"""Slow computations for the live page, in a separate process, because the study must not wait for a bootstrap.

    python -m reports.live.slow_parts RESULTS          # prints the findings so far as JSON, and the answer
    python -m reports.live.slow_parts RESULTS COPY     # writes the report into a copy of the folder, as one HTML file

A reader may keep the report and its verdicts, so the report is recorded in RESULTS as a look at the study.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from reports.facts.answer import Answer
from reports.facts.findings import Findings
from reports.facts.guards import sentence
from reports.facts.looks import record_look
from reports.facts.results import Results
from reports.report import write_unrecorded
from reports.words.answer import lines
from trainables.errors import answer_user_errors
from trainables.lines import one_line


def main() -> None:
    """Run the command line. Raise `UserError` if no trial is finished."""
    results, *copies = map(Path, sys.argv[1:])
    for copy in copies:
        record_look(write_unrecorded(copy, ["html"]), results)
    if not copies:
        print(json.dumps(findings(Results.load(results))))


def findings(results: Results) -> dict[str, object]:
    """Return the study's findings with the sentences of their flags, and the lines of its answer, for JSON."""
    answer = [[line.head, line.words, line.command] for line in lines(Answer.of(results), results.info, one_line)]
    facts = Findings.of(results)
    finished = sum(trial.status == "finished" for trial in (*results.of_all_trials, *results.differently_evaluated))
    content = {**facts.as_json(), "answer": answer, "finished": finished}
    for data, board in zip(content["boards"], facts.boards, strict=True):
        data["flags"] = [{**flag.as_json(), "sentence": sentence(results, flag)} for flag in board.flags]
    return content


if __name__ == "__main__":
    sys.exit(answer_user_errors(main))
