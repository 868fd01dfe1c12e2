"""Which hyperparameters decide the development score: a part of what the search found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.importance import ENOUGH, Effect, Importance, Share, importance
from reports.ledger import Record
from reports.markdown import code, count, table
from reports.plots.importance_panels import importance_picture
from reports.recipe_names import short
from reports.results import Results
from reports.wording import probability
from search_spaces.space import Domain

DRAWN, PAIRS = 4, 3
"""So many keys are drawn, and so many pairs told, the strongest first."""
Scored = list[tuple[Record, float]]


def write_importance(results: Results, explored: Sequence[str], pictures: Path) -> str:
    """Of one score, or of each goal; `explored` are the recipes with a development score."""
    hashes = [*explored, *_rows_of_the_search(results)]
    parts = []
    for name, scored in _scored(results, hashes).items():
        title = f"### What decides the {name}"
        if len(scored) < ENOUGH:
            had = f"It is looked for from {count(ENOUGH, 'recipe')} on; {len(scored)} have that score."
            parts.append(f"{title}\n\n{had}")
            continue
        found = importance(results.space.domains, [(record.recipe, score) for record, score in scored])
        if found is None:
            parts.append(f"{title}\n\nNothing can: these {len(scored)} recipes, or their scores, are all alike.")
            continue
        file = "importance.svg" if len(_names(results)) < 2 else f"importance-{name.split()[0].lower()}.svg"
        parts.append("\n\n".join([title, *_told(results, found, name, pictures / file)]))
    return "\n\n".join(parts)


def _names(results: Results) -> list[str]:
    """What was searched for, in words."""
    if not results.space.goals:
        return ["development score"]
    return [goal.short + " goal on development parts" * (not goal.cost) for goal in results.goals]


def _scored(results: Results, hashes: Sequence[str]) -> dict[str, Scored]:
    found: dict[str, Scored] = {}
    for goal, name in zip(results.goals, _names(results), strict=True):
        for recipe_hash in hashes:
            records = results.recipes.get(recipe_hash, [])
            score = results.goal(records, goal)
            if score is not None:
                found.setdefault(name, []).append((records[0], score.mean))
    return found


def _rows_of_the_search(results: Results) -> list[str]:
    """Hashes of the trained rows that the search could have asked for, too."""
    from reports.distributions import contains

    domains = results.space.domains
    free = {domain.key for domain in domains}

    def could(record: Record) -> bool:
        recipe = record.recipe
        whole = results.base.preferring({key: recipe[key] for key in free if key in recipe}).flat()
        same = all(recipe.get(key) == value for key, value in whole.items() if key not in free)
        return same and all(contains(domain, recipe[domain.key]) for domain in domains if domain.is_asked(recipe))

    found = [records[0] for label in results.asked_rows if (records := results.of_row(label))]
    return [record.recipe_hash for record in found if record.recipe["optimisation.epochs"] and could(record)]


def _told(results: Results, found: Importance, name: str, picture: Path) -> list[str]:
    above = [code(effect.keys[0]) for effect in found.above]
    fit = found.explained
    part = _percent(fit.value) if fit.value > 0 else "nothing"
    quality = f"{part} of the spread of their scores (R2 {fit.value:.2f}, 95 % {_ends(fit)}; p = {fit.p:.2f})"
    if above:
        named = " and ".join([", ".join(above[:-1]), above[-1]] if len(above) > 1 else above)
        first = f"**{named} {'matters' if len(above) == 1 else 'matter'}** beyond what chance makes of noise."
    else:
        first = "**No hyperparameter is above noise**: shuffled scores often give a share as large as the largest here."
    parts = [
        f"{first} A forest was fitted to {found.recipes} recipes of the search (with rows that it could have asked "
        f"for) and held against recipes that it had not seen, in five folds, twice. There it explains {quality}. "
        "A key's share is the part of that spread which the fit no longer predicts once the key's values are shuffled "
        "among the recipes; p is how often shuffled scores give any key such a share. Above noise is p at most 0.05.",
        table(
            ["Hyperparameter", "asked where", "recipes", "share", "95 %", "p", "above noise"],
            [_line(results, effect, found.recipes) for effect in found.keys],
            left=2,
        ),
    ]
    if found.curves:
        drawn = found.curves[:DRAWN]
        path = importance_picture(drawn, name, picture)
        parts.append(f"![The {name} over {', '.join(curve.key for curve in drawn)}]({path.parent.name}/{path.name})")
        left = len(found.curves) - len(drawn)
        parts.append(
            "A line is what the fits predict on average where the key has that value and all others are as in the "
            "study; its band is the range of the fits." + (f" {count(left, 'weaker key')} not drawn." if left else "")
        )
    if found.pairs:
        parts += _pairs(found)
    return parts


def _pairs(found: Importance) -> list[str]:
    beyond = any(effect.share.above for effect in found.pairs)
    first = (
        "Some keys act together, beyond the sum of what each does alone"
        if beyond
        else "No two keys act together beyond noise: what each does alone, added up, tells as much"
    )
    return [
        f"{first}. Here p is how often keys that only add up, with the rest of the scores shuffled, give any pair such "
        "a share:",
        table(
            ["Two keys together", "recipes", "share", "95 %", "p", "above noise"],
            [
                [" × ".join(map(code, effect.keys)), str(effect.recipes), *_cells(effect.share)]
                for effect in found.pairs[:PAIRS]
            ],
        ),
    ]


def _line(results: Results, effect: Effect, recipes: int) -> list[str]:
    domain = next(domain for domain in results.space.domains if domain.key == effect.keys[0])
    return [code(domain.key), _condition(domain, effect.recipes == recipes), str(effect.recipes), *_cells(effect.share)]


def _cells(share: Share) -> list[str]:
    return [_percent(share.value), _interval(share), probability(share.p), "yes" if share.above else "not above noise"]


def _condition(domain: Domain, always: bool) -> str:
    if domain.when is None:
        return "always" if always else "something reads it"
    key, values = domain.when
    return f"{code(key)} is {' or '.join(map(short, values))}"


def _percent(value: float) -> str:
    text = f"{100 * value:.0f}"
    return f"{'0' if text == '-0' else text} %"


def _interval(share: Share) -> str:
    low, high = share.interval
    return f"{_percent(low)} to {_percent(high)}"


def _ends(share: Share) -> str:
    low, high = share.interval
    return f"{low:.2f} to {high:.2f}"
