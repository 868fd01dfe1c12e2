"""Guards: each finds what it is for, forbids the verdicts that it must, and stays silent on a clean study.

Here what they share, conditions and copies; `guards/test_scores.py` has those that look at scores."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from reports.guards import GUARDS, Flag, Flags, Guard, alike, find_flags, grouped
from reports.ledger import LEDGER, Ledger, Record, StudyInfo
from reports.results import Results
from reports.testing import changed
from tests.guarded import (
    AUGMENT,
    BASELINE,
    LAMBDA,
    SCL,
    SEEDS,
    between,
    clean_study,
    found,
    labels,
    put,
    rename,
    rewrite,
)
from trainables.errors import UserError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return clean_study(tmp_path / "results")


def test_a_clean_study_has_no_flags(folder: Path):
    assert find_flags(Results.load(folder)).all == ()


def test_a_filter_that_leaves_no_negatives_is_said(folder: Path):
    rewrite(folder, put(training={"negatives_per_anchor": 0.4, "filtered_per_anchor": 60.6}), SCL)
    rewrite(folder, put(training={"negatives_per_anchor": 30.0, "filtered_per_anchor": 31.0}), LAMBDA)
    (flag,) = found(folder, "filters")
    assert labels(folder, flag) == {SCL}
    assert "left 0.40 negatives an anchor" in flag.sentence
    assert not flag.blocks


CONDITIONS: list[tuple[str, dict[str, Any], str]] = [
    ("code", {"versions": {"trainables": "bbbb2222"}}, "bbbb2222"),
    ("code", {"versions": {"plugins": "cccc3333"}}, "cccc3333"),
    ("code", {"versions": {"torch": "2.14.0"}}, "torch 2.14.0"),
    ("data", {"data": {"senteval": {"source": "x", "fingerprint": "other"}}}, r"\(others in "),
    ("data", {"data": {"corpus": {"source": "scenes", "fingerprint": None}}}, "unknown"),
    ("encoder", {"data": {"encoder": {"name": "e", "fingerprint": "beef", "fresh": []}}}, r"\(others in "),
    ("encoder", {"data": {"encoder": {}}}, "unknown"),
    ("steps", {"training": {"steps": 204}}, "90 in .* to 204 in"),
    ("steps", {"training": {"steps": None}}, "unknown"),
    ("tokens", {"training": {"tokens": 70_000}}, "70,000 in"),
    ("hardware", {"hardware": "1 node, 2 CPUs, 1 GPU (Xeon, H100)"}, "GPU, Xeon, H100"),
]


@pytest.mark.parametrize(("guard", "parts", "said"), CONDITIONS)
def test_a_condition_that_differs_stands_between_two_rows(folder: Path, guard: str, parts: dict[str, Any], said: str):
    rewrite(folder, put(**parts), SCL)
    (flag,) = found(folder, guard)
    assert labels(folder, flag) == {SCL}
    assert re.search(said, flag.sentence), flag.sentence
    assert guard in between(folder, SCL, BASELINE)
    assert guard in between(folder, SCL, AUGMENT)
    assert between(folder, AUGMENT, BASELINE) == set()  # neither is touched


def test_a_record_without_its_version_is_no_better_than_other_code(folder: Path):
    rewrite(folder, lambda record: dataclasses.replace(record, versions={}), SCL, seed=2)
    (flag,) = found(folder, "code")
    assert f"`{SCL}`: unknown" in flag.sentence
    assert between(folder, SCL, BASELINE) == {"code"}


def test_code_that_no_record_names_forbids_every_verdict(folder: Path):
    rewrite(folder, lambda record: dataclasses.replace(record, versions={}))
    assert between(folder, AUGMENT, BASELINE) == {"code"}


def test_mixed_code_within_a_row(folder: Path):
    """Seeds of one row ran other code: the row is not one thing any more."""
    rewrite(folder, put(versions={"trainables": "bbbb2222"}), SCL, seed=3)
    assert between(folder, SCL, BASELINE) == {"code"}


def test_the_same_mixture_in_every_row_is_said_and_forbids_nothing(folder: Path):
    rewrite(folder, put(versions={"trainables": "bbbb2222"}), seed=3)
    (flag,) = found(folder, "code")
    assert "seed 3 trainables bbbb2222" in flag.sentence
    assert between(folder, SCL, BASELINE) == set()


@pytest.mark.parametrize(("steps", "apart"), [(94, False), (95, True), (86, False), (85, True)])
def test_steps_may_be_five_percent_apart(folder: Path, steps: int, apart: bool):
    rewrite(folder, put(training={"steps": steps}), SCL)
    assert bool(found(folder, "steps")) == apart


@pytest.mark.parametrize(("tokens", "apart"), [(99_000, False), (101_000, True)])
def test_tokens_may_be_ten_percent_apart(folder: Path, tokens: int, apart: bool):
    rewrite(folder, put(training={"tokens": tokens}), SCL)
    assert bool(found(folder, "tokens")) == apart


def test_rows_without_training_have_no_steps(folder: Path):
    rename(folder, SCL, optimisation__epochs=0)
    rewrite(folder, lambda r: dataclasses.replace(r, training={"stopped": None}), SCL)
    assert find_flags(Results.load(folder)).all == ()


def test_other_encoders_by_the_recipe_are_said_and_forbid_nothing(folder: Path):
    rename(folder, SCL, encoder__name="other/model")
    rewrite(folder, put(data={"encoder": {"name": "other/model", "fingerprint": "beef", "fresh": []}}), SCL)
    (flag,) = found(folder, "encoder")
    assert labels(folder, flag) == {SCL}
    assert not flag.blocks
    assert between(folder, SCL, BASELINE) == set()


@pytest.mark.parametrize(
    "change", [{"pooling__mode": "cls"}, {"encoder__max_length": 40}, {"pooling__padding": "count"}]
)
def test_an_encoder_is_another_by_its_fingerprint_where_the_recipe_says_so(folder: Path, change: dict[str, Any]):
    """The digits follow from pooling, length and padding too: rows that differ in these do not differ by mistake."""
    rename(folder, SCL, **change)
    rewrite(folder, put(data={"encoder": {"name": "e", "fingerprint": "beef", "fresh": []}}), SCL)
    assert found(folder, "encoder") == []


def test_precision(folder: Path):
    rename(folder, SCL, optimisation__precision="bf16")
    assert between(folder, SCL, BASELINE) == {"precision"}
    rename(folder, AUGMENT, encoder__precision="bf16")
    assert between(folder, AUGMENT, BASELINE) == {"precision"}


def test_auto_is_fp32_where_there_is_no_gpu(folder: Path):
    rewrite(folder, put(hardware="1 node, 2 CPUs, no GPU (Xeon)"))
    rename(folder, SCL, optimisation__precision="fp32")
    assert between(folder, SCL, BASELINE) == set()


def test_how_many_processors_there_are_is_no_matter(folder: Path):
    rewrite(folder, put(hardware="1 node, 2 CPUs, no GPU (Xeon)"))
    rewrite(folder, put(hardware="3 nodes, 64 CPUs, no GPU (Xeon)"), SCL)
    assert between(folder, SCL, BASELINE) == set()
    rewrite(folder, put(hardware="1 node, 64 CPUs, 2 GPUs (Xeon)"), SCL)
    assert between(folder, SCL, BASELINE) == {"hardware", "precision"}


def test_a_trials_own_machine_counts_not_its_clusters(folder: Path):
    """A second node of the cluster makes no trial another one; a trial that ran on that node is another one."""
    own = {"processor": "Xeon", "device": "H100", "bf16": True}
    rewrite(folder, put(hardware="1 node, 8 CPUs, 1 GPU (Xeon, H100)", machine=own))
    rewrite(folder, put(hardware="2 nodes, 16 CPUs, 2 GPUs (Xeon, H100, T4)", machine=own), SCL)
    assert between(folder, SCL, BASELINE) == set()
    rewrite(folder, put(machine={**own, "device": "T4", "bf16": False}), SCL)
    assert between(folder, SCL, BASELINE) == {"hardware", "precision"}
    (flag,) = found(folder, "hardware")
    assert "T4, Xeon" in flag.sentence
    rewrite(folder, put(machine={**own, "device": "A100"}), SCL)
    assert between(folder, SCL, BASELINE) == {"hardware"}, "both trained in bf16"


def test_an_older_record_on_the_same_machine_is_like_a_newer_one(folder: Path):
    rewrite(folder, put(hardware="1 node, 2 CPUs, no GPU (Xeon)"))
    rewrite(folder, put(machine={"processor": "Xeon", "device": None, "bf16": False}), SCL)
    assert between(folder, SCL, BASELINE) == set()


def test_another_protocol_is_said(folder: Path):
    rewrite(folder, put(protocol="full"), SCL)
    (flag,) = found(folder, "protocol")
    assert not flag.blocks
    assert "`full` (3 trials)" in flag.sentence


def copy_trial(folder: Path, source: tuple[str, int], target: tuple[str, int], training: bool = True) -> None:
    """Give a trial another trial's scores and predictions, and its training, too."""
    ledger, rows = Ledger(folder / LEDGER), StudyInfo.load(folder).row_hashes
    first = ledger.get(rows[source[0]] or "", source[1])
    second = ledger.get(rows[target[0]] or "", target[1])
    assert first is not None
    assert second is not None
    changes: dict[str, Any] = {"scores": first.scores} | ({"training": first.training} if training else {})
    ledger.write(changed(second, **changes))
    (folder / second.predictions[0]).write_bytes((folder / first.predictions[0]).read_bytes())


def test_a_seed_that_repeats_another_is_a_copy(folder: Path):
    copy_trial(folder, (SCL, 1), (SCL, 2))
    (flag,) = found(folder, "seeds")
    assert labels(folder, flag) == {SCL}
    assert "seeds 1 and 2" in flag.sentence
    assert between(folder, SCL, BASELINE) == {"seeds"}
    assert between(folder, AUGMENT, BASELINE) == set()


def test_rows_that_no_seed_changes_may_repeat_themselves(folder: Path):
    rename(folder, SCL, optimisation__epochs=0)
    copy_trial(folder, (SCL, 1), (SCL, 2))
    assert found(folder, "seeds") == []


def test_missing_seeds_are_said(folder: Path):
    recipe_hash = StudyInfo.load(folder).row_hashes[SCL]
    (folder / LEDGER / f"{recipe_hash}-3.json").unlink()
    (flag,) = found(folder, "seeds")
    assert labels(folder, flag) == {SCL}
    assert f"`{SCL}` has 2 of the study's 3 seeds" in flag.sentence
    assert flag.follows == "Verdicts stand."
    assert between(folder, SCL, BASELINE) == set()


def test_one_seed_of_three_is_no_wider_interval(folder: Path):
    """It was said that its intervals are wider and verdicts stand: they leave the seeds out, and there is none."""
    rows = StudyInfo.load(folder).row_hashes
    for row, seeds in ((SCL, (2, 3)), (LAMBDA, (3,))):
        for seed in seeds:
            (folder / LEDGER / f"{rows[row]}-{seed}.json").unlink()
    one, two = found(folder, "seeds")
    assert (labels(folder, one), labels(folder, two)) == ({SCL}, {LAMBDA})
    assert f"`{SCL}` has 1 of the study's 3 seeds" in one.sentence
    assert "too narrow" in one.sentence
    assert one.follows == "No verdict on this row until there are more seeds."
    assert not one.blocks  # the verdict is "undecided: one seed"
    (folder / LEDGER / f"{rows[LAMBDA]}-2.json").unlink()
    (both,) = found(folder, "seeds")
    assert f"`{SCL}` and `{LAMBDA}` have 1 of" in both.sentence
    assert both.follows == "No verdict on these rows until there are more seeds."


def test_two_recipes_that_are_one_in_effect(folder: Path):
    for seed in SEEDS:
        copy_trial(folder, (SCL, seed), (LAMBDA, seed))
    (flag,) = found(folder, "copies")
    assert labels(folder, flag) == {SCL, LAMBDA}
    assert "one recipe in effect" in flag.sentence
    assert between(folder, SCL, LAMBDA) == {"copies"}
    assert between(folder, SCL, BASELINE) == set()


@pytest.mark.parametrize("how", ["another loss", "only one seed", "the whole record"])
def test_a_copied_trial_of_another_recipe_cannot_be_judged(folder: Path, how: str):
    for seed in SEEDS[:1] if how == "only one seed" else SEEDS:
        copy_trial(folder, (SCL, seed), (LAMBDA, seed), training=how != "another loss")
    if how == "the whole record":
        rewrite(folder, put(cost={"seconds": 77.125}, finished_at="2026-01-01T00:00:09Z"), SCL)
        rewrite(folder, put(cost={"seconds": 77.125}, finished_at="2026-01-01T00:00:09Z"), LAMBDA)
    (flag,) = found(folder, "copies")
    assert "copy" in flag.sentence
    assert between(folder, SCL, BASELINE) == between(folder, LAMBDA, BASELINE) == {"copies"}
    assert between(folder, AUGMENT, BASELINE) == set()


def test_a_reader_may_judge_across_a_flag(folder: Path):
    rewrite(folder, put(training={"steps": 204}), SCL)
    assert between(folder, SCL, BASELINE) == {"steps"}
    info = StudyInfo.load(folder)
    dataclasses.replace(info, across=["steps"]).save(folder)
    assert between(folder, SCL, BASELINE) == set()
    assert found(folder, "steps")  # and it is still said


def test_a_guard_of_ones_own(folder: Path):
    def suspicious(results: Results) -> list[Flag]:
        return [Flag("mine", "I do not like it", frozenset(results.recipes), frozenset({"MR"}))]

    GUARDS.add(Guard("mine", "what I do not like", suspicious))
    try:
        assert between(folder, SCL, BASELINE, frozenset({"MR", "CR"})) == {"mine"}
        assert between(folder, SCL, BASELINE) == set()
        with pytest.raises(UserError, match="taken by another guard"):
            GUARDS.add(Guard("mine", "again", suspicious))
    finally:
        GUARDS.remove("mine")


def test_flags_are_found_once(folder: Path):
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
    flag = Flag("x", "said", frozenset({"a"}), frozenset({"MR"}))
    flags = Flags((flag,))
    assert flags.of_recipe("a", frozenset({"MR", "CR"})) == (flag,)
    assert flags.of_recipe("a", frozenset({"CR"})) == flags.of_recipe("b", frozenset({"MR"})) == ()


def test_flags_that_differ_in_one_part_alone_are_told_in_one() -> None:
    one, two = (
        Flag("x", f"rows saw other items of {task}: memory", frozenset({task}), frozenset({task}), own=task)
        for task in ("MR", "CR")
    )
    other = dataclasses.replace(one, blocks=False)
    [both, alone] = grouped([one, two, other])
    assert both.sentence == "rows saw other items of MR; CR: memory"
    assert both.recipes == both.tasks == frozenset({"MR", "CR"})
    assert alone == other


@pytest.mark.parametrize("seed_of_another", [True, False])
def test_what_encoders_differ_in_is_told_without_digits(seed_of_another: bool, folder: Path) -> None:
    """From seed to seed, as drawn vectors do, or from row to row."""

    def drawn(record: Record) -> Record:
        digits = f"{record.seed if seed_of_another else 7:016x}"
        return put(data={"encoder": {"name": "e", "fingerprint": digits, "fresh": []}})(record)

    rewrite(folder, drawn, SCL)
    (flag,) = found(folder, "encoder")
    where = "from seed to seed in" if seed_of_another else "others in"
    assert f"({where} `{SCL}`)" in flag.sentence
    assert not re.search(r"[0-9a-f]{16}", flag.sentence)
