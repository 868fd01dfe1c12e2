"""Two studies side by side, in markdown: settings, code and data, rows and claims.

    print(diff(Path("results/before"), Path("results/after")))

A row is compared with the row of the same label in the other study, in every figure that both have. If both were tested
on the same items, these are paired. The two are judged like two rows of one study: flags forbid verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reports.document import Block, Bullets, DataTable, Heading, markdown
from reports.facts.boards import verdict
from reports.facts.evidence import Evidence
from reports.facts.findings import Findings
from reports.facts.guards import GUARDS, find_flags
from reports.facts.quantity import Quantity
from reports.facts.results import Results
from reports.ledger import Record
from reports.statistics import Comparison, Sample, compare, holm
from reports.words.comparisons import interval, probability
from reports.words.markdown import code, count, number, text
from trainables.errors import UserError
from trainables.registry import load
from trainables.senteval.tasks import TASKS, kind_of

SETTINGS = ("space", "scale", "search", "trials", "seeds", "across")
"""Fields of `study.json` that are compared, besides the base recipe."""
DATA = ("corpus", "senteval", "encoder")
"""Kinds of data whose fingerprints are compared."""
CONDITIONS = ("code", "data", "encoder", "steps", "tokens", "hardware", "precision")
"""Guards of conditions, such as code and steps, that two trials must share if their scores are to be compared."""


def diff(a: Path, b: Path) -> str:
    """Return the comparison as markdown. Raise `UserError` if a folder is no study's, or no trial is finished."""
    (first, mine), (second, other) = _read(a), _read(b)
    for task in mine.keys() & other.keys():
        if mine[task] != other[task]:
            raise UserError(
                f"both studies have a task {task!r}, of the kind {mine[task]} in {a} and {other[task]} in {b}, so they "
                "cannot be compared"
            )
    names = code(a.resolve().name), code(b.resolve().name)
    if names[0] == names[1]:
        names = code(str(a)), code(str(b))
    conditions = [*_settings(first, second), *_conditions(first, second)]
    blocks: list[Block] = [
        f"# {names[0]} and {names[1]}",
        "Differences are the second study minus the first.",
        "## Settings, code and data",
        DataTable(["What", *names], conditions, left=3) if conditions else "There is no difference.",
        "## Rows in both",
        *_rows(first, second),
        *_unmatched_rows(first, second, names),
        "## Claims",
        *_claims(first, second, names),
    ]
    return markdown(blocks) + "\n"


def _read(folder: Path) -> tuple[Results, dict[str, str]]:
    """Return the results of a study, and the kind of each task in them. The figures are computed now, because the next
    study may use the same names for other tasks and goals."""
    results = Results.load(folder)
    tasks = {task for record in [*results.of_all_trials] for task in record.scores}.union(
        *(figure.tasks for figure in results.figures)
    )
    return results, {task: kind_of(task).name for task in tasks if task in TASKS}


# What was asked, and what it ran on


def _settings(first: Results, second: Results) -> Iterator[list[str]]:
    for name in SETTINGS:
        mine, other = getattr(first.info, name, None), getattr(second.info, name, None)
        if mine != other:
            yield [name, code(mine), code(other)]
    for key in sorted(first.settings.keys() | second.settings.keys()):
        mine, other = first.settings.get(key), second.settings.get(key)
        if mine != other:
            yield [code(key), code(mine), code(other)]


def _conditions(first: Results, second: Results) -> Iterator[list[str]]:
    """Yield a line for each version, machine and data fingerprint that differs, with its values in both studies."""
    packages = sorted({name for results in (first, second) for r in results.records for name in r.versions})
    conditions: list[tuple[str, Callable[[Record], Any]]] = [
        *((f"version of {text(name)}", lambda record, name=name: record.versions.get(name)) for name in packages),
        ("hardware", lambda record: record.ran_on or None),
        *((f"fingerprint of {kind}", lambda record, kind=kind: record.fingerprint(kind)) for kind in DATA),
    ]
    for name, value in conditions:
        mine, other = ({value(record) for record in results.records} for results in (first, second))
        if name.startswith("fingerprint"):  # a trial that does not train reads no corpus
            mine, other = mine - {None} or mine, other - {None} or other
        if mine != other:
            yield [name, _several(mine), _several(other)]


def _several(values: Iterable[Any]) -> str:
    return ", ".join("unknown" if value is None else code(value) for value in sorted(values, key=str))


# Rows


def _rows(first: Results, second: Results) -> list[Block]:
    """Write a table of the row comparisons for each figure that both studies have."""
    mine, other = _row_samples(first), _row_samples(second)
    boards = [board.quantity for board in Findings.of(first).boards]
    figures = {at: figure for figure in boards for label in first.asked_rows if (at := (figure, label)) in mine}
    figures = {at: figure for at, figure in figures.items() if at in other}
    if not figures:
        return ["There is no row that both have with a figure that both have."]
    common = Evidence.of(second).common
    compared = {at: compare(other[at][1], mine[at][1], common=common(figure)) for at, figure in figures.items()}
    differing = {
        label: _condition_guards(first, second, label) for label in dict.fromkeys(label for _, label in figures)
    }
    doubts = {
        at: [*differing[at[1]], *_flagged_guards([(first, mine[at][0]), (second, other[at][0])], figure)]
        for at, figure in figures.items()
    }
    chances = [None if doubts[at] else compared[at].p for at in figures]
    tests = [(at[0], first.counted_as(mine[at][0]), second.counted_as(other[at][0])) for at in figures]
    adjusted = holm(chances, tests)
    blocks: list[Block] = [
        "Intervals are at 95 %, p is Holm's over all lines that get a verdict. A difference says that the two studies "
        "differ in this row, not why. There is no verdict where a flag of either study touches the row, or where its "
        "trials here and there ran on other code, data or machines, or trained for longer: what is named."
    ]
    changed = dict.fromkeys(code(at[1]) for at in figures if mine[at][0] != other[at][0])
    if changed:
        blocks.append(f"Not the same recipe in both: {', '.join(changed)}.")
    lines: dict[str, list[list[str]]] = {}
    for (at, figure), p in zip(figures.items(), adjusted, strict=True):
        means = [f"{number(sample.mean)} ({count(sample.count, 'seed')})" for _, sample in (mine[at], other[at])]
        lines.setdefault(figure.name, []).append([code(at[1]), *means, *_words(compared[at], p, doubts[at])])
    head = ["Row", "first", "second", "difference [95 %]", "p", "verdict"]
    for name, rows in lines.items():
        blocks += [Heading(text(name)), DataTable(head, rows)]
    return blocks


def _row_samples(results: Results) -> dict[tuple[Quantity, str], tuple[str, Sample]]:
    """Map the figure and label of each row in the boards to the hash of its recipe and its sample."""
    return {
        (board.quantity, row.name): (row.recipe_hash, row.sample)
        for board in Findings.of(results).boards
        for row in board.standings
        if row.sample is not None
    }


def _condition_guards(first: Results, second: Results, label: str) -> list[str]:
    """Return the guards of conditions that differ between the row's trials in the two studies."""
    if first.protocol != second.protocol:
        return ["protocol"]
    both = {"first": first.of_row(label), "second": second.of_row(label)}
    records = [replace(record, recipe_hash=name) for name, own in both.items() for record in own]
    info = replace(first.info, row_hashes={name: name for name in both})
    results = Results(first.folder, info, first.space, records)
    accepted = {*first.info.across} & {*second.info.across}
    return [
        name
        for name in CONDITIONS
        if name not in accepted
        and any(
            flag.blocks and flag.is_crossed_by("first", "second", frozenset())
            for flag in load(GUARDS[name].find)(results)
        )
    ]


def _flagged_guards(recipes: Sequence[tuple[Results, str]], figure: Quantity) -> list[str]:
    """Return the guards outside `CONDITIONS` whose flags forbid verdicts on the row in either study."""
    guards = [
        flag.guard
        for results, recipe in recipes
        for flag in find_flags(results).forbidding
        if flag.guard not in CONDITIONS
        and flag.crossed_by != "both"  # the recipe has the same effect as another row, which is not compared here
        and flag.touches(recipe, figure.parts)
    ]
    return list(dict.fromkeys(guards))


def _words(item: Comparison, p: float | None, doubts: list[str]) -> list[str]:
    outcome = verdict(item, p, bool(doubts))
    words = (
        f"{outcome} ({', '.join(doubts)})" if doubts else {"above": "higher", "below": "lower"}.get(outcome, outcome)
    )
    return [interval(item), probability(p), words]


def _unmatched_rows(first: Results, second: Results, names: tuple[str, str]) -> Iterator[Block]:
    for results, other, name in ((first, second, names[0]), (second, first, names[1])):
        labels = [label for label in results.asked_rows if results.of_row(label) and not other.of_row(label)]
        if labels:
            yield f"## Rows in {name} only"
            yield Bullets([code(label) for label in labels])


# Claims


def _claims(first: Results, second: Results, names: tuple[str, str]) -> list[Block]:
    """Compare the claims that both spaces have; list those with different verdicts."""
    mine, other = (
        {(item.claim.text, item.claim.table, item.claim.column): item.verdict for item in Findings.of(results).claims}
        for results in (first, second)
    )
    both = [claim for claim in mine if claim in other]
    if not both:
        return ["The two studies share no claim."]
    lines = [[text(claim[0]), mine[claim], other[claim]] for claim in both if mine[claim] != other[claim]]
    same = f"{len(both) - len(lines)} of {len(both)} claims have the same verdict in both."
    return [same, DataTable(["Claim", *names], lines, left=3)] if lines else [same]
