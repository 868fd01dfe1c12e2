"""How a model is scored: a value apart from its recipe, on the same keys."""

from __future__ import annotations

import json

import pytest

from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig, all_keys, evaluation_keys, parse_assignment, split
from trainables.recipe import Recipe, keys


def test_it_is_no_part_of_a_recipe_and_of_no_hash() -> None:
    assert not {*keys()} & {*evaluation_keys()}
    assert {**keys(), **evaluation_keys()} == all_keys()
    with pytest.raises(UserError, match="not a key of a recipe"):
        Recipe().override({"evaluation.protocol": "fast"})


def test_it_survives_json() -> None:
    config = EvaluationConfig("data", ("STS12", "MR"), "fast", "topics")
    assert EvaluationConfig.from_flat(json.loads(json.dumps(config.flat()))) == config
    assert EvaluationConfig().override({"evaluation.protocol": "fast"}) == EvaluationConfig(protocol="fast")


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("evaluation.protocol", "quick", "evaluation.protocol must be 'full' or 'fast', not 'quick'"),
        ("evaluation.tasks", "STS12", "evaluation.tasks must be a list of names, not 'STS12'"),
        ("evaluation.protocl", "fast", "'evaluation.protocl' is not a key of an evaluation; did you mean"),
    ],
)
def test_what_cannot_be_is_refused(key: str, value: object, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        EvaluationConfig().override({key: value})
    assert str(refused.value).startswith(sentence)


def test_assignments_of_both_kinds() -> None:
    given = dict(map(parse_assignment, ["tau=0.1", " evaluation.tasks = sts, MR,", "evaluation.protocol=fast"]))
    assert split(given) == (
        {"objective.temperature": 0.1},
        {"evaluation.tasks": ("sts", "MR"), "evaluation.protocol": "fast"},
    )
    with pytest.raises(UserError, match="no '='"):
        parse_assignment("evaluation.tasks")
