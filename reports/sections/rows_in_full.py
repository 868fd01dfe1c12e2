"""Every row's figures with all details, a table for each figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from reports.document import Block, DataTable, Heading
from reports.facts.boards import Board, Standing
from reports.facts.evidence import Evidence
from reports.facts.results import Results
from reports.ledger import mean_measured, seconds_of
from reports.plots.forest import FLAG
from reports.sections.conclusions import best_set
from reports.sections.glance import MAX_DRAWN_ROWS, boards_to_show, gains_picture, of_board
from reports.statistics import Measured
from reports.words.comparisons import collapses, interval, order_limits, order_sentence, probability, reason
from reports.words.guards import listed
from reports.words.markdown import DASH, count, number, spread, text

MAX_NAMED_ROWS = 3
"""Largest number of rows without a score that are named; more are only counted."""
HEAD = (
    "row", "seeds", "mean", "gain [95 %]", "p (Holm)", "wins, ties, losses", "in best set", "rank", "steps", "hours",
    "flags",
)  # fmt: skip


def write(results: Results, pictures: Path) -> list[Block]:
    """Write for each figure the table of rows, the rows that may be the best, and how their order fits the paper's."""
    boards = boards_to_show(results)
    drawn = [board for index, board in enumerate(boards) if index or len(board.standings) > MAX_DRAWN_ROWS]
    blocks = gains_picture([of_board(board) for board in drawn], pictures / "forest-more.svg")
    for board in boards:
        blocks += [Heading(text(board.quantity.name)), board_table(results, board), best_set(board)]
        if order := order_sentence(board):
            limits = order_limits(board)
            blocks.append(f"{order[0].upper()}{order[1:]}. {limits} A tau of 1 is the same order, 0 an unrelated one.")
    return blocks


def independent(results: Results, boards: Sequence[Board]) -> str:
    """Say which tasks have items that count as independent although some may share a text; empty if unneeded."""
    if not any(item.gain and item.gain.items_variance is not None for board in boards for item in board.standings):
        return ""
    alone = Evidence.of(results).ungrouped
    every = {task for board in boards for task, _ in board.quantity.weights}
    sentences = ["Test pairs that share a sentence are drawn together."] if every > {*alone} else []
    if alone:
        sentences.append(
            f"What the items of {listed([text(task) for task in alone])} share (a document, in older trials also a "
            "sentence) is not known: they count as independent, so intervals are too narrow where they are not."
        )
    return " ".join(sentences)


def how_to_read(boards: Sequence[Board]) -> str:
    """Explain the columns of the tables of rows."""
    standings = [item for board in boards for item in board.standings]
    spreads = any(item.sample and item.sample.std is not None for item in standings)
    sentences = [f"`mean` is over seeds{', ± their standard deviation' * spreads}."]
    if any(item.gain for item in standings):
        sentences.append(
            "`gain` is the mean minus the baseline's, with its 95 % interval over seeds and test items, for these "
            "tasks and each row by itself."
        )
    if any(item.p_holm is not None for item in standings):
        sentences.append("`p` is that of no difference, corrected for the number of rows in the table (Holm).")
    if any(item.wins is not None for item in standings):
        sentences.append(
            "Wins and losses count tasks on which the row is shown to differ from the baseline (Holm over its tasks); "
            "a tie is a task on which it is not shown to, which does not mean that the two are equal."
        )
    if any(item.gain and item.gain.one_seed for item in standings):
        sentences.append(
            "**With one seed the interval counts the test items only: it says how this one trial compares, not the "
            "recipe, and there is no verdict.**"
        )
    if any(item.collapsed for item in standings):
        sentences.append(
            "**A seed collapsed if it kept less than half of what the recipe's best seed has above chance. Mean, gain "
            "and verdict of such a row are those given no collapse; how often it collapses stands beside its seeds, "
            "with the 95 % interval of that rate.** The tables and plots of means, and fronts, count every seed; "
            "boards, their plots, claims and tables of differences are without those that collapsed."
        )
    if any(item.sample and item.sample.fixed for item in standings):
        sentences.append("A row that no seed changes needs one trial, and is judged with it.")
    if any(item.gain and item.gain.basis == "seeds only" for item in standings):
        sentences.append("Where predictions were not kept the interval counts the seeds only and is too narrow.")
    if any(board.best for board in boards):
        sentences.append(
            "The best set holds every row that may be the best at 95 %; `rank` is from the best to the worst place "
            "that a row may have. Ranks hold for all pairs of rows at once, so they are wider than what `p`, against "
            "the baseline alone, and the best set show."
        )
    sentences.append("`steps` and `hours` are those of one trial.")
    if any(item.flags for item in standings):
        sentences.append(f"{FLAG} names the flags that touch a row; what they mean stands under Warnings.")
    return " ".join(sentences)


def board_table(results: Results, board: Board) -> DataTable:
    """Return the table of a board: a line for each row that has the figure, the highest mean first."""
    return table_of(HEAD, [_line(results, board, item) for item in board.standings if item.sample])


def table_of(head: Sequence[str], lines: Sequence[Sequence[str]]) -> DataTable:
    """Return a table with this head and these lines, without columns that have only dashes."""
    columns = [index for index in range(len(head)) if any(line[index] not in (DASH, "") for line in lines)]
    return DataTable([head[index] for index in columns], [[line[index] for index in columns] for line in lines])


def without_figure(results: Results, board: Board) -> str:
    """Return which requested rows the board's table lacks, and why; many rows are only counted."""
    measured_rows = {item.name for item in board.standings if item.sample}
    why: dict[str, list[str]] = {}
    for label in results.asked_rows:
        if label not in measured_rows:
            lacks = "without this figure" if results.of_row(label) else results.why_missing(label)
            why.setdefault(lacks, []).append(text(label))
    named = [
        f"{', '.join(labels) if len(labels) <= MAX_NAMED_ROWS else count(len(labels), 'row')}: {reason(lack)}"
        for lack, labels in why.items()
    ]
    return f"Not in the table: {'; '.join(named)}." if named else ""


def _line(results: Results, board: Board, item: Standing) -> list[str]:
    baseline = item.name == board.baseline
    tally = None if item.wins is None else f"{item.wins}, {item.ties}, {item.losses}"
    best = ranks = DASH
    if board.best and item.in_best_set is not None:
        best = "yes" if item.in_best_set else "no"
        ranks = " to ".join(dict.fromkeys(map(str, item.ranks or ()))) or DASH
    return [
        text(item.name),
        seeds_in_words(item),
        mean_in_words(item),
        "baseline" if baseline else interval(item.gain),
        probability(item.p_holm),
        tally or DASH,
        best,
        ranks,
        number(mean_measured(results.of_hash(item.recipe_hash), "steps"), 0),
        number(_hours(results, item.recipe_hash)),
        flags_in_words(guards_of(item)),
    ]


def seeds_in_words(item: Standing) -> str:
    """Return the number of the row's seeds that count, and how many more collapsed."""
    sample = item.sample
    seeds = 0 if sample is None else sample.count
    return (
        f"{seeds}{' (no seed matters)' * bool(sample and sample.fixed)}"
        + f"; {collapses(seeds, item.collapsed)}" * bool(item.collapsed)
    )


def mean_in_words(item: Standing | None) -> str:
    """Return the row's mean over seeds, with their standard deviation."""
    sample = item.sample if item else None
    return DASH if sample is None else spread(Measured.of([float(v) for v in sample.values], fixed=sample.fixed))


def guards_of(*items: Standing) -> dict[str, bool]:
    """Map the guards whose flags touch these rows to whether one forbids a verdict against the baseline."""
    blocking = {flag.guard: True for item in items for flag in item.blocked_by}
    return blocking | {flag.guard: flag.guard in blocking for item in items for flag in item.flags}


def flags_in_words(guards: Mapping[str, bool]) -> str:
    """Return the names of guards, in bold those that forbid a verdict."""
    named = [f"**{text(guard)}**" if forbids else text(guard) for guard, forbids in guards.items()]
    return f"{FLAG} {', '.join(named)}" if named else ""


def _hours(results: Results, recipe_hash: str) -> float | None:
    """Return the hours that one trial of the recipe takes, the mean over seeds."""
    took = results.over_seeds(results.of_hash(recipe_hash), lambda record: seconds_of(record, "seconds"))
    return None if took is None else took.mean / 3600
