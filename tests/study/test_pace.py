"""A study with a limit in minutes trains on a part of its rows where all of them would take most of the limit."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path

import pytest

from reports.ledger import StudyInfo
from reports.ledger.finals import SHARE
from search_spaces.limits import parse_limits
from study import pace
from study.cli.options import parse
from study.engine.cluster import Allotment
from study.pace import (
    FEWEST_ROWS,
    LEAST_TRAININGS,
    WANTED_TRAININGS,
    cut_to_limit,
    fitting_share,
    seconds_a_text,
    trained_texts,
)
from study.plan import Draft, Plan, decide
from study.trial import Resources
from tests.study import plans
from trainables.evaluation_config import parse_assignment
from trainables.recipe import SCENES_ENCODER

ROWS, SECONDS = 4000, 1.0
TWO, MANY = (Allotment(Resources(), places) for places in (2, 16))


@pytest.fixture(autouse=True)
def slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row takes so long that four minutes on two places have room for a fifth of a training."""
    monkeypatch.setattr(pace, "seconds_a_text", lambda *_: SECONDS / 10)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "pairs.csv"
    with path.open("w", newline="") as file:
        rows = [(f"question number {row}", f"answer of that number {row}") for row in range(ROWS)]
        csv.writer(file).writerows([("question", "answer"), *rows])
    return path


def plan_of(pairs: Path, results: Path, *more: str) -> Plan:
    train = ("--train", str(pairs), "--encoder", SCENES_ENCODER, "--results", str(results))
    return plans.plan_of(*train, *more)


@pytest.fixture(scope="module")
def too_long(pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A plan that has no room for all rows; nothing of it has run."""
    return plan_of(pairs, tmp_path_factory.mktemp("study") / "results", "--limit", "minutes=20")


@pytest.mark.parametrize(
    ("rows", "rooms", "scoring", "share"),
    [
        (100_000, LEAST_TRAININGS, 0.0, None),
        (100_000, 2 * LEAST_TRAININGS, 1.0, None),
        (100_000, LEAST_TRAININGS - 0.1, 0.0, (LEAST_TRAININGS - 0.1) / WANTED_TRAININGS),
        (100_000, LEAST_TRAININGS, 0.1, LEAST_TRAININGS / WANTED_TRAININGS - 0.1),
        (100_000, 0.4, 0.0, 0.05),
        (100_000, 0.0001, 0.0, FEWEST_ROWS / 100_000),
        (100_000, 0.4, 0.2, 0.2),
        (100_000, 0.4, 9.0, None),
        (FEWEST_ROWS, 0.1, 0.0, None),
        (FEWEST_ROWS // 2, 0.1, 0.0, None),
    ],
)
def test_what_is_left_has_room_for_a_search(rows: int, rooms: float, scoring: float, share: float | None) -> None:
    """In times of a training on all rows."""
    expected = None if share is None else pytest.approx(share, rel=0.03)
    assert fitting_share(rows, 60.0, 60.0 * scoring, 60.0 * rooms) == expected


@pytest.mark.parametrize(("minutes", "share"), [(10, 0.33), (28, 0.68), (60, None)])
def test_rows_for_parts_are_left_where_a_search_has_room(minutes: float, share: float | None) -> None:
    """A training takes 12 minutes and scoring one; on two places, with a batch of 64. The base alone must end."""
    assert fitting_share(3000, 12 * 60.0, 60.0, 2 * 60 * minutes, 2048) == share


def test_a_plan_trains_on_what_has_room(too_long: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    cut = cut_to_limit(too_long, TWO)
    again = decide(cut, 0)
    share = again.base.flat()[SHARE]
    assert isinstance(share, float)
    assert FEWEST_ROWS / ROWS < share < 1
    assert {recipe.flat().get(SHARE, share) for recipe in again.rows.values() if recipe is not None} == {share}
    assert f"--set {SHARE}={share:g}" in again.request.command
    assert "too long to search in 20 min: the study trains on" in capsys.readouterr().out


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--limit", "minutes=2000"),
        ("--limit", "minutes=4", "--set", f"{SHARE}=1"),
        ("--limit", "minutes=4", "--set", "optimisation.max_steps=5"),
        ("--limit", "minutes=4", "--search", "paper"),
    ],
)
def test_all_rows_stay(more: tuple[str, ...], too_long: Plan) -> None:
    assert cut_to_limit(decide(_draft_of(too_long, *more), 0), TWO) is None


def test_on_gpus_nothing_is_known_beforehand(too_long: Plan) -> None:
    assert cut_to_limit(too_long, TWO) is not None
    assert cut_to_limit(too_long, Allotment(Resources(gpus=1.0), 2)) is None


def test_texts_are_timed(too_long: Plan) -> None:
    assert 0 < seconds_a_text(too_long.base, ["a dog runs"] * 20, TWO) < 1


def test_of_several_negatives_as_many_are_trained_on_as_are_set() -> None:
    row = {"anchor": "a", "positive": ["b", "c"], "negative": ["d", "e", "f"]}
    assert trained_texts(row, 1) == ["a", "b", "c", "d"]
    assert trained_texts(row, None) == ["a", "b", "c", "d", "e", "f"]
    assert trained_texts({"sentence": "a", "label": "x"}, 1) == ["a"]


def test_more_places_do_not_make_a_training_shorter(too_long: Plan) -> None:
    two, many = (cut_to_limit(too_long, each) for each in (TWO, MANY))
    assert two.overrides == many.overrides


@pytest.mark.parametrize("more", [("--dry-run", "--limit", "minutes=20"), (), ("--search", "paper")])
def test_however_a_study_goes_on_it_keeps_its_share(more: tuple[str, ...], too_long: Plan, tmp_path: Path) -> None:
    cut = cut_to_limit(too_long, TWO)
    plan = dataclasses.replace(too_long, location=dataclasses.replace(too_long.location, folder=tmp_path))
    StudyInfo(plan.space.name, requests=[dict(cut.request.differing)]).save(plan.results)
    goes_on = cut_to_limit(dataclasses.replace(plan, draft=_draft_of(plan, *more)), TWO)
    assert goes_on.overrides == cut.overrides


def _draft_of(plan: Plan, *more: str) -> Draft:
    """The plan's draft, of another command for the same data."""
    request = parse(["--train", *plan.request.train, "--encoder", *plan.request.encoder, *more])
    fixed = dict(map(parse_assignment, request.set))
    overrides, limits = {**plan.draft.overrides, **fixed}, parse_limits(request.limit)
    return dataclasses.replace(plan.draft, request=request, limits=limits, fixed=fixed, overrides=overrides)
