"""What Optuna, or the grid, found beyond the space's rows; chosen on development scores alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reports.evidence import SURE, Evidence
from reports.ledger import Record
from reports.markdown import code, count, number, spread, table, text
from reports.plots.search_course import search_picture
from reports.racing import of_results
from reports.results import Results
from reports.sections.importance import write_importance
from reports.sections.words import changes, interval
from reports.statistics import Measured, holm
from reports.true_scores import Scored, true_scores
from search_spaces.goals import selection

SHOWN = 10
"""So many of the best explored recipes are in the table."""
NO_SCORE = "finished without a development score"
ENDS = ("finished", NO_SCORE, "stopped early", "diverged", "failed", "not finished")
"""How an explored recipe can end, in the order of the report."""


@dataclass(frozen=True)
class Candidate:
    """A recipe with the development score that selects it. `name` is markdown."""

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
        if (recipe_hash := info.row_hashes[label]) and (item := _candidate(results, recipe_hash, f"row: {code(label)}"))
    ]
    races = of_results(results)

    def place(item: Candidate) -> tuple[bool, float, str]:
        """What left the race over seeds comes last: few seeds may show a mean that more would not."""
        lost = item.recipe_hash in races and races[item.recipe_hash].lost
        return lost, -item.selection.mean, item.recipe_hash

    ranked = sorted(explored, key=place)
    best_row = min(rows, key=place, default=None)
    parts = [_counts(results, explored)]
    if ranked and not results.space.goals:  # of two goals the Pareto front is what was found
        parts.append(f"{_optimism(results, explored, ranked[0])} {_against(results, ranked[0], best_row)}")
        parts.append(_ranking(results, [*ranked[:SHOWN], *([best_row] if best_row else [])]))
        scores = [item.selection.mean for item in explored]
        path = search_picture(scores, best_row.selection.mean if best_row else None, pictures / "search.svg")
        parts.append(f"![Development score of the explored recipes]({path.parent.name}/{path.name})")
    if ranked:
        parts.append(write_importance(results, [item.recipe_hash for item in explored], pictures))
    return "\n\n".join(parts)


def _candidate(results: Results, recipe_hash: str, name: str) -> Candidate | None:
    records = results.recipes.get(recipe_hash, [])
    score = results.selection(records)
    return None if score is None else Candidate(name, recipe_hash, records, score)


def _counts(results: Results, explored: list[Candidate]) -> str:
    ends = dict.fromkeys(results.explored, "not finished")
    ends |= dict.fromkeys(results.failures, "failed")
    for record in results.records:
        stopped = "diverged" if str(record.training.get("stopped")).startswith("diverged") else "stopped early"
        if ends.get(record.recipe_hash) != NO_SCORE:  # a finished seed says more than a stopped one
            ends[record.recipe_hash] = NO_SCORE if record.status == "finished" else stopped
    ends |= {item.recipe_hash: "finished" for item in explored}
    counts = Counter(ends[recipe_hash] for recipe_hash in results.explored)
    way = {"optuna": "Optuna", "grid": "The grid"}.get(results.info.search, "The search")
    said = ", ".join(f"{counts[end]} {end}" for end in ENDS if counts[end] or end == "finished")
    return f"{way} asked for {count(len(results.explored), 'recipe')} beyond the space's rows: {said}."


def _optimism(results: Results, explored: list[Candidate], best: Candidate) -> str:
    """What the best explored recipe scored, and how much of that is luck."""
    said = f"By development score the best explored recipe is `{best.recipe_hash}` ({spread(best.selection)}). "
    if len(explored) == 1:
        return said + "It is the only one."
    said += f"That is too high, since chance helped to choose the best of {len(explored)}"
    scored = []
    for item in explored:
        values = [[value] for record in item.records if (value := selection(record.scores)) is not None]
        scored.append(Scored(np.array(values), item.selection.fixed))
    known = true_scores(scored)
    if known is None:
        return f"{said}; with one seed nobody can say by how much."
    place = next(n for n, item in enumerate(explored) if item is best)
    middle, low, high = (number(float(end)) for (end,) in known.interval(place))
    surely = f"{100 * known.on_front[place]:.0f} %"
    return (
        f"{said}: over very many seeds it is expected to score {middle} (95 % {low} to {high}), and with a "
        f"probability of {surely} it is the best of them."
    )


def _against(results: Results, best: Candidate, best_row: Candidate | None) -> str:
    """Whether it is better than the best row, on test sets, which had no say in choosing either."""
    if best_row is None:
        return "None of the space's rows has a development score to compare it with."
    label = code(results.labels[best_row.recipe_hash])
    said = [f"The space's best row by the same score is {label} ({spread(best_row.selection)})."]
    evidence = Evidence.of(results)
    pair = (best.recipe_hash, best_row.recipe_hash)
    gains = [(figure, gain) for figure in evidence.figures if (gain := evidence.compare(*pair, figure)) is not None]
    blocked = [evidence.between(*pair, figure) for figure, _ in gains]
    adjusted = holm([None if flags else gain.p for (_, gain), flags in zip(gains, blocked, strict=True)])
    for (figure, gain), flags, p in zip(gains, blocked, adjusted, strict=True):
        if gain.one_seed:
            verdict = "undecided: one seed"
        elif flags:
            verdict = f"no verdict ({', '.join(dict.fromkeys(flag.guard for flag in flags))})"
        elif p is None or p > SURE:
            verdict = "undecided"
        else:
            verdict = "better" if gain.gain > 0 else "worse"
        said.append(f"{text(figure.name)} {interval(gain)}: {verdict}")
    if not gains:
        return said[0] + " No test figure is there to compare the two by."
    return f"{said[0]} On the test sets, which had no say in the choice, it is against that row: {'; '.join(said[1:])}."


def _ranking(results: Results, candidates: list[Candidate]) -> str:
    lines = [
        [
            item.name,
            f"`{item.recipe_hash}`",
            changes(results, item.records[0]),
            str(item.selection.seeds),
            spread(item.selection),
            *(spread(figure(item.records)) for _, figure in results.summaries),
        ]
        for item in candidates
    ]
    head = ["Recipe", "Hash", "Differs from the base in", "seeds", "development"]
    return table([*head, *(f"test: {text(name)}" for name, _ in results.summaries)], lines, left=3)
