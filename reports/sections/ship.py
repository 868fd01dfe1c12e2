"""The model to ship: averages of a recipe's models, mixed with the original encoder, beside the model of one seed."""

from __future__ import annotations

from pathlib import Path

from reports.document import Block, DataTable
from reports.facts.answer import Answer
from reports.facts.results import Results
from reports.facts.soup import KEPT_GAIN, Ship, SoupScores
from reports.words.answer import mixture_in_words
from reports.words.comparisons import interval, level
from reports.words.gains import REFERENCE_NAMES, reference
from reports.words.markdown import DASH, code, number, text

REMADE = "the average was made again without each of them."
GUESSED = "not every average without one of them had time, so a guess from other trainings widens them."


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the table of averages and their gains; empty if no models were averaged."""
    answer = Answer.of(results)
    ship = answer.ship
    if ship is None or answer.figure is None:
        return []
    head = ["Model", "development", text(answer.figure), *([text(ship.general)] if ship.general else []), "shipped"]
    lines = [_line(f"average{mixture_in_words(each.share)}", each, ship) for each in ship.soups]
    lines.insert(0, _line(f"one seed, the mean of {ship.seeds}", ship.one_seed, ship))
    gains = _gains(ship, answer)
    return [DataTable(head, lines), *gains, _how(ship, intervals=bool(gains))]


def _line(name: str, scores: SoupScores, ship: Ship) -> list[str]:
    general = [number(scores.general)] if ship.general else []
    is_soup = scores is not ship.one_seed
    shipped = "yes" if (scores.share == ship.share if is_soup else True) and is_soup == ship.keeps else DASH
    return [name, number(scores.development), number(scores.figure), *general, shipped]


def _gains(ship: Ship, answer: Answer) -> list[Block]:
    if ship.figure is None or ship.over_seed is None:
        return []
    over = {"one seed": ship.over_seed, **{reference(answer, name): gain for name, gain in ship.gains.items()}}
    lines = [[f"over {text(name)}", interval(gain)] for name, gain in over.items()]
    return [DataTable(["The chosen average", "points"], [["its score", level(ship.figure)], *lines])]


def _how(ship: Ship, intervals: bool) -> str:
    """Return how the model to ship was chosen. `intervals`: whether they are shown."""
    had = f" {REFERENCE_NAMES['encoder'].capitalize()} has {number(ship.untrained_general)} on {text(ship.general)}."
    kept = f"{KEPT_GAIN:.0%}"
    least = f": of the averages that keep {kept} of the gain over that encoder, the one with the least training"
    over = ship.over_seed
    of_seeds = f" Intervals allow for chance in test items, and in seeds: {REMADE if ship.remade else GUESSED}"
    chance = ""
    if ship.keeps and over is not None and over.low is not None and over.low <= 0:
        chance = " That the average is better than one seed is not shown by the test; development scores chose it."
    return (
        f"The weights of {ship.seeds} fresh seeds of {code(ship.name)} are averaged, and mixed with those of the "
        f"original encoder. Development scores choose{least if ship.general else ' the best'}; the test would "
        f"flatter what it chose, so it only refuses an average that measured less than {kept} of the seeds' gain. Else "
        "one seed is shipped, the best by development scores."
        f"{had if ship.untrained_general is not None else ''}{of_seeds * intervals}{chance}"
    )
