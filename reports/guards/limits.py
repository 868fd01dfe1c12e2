"""Settings that leave training little to do: limits that it never reaches, filters that leave it no negatives."""

from __future__ import annotations

from reports.guards import Flag, alike
from reports.guards.words import listed, rows_in_words
from reports.ledger import mean_measured
from reports.markdown import number, verbatim
from reports.results import Results
from reports.same_recipe import CAPS, CLOSE

HARDLY = 0.05
"""A limit that at most this share of the anchors reached hardly binds."""

Limit = int | None


def caps(results: Results) -> list[Flag]:
    """Limits on positives and negatives that were set differently and measured the same, or hardly reached by any."""
    flags = []
    for key, name in CAPS.items():
        measured = {
            recipe: (records[0].recipe.get(key), mean)
            for recipe, records in results.recipes.items()
            if recipe in results.trained and (mean := mean_measured(records, name)) is not None
        }
        groups = _same(measured)
        flags += [_not_varied(results, key, group) for group in groups]
        said = {recipe for group in groups for recipe in group}
        slack = {
            recipe: (limit, mean)
            for recipe, (limit, mean) in measured.items()
            if recipe not in said and limit is not None and limit > 1 and _share_at(limit, mean) <= HARDLY
        }
        for limit in sorted({limit for limit, _ in slack.values() if limit is not None}):
            those = {recipe: values for recipe, values in slack.items() if values[0] == limit}
            flags.append(_hardly_reached(results, key, limit, those))
    return flags


def filters(results: Results) -> list[Flag]:
    """Filters of false negatives that left an anchor fewer than one negative, on average."""
    left = {
        recipe: mean
        for recipe, records in results.recipes.items()
        if mean_measured(records, "filtered_per_anchor") is not None
        and (mean := mean_measured(records, "negatives_per_anchor")) is not None
        and mean < 1
    }
    if not left:
        return []
    said = (
        f"{verbatim('objective.false_negatives')} left {number(min(left.values()))} negatives an anchor in "
        f"{rows_in_words(results, left)}: the loss had next to nothing to tell a positive from; raise "
        f"{verbatim('objective.filter_margin')}"
    )
    return [Flag("filters", said, frozenset(left), blocks=False)]


def _not_varied(results: Results, key: str, group: dict[str, tuple[Limit, float]]) -> Flag:
    settings = sorted({limit for limit, _ in group.values()}, key=lambda limit: (limit is None, limit))
    words = listed(["no limit" if limit is None else str(limit) for limit in settings])
    said = (
        f"{rows_in_words(results, group)} set {verbatim(key)} to {words}, but training measured the same in all of "
        f"them ({_range(group)} an anchor): it was not varied in effect, so these rows say nothing about it"
    )
    return Flag("caps", said, frozenset(group), blocks=False, marks=False)


def _hardly_reached(results: Results, key: str, limit: int, group: dict[str, tuple[Limit, float]]) -> Flag:
    share = 100 * max(_share_at(limit, mean) for _, mean in group.values())
    said = (
        f"the limit {verbatim(key)} = {limit} hardly bound in {rows_in_words(results, group)} ({_range(group)} an "
        f"anchor measured, so at most {number(share, 0)} % of the anchors reached it): a higher one would change "
        f"little, so these rows say nothing about more {key.removeprefix('objective.')}"
    )
    return Flag("caps", said, frozenset(group), blocks=False, marks=False)


def _share_at(limit: int, mean: float) -> float:
    """At most this share of the anchors, which have one at least, can have as many as the limit, by their mean."""
    return (mean - 1) / (limit - 1)


def _same(measured: dict[str, tuple[Limit, float]]) -> list[dict[str, tuple[Limit, float]]]:
    """Recipes that measured the same, together, where they have different limits."""
    groups: list[dict[str, tuple[Limit, float]]] = []
    for recipe, values in sorted(measured.items(), key=lambda item: item[1][1]):
        if groups and alike(next(iter(groups[-1].values()))[1], values[1], CLOSE):
            groups[-1][recipe] = values
        else:
            groups.append({recipe: values})
    return [group for group in groups if len({limit for limit, _ in group.values()}) > 1]


def _range(group: dict[str, tuple[Limit, float]]) -> str:
    """`1.08`, or `1.08 to 1.09`."""
    means = [mean for _, mean in group.values()]
    return " to ".join(dict.fromkeys(number(end) for end in (min(means), max(means))))
