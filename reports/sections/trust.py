"""Warnings: flags that make results doubtful, and the verdicts that they forbid."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from reports.document import Block, Bullets
from reports.facts.answer import Answer
from reports.facts.finals_evidence import VARIED
from reports.facts.findings import Findings
from reports.facts.guards import GUARDS, Flag, alike, grouped, sentence
from reports.facts.remembered import OVERLAP
from reports.facts.results import Results
from reports.words.guards import follows, listed
from reports.words.markdown import count, text, verbatim

MAX_SHOWN_FLAGS = 2
"""Largest number of flags of one guard that are shown; more are only counted."""
MAX_NAMED_RECORDS = 3
"""Largest number of invalid records that are shown; more are only counted."""
MAX_NAMED_TASKS = 3
"""Largest number of tasks of a flag that are named: a flag on more tasks touches almost every average."""
MARK = "⚠"


def write(results: Results, pictures: Path) -> list[Block]:
    """Write a line for each flag, first those that forbid verdicts; then warnings on finals, and checks not made."""
    flags = [flag for flag in Findings.of(results).flags if not _only_searched(results, flag)]
    raised = [flag for flag in flags if flag.recipes]
    lines = _set_aside(results)
    lines += _lines(results, grouped(flag for flag in raised if flag.blocks))
    lines += _lines(results, grouped(flag for flag in raised if not flag.blocks))
    lines += [
        f"**Not checked: {GUARDS[flag.guard].label}**: {sentence(results, flag)}." for flag in flags if not flag.recipes
    ]
    raised_sentences = {sentence(results, flag) for flag in grouped(flags)}
    finals = [sentence(results, flag) for flag in Answer.of(results).warnings]
    lines += [f"{MARK} **the finals**: {clause}." for clause in finals if clause not in raised_sentences]
    across = any(flag.blocks and flag.guard not in results.info.across for flag in raised)
    how = f"{verbatim('python -m reports RESULTS --across NAME')} judges across the warning of that name all the same."
    return [Bullets(lines) or "No flags.", how if across else ""]


def clean(results: Results) -> str:
    """Return which checks found nothing, and which found only differences that a search makes on purpose."""
    flags = Findings.of(results).flags
    names, searched = {flag.guard for flag in flags}, {flag.guard for flag in flags if _only_searched(results, flag)}
    labels = [guard.label for guard in GUARDS.values() if guard.name not in names]
    sentences = [f"Checks without a finding: {'; '.join(labels)}."] if labels else []
    varied = [GUARDS[name].label for name in GUARDS if name in searched]
    return " ".join(
        [*sentences, *([f"The search's recipes differ, as they should, in {listed(varied)}."] if varied else [])]
    )


def _only_searched(results: Results, flag: Flag) -> bool:
    """Return whether a flag concerns no two rows, only explored recipes that differ in settings which the search varies
    on purpose. The finals compare such recipes as a whole."""
    varied = flag.guard in VARIED and flag.crossed_by == "unequal" and flag.recipes and results.explored
    rows = [value for key, value in flag.values.items() if key in results.labels]
    return bool(varied) and all(alike(*pair, flag.tolerance) for pair in combinations(rows, 2))


def _lines(results: Results, flags: list[Flag]) -> list[str]:
    """Return lines for the first few flags of each guard, then a line with the number of its further flags."""
    lines = []
    for guard in dict.fromkeys(flag.guard for flag in flags):
        own = [flag for flag in flags if flag.guard == guard]
        more = (
            [f"{MARK} **{guard}**: {count(len(own) - MAX_SHOWN_FLAGS, 'more flag')} of this kind."]
            if len(own) > MAX_SHOWN_FLAGS
            else []
        )
        lines += [*(_line(results, flag) for flag in own[:MAX_SHOWN_FLAGS]), *more]
    return lines


def _line(results: Results, flag: Flag) -> str:
    """Return a flag in words: `⚠ **steps** (3 rows): what, how much, what it means. No verdict …`"""
    rows = len(flag.recipes & results.labels.keys())
    explored = len(flag.recipes) - rows
    touched = [count(rows, "row")] if rows else []
    touched += [count(explored, "explored recipe")] if explored else []
    return f"{MARK} **{flag.guard}** ({', '.join(touched)}): {sentence(results, flag)}. {_forbids(results, flag)}"


def _forbids(results: Results, flag: Flag) -> str:
    """Return which verdicts the flag forbids; if an option overrides the flag, that option."""
    if not flag.blocks:
        return follows(flag)
    if flag.guard in results.info.across:
        return f"Judged all the same, as {verbatim(f'--across {flag.guard}')} asks."
    tasks = sorted({part.removeprefix("dev.") for part in flag.tasks})
    where = f" in figures with {text(listed(tasks))}" if 0 < len(tasks) <= MAX_NAMED_TASKS else ""
    rows = {
        "any": f"on {'this row' if len(flag.recipes) == 1 else 'these rows'} against any other",
        "unequal": "between rows that differ in it",
        "both": "between these rows",
    }[flag.crossed_by]
    judged_unseen = flag.guard == OVERLAP and flag.crossed_by == "unequal" and results.info.finals
    unless = ", unless the test items that training did not see show the same" if judged_unseen else ""
    return f"**No verdict** {rows}{where}{unless}."


def _set_aside(results: Results) -> list[str]:
    """Return the records that cannot be right, by file name, with the reasons."""
    if not results.set_aside:
        return []
    named = [f"{verbatim(name)} {text(why)}" for name, why in list(results.set_aside.items())[:MAX_NAMED_RECORDS]]
    more = len(results.set_aside) - MAX_NAMED_RECORDS
    named += [f"and {more:,} more"] if more > 0 else []
    number_of = count(len(results.set_aside), "record")
    return [
        f"{MARK} **Set aside: {number_of}** that cannot be right: {'; '.join(named)}. They are in no figure; the "
        "study's own command runs these trials again."
    ]
