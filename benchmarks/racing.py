"""What a race over seeds costs and finds, against all seeds for every recipe; and how often it is wrong.

    python -m benchmarks racing                               error rates on made-up studies
    python -m benchmarks racing --record FILE                 many studies drawn from a recorded benchmark
    python -m benchmarks racing --record FILE --studies 50

From a record (`python -m benchmarks record`) those recipes are taken that have the most seeds. A study is some of them
at random, with their seeds in random order. It is raced by development scores, and compared with the same study where
every recipe has all seeds: the same winner or not, how many of the trials it took, and what the winner loses in true
test score, which is the mean over all seeds. Beside it: the same number of trials split evenly, and Optuna's
WilcoxonPruner, which compares each recipe with the best one before it, seed by seed and goal by goal.
"""

from __future__ import annotations

import argparse
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks._asked import check_numbers
from reports.markdown import table
from reports.seed_race import raced as race_of
from reports.statistics.comparison import compare
from reports.statistics.families import holm
from reports.statistics.sample import Sample
from reports.statistics.sequential import WRONG, Entrant, looks, race_for_best
from reports.statistics.spreads import common_spread
from study.replay.recorded import Recorded, read_record
from study.replay.repeats import share

Array = np.ndarray

SIZES = (6, 12, 24)
NOISES, WILD = ("normal", "heavy tails", "unequal", "together"), "one wild"
WILCOXON = 0.1, 2
"""Optuna's own p threshold, and steps before anything is pruned."""


@dataclass
class Drawn:
    """A study: development scores by goal, and what is true of the recipes."""

    development: Array  # (recipes, seeds, goals)
    true_test: Array  # (recipes,)

    @property
    def scores(self) -> Array:
        """(recipes, seeds) What selects: the mean of the goals."""
        return np.asarray(self.development.mean(axis=2))

    @property
    def winner(self) -> int:
        """By development score over all seeds."""
        return int(self.scores.mean(axis=1).argmax())


@dataclass
class Found:
    """What a rule did over many studies."""

    same: list[bool] = field(default_factory=list)
    share: list[float] = field(default_factory=list)
    regret: list[float] = field(default_factory=list)

    def add(self, study: Drawn, chosen: int, trials: int) -> None:
        """One more study."""
        self.same.append(chosen == study.winner)
        self.share.append(trials / study.scores.size)
        self.regret.append(float(study.true_test[study.winner] - study.true_test[chosen]))


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks racing", description=__doc__.partition("\n")[0])
    parser.add_argument("--record", type=Path, metavar="FILE", help="a recorded benchmark; without it: error rates")
    parser.add_argument("--studies", type=int, default=200, metavar="N", help="studies of each kind (default 200)")
    asked = parser.parse_args(arguments)
    check_numbers(asked, studies=2)
    print(of_record(read_record(asked.record), asked.studies) if asked.record else error_rates(asked.studies))


# Rules: (chosen recipe, trials that it took)


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


def split_evenly(scores: Array, trials: int, random: np.random.Generator) -> int:
    """As many trials, the same number for each recipe; what is left over goes to some at random."""
    counts = np.full(len(scores), trials // len(scores))
    counts[random.choice(len(scores), trials % len(scores), replace=False)] += 1
    return int(np.argmax([own[:count].mean() for own, count in zip(scores, counts, strict=True)]))


def wilcoxon(development: Array) -> tuple[int, int]:
    """Recipes one after another, each pruned once Optuna's WilcoxonPruner finds it worse than the best before it."""
    import warnings

    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    threshold, startup = WILCOXON
    pruner = optuna.pruners.WilcoxonPruner(p_threshold=threshold, n_startup_steps=startup)
    study = optuna.create_study(direction="maximize", pruner=pruner)
    trials = 0
    for own in development:
        trial = study.ask()
        pruned = False
        for seed, values in enumerate(own):
            trials += 1
            for goal, value in enumerate(values):
                trial.report(float(value), seed * len(values) + goal)
            if seed + 1 < len(own) and trial.should_prune():
                pruned = True
                break
        if pruned:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            study.tell(trial, float(own.mean()))
    return study.best_trial.number, trials


# A record


def of_record(record: Recorded, studies: int) -> str:
    """A Markdown table: a line for each size and rule."""
    development, test = record.development[:, :, -1], record.test[:, :, -1]
    whole = np.isfinite(development).all(axis=(1, 2))
    development, test = development[whole], test[whole].mean(axis=(1, 2))
    most = development.shape[1]
    lines = []
    for size in (size for size in SIZES if size <= len(development)):
        found = {rule: Found() for rule in _rules(most)}
        random = np.random.default_rng(size)
        for _ in range(studies):
            recipes, seeds = random.choice(len(development), size, replace=False), random.permutation(most)
            study = Drawn(development[recipes][:, seeds], test[recipes])
            for rule, (chosen, trials) in zip(found, _outcomes(study, random), strict=True):
                found[rule].add(study, chosen, trials)
        lines += [[str(size), rule, *_cells(one)] for rule, one in found.items()]
    head = ["recipes", "rule", "same winner", "95 %", "seed-trials", "regret, test points", "95 %"]
    return (
        f"{len(development)} recipes with {most} seeds; {studies} studies of each size.\n\n{table(head, lines, left=2)}"
    )


def _rules(most: int) -> list[str]:
    return [f"race 1:{most}", "even split", f"race 2:{most}", "even split ", "WilcoxonPruner"]


def _outcomes(study: Drawn, random: np.random.Generator) -> Iterator[tuple[int, int]]:
    for least in (1, 2):
        chosen, seeds = raced(study.scores, least, study.scores.shape[1])
        yield chosen, sum(seeds)
        yield split_evenly(study.scores, sum(seeds), random), sum(seeds)
    yield wilcoxon(study.development)


def _cells(found: Found) -> list[str]:
    same, regret = float(np.mean(found.same)), np.array(found.regret)
    interval = share(sum(found.same), len(found.same))
    error = 1.96 * regret.std(ddof=1) / math.sqrt(len(regret))
    return [
        f"{100 * same:.1f} %",
        f"{100 * interval.low:.1f} to {100 * interval.high:.1f}",
        f"{100 * np.mean(found.share):.1f} %",
        f"{regret.mean():.2f}",
        f"{regret.mean() - error:.2f} to {regret.mean() + error:.2f}",
    ]


# Error rates


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
    return f"{studies} made-up studies each; shares with standard errors.\n\n{table(head, lines, left=3)}"


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
    counts = [found.seeds for found in race_of(entrants, [*entrants], "0", 1, most).values()]
    samples = [Sample(own[:count], tuple(range(count))) for own, count in zip(test, counts, strict=True)]
    chances, common = [], common_spread(samples)
    for sample in samples[1:]:
        allowed = max(looks(count, 1, most) for count in (sample.count, samples[0].count)) if wary else 1.0
        chances.append(compare(sample, samples[0], common=common, looks=allowed).p)
    return any(p is not None and p < WRONG for p in holm(chances))
