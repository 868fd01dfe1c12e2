"""Flags on settings that leave training little to do: limits that it never reaches, filters that leave no negatives."""

from __future__ import annotations

from typing import Any

from reports.facts.guards import Flag, alike
from reports.facts.results import Results
from reports.facts.same_recipe import CAPS, CLOSE
from reports.ledger import mean_measured

HARDLY_REACHED_SHARE = 0.05
"""A limit on positives or negatives hardly binds if at most this share of the anchors reached it."""

Limit = int | None


def caps(results: Results) -> list[Flag]:
    """Flag limits on positives and negatives that were set differently and measured the same, or hardly reached."""
    flags = []
    for key, name in CAPS.items():
        measured = {
            recipe: (records[0].recipe.get(key), mean)
            for recipe, records in results.recipes.items()
            if recipe in results.trained and (mean := mean_measured(records, name)) is not None
        }
        groups = _same(measured)
        for group in groups:
            limits = sorted({limit for limit, _ in group.values()}, key=lambda limit: (limit is None, limit))
            flags.append(_flag("not varied", group, {"key": key, "limits": limits}))
        not_varied = set[str]().union(*groups)
        hardly: dict[int, dict[str, tuple[Limit, float]]] = {}
        for recipe, (limit, mean) in measured.items():
            if (
                recipe not in not_varied
                and limit is not None
                and limit > 1
                and _share_at(limit, mean) <= HARDLY_REACHED_SHARE
            ):
                hardly.setdefault(limit, {})[recipe] = (limit, mean)
        for bound, group in sorted(hardly.items()):
            share = max(_share_at(bound, mean) for _, mean in group.values())
            flags.append(_flag("hardly reached", group, {"key": key, "limit": bound, "share": share}))
    return flags


def filters(results: Results) -> list[Flag]:
    """Flag filters of false negatives that left an anchor fewer than one negative, on average."""
    few = {
        recipe: mean
        for recipe, records in results.recipes.items()
        if mean_measured(records, "filtered_per_anchor") is not None
        and (mean := mean_measured(records, "negatives_per_anchor")) is not None
        and mean < 1
    }
    facts = {"negatives": min(few.values(), default=0.0)}
    return [Flag("filters", "few negatives", frozenset(few), facts=facts, blocks=False)] if few else []


def _flag(kind: str, group: dict[str, tuple[Limit, float]], facts: dict[str, Any]) -> Flag:
    means = [mean for _, mean in group.values()]
    facts |= {"least": min(means), "most": max(means)}
    return Flag("caps", kind, frozenset(group), facts=facts, blocks=False, marks=False)


def _share_at(limit: int, mean: float) -> float:
    """Largest share of anchors that can reach the limit if their mean number is `mean` and each has at least one."""
    return (mean - 1) / (limit - 1)


def _same(measured: dict[str, tuple[Limit, float]]) -> list[dict[str, tuple[Limit, float]]]:
    """Groups of recipes that measured the same although their limits differ."""
    groups: list[dict[str, tuple[Limit, float]]] = []
    for recipe, values in sorted(measured.items(), key=lambda item: item[1][1]):
        if groups and alike(next(iter(groups[-1].values()))[1], values[1], CLOSE):
            groups[-1][recipe] = values
        else:
            groups.append({recipe: values})
    return [group for group in groups if len({limit for limit, _ in group.values()}) > 1]
