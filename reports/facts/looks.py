"""How often a study was looked at, and what a look may spend.

Who extends a study until a verdict pleases finds one by chance: after each of 2 to 10 seeds, in 7 % of studies without
any effect. So each look has its share of the 5 %, and all looks that there may ever be have no more than the whole:
look k has 6 / (pi² k²) of it. A look is a report that may hold verdicts; it is known by the trials that it was made of,
so writing it again from the same trials is none. Each is a file of its own, `looks/DIGEST.json`, which whoever takes
the look writes once: reader and study may do so at the same time, and neither undoes what the other wrote.
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
from reports.ledger.looks import Taken
from reports.ledger.names import to_write
from trainables.errors import UserError


def share(look: int) -> float:
    """Of the level, for the first look, the second, and so on; all of them add up to one."""
    return 6 / (math.pi * look) ** 2


def judged(results: Results) -> list[str]:
    """The keys of the trials that verdicts may rest on: those of the rows, where two of these can be judged, and of the
    finals that an answer rests on."""
    rows = {
        key: records
        for key in results.labels
        if (records := results.recipes.get(key, [])) and (len(records) > 1 or key in results.fixed)
    }
    of_rows = [record.key for records in rows.values() for record in records] if len(rows) > 1 else []
    of_finals = [record.key for records in finals_judged(results).values() for record in records]
    return [*dict.fromkeys(of_rows + of_finals)]


def trials(results: Results) -> str:
    """Sixteen digits of the trials that verdicts may rest on; empty where there are none."""
    names = sorted(judged(results))
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16] if names else ""


@cached
def look(results: Results) -> int:
    """Which look at the study these results are: one that was recorded, or the next one."""
    looks, this = results.looks, trials(results)
    return 1 + (looks.index(this) if this in looks else len(looks))


def record(results: Results, folder: Path) -> None:
    """Keep this look in the results folder, unless it is there. Where that cannot be written, stderr has a line."""
    this = trials(results)
    if not this or this in results.looks:
        return
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
    try:
        write_json(to_write(folder, f"{LOOKS}/{this}.json"), Taken(now))
    except (OSError, UserError) as error:
        print(f"note: this look at the study could not be recorded ({error})", file=sys.stderr)
