"""`python -m reports.live.provisional RESULTS` prints as JSON what is known of the rows and claims of a running study.

The live page's server runs it as a process of its own: a study must not wait for a bootstrap.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from reports.claim_verdicts import judged
from reports.evidence import Board, Evidence, Standing
from reports.formats.parsed import parser
from reports.results import Results
from trainables.errors import answer_user_errors


def provisional(results: Path) -> dict[str, Any]:
    """`boards`, each with its rows and its flags (in HTML), and `claims`: how many have which verdict.

    `UserError` where nothing is finished.
    """
    read = Results.load(results)
    return {
        "finished": sum(record.status == "finished" for record in read.records),
        "boards": [_board(board) for board in Evidence.of(read).boards],
        "claims": dict(Counter(claim.verdict for claim in judged(read)).most_common()),
    }


def _board(board: Board) -> dict[str, Any]:
    return {
        "name": board.quantity.name,
        "baseline": board.baseline,
        "rows": [_row(standing) for standing in board.standings if standing.sample is not None],
        "flags": {
            flag.guard: parser().renderInline(flag.sentence) for standing in board.standings for flag in standing.flags
        },
    }


def _row(standing: Standing) -> dict[str, Any]:
    sample, gain = standing.sample, standing.gain
    return {
        "name": standing.name,
        "seeds": len(sample.values) if sample else 0,
        "mean": sample.mean if sample else None,
        "gain": gain.gain if gain else None,
        "low": gain.low if gain else None,
        "high": gain.high if gain else None,
        "verdict": standing.verdict,
        "flags": sorted({flag.guard for flag in standing.flags}),
    }


def main() -> None:
    print(json.dumps(provisional(Path(sys.argv[1]))))


if __name__ == "__main__":
    sys.exit(answer_user_errors(main))
