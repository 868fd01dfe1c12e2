"""`python -m reports.live.provisional RESULTS` prints the findings of a running study, so far, as JSON, and its answer.

The live page's server runs it as a process of its own: a study must not wait for a bootstrap.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from reports.answer import Answer
from reports.answer_words import lines
from reports.findings import Findings
from reports.guards import sentence
from reports.results import Results
from trainables.errors import answer_user_errors
from trainables.lines import one_line


def main() -> None:
    """`UserError` where nothing is finished."""
    results = Results.load(Path(sys.argv[1]))
    answer = [[line.head, line.words, line.command] for line in lines(Answer.of(results), results.info, one_line)]
    findings = Findings.of(results)
    finished = sum(record.status == "finished" for record in (*results.of_all_trials, *results.elsewhere))
    content = {**findings.as_json(), "answer": answer, "finished": finished}
    for data, board in zip(content["boards"], findings.boards, strict=True):
        data["flags"] = [{**flag.as_json(), "sentence": sentence(results, flag)} for flag in board.flags]
    print(json.dumps(content))


if __name__ == "__main__":
    sys.exit(answer_user_errors(main))
