"""What a goal's text means, what it is judged by, and which texts are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from search_spaces.goals import GOALS, SELECTION, Goal, searched, values_of
from search_spaces.space import Space
from trainables.errors import UserError
from trainables.recipe import Recipe
from trainables.senteval.tasks import TASKS, Task

SCORES = {
    "mine": {"dev_accuracy": 80.0, "test_accuracy": 70.0},
    "STSBenchmark": {"dev_spearman_cosine": 50.0, "dev_pearson_regressor": 40.0, "test_spearman_cosine": 30.0},
}


@pytest.fixture(autouse=True)
def mine() -> Iterator[None]:
    TASKS.add(Task("mine", "split", "table", ("train.tsv", "dev.tsv", "test.tsv")))
    yield
    TASKS.remove("mine")


@pytest.mark.parametrize(
    ("texts", "names", "values", "tested"),
    [
        ("mine", ["mine"], [80.0], [70.0]),
        ("mine.accuracy", ["mine.accuracy"], [80.0], [70.0]),
        ("mine.dev_accuracy", ["mine.dev_accuracy"], [80.0], [70.0]),
        ("STSBenchmark.pearson_regressor", ["STSBenchmark.pearson_regressor"], [40.0], [None]),
        ("mine, sts", ["mine", "sts"], [80.0, 50.0], [70.0, 30.0]),
        ("mine*2,sts", ["mine*2+sts"], [70.0], [(2 * 70 + 30) / 3]),
        ("mine*2+sts", ["mine*2+sts"], [70.0], [(2 * 70 + 30) / 3]),
        ("mine*0.5,sts*0.5,seconds", ["mine*0.5+sts*0.5", "seconds"], [65.0, 9.0], [50.0, None]),
        ("mine*3", ["mine"], [80.0], [70.0]),
        ("mine,seconds,encode_ms", ["mine", "seconds", "encode_ms"], [80.0, 9.0, 2.5], [70.0, None, None]),
    ],
)
def test_a_text_is_a_goal(texts: str, names: list[str], values: list[float], tested: list[float | None]) -> None:
    goals = searched(texts.split(","))
    assert [goal.name for goal in goals] == names
    assert values_of(goals, SCORES, {"seconds": 9.0, "encode_ms": 2.5}) == pytest.approx(values)
    assert [goal.test_of(SCORES) for goal in goals] == [value and pytest.approx(value) for value in tested]
    assert searched(names) == goals  # what a study keeps is read as it was meant
    space = Space("own", "", "", Recipe(), goals=tuple(texts.split(",")))
    assert space.goals == tuple(names)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("mine.test_accuracy", "mine.test_accuracy is a test number, and a search must not look at it; take "
         "mine.accuracy (dev_accuracy)"),
        ("STSBenchmark.test_spearman_regressor", "take STSBenchmark.spearman_cosine (dev_spearman_cosine) or "
         "STSBenchmark.pearson_regressor (dev_pearson_regressor)"),
        ("STS12.spearman_all", "STS12.spearman_all is a test number, and a search must not look at it, and STS12 has"),
        ("STS12", "STS12 has no development number to look for"),
        ("ImageCaptionRetrieval", "no development number that stands for it; take ImageCaptionRetrieval.recall"),
        ("mine.f2", "mine has no development number called dev_f2; take mine.accuracy (dev_accuracy)"),
        ("mnie", "no goal is called 'mnie'; did you mean 'mine'?"),
        ("mine*", "'mine*' needs a number above 0 behind the star, as in mine*2"),
        ("mine*-1,sts", "'mine*-1' needs a number above 0"),
        ("mine,seconds*2", "seconds is a cost, in s, and has no weight among scores; write seconds"),
        ("mine,mine", "names a goal twice: 'mine'"),
        ("mine,mine.accuracy", "mine and mine.accuracy are one goal; name it once"),
        ("sts,STSBenchmark", "sts and STSBenchmark are one goal"),
    ],
)  # fmt: skip
def test_what_is_no_goal_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(UserError, match="^" + re.escape(f"--goals {text}") + ".*" + re.escape(sentence)):
        searched(text.split(","), f"--goals {text}")


def test_a_goal_says_what_it_is_judged_by() -> None:
    """Its own tasks' test numbers, unless it says others; a number of a test part is never looked for."""
    assert searched(["mine"])[0].test_weights == {("mine", "test_accuracy"): 1.0}
    held_out = Goal("held", "held out", ("STSBenchmark",), judged_by=(("mine", "test_accuracy"),))
    assert held_out.test_weights == {("mine", "test_accuracy"): 1.0}
    assert (held_out.of(SCORES, {}), held_out.test_of(SCORES)) == (50.0, 70.0)
    assert held_out.needs == {"STSBenchmark"}
    with pytest.raises(UserError, match=r"goal 'mine': mine\.test_accuracy is a test number"):
        Goal("mine", "mine", ("mine",), "test_accuracy")
    with pytest.raises(UserError, match="goal 'mine', judged_by: no number of mine is called 'test_accurcy'"):
        Goal("mine", "mine", ("mine",), judged_by=(("mine", "test_accurcy"),))
    with pytest.raises(UserError, match="its parts must be scores, and have a weight each or none"):
        Goal("both", "both", parts=(SELECTION, GOALS["seconds"]))


def test_weighted_parts_must_all_be_there() -> None:
    """A mean of what is left would set one trial's mean beside another's single score."""
    (goal,) = searched(["mine*2", "sts"])
    assert goal.of({"mine": SCORES["mine"]}, {}) is None
