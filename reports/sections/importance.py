"""Hyperparameters that decide the development score: a summary with curves, and a table of all results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reports.document import Block, DataTable, Heading, Picture, SideBySide
from reports.facts.answer import Answer
from reports.facts.cached import cached
from reports.facts.part_scores import part_scores
from reports.facts.recipe_names import short
from reports.facts.results import Results
from reports.importance import LEVEL, MIN_RECIPES, Effect, Importance, Share, importance
from reports.ledger import Record
from reports.ledger.finals import share_in_words
from reports.plots.importance_panels import importance_picture
from reports.words.comparisons import probability
from reports.words.guards import listed
from reports.words.markdown import code, count, number, percent
from search_spaces.domain_values import contains
from search_spaces.goals import Goal
from search_spaces.space import Domain
from trainables.recipe import choosers

MAX_DRAWN_KEYS = 4
"""Largest number of keys for which a curve is drawn, the most important first."""
MIN_RECIPES_ON_BOTH = 5
"""Fewest recipes scored on a part of the data and on all of it for a report on how alike both rank the recipes."""
RecordScores = list[tuple[Record, float]]


@dataclass(frozen=True)
class Searched:
    """Scores of recipes on one goal. All recipes trained on the same share of the data."""

    goal: Goal
    share: float
    scores: RecordScores


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the share of the spread of scores that each key explains, for the one score or for each goal."""
    blocks: list[Block] = []
    for name, (_, fit) in _fits(results).items():
        if fit:
            blocks += [Heading(f"What decides the {name}"), *_shares(results, fit)]
    return blocks


def in_short(results: Results, pictures: Path) -> list[Block]:
    """Write which keys matter and how much, a paragraph for each goal, with a curve for each key."""
    blocks: list[Block] = []
    fits = _fits(results)
    if not fits:
        return ["Which settings matter is unknown: no recipe of the search has a score."]
    for name, (searched, fit) in fits.items():
        recipes = len(searched.scores)
        if recipes < MIN_RECIPES:
            had = f"{recipes} {'has' if recipes == 1 else 'have'} the {name}"
            blocks.append(f"To tell which settings matter takes {count(MIN_RECIPES, 'recipe')}; {had}.")
            continue
        if fit is None:
            blocks.append(f"Nothing decides the {name}: the recipes, or their scores, are all alike.")
            continue
        blocks.append(" ".join([_above(fit, name), *_as_in_the_base(results, fit)]))
        blocks += [sentence] if (sentence := _agreement(results, searched)) else []
        several = f"-{name.split()[0].lower()}" if len(_names(results)) > 1 else ""
        drawn = {
            curve.key: importance_picture(curve, name, pictures / f"importance{several}-{curve.key}.svg")
            for curve in fit.curves[:MAX_DRAWN_KEYS]
        }
        blocks.append(SideBySide([Picture(path, f"The {name} over {key}") for key, path in drawn.items()]))
    return blocks


@cached
def _fits(results: Results) -> dict[str, tuple[Searched, Importance | None]]:
    """Map each goal's name to the scored recipes and the importance of keys; None if no key decides the scores."""
    return {
        name: (each, importance(results.space.domains, [(record.recipe, score) for record, score in each.scores]))
        for name, each in _scored(results).items()
    }


def _names(results: Results) -> list[str]:
    if not results.space.goals:
        return ["development score"]
    return [goal.short + " goal on development parts" * (not goal.cost) for goal in results.goals]


def _scored(results: Results) -> dict[str, Searched]:
    """Map each goal's name to the scored recipes of the search, without copies, and the rows that it could have chosen.
    If more recipes trained on one part of the data than on all of it, use their scores on that part: only the best
    train on all."""
    explored = [key for key in results.explored if results.counted_as(key) == key and results.recipes.get(key)]
    hashes, scored = [*explored, *_rows_of_the_search(results)] if explored else [], dict[str, Searched]()
    for goal, name in zip(results.goals, _names(results), strict=True):
        scores = [(recipe_hash, results.goal(results.of_hash(recipe_hash), goal)) for recipe_hash in hashes]
        own = [(results.recipes[recipe_hash][0], score.mean) for recipe_hash, score in scores if score is not None]
        share, on_part = _on_one_part(results, goal)
        if len(on_part) > len(own):
            scored[f"{name} after training on {share_in_words(share)}"] = Searched(goal, share, on_part)
        elif own:
            scored[name] = Searched(goal, 1.0, own)
    return scored


def _on_one_part(results: Results, goal: Goal) -> tuple[float, RecordScores]:
    """Return the part of the data on which most recipes trained, and the recipes' scores there, without copies."""
    by_share: dict[float, dict[str, tuple[Record, float]]] = {}
    for key, scores in part_scores(results, goal).items():
        for share, score in scores.items():
            if share < 1:
                by_share.setdefault(share, {})[results.counted_as(key)] = score.record, score.value
    share = max(by_share, key=lambda each: len(by_share[each]), default=1.0)
    return share, [*by_share.get(share, {}).values()]


def _agreement(results: Results, searched: Searched) -> str:
    """Report how alike a part of the data and all of it rank the recipes that trained on both; empty if unknown."""
    from scipy.stats import spearmanr

    share, by_recipe = searched.share, part_scores(results, searched.goal)
    both = {results.counted_as(key): scores for key, scores in by_recipe.items() if {share, 1.0} <= scores.keys()}
    pairs = np.array([[each[share].value, each[1.0].value] for each in both.values()])
    if share == 1 or len(both) < MIN_RECIPES_ON_BOTH or not np.ptp(pairs, axis=0).all():
        return ""
    rank = spearmanr(pairs)
    shown = "" if rank.pvalue <= LEVEL else ", which is no more than chance"
    return (
        f"On all of the data it may be otherwise: over the {len(both)} recipes that trained on both, mostly better "
        f"ones on {share_in_words(share)}, the orders agree by {number(float(rank.statistic))} (Spearman; 1: the same "
        f"order){shown}."
    )


def _rows_of_the_search(results: Results) -> list[str]:
    """Return the recipe hashes of trained rows that the search could have chosen as well."""
    domains = results.space.domains
    free = {domain.key for domain in domains}

    def could(record: Record) -> bool:
        recipe = record.recipe
        whole = results.base.preferring({key: recipe[key] for key in free if key in recipe}).flat()
        same = all(recipe.get(key) == value for key, value in whole.items() if key not in free)
        return same and all(contains(domain, recipe[domain.key]) for domain in domains if domain.is_asked(recipe))

    firsts = [records[0] for label in results.asked_rows if (records := results.of_row(label))]
    return [record.recipe_hash for record in firsts if record.recipe["optimisation.epochs"] and could(record)]


def _above(fit: Importance, name: str) -> str:
    """Return which keys are above noise: `temperature` (31 % of the spread of scores, p 0.010) matters."""
    what = " of the spread of scores"
    named: list[str] = []
    for effect in fit.above:
        share = f"{percent(effect.share.value)}{what * (not named)}"
        named.append(f"{code(effect.key)} ({share}, p {probability(effect.share.p)})")
    if not named:
        return f"**No setting is shown to matter** for the {name}: shuffled scores often give as large a share."
    be = "matters" if len(named) == 1 else "matter"
    return f"**{listed(named)} {be}** for the {name}, beyond noise."


def _as_in_the_base(results: Results, fit: Importance) -> list[str]:
    """Name the keys above noise that the recipe to use leaves as in the base settings: its gain is from other keys."""
    answer = Answer.of(results)
    changed = {key for finalist in answer.picked for key in finalist.settings}
    kept = [code(effect.key) for effect in fit.above if effect.key not in changed]
    return [f"The answer has {listed(kept)} as in the base settings."] if kept and answer.kind == "use" else []


def _shares(results: Results, forest: Importance) -> list[Block]:
    fit = forest.explained
    low, high = fit.interval
    part = percent(fit.value) if fit.value > 0 else "nothing"
    quality = (
        f"{part} of the spread of their scores (R2 {fit.value:.2f}, 95 % {low:.2f} to {high:.2f}; p = {fit.p:.2f})"
    )
    return [
        f"A forest was fitted to {forest.recipes} recipes of the search (with rows that it could have asked "
        f"for) and held against recipes that it had not seen, in five folds, twice. There it explains {quality}. "
        "A key's share is the part of that spread which the fit no longer predicts once the key's values are shuffled "
        "among the recipes; p is how often shuffled scores give any key such a share. Above noise is p at most 0.05. "
        "In a key's picture a line is what the fits predict on average where the key has that value and all others are "
        "as in the study; its band is the range of the fits.",
        DataTable(
            ["Hyperparameter", "asked where", "recipes", "share", "95 %", "p", "above noise"],
            [_line(results, effect, forest.recipes) for effect in forest.keys],
            left=2,
        ),
    ]


def _line(results: Results, effect: Effect, recipes: int) -> list[str]:
    domains = results.space.domains
    domain = next(domain for domain in domains if domain.key == effect.key)
    condition = _condition(domain, domains, effect.recipes == recipes)
    return [code(domain.key), condition, str(effect.recipes), *_cells(effect.share)]


def _cells(share: Share) -> list[str]:
    low, high = share.interval
    above = "yes" if share.above else "not above noise"
    return [percent(share.value), f"{percent(low)} to {percent(high)}", probability(share.p), above]


def _condition(domain: Domain, domains: Sequence[Domain], always: bool) -> str:
    """Return in words when a search chooses this key: its domain's condition, or the component that has the key."""
    if domain.when is not None:
        key, values = domain.when
    elif always:
        return "always"
    else:
        has = choosers(domain.key)
        chooser = next((other for other in domains if other.key in has), None)
        if chooser is None:
            return "where the recipe has it"
        key, values = chooser.key, tuple(value for value in chooser.choices if value in has[chooser.key])
    return f"{code(key)} is {' or '.join(map(short, values))}"
