"""How often a race over seeds is wrong, on made-up studies."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.options import add_number, parser_of
from reports.document import DataTable
from reports.seed_race import raced as race_of
from reports.statistics.comparison import compare
from reports.statistics.families import holm
from reports.statistics.sample import Sample
from reports.statistics.sequential import WRONG, Entrant, looks, race_for_best
from reports.statistics.spreads import common_spread

Array = np.ndarray

NOISES, WILD = ("normal", "heavy tails", "unequal", "together"), "one wild"


def main(arguments: Sequence[str]) -> None:
    """Print a markdown table."""
    parser = parser_of(__name__, __doc__)
    add_number(parser, "--studies", 200, "studies of each kind", least=2)
    print(error_rates(parser.parse_args(arguments).studies))


def raced(scores: Array, least: int, most: int) -> tuple[int, list[int]]:
    """The winner of a race over (recipes, seeds) scores, and how many seeds each recipe got."""
    entrants = {str(number): Entrant(own[:, None]) for number, own in enumerate(scores)}
    ends = race_for_best(entrants, least, most)  # it looks only at those seeds that a study would have run
    counts = [ends[name].seeds for name in entrants]
    means = [
        -math.inf if ends[name].state == "behind" else own[:count].mean()
        for name, own, count in zip(entrants, scores, counts, strict=True)
    ]
    return int(np.argmax(means)), counts


def error_rates(studies: int) -> str:
    """A Markdown table: how often the winner is lost, and how often a row is falsely called above the baseline."""
    lines = []
    for noise in (*NOISES, WILD):
        for name, spread in (("all recipes alike", 0.0), ("recipes apart by one spread", 1.0)):
            for least in (1, 2):
                lost = _share(functools.partial(winner_is_lost, noise=noise, spread=spread, least=least), studies)
                lines.append([noise, name, f"{least}:10", lost, "-", "-"])
        for agree in (0.0, 0.7, 1.0):
            false = [
                _share(functools.partial(false_verdict, noise=noise, agree=agree, real=real), studies)
                for real in (0.0, 1.0)
            ]
            lines.append([noise, f"development and test noise correlated {agree:g}", "1:10", "-", *false])
    head = [
        "noise", "12 recipes; 5 rows and a baseline", "seeds", "winner of ten seeds lost",
        "false verdict, nothing real", "false verdict, development alone differs",
    ]  # fmt: skip
    return f"{studies} made-up studies each; shares with standard errors.\n\n{DataTable(head, lines, left=3).markdown}"


def _share(is_wrong: Callable[[np.random.Generator], bool], studies: int) -> str:
    share = float(np.mean([is_wrong(np.random.default_rng([7, number])) for number in range(studies)]))
    return f"{100 * share:.1f} ± {100 * math.sqrt(share * (1 - share) / studies):.1f} %"


def noise_of(kind: str, random: np.random.Generator, shape: tuple[int, int]) -> Array:
    """(recipes, seeds) Of about variance 1: `unequal` spreads of recipes, or seeds that move recipes `together`.

    `one wild`: the first recipe has the spread of a real baseline, and the others that of the rows beside it.
    """
    own = random.standard_t(3, shape) / math.sqrt(3) if kind == "heavy tails" else random.standard_normal(shape)
    if kind == "unequal":
        return np.asarray(own * np.exp(random.normal(-0.32, 0.8, (shape[0], 1))))
    if kind == WILD:
        return np.asarray(own * np.where(np.arange(shape[0]) == 0, 2.29, 0.15)[:, None])
    if kind == "together":
        return np.asarray(0.45 * own + 0.9 * random.standard_normal((1, shape[1])))
    return np.asarray(own)


def winner_is_lost(
    random: np.random.Generator, noise: str, spread: float, least: int, recipes: int = 12, most: int = 10
) -> bool:
    """Whether another recipe is chosen than the one that is best over all seeds."""
    scores = noise_of(noise, random, (recipes, most)) + random.normal(0, spread, (recipes, 1))
    return raced(scores, least, most)[0] != int(scores.mean(axis=1).argmax())


def false_verdict(
    random: np.random.Generator, noise: str, agree: float, real: float, rows: int = 6, most: int = 10, wary: bool = True
) -> bool:
    """Whether a report calls any of its rows above or below the baseline (row 0), while on test sets all are alike.

    `agree`: the correlation of a seed's development and test noise. `real`: how far rows differ in development score,
    which makes them stop early. `wary`: whether p allows for the race.
    """
    test = noise_of(noise, random, (rows, most))
    other = noise_of(noise, random, (rows, most))
    development = agree * test + math.sqrt(1 - agree**2) * other + real * np.arange(rows)[:, None]
    entrants = {str(row): Entrant(own[:, None]) for row, own in enumerate(development)}
    counts = [place.seeds for place in race_of(entrants, [*entrants], "0", 1, most).values()]
    samples = [Sample(own[:count], tuple(range(count))) for own, count in zip(test, counts, strict=True)]
    chances, common = [], common_spread(samples)
    for sample in samples[1:]:
        allowed = max(looks(count, 1, most) for count in (sample.count, samples[0].count)) if wary else 1.0
        chances.append(compare(sample, samples[0], common=common, looks=allowed).p)
    return any(p is not None and p < WRONG for p in holm(chances))
