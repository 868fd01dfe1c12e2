"""What Optuna, or the grid, found beyond the space's rows; chosen on development scores alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports.ledger import Record
from reports.markdown import DASH, count, number, signed, spread, table
from reports.plots.search_course import search_picture
from reports.results import Results, topic_name
from reports.sections.words import changes, noise_sentence, short
from reports.statistics import Measured
from search_spaces.space import Domain

if TYPE_CHECKING:
    import optuna

SHOWN = 10
ENOUGH_FOR_IMPORTANCE = 20
ENDS = ("finished", "stopped early", "diverged", "failed", "not finished")


@dataclass(frozen=True)
class Candidate:
    """A recipe with the development score that selects it."""

    name: str
    recipe_hash: str
    records: list[Record]
    selection: Measured


def write(results: Results, pictures: Path) -> str:
    """The best explored recipes beside the best of the space's rows, the course of the search, importance.

    Of a space with goals only what was asked for, and importance: the section on them has the rest.
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
        path = search_picture(scores, best_row.selection.mean if best_row else None, pictures / "search.png")
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
    """How much of the variance of what the search maximised each domain explains (fANOVA).

    One score, or each of the space's goals. The evaluator sees only domains that every recipe has a value of, so a
    conditional domain is judged within the recipes that were asked for it, beside all unconditional ones.
    """
    if len(explored) < ENOUGH_FOR_IMPORTANCE:
        return (
            f"Importance of the hyperparameters is shown from {ENOUGH_FOR_IMPORTANCE} explored recipes on; "
            f"there are {len(explored)}."
        )
    scored = _scored(results, explored)
    always = [domain.key for domain in results.space.domains if domain.when is None]
    sometimes = [domain for domain in results.space.domains if domain.when is not None]
    asked = {domain.key: sum(_is_asked(domain, item.records[0].recipe) for item in explored) for domain in sometimes}
    try:
        studies = {name: _study(results, pairs) for name, pairs in scored.items()}
        shares = {name: _fanova(study, always) for name, study in studies.items()}
        within = {
            (domain.key, name): _fanova(study, [*always, domain.key]).get(domain.key)
            for domain in sometimes
            for name, study in studies.items()
        }
    except ImportError as error:
        return f"Importance of the hyperparameters is left out: {error}."
    first = next(iter(shares.values()))
    lines = [
        [f"`{key}`", *(_percent(found.get(key)) for found in shares.values())]
        for key in sorted(always, key=lambda key: (-(first.get(key) or 0.0), always.index(key)))
    ]
    whole = f"Share of the variance by hyperparameter (fANOVA, {len(explored)} recipes)"
    parts = [f"{whole}, of {' and '.join(scored)}:", table(["Hyperparameter", *scored], lines)]
    if sometimes:
        parts.append(
            f"{_listed(domain.key for domain in sometimes)} {'is' if len(sometimes) == 1 else 'are'} not in it, being "
            "asked of some recipes only. Their shares are of the variance within those recipes, beside the "
            f"hyperparameters above; shown from {ENOUGH_FOR_IMPORTANCE} recipes on:"
        )
        parts.append(
            table(
                ["Hyperparameter", "asked where", "recipes", *scored],
                [
                    [
                        f"`{domain.key}`",
                        _condition(domain),
                        str(asked[domain.key]),
                        *(_percent(within[domain.key, name]) for name in scored),
                    ]
                    for domain in sometimes
                ],
                left=2,
            )
        )
    return "\n\n".join(parts)


def _scored(results: Results, explored: list[Candidate]) -> dict[str, list[tuple[Candidate, float]]]:
    """What was maximised, by name: the recipes with their value. A space with goals is judged by each of them."""
    found = {
        f"development {goal}": [(item, score.mean) for item in explored if (score := results.goal(item.records, goal))]
        for goal in results.space.goals
    }
    kept = {name: pairs for name, pairs in found.items() if pairs}
    return kept or {"the development score": [(item, item.selection.mean) for item in explored]}


def _is_asked(domain: Domain, recipe: Mapping[str, Any]) -> bool:
    return domain.when is None or recipe.get(domain.when[0]) in domain.when[1]


def _study(results: Results, pairs: Sequence[tuple[Candidate, float]]) -> optuna.Study:
    """The recipes as Optuna's finished trials."""
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
    for item, value in pairs:
        recipe = item.records[0].recipe
        asked = [domain.key for domain in results.space.domains if _is_asked(domain, recipe)]
        study.add_trial(
            optuna.trial.create_trial(
                params={key: recipe[key] for key in asked},
                distributions={key: distributions[key] for key in asked},
                value=value,
            )
        )
    return study


def _fanova(study: optuna.Study, keys: Sequence[str]) -> Mapping[str, float]:
    """Shares of the variance within the trials that have all of these keys; empty where those are too few."""
    import optuna

    if sum(set(keys) <= set(trial.params) for trial in study.trials) < ENOUGH_FOR_IMPORTANCE:
        return {}
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    return optuna.importance.get_param_importances(study, evaluator=evaluator, params=list(keys))


def _condition(domain: Domain) -> str:
    key, values = domain.when or ("", ())
    return f"`{key}` is {' or '.join(map(short, values))}"


def _listed(keys: Iterable[str]) -> str:
    *head, last = [f"`{key}`" for key in keys]
    return f"{', '.join(head)} and {last}" if head else last


def _percent(share: float | None) -> str:
    return DASH if share is None else f"{100 * share:.0f} %"
