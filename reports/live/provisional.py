"""`python -m reports.live.provisional RESULTS` prints the findings of a running study, so far, as JSON.

The live page's server runs it as a process of its own: a study must not wait for a bootstrap.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from reports.findings import Findings
from reports.results import Results
from trainables.errors import answer_user_errors


def main() -> None:
    """`UserError` where nothing is finished."""
    print(json.dumps(Findings.of(Results.load(Path(sys.argv[1]))).as_json()))


if __name__ == "__main__":
    sys.exit(answer_user_errors(main))
