"""A request: options by their fields, and what a study that goes on keeps of the one before."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import Any

import pytest

from reports.ledger.request import OPTIONS, PATH_OPTIONS, Request, merge
from study.cli.options import parse
from tests.synthetic_results import make_results
from trainables.errors import UserError

OWN = "--train a.csv --encoder e"
SEARCH = "--space x --search optuna --trials 50 --scheduler asha --rungs 8 --finals 2x3 --learning-curve"


@pytest.mark.parametrize(
    ("before", "now", "merged"),
    [
        (SEARCH, "--space x --limit seconds=9", f"{SEARCH} --limit seconds=9"),
        (SEARCH, "--space x --search paper", SEARCH),
        (SEARCH, "--space x --only a", "--space x --only a"),
        (SEARCH, f"{SEARCH} --trials 70", f"{SEARCH} --trials 70"),
        (SEARCH, "--space x --search optuna --scheduler none", f"{SEARCH.replace('asha --rungs 8', 'none')}"),
        (SEARCH, "--space x --search optuna --finals none", "--space x --search optuna --trials 50 --scheduler asha "
         "--rungs 8 --finals none"),
        (SEARCH, "--space x --search grid", SEARCH.replace("optuna --trials 50", "grid")),
        ("--space x --seeds 3", "--space x --search grid", "--space x --search grid"),
        ("--space x --search grid --seeds 1:4", "--space x --seeds 2", "--space x --search grid --seeds 2:4"),
        (f"{OWN} --trials 9", OWN, f"{OWN} --trials 9"),
        (f"{OWN} --trials 9", "--space ./space.py", "--space ./space.py --search optuna --trials 9"),
        (f"{OWN} --finals 3x5 --trials 50", f"{OWN} --only a", f"{OWN} --only a --finals 3x5 --trials 50"),
        ("--space x --search optuna --finals none", "--space x --search optuna --learning-curve",
         "--space x --search optuna --learning-curve"),
        (f"{OWN} --search grid", f"{OWN} --trials 50 --sampler random", f"{OWN} --trials 50 --sampler random"),
        (f"{OWN} --search paper", OWN, OWN),
        ("--space x --seeds 5", "--space x --seeds 1", "--space x"),
        ("--space x --search optuna --seeds 5", "--space x --seeds 1", "--space x --search optuna --seeds 5"),
    ],
)  # fmt: skip
def test_a_study_goes_on_with_what_a_command_leaves_out_of_the_search(before: str, now: str, merged: str) -> None:
    request = merge(*(parse(shlex.split(words)) for words in (before, now)))
    assert request == parse(shlex.split(merged))
    request.check()


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"trails": 3}, "there is no option 'trails'; the options are "),
        ({"trials": "many"}, "--trials must be a whole number, not 'many'"),
        ({"trials": True}, "--trials has text or numbers for values, not True"),
        ({"only": [{}]}, "--only has text or numbers for values, not {}"),
        ({"dry_run": "yes"}, "--dry-run is true or false, not 'yes'"),
        ({"scale": "huge"}, "--scale must be 'auto', 'paper' or 'laptop', not 'huge'"),
    ],
)
def test_what_is_no_option_or_no_value_is_said(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=f"^{sentence.replace('{}', '.*')}"):
        Request.of(values)


def test_defaults_are_left_out() -> None:
    assert Request().differing == {}
    assert Request.of({"seeds": 1, "workers": "1:1", "keep_models": "rows", "trials": None}) == Request()
    assert Request.of({name: option.json(option.default) for name, option in OPTIONS.items() if option.default})


def test_none_leaves_out_finals_and_schedulers_alone() -> None:
    Request.of({"space": "x", "scheduler": "none", "finals": "none"}).check()
    with pytest.raises(UserError, match="--sampler"):
        Request.of({"space": "x", "sampler": "none"}).check()


def test_a_search_of_some_rows_is_what_a_study_goes_on_with(tmp_path: Path) -> None:
    commands = ["--space x", "--space x --only a --search optuna --trials 9", "--space x --only a"]
    info = make_results(tmp_path)
    requests = [dict(parse(shlex.split(words)).values) for words in commands]
    assert dataclasses.replace(info, requests=requests).searched_by == parse(shlex.split(commands[1]))


@pytest.mark.parametrize("name", PATH_OPTIONS)
def test_an_option_that_is_given_nothing_is_named(name: str) -> None:
    """As by a variable of the shell that is not set."""
    nothing = ("",) if isinstance(getattr(Request(), name), tuple) else ""
    with pytest.raises(UserError, match=f"--{name} is empty"):
        dataclasses.replace(Request(), **{name: nothing}).check()
