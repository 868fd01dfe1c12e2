"""Curves of scores over one setting, where the paper has a table of such scores."""

from __future__ import annotations

from pathlib import Path

from reports.document import Block, Picture
from reports.facts.results import Results, average_column
from reports.plots.curve_lines import curve_picture
from reports.words.markdown import code


def write(results: Results, pictures: Path) -> list[Block]:
    """Draw a curve of the scores for each setting that a table of the paper varies."""
    blocks: list[Block] = []
    for key in dict.fromkeys(paper.curve for paper in results.space.tables if paper.curve):
        path = pictures / f"curve-{key}.svg"
        bars = curve_picture(results, key, path)
        if bars is None:
            blocks.append(f"The curve over {code(key)} cannot be drawn: {_missing(results, key)}.")
        else:
            picture = Picture(path, f"Scores over {key}, ours and published")
            blocks += [picture, f"Over {code(key)}; {_bars(results, bars)}."]
    return blocks


def _missing(results: Results, key: str) -> str:
    """Return why the curve over `key` is not drawn: its rows have no score, or the baseline row has none."""
    tables = [table for table in results.space.tables if table.curve == key]
    rows = any(
        results.cell(table, label, average_column(table).name) is not None
        for table in tables
        for _, label in table.rows
    )
    if not rows:
        return "none of its rows has finished with this score"
    return f"the {code(results.space.baseline)} row, which the others are set against, has not finished with this score"


def _bars(results: Results, bars: bool) -> str:
    one_seed = max((len(results.of_row(label)) for label in results.asked_rows), default=0) < 2  # a race adds seeds
    if not bars:
        return "one seed, so there are no bars" if one_seed else "there are no bars"
    if results.comparable:
        return "bars are a row's standard deviation over seeds"
    if one_seed:
        return "bars are 95 % intervals of the gain over test items only, since there is one seed"
    return "bars are 95 % intervals of the gain"
