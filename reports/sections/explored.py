"""Recipes that Optuna or the grid found beyond the space's rows, chosen by development scores or a cost alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev

from reports.document import Block, DataTable
from reports.facts.answer import Answer
from reports.facts.best_model import ranking
from reports.facts.evidence import Evidence
from reports.facts.part_scores import PartScore, part_scores
from reports.facts.recipe_names import name_of
from reports.facts.results import Results
from reports.facts.standings import Ranked
from reports.ledger import Record, seconds_of
from reports.ledger.finals import share_in_words
from reports.statistics.true_scores import true_scores
from reports.words.comparisons import SELECTION_BIAS, changes
from reports.words.costs import word
from reports.words.guards import listed
from reports.words.markdown import DASH, code, count, duration, number, signed, span, spread, text

MAX_SHOWN_RECIPES = 10
"""Largest number of explored recipes in the table."""
NO_SCORE = "finished without a development score"
ON_A_PART = "ended on a part of the data"
ENDS = ("finished", NO_SCORE, ON_A_PART, "stopped early", "diverged", "left out", "failed", "not run")
"""The ways in which an explored recipe can end, in the order of the report."""


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the best explored recipes beside the space's best row. For several goals the section `pareto` has them."""
    if not results.explored:
        return []
    goals, recipes = results.goals, results.recipes
    scored = [key for key in results.explored if any(results.goal(results.of_hash(key), goal) for goal in goals)]
    once = [key for key in scored if results.counted_as(key) == key]
    within = [key for key in once if key not in results.above_limits]
    best = {recipe.recipe_hash: recipe for recipe in ranking(results)}
    ranked, row = [recipe for key, recipe in best.items() if key in within], best_row(results)
    with_rows = (
        f" With the rows {count(Answer.of(results).tried, 'recipe')} were tried." if results.whole_recipes else ""
    )
    blocks: list[Block] = [f"{_counts(results, scored)}{with_rows}{_saved(results)}"]
    if any(len(results.deciding(recipes[key])) < len(recipes[key]) for key in scored):
        blocks.append(
            "A recipe's first seed decided, by its scores, whether its other seeds ran; so these alone say how good it "
            "is, here and wherever recipes are ranked."
        )
    if len(within) < len(once):
        above = len(once) - len(within)
        blocks.append(f"{count(above, 'finished recipe')} cannot be the best, above a limit.")
    if ranked and len(goals) == 1:  # for several goals the Pareto front is the result
        blocks.append(
            _judged(results)
            if Answer.of(results).finalists
            else f"{_optimism(results, [best[key] for key in within], ranked[0])} {_against(results, ranked[0], row)}"
        )
        if len(ranked) > MAX_SHOWN_RECIPES:
            blocks.append(f"The table has the {MAX_SHOWN_RECIPES} best of {len(ranked)}.")
        blocks.append(_ranking(results, [*ranked[:MAX_SHOWN_RECIPES], *([row] if row else [])]))
    return [*blocks, *_on_parts(results)] if results.whole_recipes else blocks


def _on_parts(results: Results) -> list[Block]:
    """Write a table of development scores on parts of the data. Recipes are sorted by the largest part they trained on,
    then by the score there."""
    goal = results.goals[0]
    scores, judged = part_scores(results, goal), {finalist.recipe for finalist in Answer.of(results).finalists}
    shares = sorted({share for by_share in scores.values() for share in by_share})

    def sort_key(key: str) -> tuple[float, float]:
        farthest = max(scores[key])
        return farthest, goal.upward(scores[key][farthest].value)

    def missing(key: str, share: float) -> str:
        return "see the finals" if share == 1 and key in judged else DASH

    lines = [
        [
            code(name_of(results, key)),
            *(number(scores[key][share].value) if share in scores[key] else missing(key, share) for share in shares),
            _took(*max(scores[key].items())),
        ]
        for key in sorted(scores, key=sort_key, reverse=True)
    ]
    heads = [share_in_words(share) for share in shares]
    caption = (
        "Development scores by how much of the data a recipe trained on, and how long the largest training takes: the "
        "shortest time of those that do the same work."
    )
    return [caption, DataTable(["Recipe", *heads, "training"], lines)]


def _judged(results: Results) -> str:
    """Return which recipes the finals judged, and by how much chance moves all development scores."""
    names = listed([code(finalist.name) for finalist in Answer.of(results).finalists])
    goal, deviations = results.goals[0], list[float]()
    compared = results.info.finals.hashes if results.info.finals else set()
    for key in compared & results.finals.keys():
        records = [record for record in results.finals[key] if record.status == "finished"]
        values = [value for record in records if (value := goal.of(record.scores, record.cost)) is not None]
        deviations += [stdev(values)] if len(values) > 1 else []
    judged = f"The finals judged {names} anew, under fresh seeds: what to use stands in the answer."
    if not deviations or goal.cost:
        return judged
    return (
        f"{judged} These move the development score by {span(deviations)} (standard deviation), so recipes that lie "
        "closer together here are in an order of chance."
    )


def _took(share: float, score: PartScore) -> str:
    """Return how long a recipe's training took on a share of the data: `12 s on 1/8 of the data`."""
    return DASH if score.seconds is None else f"{duration(score.seconds)} on {share_in_words(share)}"


def best_row(results: Results) -> Ranked | None:
    """Return the space's row with the best development score; None if no row has a score."""
    rows = {results.info.row_hashes[label] for label in results.asked_rows}
    return next((recipe for recipe in ranking(results) if recipe.recipe_hash in rows), None)


def _stopped(record: Record) -> str:
    word = str(record.training.get("stopped")).partition(":")[0]
    return word if word in ENDS else "stopped early"


def _counts(results: Results, scored: Sequence[str]) -> str:
    ends = dict.fromkeys(results.explored, "not run")
    ends |= {recipe.hash: ON_A_PART for _, recipe in results.whole_recipes.values()}
    ends |= dict.fromkeys([*results.failed_parts, *results.failures], "failed")
    for record in results.parts:
        if record.status == "pruned" and record.recipe_hash in results.whole_recipes:
            ends[results.whole_recipes[record.recipe_hash][1].hash] = _stopped(record)
    for record in results.records:
        through = record.status == "finished" and record.recipe_hash not in results.stopped
        if ends.get(record.recipe_hash) != NO_SCORE:  # a finished seed counts more than one that diverged
            ends[record.recipe_hash] = NO_SCORE if through else _stopped(record)
    ends |= dict.fromkeys(scored, "finished")
    counts = Counter(ends[recipe_hash] for recipe_hash in results.explored)
    way = {"optuna": "Optuna", "grid": "The grid"}.get(results.info.search, "The search")
    words = {"finished": "finished on all of the data before the finals"} if results.whole_recipes else {}
    ends_in_words = ", ".join(
        f"{counts[end]} {words.get(end, end)}" for end in ENDS if counts[end] or end == "finished"
    )
    recipes = f"{count(len(results.explored), 'recipe')} beyond the space's rows"
    if results.space.first and way == "Optuna":
        return f"{recipes}, first those that the space lists, then what Optuna drew: {ends_in_words}."
    return f"{way} drew {recipes}: {ends_in_words}."


def _saved(results: Results) -> str:
    """Return how much time stopping trials early has saved, in a sentence; empty if no trial was stopped."""
    judged = [record for record in results.records if record.judged_at_rung and record.recipe_hash in results.explored]
    through = [record for record in judged if record.status == "finished"]
    stopped = [
        record
        for record in judged
        if str(record.training.get("stopped")).startswith("stopped at rung") and "planned_steps" in record.training
    ]
    finished = math.fsum(seconds_of(record, "seconds") or 0.0 for record in through)
    spent = finished + math.fsum(seconds_of(record, "seconds") or 0.0 for record in stopped)
    scoring = fmean([seconds_of(record, "evaluation_seconds") or 0.0 for record in through] or [0.0])
    whole = finished + math.fsum(
        record.training["seconds"] * record.training["planned_steps"] / max(record.training["steps"] or 1, 1) + scoring
        for record in stopped
    )
    if not stopped or not whole:
        return ""
    return (
        f" The {count(len(through) + len(stopped), 'trial')} that could be stopped took {duration(spent)} instead of "
        f"about {duration(whole)}: stopping early saved **{number(100 * (1 - spent / whole), 0)} %** of that."
    )


def _optimism(results: Results, explored: Sequence[Ranked], best: Ranked) -> str:
    """Return the best explored recipe's score, and by how much it is too good because chance helped to choose it."""
    goal = results.goals[0]
    name = code(name_of(results, best.recipe_hash))
    sentence = f"By {word(goal)} the best explored recipe is {name} ({spread(best.values[0])}). "
    if len(explored) == 1:
        return sentence + "It is the only one."
    wrong = "low" if goal.lower_is_better else "high"
    sentence += f"That is too {wrong}, since chance helped to choose the best of {len(explored)}"
    known = true_scores([item.by_seed(results.goals) for item in explored])
    if known is None:
        return f"{sentence}; with one seed nobody can say by how much."
    index = next(n for n, item in enumerate(explored) if item is best)
    middle, *ends = (goal.upward(float(end)) for (end,) in known.interval(index))
    low, high = sorted(ends)
    reach = "take" if goal.cost else "score"
    chance = float(known.on_front[index])
    surely = "above 99 %" if chance > 0.99 else "below 1 %" if chance < 0.01 else f"of {100 * chance:.0f} %"
    return (
        f"{sentence}: over very many seeds it is expected to {reach} {number(middle)} (95 % {number(low)} to "
        f"{number(high)}), and with a probability {surely} it is the best of them."
    )


def _against(results: Results, best: Ranked, row: Ranked | None) -> str:
    """Return by how much the best recipe and best row differ on test sets, and why that is no verdict."""
    if row is None:
        return f"None of the space's rows has a {word(results.goals[0])} to compare it with."
    label = code(results.labels[row.recipe_hash])
    sentence = f"The space's best row by the same score is {label} ({spread(row.values[0])})."
    evidence = Evidence.of(results)
    pair = (best.recipe_hash, row.recipe_hash)
    gains = [(figure, gain) for figure in evidence.figures if (gain := evidence.compare(*pair, figure)) is not None]
    if not gains:
        return f"{sentence} No test figure is there to compare the two by."
    apart = "; ".join(f"{text(figure.name)} {signed(gain.gain)}" for figure, gain in gains)
    return (
        f"{sentence} On the test sets the recipe differs from that row by: {apart}. **No verdict:** {SELECTION_BIAS}."
    )


def _ranking(results: Results, ranked: Sequence[Ranked]) -> DataTable:
    lines = [
        [
            "row: " * (item.recipe_hash in results.labels) + code(name_of(results, item.recipe_hash)),
            changes(results, item.deciding[0]),
            str(item.values[0].seeds),
            spread(item.values[0]),
            *(spread(results.of_figure(item.deciding, figure)) for figure in results.figures),
        ]
        for item in ranked
    ]
    goal = results.goals[0]
    head = ["Recipe", "Differs from the base in", "seeds", word(goal) if goal.cost else "development"]
    return DataTable([*head, *(f"test: {text(figure.name)}" for figure in results.figures)], lines, left=2)
