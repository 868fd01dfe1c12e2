"""Several workers equal one: two, three and four gloo processes on the CPU against a single one, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.gloo_worker import BATCHES, OBJECTIVE_CASES, places_of, run, sentences_of
from trainables.training.distributed import Workers
from trainables.training.gradients import BUCKET_BYTES

pytestmark = pytest.mark.xdist_group("gloo")

FROZEN = ("frozen.weight", "frozen.bias")
EXACT = {"rtol": 1e-10, "atol": 1e-10}

Answers = dict[int, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def alone() -> dict[str, Any]:
    return {
        job: run(job, Workers()) for job in ("losses", "steps", "low_rank", "buckets", "resumes", "keeps", "mixtures")
    }


@pytest.mark.parametrize("workers", [2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_loss_and_gradients_equal_one_worker(workers: int, gloo_answers: Answers, alone: dict[str, Any]):
    """Of every objective; torch names the one that differs."""

    def of_cases(losses: dict[str, dict[str, Any]], what: str) -> dict[str, Any]:
        return {case: answer[what] for case, answer in losses.items()}

    expected = alone["losses"]
    assert len(expected) == len(OBJECTIVE_CASES) * 2
    assert {case.partition(" ")[2] for case in expected} == {*BATCHES}
    for case, gradients in of_cases(expected, "gradients").items():
        assert not case.endswith("odd number of sentences") or any((each != 0).any() for each in gradients), case
    for answer in gloo_answers[workers]:
        own = {case: expected[case] for case in answer["losses"]}
        assert len(own) >= len(expected) // (3 if workers == 3 else 1)
        for what in ("loss", "gradients"):
            torch.testing.assert_close(of_cases(answer["losses"], what), of_cases(own, what), **EXACT)
        assert of_cases(answer["losses"], "counts") == of_cases(own, "counts")


def test_without_the_gather_they_would_differ(gloo_answers: Answers, alone: dict[str, Any]):
    """The negative control: each worker contrasts within its own half only."""
    expected = alone["losses"]["0 odd number of sentences"]
    ours = gloo_answers[2][0]["halves"]
    assert abs(ours["loss"] - expected["loss"]) > 1e-3
    with pytest.raises(AssertionError):
        torch.testing.assert_close(ours["gradients"], expected["gradients"], rtol=1e-3, atol=1e-3)


def test_three_steps_of_training_end_at_the_same_parameters(gloo_answers: Answers, alone: dict[str, Any]):
    expected = alone["steps"]
    assert expected["sums"]["pairs"] == 13
    for rank, answer in enumerate(gloo_answers[2]):
        ours = answer["steps"]
        torch.testing.assert_close(ours["parameters"], expected["parameters"], rtol=1e-9, atol=1e-9)
        assert ours["sums"] == pytest.approx(expected["sums"], rel=1e-10)
        assert ours["told"] == (3 if rank == 0 else 0)
        assert ours["rungs"] == expected["rungs"] == 2


def test_lora_is_trained_alike(gloo_answers: Answers, alone: dict[str, Any]):
    expected = alone["low_rank"]
    moved = [not torch.equal(now, was) for now, was in zip(expected["parameters"], expected["first"], strict=True)]
    assert sum(moved) > 2 * 12
    for ours in (alone["low_rank"], *(answer["low_rank"] for answer in gloo_answers[2])):
        assert ours["frozen"]
        torch.testing.assert_close(ours["parameters"], expected["parameters"], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", ["1", "300", str(BUCKET_BYTES), "rows"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_buckets_add_up_to_the_plain_sum(workers: int, size: str, gloo_answers: Answers, alone: dict[str, Any]):
    """Of gradients of all sizes, tied, frozen and unused, in two steps; the last of several workers has no sentence."""
    answers = [alone["buckets"]] if workers == 1 else [answer["buckets"] for answer in gloo_answers[workers]]
    for rank, answer in enumerate(answers):
        for actual, plain, single in zip(
            answer[size]["steps"], answer["plain"], alone["buckets"]["plain"], strict=True
        ):
            # Two numbers have one sum; the order of three follows their place in a bucket.
            torch.testing.assert_close(
                actual, plain, rtol=0 if workers < 3 else 1e-14, atol=0 if workers < 3 else 1e-14
            )
            torch.testing.assert_close(actual, single, **EXACT)
            assert all(
                (gradient != 0).any()
                for name, gradient in actual.items()
                if "unused" not in name and name not in FROZEN
            )
        assert answer[size]["frozen"] is None
        assert answer[size]["hooks"] == 0
        if workers > 1:
            with pytest.raises(AssertionError):  # the negative control: what it would be without the exchange
                torch.testing.assert_close(answer["own"], answer["plain"], rtol=1e-3, atol=1e-3)
            assert (answer[size]["buckets"] > 1) == (size != str(BUCKET_BYTES))
            assert (answer[size]["rows"] != [[], []]) == (size == "rows")
            sent = answer[size]["sent early"]
            if rank == 0 and size == "1":
                assert min(sent) >= 3, "buckets travel before the last gradient is there"


@pytest.mark.parametrize("workers", [2, 3])
def test_only_rows_with_a_gradient_travel(workers: int, gloo_answers: Answers):
    """Of 50 places those that some worker looks up, of 13 unused ones none, of tied words all 12."""
    answers = [answer["buckets"] for answer in gloo_answers[workers]]
    for step in range(2):
        looked_up = len(places_of(sentences_of(step)).unique())
        own = [int(answer["own"][step]["places.weight"].any(dim=1).sum()) for answer in answers]
        assert 0 == own[-1] < own[0] <= looked_up < 25
        assert (own[0] < looked_up) == (workers == 3)
        assert [sorted(answer["rows"]["rows"][step]) for answer in answers] == [[0, 12, looked_up]] * workers
        wrong = {
            name
            for answer in answers
            for name, expected in answer["rows"]["steps"][step].items()
            if not torch.allclose(answer["a row is dropped"]["steps"][step][name], expected, rtol=1e-3)
        }
        assert wrong == {"places.weight"}, "the negative control"


@pytest.mark.parametrize("step", ["3", "7", "12"])
@pytest.mark.parametrize("workers", [1, 2])
def test_resumed_equals_unbroken(workers: int, step: str, gloo_answers: Answers, alone: dict[str, Any]):
    """To the last bit, with dropout, and over the ends of epochs of 3 steps."""
    for answer in [alone["resumes"]] if workers == 1 else [answer["resumes"] for answer in gloo_answers[workers]]:
        whole, resumed = answer["unbroken"], answer[step]
        assert resumed.pop("saved") == int(step)
        assert whole["step"] == 12
        assert whole["streams"] == workers
        state = resumed.pop("state")
        assert all(torch.equal(value, whole["state"][name]) for name, value in state.items())
        assert resumed == {name: value for name, value in whole.items() if name != "state"}


@pytest.mark.parametrize("batches", ["one", "mixed"])
def test_a_mixture_of_corpora(batches: str, gloo_answers: Answers, alone: dict[str, Any]):
    """Resumed to the last bit; on two workers as on one."""
    expected = alone["mixtures"][batches]["whole"]
    assert expected["step"] == 12
    for answer in (alone, *gloo_answers[2]):
        whole, resumed = (answer["mixtures"][batches][name] for name in ("whole", "resumed"))
        assert all(torch.equal(value, whole["state"][name]) for name, value in resumed["state"].items())
        assert resumed["sums"] == whole["sums"]
        torch.testing.assert_close(whole["state"], expected["state"], rtol=1e-9, atol=1e-9)


def test_dropout_follows_the_worker(gloo_answers: Answers, alone: dict[str, Any]):
    """What `streams` warns of: with dropout the number of workers decides about the result."""
    single, two = alone["resumes"]["unbroken"], gloo_answers[2][0]["resumes"]["unbroken"]
    assert abs(single["last loss"] - two["last loss"]) > 1e-3


@pytest.mark.parametrize("name", ["sgd", "adamw"])
def test_one_worker_then_two_then_one_equal_one(name: str, gloo_answers: Answers):
    """Without dropout, in float64. Two workers add the same numbers up in another order, so that each step differs by
    some 1e-16; 1e-9 leaves room for what later steps make of it, AdamW's division by small gradients first of all."""
    actual = gloo_answers[2][0]["elastic"][name]
    torch.testing.assert_close(actual["resized"]["state"], actual["unbroken"]["state"], rtol=1e-9, atol=1e-9)
    assert actual["resized"]["sums"] == pytest.approx(actual["unbroken"]["sums"], rel=1e-9)
    assert actual["resized"]["step"] == actual["unbroken"]["step"] == 12
    assert actual["resized"]["streams"] is actual["unbroken"]["streams"] is None


@pytest.mark.parametrize("keep", ["last", "best", "average"])
def test_all_workers_keep_what_one_keeps(keep: str, gloo_answers: Answers, alone: dict[str, Any]):
    """The score is the first worker's, of embeddings that both computed."""
    expected, last = alone["keeps"][keep], alone["keeps"]["last"]
    first, second = (answer["keeps"][keep] for answer in gloo_answers[2])
    torch.testing.assert_close(first["state"], expected["state"], rtol=1e-9, atol=1e-9)
    assert all(torch.equal(value, second["state"][name]) for name, value in first["state"].items())
    assert first["kept"] == second["kept"]
    if keep == "best":
        assert (expected["kept"]["step"], first["step"], second["step"]) == (6, 10, 10), (
            "after two scores without a gain"
        )
        assert first["kept"] == {**expected["kept"], "score": pytest.approx(expected["kept"]["score"], abs=1e-5)}
    else:
        assert first["kept"] == expected["kept"]
    assert (keep == "last") == torch.equal(
        expected["state"]["encoder.layer.weight"], last["state"]["encoder.layer.weight"]
    )


def test_a_mean_over_workers_would_differ(gloo_answers: Answers):
    """The negative control of the test above."""
    actual = gloo_answers[2][0]["elastic"]["averaged"]
    with pytest.raises(AssertionError):
        torch.testing.assert_close(actual["resized"]["state"], actual["unbroken"]["state"], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_exchanges(workers: int, gloo_answers: Answers):
    answers = (
        [run("exchanges", Workers())] if workers == 1 else [answer["exchanges"] for answer in gloo_answers[workers]]
    )
    shares = {1: [[2, 0, 1]], 2: [[2, 0], [1]], 3: [[2, 0], [], [1]]}[workers]
    weights = workers * torch.arange(6.0).reshape(3, 2) + 100 * sum(range(workers))
    for rank, answer in enumerate(answers):
        assert answer["gathered"].tolist() == [[0.0, 0.0], [1.0, 10.0], [2.0, 20.0]]
        assert answer["gradient"].tolist() == weights[shares[rank]].reshape(-1, 2).tolist()
        assert answer["total"].tolist() == [sum(range(workers)), workers]
        assert answer["from first"] == ["a", None]
        assert answer["beside"] == [workers] + [workers - 1] * (workers > 1)
        if rank:
            assert answer["arrays"] is None
        else:
            assert [array.tolist() for array in answer["arrays"]] == [
                np.full((r, 2), r).tolist() for r in range(workers)
            ]


@pytest.mark.parametrize("workers", [2, 3])
def test_workers_evaluate_together_and_stay_in_step(workers: int, gloo_answers: Answers):
    """Also where the evaluation has no data to ask for, or fails before it asks."""
    first, *others = (answer["evaluations"] for answer in gloo_answers[workers])
    assert first["encoded"][:, 0].tolist() == [3, 1, 4, 15, 9]
    assert set(first["encoded"][:, 1].tolist()) == set(range(workers))
    assert first["nothing"] == "nothing asked"
    assert first["refused"] == "broken"
    assert first["few"].tolist() == first["half"].tolist() == [[3.0, 0.0]]
    assert first["documents"].tolist() == [[n, 100] for n in (3, 1, 4, 15, 9)]
    cases = ("encoded", "nothing", "refused", "few", "half", "documents")
    for other in others:
        assert other == dict.fromkeys(cases) | {"after": "still in step"}


@given(st.lists(st.integers(1, 60), max_size=50), st.integers(1, 7))
def test_shares_are_a_partition_with_alike_many_tokens(lengths: list[int], workers: int):
    shares = [Workers(rank, workers).share(lengths) for rank in range(workers)]
    assert all(share == shares[0] for share in shares)
    assert sorted(i for share in shares[0] for i in share) == list(range(len(lengths)))
    tokens = [sum(lengths[i] for i in share) for share in shares[0]]
    assert max(tokens) - min(tokens) <= max(lengths, default=0)
