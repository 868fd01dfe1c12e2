"""What Optuna, or the grid, found beyond the space's rows; chosen on development scores alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.importance import importances
from reports.ledger import Record
from reports.markdown import DASH, count, number, signed, spread, table
from reports.plots.search_course import search_picture
from reports.results import Results, topic_name
from reports.sections.words import changes, noise_sentence, short
from reports.statistics import Measured
from search_spaces.space import Domain
from trainables.recipe import Value

SHOWN = 10
"""So many of the best explored recipes are in the table."""
ENOUGH_FOR_IMPORTANCE = 20
"""The fewest explored recipes that importances are computed of."""
ENDS = ("finished", "stopped early", "diverged", "failed", "not finished")
"""How an explored recipe can end, in the order of the report."""


@dataclass(frozen=True)
class Candidate:
    """A recipe with the development score that selects it."""

    name: str
    recipe_hash: str
    records: list[Record]
    selection: Measured


def write(results: Results, pictures: Path) -> str:
    """The best explored recipes beside the best of the space's rows, the course of the search, importance.

    In a space with goals only how many recipes were asked for, and importance: the section `pareto` has the rest.
    """
    if not results.explored:
        return ""
    info = results.info
    explored = [item for recipe_hash in results.explored if (item := _candidate(results, recipe_hash, "explored"))]
    rows = [
        item
        for label in results.asked_rows
        if (recipe_hash := info.row_hashes[label]) and (item := _candidate(results, recipe_hash, f"row: {label}"))
    ]
    ranked = sorted(explored, key=lambda item: (-item.selection.mean, item.recipe_hash))
    best_row = min(rows, key=lambda item: (-item.selection.mean, item.recipe_hash), default=None)
    parts = [_counts(results, explored)]
    if ranked and not results.space.goals:  # of two goals the Pareto front is what was found
        parts.append(_comparison(results, ranked[0], best_row, len(explored)))
        parts.append(_ranking(results, [*ranked[:SHOWN], *([best_row] if best_row else [])]))
        scores = [(item.recipe_hash, item.selection.mean) for item in explored]
        path = search_picture(scores, best_row.selection.mean if best_row else None, pictures / "search.svg")
        parts.append(f"![Development score of the explored recipes]({path.parent.name}/{path.name})")
    if ranked:
        parts.append(_importance(results, explored))
    return "\n\n".join(parts)


def _candidate(results: Results, recipe_hash: str, name: str) -> Candidate | None:
    records = results.recipes.get(recipe_hash, [])
    selection = results.selection(records)
    return None if selection is None else Candidate(name, recipe_hash, records, selection)


def _counts(results: Results, explored: list[Candidate]) -> str:
    ends = dict.fromkeys(results.explored, "not finished")
    ends |= dict.fromkeys(results.failures, "failed")
    for record in results.records:
        diverged = str(record.training.get("stopped")).startswith("diverged")
        ends[record.recipe_hash] = "diverged" if diverged else "stopped early"
    ends |= {item.recipe_hash: "finished" for item in explored}
    counts = Counter(ends[recipe_hash] for recipe_hash in results.explored)
    way = {"optuna": "Optuna", "grid": "The grid"}.get(results.info.search, "The search")
    said = ", ".join(f"{counts[end]} {end}" for end in ENDS if counts[end] or end == "finished")
    return f"{way} asked for {count(len(results.explored), 'recipe')} beyond the space's rows: {said}."


def _comparison(results: Results, best: Candidate, best_row: Candidate | None, tried: int) -> str:
    said = [
        f"By development score the best explored recipe is `{best.recipe_hash}` ({spread(best.selection)}). "
        f"Its own score is optimistic, being the best of {tried}; the test scores had no say in the choice."
    ]
    if best_row is None:
        return said[0] + " None of the space's rows has a development score to compare it with."
    label = results.labels[best_row.recipe_hash]
    said.append(f"The space's best row by the same score is `{label}` ({spread(best_row.selection)}).")
    for paper, column in results.topics:
        ours, theirs = results.measured(best.records, paper, column), results.measured(best_row.records, paper, column)
        if ours is None or theirs is None:
            continue
        name, noise = topic_name(paper, column), results.noise(paper, column.name)
        gap = ours.mean - theirs.mean
        judged = "" if noise is None or abs(gap) > noise.threshold(ours.draws, theirs.draws) else ", within noise"
        said.append(
            f"On the test sets, {name} is {number(ours.mean)} against {number(theirs.mean)}, {signed(gap)}{judged}."
        )
    if all(item.selection.seeds == 1 for item in (best, best_row)):
        said.append(noise_sentence(None, "a score", 1))
    return " ".join(said)


def _ranking(results: Results, candidates: list[Candidate]) -> str:
    lines = [
        [
            item.name,
            f"`{item.recipe_hash}`",
            changes(results, item.records[0]),
            spread(item.selection),
            *(spread(figure(item.records)) for _, figure in results.summaries),
        ]
        for item in candidates
    ]
    head = ["Recipe", "Hash", "Differs from the base in", "development"]
    return table([*head, *(f"test: {name}" for name, _ in results.summaries)], lines, left=3)


def _importance(results: Results, explored: list[Candidate]) -> str:
    """How much each hyperparameter decides whether a recipe is among the best: of one score, or of each goal."""
    if len(explored) < ENOUGH_FOR_IMPORTANCE:
        return (
            f"Importance of the hyperparameters is shown from {ENOUGH_FOR_IMPORTANCE} explored recipes on; "
            f"there are {len(explored)}."
        )
    scored = _scored(results, explored)
    shares = {name: importances(results.space.domains, _values(pairs)) for name, pairs in scored.items()}
    asked = {
        domain.key: sum(domain.is_asked(item.records[0].recipe) for item in explored)
        for domain in results.space.domains
    }
    first = next(iter(shares.values()))
    lines = [
        [
            f"`{domain.key}`",
            _condition(domain),
            str(asked[domain.key]),
            *(_percent(found, domain) for found in shares.values()),
        ]
        for domain in sorted(results.space.domains, key=lambda domain: -first.get(domain.key, 0.0))
    ]
    return "\n\n".join(
        [
            f"What decides whether a recipe is among the best quarter by {' and '.join(scored)} (PED-ANOVA of "
            f"{len(explored)} explored recipes; shares of a column sum to 100 %). A hyperparameter that is "
            "asked only where another one has some value is judged among those recipes, and counts the more, the more "
            "of them are among the best:",
            table(["Hyperparameter", "asked where", "recipes", *scored], lines, left=2),
        ]
    )


def _scored(results: Results, explored: list[Candidate]) -> dict[str, list[tuple[Candidate, float]]]:
    """What was maximised, by name: the recipes with their value. A space with goals is judged by each of them."""
    found = {
        f"development {goal}": [(item, score.mean) for item in explored if (score := results.goal(item.records, goal))]
        for goal in results.space.goals
    }
    kept = {name: pairs for name, pairs in found.items() if pairs}
    return kept or {"the development score": [(item, item.selection.mean) for item in explored]}


def _values(pairs: Sequence[tuple[Candidate, float]]) -> list[tuple[Mapping[str, Value], float]]:
    return [(item.records[0].recipe, value) for item, value in pairs]


def _condition(domain: Domain) -> str:
    if domain.when is None:
        return "always"
    key, values = domain.when
    return f"`{key}` is {' or '.join(map(short, values))}"


def _percent(shares: Mapping[str, float], domain: Domain) -> str:
    return f"{100 * shares[domain.key]:.0f} %" if domain.key in shares else DASH
