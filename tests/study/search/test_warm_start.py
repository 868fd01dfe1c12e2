"""What a search takes from other studies: which recipes, whom it trusts, and what that gains or costs it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from reports.ledger import LEDGER, Ledger, StudyInfo, fresh_seeds
from reports.testing import made_record
from search_spaces import load_space
from search_spaces.space import Domain
from study.check import check_plan
from study.cli.options import parse
from study.plan import decide, read_request
from study.results_folder.prepare import prepare_results
from study.search.ask_tell import LEARNT, AskTell, memory_study
from study.search.explorer import OptunaExplorer
from study.search.samplers import SAMPLERS
from study.search.warm_start import FIRST, Chosen, Source, WarmStart, load_source
from trainables.errors import UserError
from trainables.recipe import Recipe, Value

DOMAINS = (
    Domain("objective.temperature", low=0.01, high=1.0, log=True),
    Domain("objective.weight", low=0.0, high=1.0),
    Domain("optimisation.learning_rate", low=1e-5, high=1e-2, log=True),
    Domain("pooling.mode", choices=("mean", "max", "cls", "last")),
    Domain("head.kind", choices=("none", "linear", "mlp")),
)
BASE = Recipe()
ASKS, REPEATS = 20, 24


def score(chosen: Chosen) -> float:
    """Best at one place; another pooling or head costs something."""
    place = [
        math.log10(float(str(chosen["objective.temperature"]))) / 2 + 0.65,
        float(str(chosen["objective.weight"])) - 0.7,
        math.log10(float(str(chosen["optimisation.learning_rate"]))) / 3 + 1.0,
    ]
    lost = 0.3 * (chosen["pooling.mode"] != "max") + 0.2 * (chosen["head.kind"] != "mlp")
    return 100 - 20 * (sum(part**2 for part in place) + lost)


def drawn(draw: np.random.Generator, number: int) -> list[dict[str, Value]]:
    """Recipes of a random search elsewhere."""
    return [
        {
            "objective.temperature": float(10 ** draw.uniform(-2, 0)),
            "objective.weight": float(draw.uniform(0, 1)),
            "optimisation.learning_rate": float(10 ** draw.uniform(-5, -2)),
            "pooling.mode": str(draw.choice(("mean", "max", "cls", "last"))),
            "head.kind": str(draw.choice(("none", "linear", "mlp"))),
        }
        for _ in range(number)
    ]


def source(kind: str, seed: int) -> Source:
    """60 recipes of another study. `helpful`: on another scale, and noisy; `negated`, `shuffled`: it misleads."""
    draw = np.random.default_rng(seed)
    recipes = drawn(draw, 60)
    scores = np.array([score(recipe) for recipe in recipes])
    found = {
        "helpful": 3 * scores + draw.normal(0, 3 * scores.std() / 2, len(scores)) - 200,
        "negated": -scores,
        "shuffled": draw.permutation(scores),
    }[kind]
    return Source(kind, recipes, [[float(value)] for value in found])


def search(sampler: str, seed: int, sources: Sequence[Source]) -> np.ndarray:  # (ASKS,)
    """The best score so far after every recipe."""
    entry = SAMPLERS[sampler]
    warm_start = WarmStart(sources, DOMAINS) if sources else None
    study = memory_study(entry.build(seed))
    ask_tell = AskTell(study, BASE, DOMAINS, conditional=entry.conditional, warm_start=warm_start)
    found = []
    for _ in range(ASKS):
        number, chosen = ask_tell.choose()
        recipe = BASE.override(chosen)
        found.append(score(chosen))
        if ask_tell.begin(number, recipe, [0]):
            ask_tell.tell(recipe.hash, 0, [found[-1]])
    return np.maximum.accumulate(found)


def searches(sampler: str, kind: str | None) -> np.ndarray:  # (REPEATS, ASKS)
    return np.array([search(sampler, seed, [source(kind, seed)] if kind else []) for seed in range(REPEATS)])


@pytest.mark.slow
def test_a_helpful_source_makes_a_search_faster_and_a_misleading_one_does_no_harm() -> None:
    """Beside the same random search without it, which learns nothing by itself: what harms it is not made good by its
    sampler. Differences are paired by seed, and judged by their standard errors."""
    alone = searches("random", None)
    gain = {kind: searches("random", kind) - alone for kind in ("helpful", "negated", "shuffled")}
    error = {kind: found.std(axis=0) / math.sqrt(REPEATS) for kind, found in gain.items()}
    half = ASKS // 2 - 1
    assert gain["helpful"].mean(axis=0)[half] > 3 * error["helpful"][half]
    for kind in ("negated", "shuffled"):
        assert gain[kind].mean(axis=0)[-1] > -2 * error[kind][-1]


def test_whom_it_trusts() -> None:
    """A source is trusted until some recipes are finished, and then by agreement; one that knows nothing passes in
    about a tenth of searches."""
    draw = np.random.default_rng(0)
    finished = [(recipe, [score(recipe)]) for recipe in drawn(draw, 20)]
    helpful, negated = source("helpful", 0), source("negated", 0)
    warm_start = WarmStart([helpful, negated], DOMAINS)
    assert warm_start.trusts(negated, finished[: FIRST - 1])
    assert not warm_start.trusts(negated, finished)
    assert warm_start.trusts(helpful, finished)
    here = [[(recipe, [score(recipe)]) for recipe in drawn(draw, 12)] for _ in range(100)]
    shuffled = [source("shuffled", seed) for seed in range(100)]
    passed = sum(WarmStart([one], DOMAINS).trusts(one, own) for one, own in zip(shuffled, here, strict=True))
    assert passed < 17


def test_at_its_turn_a_source_gives_the_best_that_was_not_tried_yet() -> None:
    helpful = source("helpful", 1)
    best = [recipe for _, recipe in sorted(zip(helpful.values, helpful.chosen, strict=True), key=lambda p: -p[0][0])]
    warm_start = WarmStart([helpful], DOMAINS)
    assert warm_start.propose([], []) == ("helpful", best[0])
    assert warm_start.propose([best[0]], []) is None
    assert warm_start.propose([best[0], best[2]], []) == ("helpful", best[1])
    assert warm_start.propose([*best[:15], *best[20:25]], []) is None  # the best quarter is tried
    assert [warm_start.propose(best[20 : 20 + asked], []) is None for asked in range(12, 21)] == [
        asked % 5 > 0 for asked in range(12, 21)
    ]
    other = Source("other", best[30:], [[0.0]] * 30)
    turns = [WarmStart([helpful, other], DOMAINS).propose(best[50 : 50 + asked], []) for asked in (0, 2)]
    assert [turn[0] for turn in turns if turn] == ["helpful", "other"]


def test_several_goals_are_learnt_by_their_ranks() -> None:
    recipes = drawn(np.random.default_rng(0), 4)
    values = [[1.0, 900.0], [2.0, 100.0], [3.0, 500.0], [4.0, 1000.0]]
    assert Source("two", recipes, values).best == [recipes[3]]


SCORES = {"STSBenchmark": {"dev_spearman_cosine": 60.0}, "MR": {"dev_accuracy": 70.0}}


def write(folder: Path, seeds: int, **overrides: Value) -> Recipe:
    """A recipe that is finished in that study."""
    recipe = Recipe().preferring({key.replace("__", "."): value for key, value in overrides.items()})
    for seed in range(seeds):
        Ledger(folder / LEDGER).write(made_record(recipe.flat(), recipe.hash, seed, scores=SCORES))
    return recipe


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A study of the same keys on another encoder."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    StudyInfo("scl_ablation").save(folder)
    recipe = write(folder, 2, encoder__layers=3, objective__temperature=0.2)
    best = {"STSBenchmark": {"dev_spearman_cosine": 99.0}}  # of its finals, which nobody may learn from
    Ledger(folder / LEDGER).write(made_record(recipe.flat(), recipe.hash, *fresh_seeds(1), scores=best))
    write(folder, 1, objective__temperature=77.0)  # outside the domain
    stopped = Recipe().preferring({"objective.temperature": 0.3})
    Ledger(folder / LEDGER).write(made_record(stopped.flat(), stopped.hash, 0, "pruned"))
    return folder


def test_what_a_results_folder_knows_of_a_space(elsewhere: Path, tmp_path: Path) -> None:
    space = load_space("scl_tau")
    found = load_source(elsewhere, space.base, space)
    assert found.chosen == [{"objective.temperature": 0.2}]
    assert found.values == [[65.0]]
    with pytest.raises(UserError, match="does not exist"):
        load_source(tmp_path / "nowhere", space.base, space)
    other = load_space("contrastive_all")
    with pytest.raises(UserError, match=r"has nothing to learn from: no recipe .* domains of 'contrastive_all'"):
        load_source(elsewhere, other.base.override({"objective.name": "mnrl"}), other)


def test_a_study_says_whom_it_learnt_from(elsewhere: Path, tmp_path: Path) -> None:
    arguments = ["--space", "scl_tau", "--scale", "laptop", "--search", "optuna", "--learn-from", str(elsewhere)]
    plan = decide(read_request(parse([*arguments, "--results", str(tmp_path / "here")])), 0)
    check_plan(plan)
    assert f"1 recipes of another study, {elsewhere}" in prepare_results(plan, "hardware").notes[0]
    explorer = OptunaExplorer(plan)
    asked = explorer.ask()
    assert asked is not None
    assert asked.recipe.flat()["objective.temperature"] == 0.2
    assert explorer.ask_tell.study.trials[-1].user_attrs[LEARNT] == str(elsewhere)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--learn-from", "x"), "--learn-from is for what Optuna tries; add --search optuna"),
        (("--search", "optuna", "--learn-from", "nowhere"), "the results folder nowhere does not exist"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(UserError, match=said):
        check_plan(decide(read_request(parse(["--space", "scl_tau", "--scale", "laptop", *arguments])), 0))
