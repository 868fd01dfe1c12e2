"""How sure the answer is: what was run, what it shows, and what would decide open questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from reports.document import Block, Bullets, CodeBlock
from reports.facts.answer import Answer
from reports.facts.boards import Board
from reports.facts.findings import Findings
from reports.facts.recipe_names import name_of
from reports.facts.results import Results
from reports.facts.unfinished import needs_seeds, total
from reports.ledger import Record
from reports.sections.conclusions import conclusions, figure_name
from reports.sections.pareto import pareto_in_short
from reports.words.commands import patterns, study_command
from reports.words.comparisons import more_seeds, reason
from reports.words.costs import limits_in_words
from reports.words.guards import listed
from reports.words.markdown import code, count, number, text
from search_spaces.goals import Goal

MAX_COMMAND_WORDS = 4
"""Largest number of words that select rows in a command. If more were needed, the command is for all rows."""
MAX_NAMED_ROWS = 3
"""Largest number of unfinished rows that are named; more are only counted."""


def write(results: Results, pictures: Path) -> list[Block]:
    """Write what is missing, what was run and what it shows, then what more seeds would decide."""
    findings, answered = Findings.of(results), Answer.of(results).figure is not None
    sentences = [
        *extent_in_words(results, findings),
        *([setting] if (setting := comparability_in_words(results)) else []),
    ]
    alone = answered and len(results.info.seeds) == 1  # the finals have more seeds of these rows
    boards = [board for board in findings.boards if len(board.counted) > 1 and not alone]
    if boards or not (answered or findings.boards):
        sentences += conclusions(boards) or [_without_figure(results, findings)]
    if looks := findings.looks:
        same = len({*looks.values()}) == 1
        which = " and ".join(f"look {number} at the {family}" for family, number in looks.items())
        this = f"look {findings.look}" if same else which
        sentences.append(f"Verdicts hold with 95 % over all looks at this study together; this is {this}.")
    sentences += _facts(results, findings, answered)
    advice = [] if alone else seeds_needed(results, findings)
    return [*missing_trials(results, findings), Bullets(sentences), *advice]


def _without_figure(results: Results, findings: Findings) -> str:
    """Return that no row has a figure, and which tasks the figures lack if no trial is missing."""
    if findings.unfinished:
        return "No row has a figure that sums the study up yet."
    scored = {task for record in results.records for task in record.scores}
    lacking = {figure.name: [text(task) for task in sorted(figure.tasks - scored)] for figure in results.figures}
    clauses = [f"{text(name)} lacks {listed(tasks)}" for name, tasks in lacking.items() if tasks]
    return f"No row has a figure that sums the study up{': ' * bool(clauses)}{'; '.join(clauses)}."


def comparability_in_words(results: Results) -> str:
    """Return whether scores may be compared with the paper's; empty if the paper has none."""
    if not results.has_paper or not results.has_published:
        return ""
    if results.comparable:
        return "The setting is the paper's, so levels may be compared with the published ones."
    return 'The setting is not the paper\'s: compare differences, not levels. See "What may be compared".'


def missing_trials(results: Results, findings: Findings) -> list[Block]:
    """Return how many trials are missing, of which rows, and the command to continue; empty if none is missing."""
    every, missing = total(findings.extents.values()), findings.unfinished
    if not missing:
        return []
    rows = []
    for label, extent in list(missing.items())[:MAX_NAMED_ROWS]:
        why = findings.missing.get(label, "not finished")
        reason_why = f" ({reason(why)})" if not extent.done and why != "not finished" else ""
        rows.append(f"{code(label)}: {extent.done or 'none'} of {count(extent.planned, 'seed')}{reason_why}")
    rows += [f"{count(len(missing) - MAX_NAMED_ROWS, 'more row')}"] if len(missing) > MAX_NAMED_ROWS else []
    of_rows = " of the rows" * bool(results.explored)
    return [
        f"**Unfinished: {every.done} of {every.planned} trials{of_rows}.** {'; '.join(rows)}. Continue with:",
        CodeBlock(study_command(results.info)),
    ]


def extent_in_words(results: Results, findings: Findings) -> list[str]:
    """Return sentences on rows and their seeds, on rows that could not run, and on the trained encoder."""
    foreign = [label for label in results.asked_rows if results.is_foreign(label)]
    rows = [label for label in results.asked_rows if label not in foreign]
    sentences = []
    if rows:
        done = sum(results.is_complete(label) for label in rows)
        of_all = (
            f" (the space has {len(results.space.rows)})" if len(results.asked_rows) < len(results.space.rows) else ""
        )
        can_run = [label for label in rows if results.info.row_hashes[label]]
        some = len(results.info.seeds) > 1 and not all(needs_seeds(results, label) for label in can_run)
        seeds = count(len(results.info.seeds), "seed")
        if results.info.raced:
            seeds = f"{len(results.info.seeds)} to {count(results.info.most_seeds or 0, 'seed')}"
        each = f"{seeds} each{' (1 where no seed matters)' * some}"
        before = " before the finals" * (Answer.of(results).figure is not None)
        sentences.append(
            f"{done} of {count(len(rows), 'row')} finished{of_all}, {each}{before}.{_cannot_run(findings, rows)}"
        )
    if foreign:
        evaluated = sum(bool(results.of_row(label)) for label in foreign)
        others = count(len(foreign), "row")
        sentences.append(f"{evaluated} of {others} of other people's models evaluated.{_cannot_run(findings, foreign)}")
    return [*sentences, *_trained(results)]


def _cannot_run(findings: Findings, rows: Sequence[str]) -> str:
    """Return why rows are missing that no further trial can add, with the number of rows for each reason."""
    reasons = Counter(
        why for label, why in findings.missing.items() if label in rows and label not in findings.unfinished
    )
    counted = [f"{reason(why)} ({n})" for why, n in sorted(reasons.items())]
    return f" The others: {'; '.join(counted)}." if counted else ""


def _trained(results: Results) -> list[str]:
    """Return the encoder that was trained, and the steps, if all trainings share one: names of rows are the paper's."""
    finished = [record for record in results.of_all_trials if record.status == "finished"]
    trained = [record for record in finished if record.recipe["optimisation.epochs"]]
    encoders = {(str(r.recipe["encoder.name"]), r.recipe.get("encoder.layers")) for r in trained}
    if len(encoders) != 1:
        return []
    [(name, layers)] = encoders
    which = f"the first {layers} layers of " if layers else ""
    adapters = {record.recipe["encoder.adapter"] for record in trained}
    if not adapters & {None, "none"}:
        what = "low-rank matrices (LoRA) in" if adapters == {"lora"} else "an adapter on"
        which = f"{what} the frozen {which.removeprefix('the ')}"
    steps = sorted({int(last_step) for record in trained if (last_step := record.training.get("steps"))})
    took = f" for {' to '.join(dict.fromkeys(f'{end:,}' for end in (steps[0], steps[-1])))} steps" if steps else ""
    return [f"Trained here: {which}{code(Path(name).name if Path(name).is_absolute() else name)}{took}."]


def seeds_needed(results: Results, findings: Findings) -> list[Block]:
    """Return how many more seeds would decide the open questions, with the command, or why none would."""
    needs_of: dict[str, list[str]] = {}
    for name, more, noun in [
        ("The paper's claims", findings.more_seeds, "claim"),
        *((text(board.quantity.name), board.more_seeds, "gain") for board in findings.boards),
    ]:
        if words := more_seeds(more, noun):
            needs_of.setdefault(words, []).append(name)
    if not needs_of:
        return []
    lines = [f"{' and '.join(names)}: {what[0].lower()}{what[1:]}" for what, names in reversed(needs_of.items())]
    needs: list[Block] = ["More seeds of the rows:", Bullets(lines)]
    seeds = max(more.seeds or 0 for more in [findings.more_seeds, *(board.more_seeds for board in findings.boards)])
    if not seeds:
        return needs
    rows = {
        label
        for item in findings.claims
        if item.claim.text in findings.more_seeds.settled
        for label in item.claim.labels
    }
    for board in findings.boards:
        rows |= {*board.more_seeds.settled, *([board.baseline] if board.more_seeds.settled and board.baseline else [])}
    movable = [label for label in results.asked_rows if results.info.row_hashes[label] not in {None, *results.fixed}]
    rows &= {*movable}
    whole = len(rows) in (0, len(movable)) and not results.explored
    chosen = patterns([label for label in movable if label in rows or not rows], results.space.labels)
    if len(chosen) > MAX_COMMAND_WORDS:
        chosen = patterns(movable, results.space.labels)
    command = study_command(results.info, () if whole else chosen, len(results.info.seeds) + seeds)
    return [*needs, f"To add {count(seeds, 'seed')}:", CodeBlock(command)]


def _facts(results: Results, findings: Findings, answered: bool) -> list[str]:
    """Return facts on limits and on scores close to the paper's. Without finals add which model is the best."""
    facts = limits_in_words(results)
    if len(results.goals) > 1 and not answered:
        facts.append(pareto_in_short(results))
    if results.comparable and results.has_published:
        facts.append(_within_tolerance(results))
    if findings.best is not None and not answered:
        facts.append(best_model(results, findings.boards, findings.best))
    return [fact for fact in facts if fact]


def best_model(results: Results, boards: Sequence[Board], best: Record) -> str:
    """Return which trial's model is the best and why. Warn if the boards rank rows by another figure."""
    row = results.labels.get(best.recipe_hash)
    whose = f"row {code(row)}" if row else f"the explored recipe {code(name_of(results, best.recipe_hash))}"
    if len(results.of_all_trials) == 1:  # its score chose nothing, and may be of what it trained on
        return f"The model is {whose}, seed {best.seed}."
    by = _chosen_by(results.measured_goals, best)
    sentence = f"The model is {whose}, seed {best.seed}, for its {by}.{_over_seeds(results, best)}"
    outside = [
        board
        for board in boards
        if board.best and any(item.name == row and item.in_best_set is False for item in board.standings)
    ]
    if not row:
        sentence += " The search chose it by this score, which is likely too high, and so are its test scores."
    if row and outside:
        sentence += (
            f" It is not in the best set on {' and '.join(map(figure_name, outside))}: it was chosen by another figure."
        )
    if any(name.startswith("dev_") for board in boards for _, name in board.quantity.weights):
        sentence += " It was chosen by data that this report ranks rows by, so its own figure is likely too high."
    return sentence


def _over_seeds(results: Results, best: Record) -> str:
    """Return the mean over seeds of the recipe of `best`: the recipe was chosen by it, then the best of its seeds."""
    scores = results.of_goals(results.recipes[best.recipe_hash])
    if not scores or scores[0].seeds < 2:
        return ""
    first = next((goal for goal in results.measured_goals if not goal.cost), results.measured_goals[0])
    value = first.upward(results.merit(scores)[0])
    return f" Over its {scores[0].seeds} seeds the recipe has {number(value)}."


def _chosen_by(goals: Sequence[Goal], record: Record) -> str:
    """Return a trial's goals in words: `development score 63.00: the mean of STS (...) and transfer (...)`."""
    values = {goal: goal.of(record.scores, record.cost) for goal in goals}
    parts = [part for goal in goals if not goal.cost for part in (not goal.weights and goal.parts) or (goal,)]
    labels = [part.label for part in parts if part.of(record.scores, record.cost) is not None]
    scores = [value for goal, value in values.items() if not goal.cost and value is not None]
    mean = "the mean of " * (len(labels) > 1)
    chosen = [f"development score {number(fmean(scores))}: {mean}{' and '.join(labels)}"] if scores else []
    chosen += [f"{goal.label} {number(value)} {goal.unit}" for goal, value in values.items() if goal.cost]
    return ", then ".join(chosen)


def _within_tolerance(results: Results) -> str:
    gaps = {
        (label, paper.topic or paper.number, column.name): abs(cell.mean - printed)
        for paper in results.space.tables
        for _, label in paper.rows
        for column in paper.columns
        if (cell := results.cell(paper, label, column.name)) is not None
        and (printed := results.published(paper, label, column.name)) is not None
    }
    close = sum(gap <= results.space.tolerance for gap in gaps.values())
    return (
        f"{close} of {count(len(gaps), 'cell')} lie within {results.space.tolerance:g} point of the published figure."
    )
