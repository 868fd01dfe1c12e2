"""How often a study was looked at, and what a look may spend.

Who extends a study until a verdict pleases finds one by chance: after each of 2 to 10 seeds, in 14 % of studies without
any effect. So each look has its share of the 5 %, and all looks that there may ever be have no more than the whole:
look k has 6 / (pi² k²) of it. A look is a report that may hold verdicts; it is known by the trials that it was made of,
so writing it again from the same trials is none. `study.json` keeps the looks in their order.
"""

from __future__ import annotations

import hashlib
import math
import sys
from typing import TYPE_CHECKING

from reports.ledger import StudyInfo
from reports.statistics import CONFIDENCE

if TYPE_CHECKING:
    from reports.results import Results


def share(look: int) -> float:
    """Of the level, for the first look, the second, and so on; all of them add up to one."""
    return 6 / (math.pi * look) ** 2


def trials(results: Results) -> str:
    """Sixteen digits of the trials that verdicts may rest on; empty where no two rows can be judged yet."""
    judged = {
        key: records
        for key in results.labels
        if (records := results.recipes.get(key, [])) and (len(records) > 1 or key in results.fixed)
    }
    names = sorted(record.key for records in judged.values() for record in records)
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16] if len(judged) > 1 else ""


def look(results: Results) -> int:
    """Which look at the study these results are: one that was recorded, or the next one."""
    looks, this = results.info.looks, trials(results)
    return 1 + (looks.index(this) if this in looks else len(looks))


def record(results: Results) -> None:
    """Keep this look in `study.json`, unless it is there. Where that cannot be written a line on stderr says so."""
    this = trials(results)
    if not this or this in results.info.looks:
        return
    try:
        StudyInfo.add_look(results.folder, this)
    except OSError as error:
        print(f"note: this look at the study could not be recorded ({error})", file=sys.stderr)


def in_words(results: Results) -> str:
    """What the look spends, for the report; empty where it holds no verdict."""
    if not trials(results):
        return ""
    number, level = look(results), 100 * (1 - CONFIDENCE)
    return (
        f"**Look {number} at this study.** The verdicts of all looks together, however often the study is extended, "
        f"may be wrong in {level:.0f} %; this look spends {level * share(number):.2g} of these percent, and its "
        "intervals and p are widened so far. Writing the report again from the same trials is no look."
    )
