"""A request: options by their fields, and what a study that goes on keeps of the one before."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from reports.ledger.request import OPTIONS, Request, merge
from study.cli.options import parse
from trainables.errors import UserError

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
        ("--space x --seeds 3", "--space x --search grid", "--space x --seeds 3 --search grid"),
        ("--space x --seeds 1:4", "--space x --seeds 2", "--space x --seeds 2:4"),
        ("--train a.csv --encoder e --trials 9", "--train a.csv --encoder e", "--train a.csv --encoder e --trials 9"),
        ("--train a.csv --encoder e --trials 9", "--space ./space.py", "--space ./space.py --search optuna --trials 9"),
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
