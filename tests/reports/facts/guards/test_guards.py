"""Guards: each finds what it is for, forbids the verdicts that it must, and stays silent on a clean study.

Here what they share, conditions and copies; `guards/test_scores.py` has those that look at scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reports.facts.guards import GUARDS, Flag, Flags, Guard, alike, find_flags, grouped, sentence
from reports.facts.results import Results
from reports.ledger import LEDGER, Ledger, StudyInfo
from reports.testing import changed
from tests.guarded import (
    AUGMENT,
    BASELINE,
    LAMBDA,
    SCL,
    SEEDS,
    between,
    clean_study,
    flags_of,
    labels,
    load,
    put,
    rename,
    rewrite,
)
from trainables.errors import UserError

OTHERS = "`SBERT baseline`, `3p3n-Augment` and `3palln-lambda1.0-SCL`"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return clean_study(tmp_path / "results")


def test_a_clean_study_has_no_flags(folder: Path):
    assert find_flags(Results.load(folder)).all == ()


def test_rows_without_training_have_no_steps(folder: Path):
    rename(folder, SCL, optimisation__epochs=0)
    rewrite(folder, lambda r: dataclasses.replace(r, training={"stopped": None}), SCL)
    assert find_flags(Results.load(folder)).all == ()


VERSIONS = "trainables {} torch 2.13.0 transformers 5.23.0"
CONDITIONS: list[tuple[str, dict[str, Any], str]] = [
    ("code", {"versions": {"trainables": "bbbb2222"}},
     f"`{SCL}`: {VERSIONS.format('bbbb2222')}; all others: {VERSIONS.format('aaaa1111')}"),
    ("code", {"versions": {"plugins": "cccc3333"}},
     f"`{SCL}`: {VERSIONS.format('aaaa1111 plugins cccc3333')}; all others: {VERSIONS.format('aaaa1111')}"),
    ("data", {"data": {"senteval": {"source": "x", "fingerprint": "other"}}}, f"others in `{SCL}`"),
    ("data", {"data": {"corpus": {"source": "scenes", "fingerprint": None}}}, f"`{SCL}`: unknown"),
    ("encoder", {"data": {"encoder": {"name": "e", "fingerprint": "beef", "fresh": []}}}, f"others in `{SCL}`"),
    ("steps", {"training": {"steps": 204}}, f"90 in {OTHERS} to 204 in `{SCL}`"),
    ("steps", {"training": {"steps": None}}, f"90 in {OTHERS}; `{SCL}`: unknown"),
    ("tokens", {"training": {"tokens": 70_000}}, f"70,000 in `{SCL}` to 90,000 in {OTHERS}"),
    ("hardware", {"machine": {"processor": "Xeon", "device": "H100"}}, f"`{SCL}`: H100, Xeon; all others: 2 cores"),
    ("streams", {"training": {"streams": 2}, "cost": {"crew": {}}}, f"`{SCL}`: 2 workers; all others: 1 worker"),
]  # fmt: skip


@pytest.mark.parametrize(("guard", "parts", "details"), CONDITIONS)
def test_a_condition_that_differs_stands_between_two_rows(
    folder: Path, guard: str, parts: dict[str, Any], details: str
):
    if guard == "streams":
        rewrite(folder, put(training={"streams": 1}, cost={"crew": {}}))
    rewrite(folder, put(**parts), SCL)
    (flag,) = flags_of(folder, guard)
    assert (labels(folder, flag), flag.kind) == ({SCL}, "different")
    assert f"({details}): " in sentence(load(folder), flag)
    assert guard in between(folder, SCL, BASELINE) & between(folder, SCL, AUGMENT)
    assert between(folder, AUGMENT, BASELINE) == set()  # neither is touched


def test_a_record_without_its_version_is_no_better_than_other_code(folder: Path):
    rewrite(folder, lambda record: dataclasses.replace(record, versions={}), SCL, seed=2)
    (flag,) = flags_of(folder, "code")
    assert len(flag.parts[0]["unknown"]) == 1
    assert between(folder, SCL, BASELINE) == {"code"}
    rewrite(folder, lambda record: dataclasses.replace(record, versions={}))
    assert [flag.kind for flag in flags_of(folder, "code")] == ["unknown"]
    assert between(folder, AUGMENT, BASELINE) == {"code"}


def test_mixed_code_within_a_row_and_the_same_mixture_in_every_row(folder: Path):
    """Seeds of one row ran other code: the row is not one thing any more. Where all rows did, none is at odds."""
    rewrite(folder, put(versions={"trainables": "bbbb2222"}), SCL, seed=3)
    assert between(folder, SCL, BASELINE) == {"code"}
    rewrite(folder, put(versions={"trainables": "bbbb2222"}), seed=3)
    (flag,) = flags_of(folder, "code")
    assert flag.parts[0]["usual"][2] == (3, VERSIONS.format("bbbb2222"))
    assert f"seed 3 {VERSIONS.format('bbbb2222')}" in sentence(load(folder), flag)
    assert between(folder, SCL, BASELINE) == set()


@pytest.mark.parametrize(
    ("guard", "number", "apart"),
    [("steps", 94, False), ("steps", 95, True), ("steps", 85, True), ("tokens", 99_000, False),
     ("tokens", 101_000, True)],
)  # fmt: skip
def test_budgets_may_be_a_little_apart(folder: Path, guard: str, number: int, apart: bool):
    rewrite(folder, put(training={guard: number}), SCL)
    assert bool(flags_of(folder, guard)) == apart


def test_vectors_made_before_have_no_tokens(folder: Path):
    rewrite(folder, put(training={"tokens": 5000, "sentences": 5000}))
    (flag,) = flags_of(folder, "tokens")
    assert (flag.kind, flag.recipes) == ("vectors", frozenset())


def test_other_encoders_by_the_recipe_are_flagged_and_forbid_nothing(folder: Path):
    rename(folder, SCL, encoder__name="other/model")
    rewrite(folder, put(data={"encoder": {"name": "other/model", "fingerprint": "beef", "fresh": []}}), SCL)
    (flag,) = flags_of(folder, "encoder")
    assert (labels(folder, flag), flag.kind, flag.blocks) == ({SCL}, "asked", False)
    assert between(folder, SCL, BASELINE) == set()


@pytest.mark.parametrize("change", [{"pooling__mode": "cls"}, {"encoder__max_length": 40}])
def test_an_encoder_is_another_by_its_fingerprint_where_the_recipe_says_so(folder: Path, change: dict[str, Any]):
    """The digits follow from pooling, length and padding too: rows that differ in these do not differ by mistake."""
    rename(folder, SCL, **change)
    rewrite(folder, put(data={"encoder": {"name": "e", "fingerprint": "beef", "fresh": []}}), SCL)
    assert flags_of(folder, "encoder") == []


def test_an_encoder_that_is_drawn_anew_for_each_seed(folder: Path) -> None:
    for seed in SEEDS:
        drawn = {"name": "e", "fingerprint": f"{seed:016x}", "fresh": []}
        rewrite(folder, put(data={"encoder": drawn}), SCL, seed=seed)
    (flag,) = flags_of(folder, "encoder")
    assert f"(from seed to seed in `{SCL}`)" in sentence(load(folder), flag), "digits tell a reader nothing"


def test_precision(folder: Path):
    rename(folder, SCL, optimisation__precision="bf16")
    assert between(folder, SCL, BASELINE) == {"precision"}
    rename(folder, AUGMENT, encoder__precision="bf16")
    assert between(folder, AUGMENT, BASELINE) == {"precision"}
    rewrite(folder, put(hardware="1 node, 2 CPUs, no GPU (Xeon)"))
    rename(folder, SCL, optimisation__precision="fp32")
    assert between(folder, SCL, BASELINE) == set(), "auto is fp32 where there is no GPU"


OWN = {"processor": "Xeon", "device": "H100", "bf16": True}
XEON = {"hardware": "1 node, 2 CPUs, no GPU (Xeon)"}


@pytest.mark.parametrize(
    ("every", "parts", "guards"),
    [
        (XEON, {"hardware": "1 node, 64 CPUs, 2 GPUs (Xeon)"}, {"hardware", "precision"}),
        ({"machine": OWN}, {"hardware": "2 nodes, 16 CPUs, 2 GPUs (Xeon, H100, T4)"}, set()),  # of no matter
        ({"machine": OWN}, {"machine": {**OWN, "device": "T4", "bf16": False}}, {"hardware", "precision"}),
        ({"machine": OWN}, {"machine": {**OWN, "device": "A100"}}, {"hardware"}),  # both trained in bf16
    ],
)
def test_machines(folder: Path, every: dict[str, Any], parts: dict[str, Any], guards: set[str]):
    rewrite(folder, put(**every))
    rewrite(folder, put(**parts), SCL)
    assert between(folder, SCL, BASELINE) == guards


def test_another_protocol_is_flagged(folder: Path):
    rewrite(folder, put(protocol="full"), SCL)
    (flag,) = flags_of(folder, "protocol")
    assert (flag.kind, flag.facts, flag.blocks) == ("protocol", {"study": "fast", "trials": {"full": 3}}, False)
    assert "`full` (3 trials)" in sentence(load(folder), flag)


def copy_trial(folder: Path, source: tuple[str, int], target: tuple[str, int], training: bool = True) -> None:
    """Give a trial another trial's scores and predictions, and its training, too."""
    ledger, rows = Ledger(folder / LEDGER), StudyInfo.load(folder).row_hashes
    first = ledger.get(rows[source[0]] or "", source[1])
    second = ledger.get(rows[target[0]] or "", target[1])
    changes: dict[str, Any] = {"scores": first.scores} | ({"training": first.training} if training else {})
    ledger.write(changed(second, **changes))
    (folder / second.predictions[0]).write_bytes((folder / first.predictions[0]).read_bytes())


def test_a_seed_that_repeats_another_is_a_copy(folder: Path):
    copy_trial(folder, (SCL, 1), (SCL, 2))
    (flag,) = flags_of(folder, "seeds")
    assert (labels(folder, flag), flag.kind, flag.facts) == ({SCL}, "repeated", {"seeds": [(1, 2)]})
    assert "(seeds 1 and 2)" in sentence(load(folder), flag)
    assert between(folder, SCL, BASELINE) == {"seeds"}
    assert between(folder, AUGMENT, BASELINE) == set()
    rename(folder, SCL, optimisation__epochs=0)
    assert flags_of(folder, "seeds") == [], "rows that no seed changes may repeat themselves"


def test_missing_seeds_are_flagged_and_one_seed_is_no_wider_interval(folder: Path):
    """It was said that its intervals are wider and verdicts stand: they leave the seeds out, and there is none."""
    rows = StudyInfo.load(folder).row_hashes
    for row, seeds in ((SCL, (2, 3)), (LAMBDA, (3,))):
        for seed in seeds:
            (folder / LEDGER / f"{rows[row]}-{seed}.json").unlink()
    single, fewer = flags_of(folder, "seeds")
    assert [(labels(folder, flag), flag.kind) for flag in (single, fewer)] == [({SCL}, "single"), ({LAMBDA}, "fewer")]
    assert fewer.facts == {"least": 2, "most": 2, "planned": 3}
    assert f"`{LAMBDA}` has 2 of the study's 3 seeds" in sentence(load(folder), fewer)
    assert f"`{SCL}` has 1 of the study's 3 seeds" in sentence(load(folder), single)
    assert not single.blocks  # the verdict is "undecided: one seed"
    assert between(folder, SCL, BASELINE) == set()


@pytest.mark.parametrize("how", ["in effect", "another loss", "only one seed", "the whole record"])
def test_two_recipes_with_the_same_scores(folder: Path, how: str):
    """Of one recipe in effect only the comparison of the two is worthless; of a copied trial none can be judged."""
    for seed in SEEDS[:1] if how == "only one seed" else SEEDS:
        copy_trial(folder, (SCL, seed), (LAMBDA, seed), training=how != "another loss")
    if how == "the whole record":
        rewrite(folder, put(cost={"seconds": 77.125}, finished_at="2026-01-01T00:00:09Z"), SCL)
        rewrite(folder, put(cost={"seconds": 77.125}, finished_at="2026-01-01T00:00:09Z"), LAMBDA)
    (flag,) = flags_of(folder, "copies")
    assert (labels(folder, flag), flag.kind) == ({SCL, LAMBDA}, "alike" if how == "in effect" else "copied")
    assert between(folder, SCL, LAMBDA) == {"copies"}
    forbidden = set() if how == "in effect" else {"copies"}
    assert between(folder, SCL, BASELINE) == between(folder, LAMBDA, BASELINE) == forbidden
    assert between(folder, AUGMENT, BASELINE) == set()


def test_a_guard_of_ones_own(folder: Path):
    def suspicious(results: Results) -> list[Flag]:
        return [Flag("mine", "strange", frozenset(results.recipes), frozenset({"MR"}), {"score": 3})]

    mine = Guard("mine", "what I do not like", suspicious, lambda results, flag: f"{flag.facts['score']} is strange")
    GUARDS.add(mine)
    try:
        assert between(folder, SCL, BASELINE, frozenset({"MR", "CR"})) == {"mine"}
        assert between(folder, SCL, BASELINE) == set()
        assert [sentence(load(folder), flag) for flag in flags_of(folder, "mine")] == ["3 is strange"]
        with pytest.raises(UserError, match="taken by another guard"):
            GUARDS.add(mine)
    finally:
        GUARDS.remove("mine")


def test_flags_are_made_once(folder: Path):
    results = Results.load(folder)
    assert find_flags(results) is find_flags(results)
    assert find_flags(results) is not find_flags(Results.load(folder))


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [("a", "a", True), ("a", "b", False), (None, None, False), (None, "a", False), (95.0, 100.0, True),
     (94.9, 100.0, False), (0.0, 0.0, True), ("1", 1.0, False)],
)  # fmt: skip
def test_alike(first: Any, second: Any, same: bool):
    assert alike(first, second, 0.05) == alike(second, first, 0.05) == same


def test_of_recipe_and_tasks():
    flag = Flag("x", "any", frozenset({"a"}), frozenset({"MR"}))
    flags = Flags((flag,))
    assert flags.of_recipe("a", frozenset({"MR", "CR"})) == (flag,)
    assert flags.of_recipe("a", frozenset({"CR"})) == flags.of_recipe("b", frozenset({"MR"})) == ()


def test_flags_that_differ_in_parts_alone_are_printed_as_one(folder: Path) -> None:
    part: dict[str, Any] = {"least": 0.0, "most": 0.03, "unknown": False}
    make: Callable[..., Flag] = partial(Flag, "overlap", "unequal")
    first, second = (make(frozenset({t}), frozenset({t}), parts=({**part, "task": t},)) for t in ("MR", "CR"))
    others = [dataclasses.replace(first, blocks=False), dataclasses.replace(first, facts={"more": 1})]
    copies = [Flag("copies", "alike", frozenset(pair)) for pair in ("ab", "cd")]
    [both, *rest] = grouped([first, second, *others, *copies])
    assert both.recipes == both.tasks == frozenset({"MR", "CR"})
    assert "of MR (0.0 to 3.0 %); CR (0.0 to 3.0 %): " in sentence(load(folder), both)
    assert rest == [*others, *copies]
