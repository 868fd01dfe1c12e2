"""Messages about its agenda that a study prints while it runs."""

from __future__ import annotations

from collections.abc import Sequence

from reports.ledger.finals import share_in_words
from reports.words.guards import listed
from reports.words.markdown import count, duration
from search_spaces.limits import LIMITS
from study.search.agenda import Agenda
from study.search.ladder import PARTS_SHARE

SOONER = "the base settings took less time than expected, so there is a new plan"
LATER = "trainings take longer than expected, so there is a new plan"
"""Beginnings of the message on a new plan: SOONER if the old plan had no finals, LATER if it had finals."""


def plan_in_words(agenda: Agenda) -> str:
    """Return `40 minutes on 2 places: one training takes about 3 min; 50% of the time is for recipes on 1/8 of the
    data; ...`. Empty without a limit, and while the cost of a training is unknown."""
    budget = agenda.budget
    ones = {name: cost for name in budget.limits if (cost := budget.guess(name, agenda.design.base.hash)) is not None}
    if agenda.ladder is None or not ones:
        return ""
    limits = " and ".join(f"{number:g} {LIMITS[name].name}" for name, number in budget.limits.items())
    places = count(budget.places, "place")
    takes = " and ".join(
        duration(60 * cost) if LIMITS[name].clock else f"{cost:.2g} {LIMITS[name].name}" for name, cost in ones.items()
    )
    begin = f"{limits} on {places}: one training takes about {takes}"
    last = "the base settings are compared with the original encoder"
    if agenda.finals is None and agenda.design.finals is not None and agenda.ladder.shares:
        return f"{begin}, which leaves too little to search: {last}{_least(agenda)}"
    parts, first = agenda.ladder.shares, "recipes train whole"
    if parts:
        first = f"{PARTS_SHARE:.0%} of the time is for recipes on {share_in_words(parts[0])}"
        first += "".join(f", and the best of these on {share_in_words(part)}" for part in parts[1:])
    if agenda.finals is not None:
        last = agenda.finals.in_words()
        if (planned := agenda.design.finals) and agenda.finals.smaller:
            last += f", as {planned.recipes}x{planned.seeds} would leave too little to explore"
    return f"{begin}; {first}; then {last}"


def _least(agenda: Agenda) -> str:
    """Return `; minutes=12 would do`, the smallest limit with room for a search; empty if that limit is unknown."""
    least = {name: agenda.rounds.least(name) for name in agenda.budget.limits}
    return "".join(f"; {name}={number:g} would do" for name, number in least.items() if number is not None)


def finals_in_words(agenda: Agenda, before: Sequence[str] = ()) -> str:
    """Return a message with the names of the finalists, or with the reason why there are none. `before`:
    names of the finalists that these replace."""
    assert agenda.finals is not None
    names = [entrant.name for entrant in agenda.finalists or ()]
    if not names:
        exploration, alone = agenda.exploration, f"{agenda.finals.references_in_words} are judged alone"
        _, better = agenda.rounds.choice(exploration.recipes, exploration.by_parts(), lambda *_: True)
        why = "no recipe was seen above the base settings"
        if better:
            why = f"no time is left to judge {better[0].name}"
        return f"finals: {why}, so {alone}"
    instead = f", instead of {listed(before)}, to end within the limit" if before else ""
    return f"finals: {agenda.finals.in_words(len(names))}: {listed(names)}{instead}"
