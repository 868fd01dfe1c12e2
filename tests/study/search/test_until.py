"""`--until`: what may still be gained, and where a search ends by it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import until as benchmark
from search_spaces.space import Domain
from study import Study
from study.cli.options import parse
from study.plan import decide, read_request
from study.search import until
from study.search.ask_tell import AskTell, memory_study
from study.search.gaussian_process import GaussianProcessSampler, _Process
from tests.study.search.test_search import make, run_all
from trainables.errors import UserError
from trainables.recipe import Recipe

RATE = Domain("optimisation.learning_rate", low=1e-5, high=1e-2, log=True)
ASKED = ("--space", "scl_tau", "--search", "optuna", "--goals", "sts")


def asked(recipes: int, noise: float) -> AskTell:
    """A search for the top of a hill of 40 points."""
    chance = np.random.default_rng(0)
    ask_tell = AskTell(memory_study(GaussianProcessSampler(0)), Recipe(), (RATE,))
    for _ in range(recipes):
        number, chosen = ask_tell.choose()
        rate = float(np.log10(float(str(chosen["optimisation.learning_rate"]))))
        ask_tell.study.tell(number, 50 - 10 * (rate + 3) ** 2 + noise * chance.standard_normal())
    return ask_tell


def test_a_gain_is_the_less_likely_the_larger_it_is_and_the_more_is_known() -> None:
    assert until.chances(asked(5, 0.0), [0.5]) is None
    few, many = (until.chances(asked(recipes, 1.0), [0.01, 0.5, 2.0]) for recipes in (10, 40))
    assert few is not None
    assert many is not None
    assert few == sorted(few, reverse=True)
    assert many[1] <= few[1]
    assert many[2] < until.IMPROBABLE
    assert few == until.chances(asked(10, 1.0), [0.01, 0.5, 2.0])


def test_the_draws_have_the_processs_mean_and_spread() -> None:
    process = _Process(np.zeros((1, 1, 1)), np.ones(1), np.array([0.0, 0.0, np.log(0.1)]))
    apart, among = np.array([[[0.0]], [[1e4]]]), np.array([[[0.0], [1e4]], [[1e4], [0.0]]])
    drawn = process.draws(apart, among, np.random.default_rng(0))
    assert drawn.mean(axis=0) == pytest.approx([1 / 1.1, 0.0], abs=0.1)
    assert drawn.var(axis=0) == pytest.approx([1 - 1 / 1.1, 1.0], rel=0.15)


def test_a_search_ends_by_itself_and_again_at_the_same_recipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, ledger, searcher = make(tmp_path, *ASKED, "--until", "0.5")
    assert plan.explored == 200
    key = plan.space.domains[0].key
    run_all(searcher, ledger, lambda task: 50 + 10 * float(task.recipe.flat().get(key, 0.05)))
    ended = len(searcher.explored)
    assert 10 <= ended < 100
    assert searcher.agenda.remaining == 0
    said = capsys.readouterr().out
    assert f"after {ended} recipes a further gain above 0.5 is " in said
    assert said.endswith("% likely: the search ends\n")
    for gain in ("0.5", "2"):
        again = make(tmp_path, *ASKED, "--until", gain)[2]
        assert (again.agenda.remaining, len(again.explored)) == (0, ended)
    assert make(tmp_path, *ASKED, "--until", "0.1")[2].remaining > 0
    assert make(tmp_path, *ASKED, "--trials", str(ended + 2))[2].remaining == 2


def test_what_may_still_be_gained_is_said_without_an_end_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, ledger, searcher = make(tmp_path, *ASKED, "--trials", "21")
    run_all(searcher, ledger, lambda task: 50 - abs(len(searcher.explored) - 9))
    assert len(searcher.explored) == 21
    said = capsys.readouterr().out
    assert [f"after {recipes} recipes a further gain above 0.5 is " in said for recipes in (10, 20)] == [True, True]
    assert "the search ends" not in said
    several = ["--space", "scl_tau", "--search", "optuna", "--goals", "sts,transfer", "--trials", "11"]
    _, ledger, searcher = make(tmp_path / "several", *several)
    run_all(searcher, ledger, lambda task: 50.0)
    assert "further gain" not in capsys.readouterr().out


def test_what_cannot_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--until is when Optuna has explored enough"):
        parse(["--space", "scl_tau", "--until", "0.5"])
    for wrong in ("0", "-1", "nan", "inf"):
        with pytest.raises(UserError, match="must be a gain above 0"):
            parse([*ASKED, f"--until={wrong}"])
    several = ["--space", "scl_tau", "--search", "optuna", "--goals", "sts,transfer", "--until", "1"]
    with pytest.raises(UserError, match="--until is a gain in one goal"):
        decide(read_request(parse([*several, "--results", str(tmp_path)])), 0)
    study = Study(space="scl_tau", search="optuna", results=tmp_path)
    assert parse(study.arguments(until=0.5)).until == 0.5
    assert parse([*ASKED]).trials == 20


def test_an_end_is_wrong_where_the_next_sixty_recipes_surpass_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark, "FURTHER", 2)
    one = {"table": "made", "gains": [0.5], "looks": [[1, [0.9]], [2, [0.01]]], "truth": [1.0, 3.0, 2.0, 3.4, 9.0]}
    assert benchmark.judged(one, 0) == (2, pytest.approx(0.4))
    better = {**one, "truth": [1.0, 3.0, 2.0, 4.0]}
    file = tmp_path / "found.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in (one, better)))
    assert "2 of 2" in benchmark.shown([one, better])
    assert "50 [" in benchmark.shown([one, better])
