"""`--why RESULTS`: causes as lines for a console, and as the page `RESULTS/why.md`.

python study/run.py --why results/mine                         # looks, which train nothing
python study/run.py --why results/mine --limit minutes=10      # and tries
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reports.document import Block, Bullets, CodeBlock, WrittenSection
from reports.facts.results import Results
from reports.formats import FORMATS, Document
from reports.ledger.location import ResultsLocation
from reports.ledger.names import writable_path
from reports.words.markdown import count, text
from study.why import words
from study.why.case import Cause, StudyCase
from study.why.changes import SUSPECTS, by_rows, without
from study.why.looks import look_for_causes, order_causes
from study.why.tries import Gained, Tries
from trainables.corpora.own_rows import row_in_words
from trainables.registry import load

PAGE = "why.md"
LISTED = 20
"""Largest number of suspect rows of a cause that are shown."""


def write(location: ResultsLocation, minutes: float | None) -> Iterator[str]:
    """Look for causes, also by tries of that many `minutes` (None: no tries), write the page, and yield lines for a
    console. `UserError` if the study does not use a person's own data."""
    location.pull()
    results = Results.load(location.folder)
    with tempfile.TemporaryDirectory() as shared:
        case = StudyCase.of(results, Path(shared))
        yield words.begin(case, minutes)
        causes, taken_back, tries = causes_of(case, minutes)
    blocks = [*blocks_of(case, causes, taken_back, tries)]
    yield from lines(case, causes, taken_back, tries)
    yield f"How    {words.how(case, tries)}"
    path = writable_path(results.folder, PAGE)
    load(FORMATS["md"].writer)(
        Document(results, f"Why: {results.info.space}", (WrittenSection("why", "", blocks, False),)), path
    )
    location.push_changed()
    yield str(location.address_of(PAGE))


def causes_of(case: StudyCase, minutes: float | None) -> tuple[list[Cause], list[Gained], Tries | None]:
    """Return the causes that looks find, and that tries of that many minutes find. If the answer names a recipe to use,
    tries measure instead which of its settings made its gain."""
    tries = None if minutes is None else Tries(case, 60 * minutes)
    causes = [mended(case, cause) for cause in look_for_causes(case)]
    if tries is None:
        return causes, [], None
    if case.answer is not None and case.answer.kind == "use":
        return causes, tries.taken_back(), tries
    return joined(causes, tries.causes(causes)), [], tries


def mended(case: StudyCase, cause: Cause) -> Cause:
    """Return the cause. If training without its suspect rows removes it (`by_rows`), that becomes its `mend`."""
    return replace(cause, mend={"train": (without(case, cause),)}) if by_rows(case, cause) else cause


def joined(looked: Sequence[Cause], tried: Sequence[Cause]) -> list[Cause]:
    """Return all causes in one order. A tried cause replaces an estimate of its name, and hints at the same
    settings."""
    measured = {cause.name: cause for cause in order_causes(tried)[::-1]}
    settings = {key for cause in tried for key in cause.facts["changes"]}
    rest = [cause for cause in looked if cause.name not in measured]
    rest = [cause for cause in rest if cause.measured or not settings.issuperset(cause.facts.get("used", {"": None}))]
    return order_causes([*rest, *measured.values()])


def lines(case: StudyCase, causes: Sequence[Cause], taken_back: Sequence[Gained], tries: Tries | None) -> Iterator[str]:
    """Yield lines for a console on the gains and causes that were found."""
    for sentence in words.worth(taken_back, tries.share) if taken_back and tries else ():
        yield f"Gain   {sentence}"
    if not causes:
        yield f"Why    {words.nothing(case, tries)}"
    for rank, cause in enumerate(causes, 1):
        yield f"{rank:<6} {words.TITLES[cause.name]}{words.points(cause)}: {words.evidence(cause)}"
        yield f"       {words.command(cause, case) or words.OTHERWISE.get(cause.name, '')}"
        if "train" in cause.mend:
            yield f"       these rows: {_suspects_file(case, cause)}"


def blocks_of(
    case: StudyCase, causes: Sequence[Cause], taken_back: Sequence[Gained], tries: Tries | None
) -> Iterator[Block]:
    """Yield the blocks of the page: causes with evidence, command and suspect rows, then how they were measured."""
    if taken_back and tries:
        yield Bullets([text(sentence) for sentence in words.worth(taken_back, tries.share)])
    if not causes:
        sentence = words.nothing(case, tries)
        yield f"{sentence[0].upper()}{sentence[1:]}."
    for rank, cause in enumerate(causes, 1):
        yield f"**{rank}. {words.TITLES[cause.name]}**{words.points(cause)}: {text(words.evidence(cause))}."
        if mend := words.command(cause, case):
            yield CodeBlock(mend)
        elif cause.name in words.OTHERWISE:
            yield f"To mend it: {words.OTHERWISE[cause.name]}."
        yield Bullets([text(row) for row in _suspects(case, cause)])
    yield words.how(case, tries)


def _suspects(case: StudyCase, cause: Cause) -> list[str]:
    first = cause.rows[:LISTED]
    located = zip(case.row_locations(first), first, strict=True)
    shown = [f"{location}: {row_in_words(case.rows[number])}" for location, number in located]
    more = len(cause.rows) - len(shown)
    where = f": all are in {_suspects_file(case, cause)}" if "train" in cause.mend else ""
    return [*shown, *([f"and {count(more, 'more row')}{where}"] if more > 0 else [])]


def _suspects_file(case: StudyCase, cause: Cause) -> str:
    return str(case.folder / f"{cause.name}-{SUSPECTS}")
