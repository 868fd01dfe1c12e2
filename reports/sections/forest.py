"""A picture of every row's gain over the baseline."""

from __future__ import annotations

from pathlib import Path

from reports.boards import Board
from reports.findings import Findings
from reports.markdown import text
from reports.plots.forest import FLAG, MOST, forest_picture, scale, with_gain
from reports.results import Results


def write(results: Results, pictures: Path) -> str:
    """The picture and how to read it; empty where no row has a gain."""
    boards = Findings.of(results).boards
    picture = forest_picture(boards, pictures / "forest.svg")
    if picture is None:
        return ""
    return f"![Gains over the baseline with their intervals]({pictures.name}/{picture.name})\n\n{caption(boards)}"


def caption(boards: tuple[Board, ...]) -> str:
    """What is drawn, and what is not."""
    drawn = [item for board in boards for item in with_gain(board)[:MOST]]
    said = ["Each dot is a row's mean minus the baseline's, its line the 95 % interval of that difference."]
    if any(item.gain and item.gain.one_seed for item in drawn):
        said.append(
            "A hollow dot with a dashed line is one seed: its interval counts the test items only, and another seed "
            "may lie outside it."
        )
    if any(item.gain and item.gain.basis == "seeds only" for item in drawn):
        said.append("Where predictions were not kept, the interval counts the seeds only and is too narrow.")
    if any(item.gain and item.gain.low is None for item in drawn):
        said.append("A dot without a line has no interval.")
    if any(item.published is not None for item in drawn):
        said.append("A diamond below it is the gain that the paper prints.")
    low, high = scale(drawn)
    if any(
        not low <= value <= high
        for item in drawn
        for value in (item.published, item.gain.gain if item.gain else None)
        if value is not None
    ):
        said.append("What lies far off the others stands at the edge with its numbers.")
    if any(item.flags for item in drawn):
        said.append(f"{FLAG} marks a row that a flag touches.")
    for board in boards:
        left_out = len(with_gain(board)) - MOST
        if left_out > 0:
            said.append(f"Of {text(board.quantity.name)} the {MOST} highest rows are drawn; {left_out} are not.")
    return " ".join(said)
