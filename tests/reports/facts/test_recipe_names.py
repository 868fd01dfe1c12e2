"""What people call an explored recipe: its number, and what sets it most apart from the base."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.facts.recipe_names import MAX_NAMED_KEYS, brief, farthest, plain, recipe_name, recipe_names
from reports.facts.results import Results
from search_spaces.space import Domain
from study.cli.options import parse
from study.plan import decide, read_request
from tests.synthetic_results import make_results
from trainables.recipe import Value

DOMAINS = (
    Domain("objective.temperature", low=0.01, high=1.0, log=True),
    Domain("optimisation.batch_size", (16, 32, 64, 128)),
    Domain("pooling.mode", ("mean", "cls", "max")),
    Domain("optimisation.learning_rate", low=1e-6, high=1e-4, log=True),
    Domain("optimisation.epochs", low=1, high=10),
)
BASE: dict[str, Value] = {
    "objective.temperature": 0.1,
    "optimisation.batch_size": 16,
    "pooling.mode": "mean",
    "optimisation.learning_rate": 2e-5,
    "optimisation.epochs": 1,
}


def test_a_name_has_the_keys_that_lie_farthest_from_the_base() -> None:
    recipe = {**BASE, "objective.temperature": 0.05, "optimisation.batch_size": 128, "pooling.mode": "cls"}
    assert recipe_name(17, recipe, BASE, DOMAINS) == "#17 batch 128, cls, tau 0.05"
    further = {**recipe, "optimisation.epochs": 2, "optimisation.learning_rate": 2.1e-5}
    assert recipe_name(18, further, BASE, DOMAINS) == "#18 batch 128, cls, tau 0.05"
    assert len(farthest(further, BASE, DOMAINS)) == 5 > MAX_NAMED_KEYS
    assert recipe_name(1, BASE, BASE, DOMAINS) == "#1"


def test_what_another_key_implies_is_not_in_a_name() -> None:
    domains = [
        Domain("corpus.layout", ("pairs", "groups")),
        Domain("corpus.negatives_from", ("corpus", "mined")),
        Domain("optimisation.batch_size", (16, 128)),
    ]
    base: dict[str, Value] = {"corpus.layout": "pairs", "optimisation.batch_size": 16}
    mined = {"corpus.layout": "groups", "corpus.negatives_from": "mined", "optimisation.batch_size": 128}
    assert recipe_name(1, mined, base, domains) == "#1 mined, batch 128"
    assert recipe_name(2, {**base, "corpus.layout": "groups"}, base, domains) == "#2 groups"


@pytest.mark.parametrize(
    ("key", "value", "few", "many"),
    [
        ("objective.temperature", 0.05, "tau 0.05", "temperature 0.05"),
        ("objective.weight", 0.3, "lambda 0.3", "weight of the contrastive loss 0.3"),
        ("optimisation.batch_size", 128, "batch 128", "batch size 128"),
        ("pooling.mode", "cls", "cls", "pooling cls"),
        ("head.kind", "none", "projection head none", "projection head none"),
        ("objective.positives", None, "positives per anchor none", "positives per anchor none"),
        ("objective.own_positives", True, "own positives", "own positives"),
        ("objective.own_positives", False, "no own positives", "no own positives"),
        ("corpus.nli", "/home/me/pairs.csv", "training pairs pairs.csv", "training pairs pairs.csv"),
    ],
)
def test_a_key_in_few_letters_and_in_words(key: str, value: Value, few: str, many: str) -> None:
    assert (brief(key, value), plain(key, value)) == (few, many)


def test_names_are_unique_and_begin_with_their_number(tmp_path: Path) -> None:
    make_results(tmp_path, explored=12, pruned=2, rows=["SBERT baseline"])
    results = Results.load(tmp_path)
    names = recipe_names(results)
    assert len({*names.values()}) == len(names)
    assert [names[key].partition(" ")[0] for key in results.explored] == [
        f"#{results.info.explored.index(key) + 1}" for key in results.explored
    ]
    assert all(results.labels[key] == names[key] for key in results.labels)
    assert not any(key[:6] in name for key, name in names.items())


def test_the_grid_has_the_same_names() -> None:
    plan = decide(read_request(parse(["--space", "scl_tau", "--search", "grid", "--scale", "laptop"])), 0)
    rows = {recipe.hash for recipe in plan.rows.values() if recipe}
    names = [trial.name for trial in plan.fixed_trials() if trial.recipe.hash not in rows]
    base, domains = plan.base.flat(), plan.space.domains
    expected = {
        recipe.hash: recipe_name(place, recipe.flat(), base, domains) for place, recipe in enumerate(plan.grid, 1)
    }
    assert names == [name for key, name in expected.items() if key not in rows]
