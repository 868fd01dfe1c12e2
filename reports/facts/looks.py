"""Looks at a study, and the share of the error level that each look may spend.

Extending a study until a verdict pleases finds one by chance: after each of 2 to 10 seeds, in 7 % of studies without
any effect. So each look has its share of the 5 %, and all possible looks together have no more than the whole: look k
has 6 / (pi² k²) of it. A look is a report that may contain verdicts. It is identified by its trials, so writing a
report again from the same trials is no new look. Verdicts on rows (tables and claims) are made of the rows' trials
alone, so they count their looks as in a folder without finals; verdicts on finals count theirs. Each look is a file of
its own, `looks/FAMILY-DIGEST.json`, which is written once: a reader and a running study may write at the same time
without undoing each other's looks.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from reports.facts.cached import cached
from reports.facts.results import Results
from reports.facts.unfinished import finals_judged
from reports.ledger import LOOKS, write_json
from reports.ledger.looks import LookFile
from reports.ledger.names import writable_path
from trainables.errors import UserError

Family = Literal["rows", "finals"]
"""Verdicts that share the 5 % of their looks."""
FAMILIES: tuple[Family, ...] = ("rows", "finals")


def level_share(look: int) -> float:
    """Return the share of the error level that look number `look` (from 1) may spend; all shares add up to one."""
    return 6 / (math.pi * look) ** 2


def judged_trials(results: Results, family: Family) -> list[str]:
    """Return the keys of the trials that the family's verdicts may be based on: those of the rows, if two of these can
    be judged, and for the finals also the trials that an answer is based on, as rows lend the finals their spread."""
    of_finals = [record.key for records in finals_judged(results).values() for record in records]
    if family == "finals" and not of_finals:
        return []
    rows = {
        key: records
        for key in results.labels
        if (records := results.recipes.get(key, [])) and (len(records) > 1 or key in results.fixed)
    }
    of_rows = [record.key for records in rows.values() for record in records] if len(rows) > 1 else []
    return [*dict.fromkeys(of_rows + (of_finals if family == "finals" else []))]


def trials_digest(results: Results, family: Family) -> str:
    """Return a digest (16 digits) of the trials that the family's verdicts may be based on; empty if there are none."""
    names = sorted(judged_trials(results, family))
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16] if names else ""


@cached
def look_number(results: Results, family: Family) -> int:
    """Return the number of this look at the family: that of an earlier look at the same trials, else the next one."""
    looks = looks_at(family, results.looks)
    same = _names(results, family)
    return 1 + next((index for index, name in enumerate(looks) if name in same), len(looks))


def looks_at(family: Family, looks: Iterable[str]) -> list[str]:
    """Return those of some looks, by name, that were at the family. One without a family, of an older version, was at
    both."""
    return [name for name in looks if name.partition("-")[0] not in {*FAMILIES} - {family}]


def record_look(results: Results, folder: Path) -> None:
    """Write a file of this look at each family to the results folder, unless it exists. If writing fails, print a line
    on stderr."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
    for family in FAMILIES:
        names = _names(results, family)
        if not names or not names.isdisjoint(results.looks):
            continue
        try:
            write_json(writable_path(folder, f"{LOOKS}/{family}-{trials_digest(results, family)}.json"), LookFile(now))
        except (OSError, UserError) as error:
            print(f"note: this look at the study could not be recorded ({error})", file=sys.stderr)


def _names(results: Results, family: Family) -> set[str]:
    """Return the names that a look at the family's present trials may have; those of older versions, which had one
    digest of all trials, are without the family. Empty if there are no such trials."""
    this = trials_digest(results, family)
    return {f"{family}-{this}", this, trials_digest(results, "finals") or this} if this else set()
