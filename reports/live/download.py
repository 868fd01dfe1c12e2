"""`python -m reports.live.download RESULTS COPY`: the report as one HTML file, written into a copy of the folder.

It holds verdicts, and whoever downloads it keeps them: so it is a look at the study, recorded in the folder itself.
"""

from __future__ import annotations

import sys
from pathlib import Path

from reports.looks import record
from reports.report import write_unrecorded
from trainables.errors import answer_user_errors


def main() -> int:
    """The exit code; `UserError` where nothing is finished."""
    results, copy = map(Path, sys.argv[1:])
    record(write_unrecorded(copy, ["html"]), results)
    return 0


if __name__ == "__main__":
    sys.exit(answer_user_errors(main))
