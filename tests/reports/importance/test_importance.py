"""Which hyperparameters matter: nothing is found in noise, and what is planted is found."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from sklearn.tree import ExtraTreeRegressor

from reports.document import markdown
from reports.facts.results import Results
from reports.importance import MIN_RECIPES, chance, forest, importance
from reports.importance.chance import family_p
from reports.importance.coding import NOT_APPLICABLE, Coded, code
from reports.importance.forest import Folds
from reports.ledger import Record
from reports.sections import explored
from reports.sections import importance as importance_section
from reports.testing import changed
from search_spaces import Domain
from tests.reports.sections.test_sections import rewrite, study
from tests.synthetic_results import section_text, with_goals

TAU = Domain("objective.temperature", low=0.01, high=1.0, log=True)
WEIGHT = Domain("objective.weight", low=0.0, high=1.0)
POOL = Domain("pooling.mode", choices=("mean", "cls", "max"))
HEAD = Domain("head.kind", choices=("none", "linear"))
DIM = Domain("head.dim", low=8, high=64, when=("head.kind", ("linear",)))


def recipes(count: int, random: np.random.Generator) -> list[dict[str, Any]]:
    return [
        {
            "objective.temperature": float(10 ** random.uniform(-2, 0)),
            "objective.weight": float(random.random()),
            "pooling.mode": str(random.choice(POOL.choices)),
            "head.kind": str(random.choice(HEAD.choices)),
            "head.dim": int(random.integers(8, 65)),
        }
        for _ in range(count)
    ]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same analysis with fewer shuffles and trees: p is at least one in twenty."""
    monkeypatch.setattr(chance, "SHUFFLES", 19)
    monkeypatch.setattr(chance, "SUBSETS", 2)
    monkeypatch.setattr(forest, "TREES", 2)


@pytest.mark.slow
def test_noise_has_no_importance(small: None):
    """Of studies without any effect, five in a hundred name a key."""
    random = np.random.default_rng(0)
    named, tops = 0, []
    domains = [TAU, WEIGHT, POOL, HEAD]
    for _ in range(20):
        scored = [(recipe, float(random.normal())) for recipe in recipes(24, random)]
        result = importance(domains, scored)
        named += bool(result.above)
        tops.append(result.keys[0].share.value)
    assert named <= 4  # 1 is expected; 5 or more would be seen in 3 of 1,000 runs
    assert np.median(tops) < 0.15


def test_a_planted_key_is_found(small: None):
    random = np.random.default_rng(1)
    tried = recipes(40, random)
    scored = [(recipe, 4 * recipe["objective.weight"] + 0.6 * float(random.normal())) for recipe in tried]
    result = importance([TAU, WEIGHT, POOL], scored)
    first, *others = result.keys
    assert first.key == "objective.weight"
    assert first.share.value > 0.4
    low, high = first.share.interval
    assert low < first.share.value < high <= 1
    assert [effect.share.above for effect in (first, *others)] == [True, False, False]
    assert result.explained.p <= 0.05
    assert result.explained.value > 0.3
    (curve,) = result.curves
    assert curve.key == "objective.weight"
    assert curve.mean[-1] - curve.mean[0] > 1.5
    assert all(low <= mean <= high for low, mean, high in zip(curve.low, curve.mean, curve.high, strict=True))
    assert importance([TAU, WEIGHT, POOL], scored) == result


class TestConditional:
    DOMAINS = (HEAD, DIM, WEIGHT)

    def coded(self, count: int = 40) -> tuple[Coded, list[dict[str, Any]]]:
        tried = recipes(count, np.random.default_rng(4))
        return Coded.of(self.DOMAINS, tried), tried

    def test_not_asked_is_a_value_of_its_own(self):
        coded, tried = self.coded()
        column = coded.values[:, coded.keys.index("head.dim")]
        linear = np.array([recipe["head.kind"] == "linear" for recipe in tried])
        assert (column[~linear] == NOT_APPLICABLE).all()
        assert ((column[linear] >= 0) & (column[linear] <= 1)).all()

    def test_no_recipe_is_made_up_that_could_not_be(self):
        """A head that is taken away takes its size with it; a head that comes gets a size of another recipe."""
        coded, _ = self.coded()
        given = coded.donors(np.random.default_rng(5))
        head, dim = coded.keys.index("head.kind"), coded.keys.index("head.dim")
        for column in (head, dim):
            swapped = coded.swapped(coded.values, column, given)
            assert ((swapped[:, dim] == NOT_APPLICABLE) == (swapped[:, head] == 0)).all()
        assert (coded.swapped(coded.values, dim, given)[:, head] == coded.values[:, head]).all()

    def test_it_is_judged_where_it_is_asked(self, small: None):
        _, tried = self.coded(60)
        scored = [(recipe, recipe["head.dim"] / 8 if recipe["head.kind"] == "linear" else 4.0) for recipe in tried]
        result = importance(self.DOMAINS, scored)
        assert result.keys[0].key == "head.dim"
        assert result.keys[0].share.above
        assert result.keys[0].recipes == sum(recipe["head.kind"] == "linear" for recipe in tried)

    def test_what_was_never_varied_is_left_out(self):
        _, tried = self.coded()
        for recipe in tried:
            recipe["head.kind"] = "none"
        assert Coded.of(self.DOMAINS, tried).keys == ("objective.weight",)


class TestIdle(TestConditional):
    """The same without a condition: nothing reads the size of a head that is not there."""

    DOMAINS = (HEAD, replace(DIM, when=None), WEIGHT)


def test_trees_are_those_of_sklearn():
    """Which are fitted without its checks."""
    tried = recipes(30, np.random.default_rng(7))
    folds, scores = Folds(Coded.of([TAU, POOL], tried)), np.arange(30.0)
    part = folds.parts[3]
    for number, tree in enumerate(folds.trees(part, scores)):
        plain = ExtraTreeRegressor(min_samples_leaf=forest.LEAF, random_state=part.seed * forest.TREES + number)
        plain.fit(folds.coded.values[part.fitted], scores[part.fitted])
        assert np.array_equal(plain.predict(part.inputs), tree.predict(part.inputs))


def test_a_few_recipes_or_equal_scores_say_nothing():
    tried = recipes(MIN_RECIPES, np.random.default_rng(6))
    assert importance([WEIGHT], [(recipe, float(n)) for n, recipe in enumerate(tried[1:])]) is None
    assert importance([WEIGHT], [(recipe, 1.0) for recipe in tried]) is None
    assert (
        importance([WEIGHT], [({**recipe, "objective.weight": 0.5}, float(n)) for n, recipe in enumerate(tried)])
        is None
    )


def test_values_as_numbers():
    assert code(TAU, 0.1) == pytest.approx(0.5)
    assert code(WEIGHT, 0.25) == 0.25
    assert [code(POOL, value) for value in POOL.choices] == [0.0, 0.5, 1.0]


def test_the_family_is_judged_by_its_strongest():
    """A tie counts for chance, and a key that gains much by chance does not drown another."""
    by_chance = np.array([[0.0, 10.0], [0.1, -10.0], [-0.1, 3.0], [0.05, -3.0]])
    assert family_p(np.array([5.0, 0.0]), by_chance).tolist() == [0.2, 0.6]
    assert family_p(np.empty(0), np.empty((4, 0))).size == 0


@pytest.mark.slow
def test_each_goal_in_a_report(tmp_path: Path, small: None):
    """STS is made to depend on the temperature alone, transfer on the head alone."""
    kept = "('objective.name', 'objective.temperature', 'objective.weight', 'head.kind')"
    fewer = f"domains=tuple(d for d in spaces()['contrastive_all'].domains if d.key in {kept})"
    study(tmp_path, fewer, "contrastive_all", explored=40)

    temperatures = [record.recipe.get("objective.temperature") for record in Results.load(tmp_path).records]
    mean = fmean(tau for tau in temperatures if tau is not None)  # so that having none makes no difference

    def score(record: Record) -> Record:
        tau = float(record.recipe.get("objective.temperature", mean))
        sts = 60 + 10 * tau + int(record.recipe_hash[:4], 16) * 1e-9  # no copies
        return with_goals(record, sts, 70 + 5 * (record.recipe["head.kind"] == "none"))

    rewrite(tmp_path, score)
    results = Results.load(tmp_path)
    blocks = importance_section.in_short(results, tmp_path / "pictures")
    short, picture, other, second = map(markdown, ([block] for block in blocks))
    assert short.startswith("**`objective.temperature` (")
    assert "for the STS goal on development parts" in short
    assert "`head.kind`" not in short
    assert other.startswith("**`head.kind` (")
    assert "matters** for the transfer goal" in other
    assert "(pictures/importance-sts-objective.temperature.svg)" in picture
    assert "(pictures/importance-transfer-head.kind.svg)" in second
    assert "best explored recipe" not in markdown(explored.write(results, tmp_path / "pictures"))
    sts, _ = markdown(importance_section.write(results, tmp_path / "pictures")).split("### What decides the ")[1:]
    line = next(line for line in sts.splitlines() if line.startswith("| `objective.temperature` "))
    assert "`objective.name` is supmpn or" in line
    assert re.search(r"\| +yes \|$", line)


def test_recipes_are_counted_by_how_they_ended(tmp_path: Path):
    """A finished recipe without a development score did not stop early."""
    study(tmp_path, "tolerance=1.0", explored=3, pruned=1)
    lost = Results.load(tmp_path).explored[0]
    rewrite(tmp_path, lambda record: changed(record, scores={}) if record.recipe_hash == lost else record)
    text = section_text(tmp_path, "explored")
    assert text.startswith(
        "Optuna drew 4 recipes beyond the space's rows: 2 finished, 1 finished without a development score, "
        "1 stopped early."
    )
