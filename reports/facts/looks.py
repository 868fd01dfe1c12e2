"""Looks at a study, and the share of the error level that each look may spend.

Extending a study until a verdict pleases finds one by chance: after each of 2 to 10 seeds, in 7 % of studies without
any effect. So each look has its share of the 5 %, and all possible looks together have no more than the whole: look k
has 6 / (pi² k²) of it. A look is a report that may contain verdicts. It is identified by its trials, so writing a
report again from the same trials is no new look. Each look is a file of its own, `looks/DIGEST.json`, which is written
once: a reader and a running study may write at the same time without undoing each other's looks.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import sys
from pathlib import Path

from reports.facts.cached import cached
from reports.facts.results import Results
from reports.facts.unfinished import finals_judged
from reports.ledger import LOOKS, write_json
from reports.ledger.looks import LookFile
from reports.ledger.names import writable_path
from trainables.errors import UserError


def level_share(look: int) -> float:
    """Return the share of the error level that look number `look` (from 1) may spend; all shares add up to one."""
    return 6 / (math.pi * look) ** 2


def judged_trials(results: Results) -> list[str]:
    """Return the keys of the trials that verdicts may be based on: of the rows, if two of these can be judged, and of
    the finals that an answer is based on."""
    rows = {
        key: records
        for key in results.labels
        if (records := results.recipes.get(key, [])) and (len(records) > 1 or key in results.fixed)
    }
    of_rows = [record.key for records in rows.values() for record in records] if len(rows) > 1 else []
    of_finals = [record.key for records in finals_judged(results).values() for record in records]
    return [*dict.fromkeys(of_rows + of_finals)]


def trials_digest(results: Results) -> str:
    """Return a digest (16 digits) of the trials that verdicts may be based on; empty if there are none."""
    names = sorted(judged_trials(results))
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16] if names else ""


@cached
def look_number(results: Results) -> int:
    """Return the number of this look: that of an earlier look at the same trials, else the next number."""
    looks, this = results.looks, trials_digest(results)
    return 1 + (looks.index(this) if this in looks else len(looks))


def record_look(results: Results, folder: Path) -> None:
    """Write this look's file to the results folder, unless it exists. If writing fails, print a line on stderr."""
    this = trials_digest(results)
    if not this or this in results.looks:
        return
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
    try:
        write_json(writable_path(folder, f"{LOOKS}/{this}.json"), LookFile(now))
    except (OSError, UserError) as error:
        print(f"note: this look at the study could not be recorded ({error})", file=sys.stderr)
