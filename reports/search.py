"""What Optuna, or the grid, found beyond the paper's rows; chosen on development scores alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.ledger import Record
from reports.markdown import count, number, signed, spread, table
from reports.plots import search_picture
from reports.results import Results, topic_name
from reports.statistics import Measured
from reports.tables import noise_sentence

SHOWN = 10
ENOUGH_FOR_IMPORTANCE = 20


@dataclass(frozen=True)
class Candidate:
    """A recipe with the development score that selects it."""

    name: str
    recipe_hash: str
    records: list[Record]
    selection: Measured


def search_section(results: Results, pictures: Path) -> str:
    """The best explored recipes beside the best of the paper's rows, the course of the search, importance."""
    info = results.info
    explored = [item for recipe_hash in results.explored if (item := _candidate(results, recipe_hash, "explored"))]
    rows = [
        item
        for label in results.asked_rows
        if (recipe_hash := info.row_hashes[label]) and (item := _candidate(results, recipe_hash, f"paper: {label}"))
    ]
    ranked = sorted(explored, key=lambda item: (-item.selection.mean, item.recipe_hash))
    best_row = min(rows, key=lambda item: (-item.selection.mean, item.recipe_hash), default=None)
    parts = [_counts(results, explored)]
    if ranked:
        parts.append(_comparison(results, ranked[0], best_row, len(explored)))
        parts.append(_ranking(results, [*ranked[:SHOWN], *([best_row] if best_row else [])]))
        scores = [(item.recipe_hash, item.selection.mean) for item in explored]
        path = search_picture(scores, best_row.selection.mean if best_row else None, pictures / "search.png")
        parts.append(f"![Development score of the explored recipes]({path.parent.name}/{path.name})")
        parts.append(_importance(results, explored))
    return "\n\n".join(parts)


def _candidate(results: Results, recipe_hash: str, name: str) -> Candidate | None:
    records = results.recipes.get(recipe_hash, [])
    selection = Measured.of([record.selection for record in records if record.selection is not None])
    return None if selection is None else Candidate(name, recipe_hash, records, selection)


def _counts(results: Results, explored: list[Candidate]) -> str:
    asked = results.explored
    pruned = [
        recipe_hash
        for recipe_hash in asked
        if not results.of_hash(recipe_hash) and any(record.recipe_hash == recipe_hash for record in results.records)
    ]
    rest = len(asked) - len(explored) - len(pruned)
    way = {"optuna": "Optuna", "grid": "The grid"}.get(results.info.search, "The search")
    return (
        f"{way} asked for {count(len(asked), 'recipe')} beyond the paper's rows: {len(explored)} finished, "
        f"{len(pruned)} stopped early, {rest} not finished."
    )


def _comparison(results: Results, best: Candidate, best_row: Candidate | None, tried: int) -> str:
    said = [
        f"By development score the best explored recipe is `{best.recipe_hash}` ({spread(best.selection)}). "
        f"Its own score is optimistic, being the best of {tried}; the test scores had no say in the choice."
    ]
    if best_row is None:
        return said[0] + " None of the paper's rows has a development score to compare it with."
    label = results.labels[best_row.recipe_hash]
    said.append(f"The paper's best row by the same score is `{label}` ({spread(best_row.selection)}).")
    for paper, column in results.topics:
        ours, theirs = results.measured(best.records, paper, column), results.measured(best_row.records, paper, column)
        if ours is None or theirs is None:
            continue
        name, noise = topic_name(paper, column), results.noise(paper, column.name)
        gap = ours.mean - theirs.mean
        judged = "" if noise is None or abs(gap) > noise.threshold(ours.seeds, theirs.seeds) else ", within noise"
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


def changes(results: Results, record: Record) -> str:
    """What the record's recipe changes of the base recipe, among the keys that the search may change."""
    base = {**results.space.base.flat(), **results.info.base}
    changed = [
        f"{_name(domain.key)}={_short(record.recipe[domain.key])}"
        for domain in results.space.domains
        if record.recipe[domain.key] != base[domain.key]
    ]
    return ", ".join(changed) or "as the base"


def _name(key: str) -> str:
    """A domain's key without the section that goes without saying."""
    return key.removeprefix("objective.").removeprefix("optimisation.")


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "none" if value is None else str(value)


def _importance(results: Results, explored: list[Candidate]) -> str:
    """How much of the development score's variance each domain explains (fANOVA)."""
    if len(explored) < ENOUGH_FOR_IMPORTANCE:
        return (
            f"Importance of the hyperparameters is shown from {ENOUGH_FOR_IMPORTANCE} explored recipes on; "
            f"there are {len(explored)}."
        )
    try:
        importance = _fanova(results, explored)
    except ImportError as error:
        return f"Importance of the hyperparameters is left out: {error}."
    lines = [[f"`{key}`", f"{100 * share:.0f} %"] for key, share in importance.items()]
    said = f"Share of the variance of the development score by hyperparameter (fANOVA, {len(explored)} recipes):"
    return f"{said}\n\n{table(['Hyperparameter', 'Share'], lines)}"


def _fanova(results: Results, explored: list[Candidate]) -> Mapping[str, float]:
    import optuna
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    distributions: dict[str, BaseDistribution] = {}
    for domain in results.space.domains:
        if domain.choices:
            distributions[domain.key] = CategoricalDistribution(domain.choices)
        elif isinstance(domain.low, int) and isinstance(domain.high, int):
            distributions[domain.key] = IntDistribution(domain.low, domain.high, log=domain.log)
        elif domain.low is not None and domain.high is not None:
            distributions[domain.key] = FloatDistribution(float(domain.low), float(domain.high), log=domain.log)
    study = optuna.create_study(direction="maximize")
    for item in explored:
        recipe = item.records[0].recipe
        asked = [d.key for d in results.space.domains if d.when is None or recipe.get(d.when[0]) in d.when[1]]
        study.add_trial(
            optuna.trial.create_trial(
                params={key: recipe[key] for key in asked},
                distributions={key: distributions[key] for key in asked},
                value=item.selection.mean,
            )
        )
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    return optuna.importance.get_param_importances(study, evaluator=evaluator)
