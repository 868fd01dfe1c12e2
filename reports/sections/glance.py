"""One picture of the gains of finalists and rows over their references; for two goals also the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.document import Block, Picture
from reports.facts.answer import Answer
from reports.facts.boards import Board
from reports.facts.findings import Findings
from reports.facts.results import Results
from reports.plots.forest import FLAG, MAX_LINES, GainGroup, GainLine, forest_picture, scale
from reports.sections.pareto import front_picture
from reports.words.gains import REFERENCE_NAMES, reference

MAX_DRAWN_ROWS = 12
"""Largest number of rows in the picture."""


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the picture of gains and its explanation; empty if the study has no gains."""
    front = front_picture(results, pictures)
    how = "Each mark is a recipe: no other is better on both goals than those that the line joins."
    marks: list[Block] = [front, how] if front else []
    return [*marks, *gains_picture(groups_of(results), pictures / "forest.svg", MAX_DRAWN_ROWS)]


def groups_of(results: Results) -> list[GainGroup]:
    """Return the gains that the picture shows: those of the finals and of the first board."""
    return [*of_finals(Answer.of(results)), *map(of_board, boards_to_show(results)[:1])]


def in_finals(results: Results) -> set[str]:
    """Return the hashes of the recipes that the finals judge under fresh seeds."""
    answer = Answer.of(results)
    return {each.recipe for each in (*answer.finalists, *answer.references.values()) if each.figure is not None}


def boards_to_show(results: Results) -> Sequence[Board]:
    """Return the boards of rows to show: all, or none if the finals judge every row by the same figure. Then a reader
    would see two different scores of one recipe."""
    boards, figure = Findings.of(results).boards, Answer.of(results).figure
    rows = {item.recipe_hash for board in boards for item in board.standings if item.sample}
    again = rows <= in_finals(results) and all(board.quantity.name == figure for board in boards)
    return () if again else boards


def gains_picture(groups: list[GainGroup], path: Path, most: int = MAX_LINES) -> list[Block]:
    """Draw these groups of gains, with at most `most` rows, and explain the picture; empty if there is no gain."""
    if forest_picture(groups, path, most) is None:
        return []
    return [Picture(path, "Gains with their intervals"), caption(groups, most)]


def of_finals(answer: Answer) -> list[GainGroup]:
    """Return the finalists' gains over the base settings, or over the original encoder if it is kept; empty without
    finals."""
    zero = "encoder" if answer.kind == "as it came" else "base"
    kept = answer.references.get(zero)
    if kept is None or kept.figure is None:
        return []
    level = kept.figure.gain
    lines = [
        GainLine(finalist.name, gain.gain, gain.low, gain.high, gain.above or gain.below, at_once=True)
        for finalist in answer.finalists
        if (gain := finalist.gains.get(zero))
    ]
    marks = {
        reference(answer, name): finalist.figure.gain - level
        for name, finalist in answer.references.items()
        if name != zero and finalist.figure
    }
    return [GainGroup(f"{answer.figure}: finals, over {REFERENCE_NAMES[zero]}", lines, marks)]


def of_base(answer: Answer) -> list[GainGroup]:
    """Return the base settings' own gains, over the original encoder and over the baseline."""
    base = answer.base
    return [
        GainGroup(
            f"{answer.figure}: finals, over {reference(answer, name)}",
            [GainLine(base.name, gain.gain, gain.low, gain.high, gain.above or gain.below, at_once=True)],
        )
        for name in ("encoder", "baseline")
        if base and (gain := base.gains.get(name))
    ]


def of_board(board: Board) -> GainGroup:
    """Return the gains of the board's rows over the baseline."""
    everywhere = all(item.flags for item in board.standings if item.gain)
    lines = [
        GainLine(
            item.name,
            item.gain.gain,
            item.gain.low,
            item.gain.high,
            shown=item.verdict in ("above", "below"),
            one_seed=item.gain.one_seed,
            no_verdict=item.verdict == "no verdict",
            flagged=bool(item.flags) and not everywhere,
            published=item.published,
        )
        for item in board.standings
        if item.gain
    ]
    return GainGroup(f"{board.quantity.name}: rows, over {board.baseline}", lines)


def caption(groups: list[GainGroup], most: int = MAX_LINES) -> str:
    """Explain what a picture of gains shows, and which rows it leaves out."""
    drawn = [line for group in groups for line in group.lines]
    interval = (
        "the interval that holds for all finalists at once" if drawn and drawn[0].at_once else "the 95 % interval"
    )
    sentences = [f"A dot is a gain, its line {interval}."]
    zeros = {group.title.rpartition(", over ")[2] for group in groups if group.marks}
    marks = [at for group in groups for at in group.marks.values()]
    low, high = scale(drawn, marks)
    inside = [low <= at <= high for at in marks]
    if zeros:
        lines = "; broken lines are what else is compared with" * any(inside)
        sentences.append(f"Zero is {' or '.join(sorted(zeros))}{lines}.")
    if any(line.one_seed for line in drawn):
        sentences.append("A hollow dot is one seed: another one may lie outside its interval.")
    if any(line.low is None for line in drawn):
        sentences.append("A dot without a line has no interval.")
    if any(line.published is not None for line in drawn):
        sentences.append("A diamond is the gain that the paper prints.")
    values = [value for line in drawn for value in (line.gain, line.published) if value is not None]
    if not all([*inside, *(low <= value <= high for value in values)]):
        sentences.append("What lies far off stands at the edge with its numbers.")
    if any(line.flagged for line in drawn):
        sentences.append(f"{FLAG} marks a row with a warning.")
    if left_out := sum(max(0, len(group.lines) - most) for group in groups):
        sentences.append(f"The {most} highest are drawn; {left_out} are not.")
    return " ".join(sentences)
