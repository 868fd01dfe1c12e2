"""Our samplers beside those of other libraries, on tables of finished trainings, after 20, 40 and 60 recipes.

    python -m benchmarks peers --table minilm --search ours:tpe,optuna:tpe,random --repeats 100 --to peers.jsonl

Every search has the same finite space, 4 trials at once on simulated time, one seed of each recipe (which one is the
same for all in a repeat), and is told the same development scores. It picks the recipe with the highest. A recipe that
ran already is told again at no cost and does not count. What stands in the file is not run again; without --table it
is all that is shown.
"""

from __future__ import annotations

import argparse
import functools
import heapq
import itertools
import json
import logging
import math
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from benchmarks._asked import check_numbers
from benchmarks._tables import Table, load_table, related
from trainables.errors import UserError, choices
from trainables.recipe import Value

if TYPE_CHECKING:
    from study.search.warm_start import Source

BUDGETS = (20, 40, 60)
DEFAULT = "ours:gp"
"""What the others stand beside, in equal repeats."""
WORKERS = 4
SOURCES = 3
"""Studies of other tables that a search learns from, where it does."""
AGAIN = 5
"""Recipes that run again under the other seeds, where a pick is made so."""
DRAWN_FROM = 10
"""Recipes that have run where the picture begins."""
MOST_ASKED = 5
"""Times as many recipes as are to run: a search that asks for the same ones again and again ends."""


class Peer(Protocol):
    """A search as the simulation sees it."""

    def ask(self) -> tuple[Any, Mapping[str, Value]]:
        """A name for what is asked for, and the domains' values."""

    def tell(self, name: Any, value: float) -> None:
        """The development score of what was asked for under that name."""


class Optuna:
    """An Optuna sampler over the space as a study of ours asks for it: conditional domains, several at once."""

    def __init__(
        self,
        table: Table,
        make: Callable[[int], Any],
        seed: int,
        *,
        conditional: bool,
        forgetful: bool,
        sources: Sequence[Source] = (),
    ) -> None:
        """`sources`: what `--learn-from` would be given."""
        from study.search.ask_tell import AskTell, memory_study
        from study.search.warm_start import WarmStart

        self.make, self.seed, self.forgetful, self.asked = make, seed, forgetful, 0
        warm_start = WarmStart(sources, table.domains) if sources else None
        study = memory_study(make(seed))
        self.ask_tell = AskTell(study, table.base, table.domains, conditional=conditional, warm_start=warm_start)

    def ask(self) -> tuple[int, Mapping[str, Value]]:
        if self.forgetful:
            drawn = np.random.SeedSequence([self.seed, self.asked]).generate_state(1)[0]
            self.ask_tell.study.sampler = self.make(int(drawn))
        self.asked += 1
        return self.ask_tell.choose()

    def tell(self, name: int, value: float) -> None:
        self.ask_tell.study.tell(name, value)


class SyneTune:
    """A search of Syne Tune's that runs every trial to its end. It has no conditional keys, and sees all of them."""

    def __init__(self, table: Table, kind: str, seed: int) -> None:
        from syne_tune.config_space import choice, randint
        from syne_tune.optimizer import baselines

        logging.getLogger("syne_tune").setLevel(logging.ERROR)
        np.random.seed(seed)  # some of its random numbers come from there
        space = {
            domain.key: choice(list(domain.choices)) if domain.choices else randint(domain.low, domain.high)
            for domain in table.domains
        }
        single = {"metrics": ["score"]} if kind == "RandomSearch" else {"metric": "score"}
        self.scheduler = getattr(baselines, kind)(space, **single, do_minimize=False, random_seed=seed)
        self.domains, self.flat, self.asked = table.domains, table.base.flat(), 0

    def ask(self) -> tuple[Any, Mapping[str, Value]]:
        import datetime

        from syne_tune.backend.trial_status import Trial

        from study.search.points import applying

        trial = Trial(self.asked, self.scheduler.suggest().config, datetime.datetime.now())
        self.scheduler.on_trial_add(trial)
        self.asked += 1
        return trial, applying(self.domains, trial.config, self.flat)

    def tell(self, name: Any, value: float) -> None:
        self.scheduler.on_trial_complete(name, {"score": value})


def peers() -> dict[str, Callable[[Table, int], Peer]]:
    """By name every search: ours by the samplers' names, and others with their own defaults."""
    from optuna import samplers as stock

    from benchmarks._ablation import WITHOUT
    from study.search.samplers import SAMPLERS

    def ours(name: str) -> Callable[[Table, int], Peer]:
        one = SAMPLERS[name]
        return lambda table, seed: Optuna(table, one.build, seed, conditional=one.conditional, forgetful=one.forgetful)

    def without(part: str) -> Callable[[Table, int], Peer]:
        return lambda table, seed: Optuna(table, WITHOUT[part], seed, conditional=True, forgetful=True)

    def optuna(conditional: bool, kind: Any, **options: Any) -> Callable[[Table, int], Peer]:
        return lambda table, seed: Optuna(
            table, lambda number: kind(seed=number, **options), seed, conditional=conditional, forgetful=False
        )

    quiet = {"warn_independent_sampling": False}
    return {
        **{f"ours:{name}": ours(name) for name, one in SAMPLERS.items() if one.choices},
        **{f"ours:gp without {part}": without(part) for part in WITHOUT},
        "ours:gp with --learn-from": _learning,
        "random": optuna(True, stock.RandomSampler),
        "optuna:tpe": optuna(True, stock.TPESampler),
        "optuna:tpe multivariate": optuna(True, stock.TPESampler, multivariate=True, group=True),
        "optuna:gp": optuna(False, stock.GPSampler, deterministic_objective=False, **quiet),
        "optuna:nsga2": optuna(False, stock.NSGAIISampler),
        "optuna:cmaes": optuna(False, stock.CmaEsSampler, **quiet),
        "optuna:qmc": optuna(False, stock.QMCSampler, scramble=True, **quiet),
        **{
            f"syne tune:{kind}": functools.partial(_syne_tune, kind)
            for kind in ("RandomSearch", "TPE", "REA", "CQR", "BORE")
        },
    }


def _syne_tune(kind: str, table: Table, seed: int) -> Peer:
    return SyneTune(table, kind, seed)


def _learning(table: Table, seed: int) -> Peer:
    """As `gp`, after studies of its own on other tables of the same space, each of the middle budget."""
    from study.search.samplers import SAMPLERS
    from study.search.warm_start import Source

    sources = []
    for other in map(load_table, related(table.name)[:SOURCES]):
        chosen = {number: values for values, number in other.place.items()}
        course, _ = run(
            other, peers()["ours:gp"](other, seed), seed % other.development.shape[1], lambda c: len(c) < BUDGETS[1]
        )
        keys = [domain.key for domain in other.domains]
        recipes = [
            {key: value for key, value in zip(keys, chosen[one], strict=True) if value is not None} for one in course
        ]
        scores = other.development[course, seed % other.development.shape[1]]
        sources.append(Source(other.name, recipes, [[float(score)] for score in scores]))
    return Optuna(table, SAMPLERS["gp"].build, seed, conditional=True, forgetful=True, sources=sources)


def search(table: Table, peer: Peer, repeat: int) -> dict[str, Any]:
    """One search: what its pick lost after each budget and each recipe, the seconds of training until each budget, and
    how many recipes it asked for."""
    seed = repeat % table.development.shape[1]
    course, asked = run(table, peer, seed, lambda course: len(course) < BUDGETS[-1])
    scores = table.development[course, seed]
    picks = [course[int(np.argmax(scores[: end + 1]))] for end in range(len(course))]
    lost = [float(table.best - table.truth[pick]) for pick in picks]
    spent = np.cumsum(table.seconds[course, seed])
    at = [min(budget, len(course)) - 1 for budget in BUDGETS]
    return {
        "regret": [lost[place] for place in at],
        "again": [_lost_again(table, course[:budget], seed) for budget in BUDGETS],
        "course": lost,
        "seconds": [float(spent[place]) for place in at],
        "asked": asked,
    }


def run(table: Table, peer: Peer, seed: int, more: Callable[[Sequence[int]], bool]) -> tuple[Sequence[int], int]:
    """The recipes that ran under that seed, and how many were asked for, while there are to be `more` than these."""
    course: list[int] = []
    names: dict[int, list[Any]] = {}
    done: set[int] = set()
    running: list[tuple[float, int, int]] = []
    clock, asked = 0.0, 0
    while True:
        while len(running) < WORKERS and asked < MOST_ASKED * BUDGETS[-1] and more(course):
            name, chosen = peer.ask()
            asked += 1
            recipe = table.number(chosen)
            if recipe in done:
                peer.tell(name, float(table.development[recipe, seed]))
            elif recipe in names:
                names[recipe].append(name)
            else:
                names[recipe] = [name]
                course.append(recipe)
                heapq.heappush(running, (clock + table.seconds[recipe, seed], len(course), recipe))
        if not running:
            break
        clock, _, recipe = heapq.heappop(running)
        done.add(recipe)
        for name in names[recipe]:
            peer.tell(name, float(table.development[recipe, seed]))
    return course, asked


def _lost_again(table: Table, course: Sequence[int], seed: int) -> float:
    """At the same number of trials: the last ones are the best recipes so far under the other seeds, and the pick is
    the best mean over all seeds."""
    further = table.development.shape[1] - 1
    explored = np.array(course[: max(AGAIN, len(course) - AGAIN * further)])
    best = explored[np.argsort(-table.development[explored, seed], kind="stable")[:AGAIN]]
    return float(table.best - table.truth[best[np.argmax(table.development[best].mean(axis=1))]])


def main(arguments: Sequence[str]) -> None:
    """Run what is asked for and is not in the file, and print the tables of what is."""
    asked = _parser().parse_args(arguments)
    check_numbers(asked, repeats=2)
    known = peers()
    names = [name.strip() for name in asked.search.split(",")]
    for name in names:
        if name not in known:
            raise UserError(f"--search {name!r} is none; {choices(known)} would work")
    warnings.simplefilter("ignore")
    found = [json.loads(line) for line in asked.to.read_text().splitlines()] if asked.to.exists() else []
    there = {(one["table"], one["search"], one["repeat"]) for one in found}
    tables = [*map(load_table, asked.table)]
    for repeat, table, name in itertools.product(range(asked.repeats), tables, names):
        if (table.name, name, repeat) in there:
            continue
        peer, began = known[name](table, repeat), time.process_time()
        one = {"table": table.name, "search": name, "repeat": repeat, "error": table.error, "near": table.near}
        one |= search(table, peer, repeat)
        one["cost"] = (time.process_time() - began) / one["asked"]
        found.append(one)
        with asked.to.open("a") as file:
            file.write(json.dumps(one) + "\n")
    print(shown(found))
    if asked.picture:
        draw(found, asked.picture)


def beside(ones: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> str:
    """By how much these lose more than the others after the middle budget, in the repeats of both, and what part of
    that the others lose; a dash where it is the same search, or fewer than two repeats are of both."""
    from reports.markdown import DASH
    from study.replay.repeats import mean

    known = {one["repeat"]: one["regret"][1] for one in others}
    pairs = np.array([(one["regret"][1], known[one["repeat"]]) for one in ones if one["repeat"] in known])
    if ones is others or len(pairs) < 2:
        return DASH
    more, (lost, theirs) = mean(pairs[:, 0] - pairs[:, 1]), pairs.mean(axis=0)
    part = f"; {theirs / lost:.2f}" if lost else ""
    return f"{more.value:.3f} [{more.low:.3f}, {more.high:.3f}]{part}"


def shown(found: Sequence[Mapping[str, Any]]) -> str:
    """A table of each table's searches, the lowest regret after the middle budget first."""
    from reports.markdown import table
    from study.replay.repeats import mean, share

    parts = []
    by: dict[str, dict[str, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for one in found:
        by[one["table"]][one["search"]].append(one)
    for name, searches in by.items():
        rows = []
        for search, ones in searches.items():
            regrets = np.array([one["regret"] for one in ones])
            cells = [f"{middle.value:.3f} [{middle.low:.3f}, {middle.high:.3f}]" for middle in map(mean, regrets.T)]
            again = np.array([one["again"][-1] for one in ones])
            within = [share(int((each <= ones[0]["error"]).sum()), len(ones)) for each in regrets.T]
            area = mean([float(np.mean(one["course"])) for one in ones])
            rows.append(
                (
                    regrets[:, 1].mean(),
                    [
                        search,
                        str(len(ones)),
                        *cells,
                        "/".join(f"{median(each):.3f}" for each in regrets.T.tolist()),
                        f"{area.value:.3f}",
                        beside(ones, searches.get(DEFAULT, [])),
                        *(f"{100 * each.value:.0f} [{100 * each.low:.0f}, {100 * each.high:.0f}]" for each in within),
                        f"{again.mean():.3f}",
                        f"{100 * np.mean(again <= ones[0]['error']):.0f}",
                        f"{np.mean([one['seconds'][-1] for one in ones]):.0f}",
                        f"{1000 * np.mean([one['cost'] for one in ones]):.0f}",
                    ],
                )
            )
        head = ["search", "n", *(f"regret, {budget}" for budget in BUDGETS), "medians", "area"]
        head += [
            f"more than {DEFAULT}, {BUDGETS[1]}; its part",
            *(f"within, {budget}" for budget in BUDGETS),
            f"again, {BUDGETS[-1]}",
            "within",
            "training s",
            "ms an ask",
        ]
        first = next(iter(searches.values()))[0]
        title = f"{name}: one error is {first['error']:.3f}, {first['near']} recipes are so near"
        parts.append(title + "\n\n" + table(head, [row for _, row in sorted(rows, key=lambda row: row[0])]))
    return "\n\n".join(parts)


def draw(found: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Regret against recipes on each table: means over repeats, and their 95 % intervals as bands. What lies before
    `DRAWN_FROM` recipes would hide the rest."""
    from reports.plots.canvas import LINES, legend, make_figure, save
    from study.replay.repeats import mean

    tables = list(dict.fromkeys(one["table"] for one in found))
    searches = sorted({one["search"] for one in found}, key=lambda search: (search != DEFAULT, search))
    columns = min(len(tables), 4)
    height = 2.8 * math.ceil(len(tables) / columns) + 0.4
    figure, axes = make_figure(len(tables), height, 3.6 * columns, columns)
    for axis, table in zip(axes, tables, strict=True):
        for colour, search in zip(LINES, searches, strict=False):
            courses = [one["course"] for one in found if (one["table"], one["search"]) == (table, search)]
            if len(courses) < 2:
                continue
            shortest = min(map(len, courses))
            recipes = range(min(DRAWN_FROM, shortest), shortest + 1)
            bands = [mean(np.array([course[number - 1] for course in courses])) for number in recipes]
            axis.plot(recipes, [band.value for band in bands], color=colour, label=search)
            low, high = [band.low for band in bands], [band.high for band in bands]
            axis.fill_between(recipes, low, high, color=colour, alpha=0.15, linewidth=0)
        axis.set_title(table)
        axis.set_xlabel("recipes that ran")
        axis.grid(alpha=0.3)
    for axis in axes[::columns]:
        axis.set_ylabel("regret")
    legend(figure, axes)
    save(figure, path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks peers", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--table", nargs="*", default=[], metavar="NAME", help="minilm, scenes, hpolib/..., ...")
    parser.add_argument("--search", default="ours:gp,ours:tpe,random", metavar="NAMES", help="with commas between them")
    parser.add_argument("--repeats", type=int, default=100, metavar="N", help="of each search (default 100)")
    parser.add_argument("--to", type=Path, required=True, metavar="FILE", help="JSON lines, which are gone on with")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="a picture of all that is in the file: .svg")
    return parser
