"""Guards: each finds what it is for, forbids the verdicts that it must, and stays silent on a clean study."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.guards import GUARDS, Flag, Flags, Guard, alike, find_flags
from reports.ledger import LEDGER, Ledger, Record, StudyInfo
from reports.quantity import Quantity, average_quantity
from reports.results import Results
from search_spaces import spaces
from search_spaces.averages import AVERAGES
from search_spaces.paper import Average, cells
from tests.synthetic_results import make_results
from trainables.errors import UserError
from trainables.recipe import Recipe

BASELINE, AUGMENT, SCL, LAMBDA = "SBERT baseline", "3p3n-Augment", "3palln-lambda0.5-SCL", "3palln-lambda1.0-SCL"
ROWS = [BASELINE, AUGMENT, SCL, LAMBDA]
SEEDS = (1, 2, 3)
STS = frozenset({"STS12", "STS13"})
TASKS = ("STS12", "STS13", "MR", "MRPC")
Change = Callable[[Record], Record]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clean")
    make_results(folder, rows=ROWS, seeds=SEEDS, spread=1.0, predictions=True)
    rewrite(folder, lambda record: known(record))
    return folder


def known(record: Record) -> Record:
    """With everything that records of today hold, on a few tasks, and a loss of its own."""
    scores = {task: record.scores[task] for task in TASKS}
    tasks = {task: {"items": 60, "seen": 0} for task in scores}
    chance = int(record.recipe_hash, 16) % 997 + record.seed
    return dataclasses.replace(
        record,
        scores=scores,
        training={**record.training, "tokens": 90_000, "loss": 0.5 + chance / 1e4},
        cost={**record.cost, "seconds": 60 + chance / 1e3},
        data={**record.data, "encoder": {"name": "e", "fingerprint": "feed", "fresh": []}, "overlap": tasks},
    )


@pytest.fixture
def folder(clean: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(clean, tmp_path / "results"))


def rewrite(folder: Path, change: Change, row: str | None = None, seed: int | None = None) -> None:
    """Change the records of a row, or of all, under one seed or all."""
    ledger, wanted = Ledger(folder / LEDGER), StudyInfo.load(folder).row_hashes.get(row or "")
    for record in ledger.read():
        if (row is None or record.recipe_hash == wanted) and seed in (None, record.seed):
            ledger.write(change(record))


def put(**parts: Any) -> Change:
    """Records with some entries replaced, within objects."""

    def change(record: Record) -> Record:
        new = {}
        for name, value in parts.items():
            old = getattr(record, name)
            new[name] = {**old, **value} if isinstance(old, dict) else value
        return dataclasses.replace(record, **new)

    return change


def score(task: str, **numbers: Any) -> Change:
    """Records with other numbers of one task."""
    return lambda record: put(scores={task: {**record.scores[task], **numbers}})(record)


def load(folder: Path) -> Results:
    """The results, read anew only where a file has changed: most of a guard's time is reading predictions."""
    return _load(folder, tuple((path, path.stat().st_mtime_ns) for path in sorted(folder.rglob("*.*"))))


@lru_cache(maxsize=1)
def _load(folder: Path, files: object) -> Results:
    return Results.load(folder)


def found(folder: Path, guard: str) -> list[Flag]:
    return [flag for flag in find_flags(load(folder)).all if flag.guard == guard]


def between(folder: Path, first: str, second: str, tasks: frozenset[str] = STS) -> set[str]:
    """The guards that forbid a verdict on two rows."""
    results = load(folder)
    hashes = [results.info.row_hashes[label] or "" for label in (first, second)]
    return {flag.guard for flag in find_flags(results).between(hashes[0], hashes[1], tasks)}


def labels(folder: Path, flag: Flag) -> set[str]:
    names = load(folder).labels
    return {names[recipe] for recipe in flag.recipes}


def test_a_clean_study_has_no_flags(folder: Path):
    assert find_flags(Results.load(folder)).all == ()


CONDITIONS: list[tuple[str, dict[str, Any], str]] = [
    ("code", {"versions": {"trainables": "bbbb2222"}}, "bbbb2222"),
    ("code", {"versions": {"plugins": "cccc3333"}}, "cccc3333"),
    ("code", {"versions": {"torch": "2.14.0"}}, "torch 2.14.0"),
    ("data", {"data": {"senteval": {"source": "x", "fingerprint": "other"}}}, "other"),
    ("data", {"data": {"corpus": {"source": "scenes", "fingerprint": None}}}, "unknown"),
    ("encoder", {"data": {"encoder": {"name": "e", "fingerprint": "beef", "fresh": []}}}, "beef"),
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


def rename(folder: Path, row: str, **keys: Any) -> None:
    """Give a row another recipe, and what follows from that its new hash."""
    info, ledger = StudyInfo.load(folder), Ledger(folder / LEDGER)
    old = info.row_hashes[row]
    new = ""
    for record in ledger.read():
        if record.recipe_hash == old:
            recipe = Recipe.from_flat(record.recipe).override({key.replace("__", "."): v for key, v in keys.items()})
            new = recipe.hash
            changed = dataclasses.replace(
                record,
                recipe=dict(recipe.flat()),
                recipe_hash=new,
                protocol=recipe.evaluation.protocol,
                predictions=f"predictions/{new}-{record.seed}.npz",
            )
            ledger.path(record.recipe_hash, record.seed).unlink()
            ledger.write(changed)
            (folder / str(record.predictions)).rename(folder / str(changed.predictions))
    dataclasses.replace(info, row_hashes={**info.row_hashes, row: new}).save(folder)


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
    "change", [{"pooling__mode": "cls"}, {"encoder__max_length": 40}, {"objective__fidelity": "released"}]
)
def test_an_encoder_is_another_by_its_fingerprint_where_the_recipe_says_so(folder: Path, change: dict[str, Any]):
    """The digits follow from pooling, length and padding too: rows that differ in these do not differ by mistake."""
    rename(folder, SCL, **change)
    rewrite(folder, put(data={"encoder": {"name": "e", "fingerprint": "beef", "fresh": []}}), SCL)
    assert found(folder, "encoder") == []


def test_precision(folder: Path):
    rename(folder, SCL, optimisation__precision="bf16")
    assert between(folder, SCL, BASELINE) == {"precision"}
    rename(folder, AUGMENT, evaluation__precision="bf16")
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


def test_another_protocol_is_said(folder: Path):
    rename(folder, SCL, evaluation__protocol="full")
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
    ledger.write(dataclasses.replace(second, **changes))
    (folder / str(second.predictions)).write_bytes((folder / str(first.predictions)).read_bytes())


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


def predictions(folder: Path, row: str, change: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]) -> None:
    """Change the predictions of a row's trials."""
    recipe_hash = StudyInfo.load(folder).row_hashes[row]
    for path in (folder / "predictions").glob(f"{recipe_hash}-*.npz"):
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        np.savez(path, **change(arrays))  # type: ignore[arg-type]


def one_class(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return arrays | {"MRPC": np.ones_like(arrays["MRPC"])}


def test_one_class_for_every_item(folder: Path):
    """As heads did that predict one class on MRPC, whose 66 was then printed in bold."""
    predictions(folder, SCL, one_class)
    rewrite(
        folder, lambda r: put(scores={"MRPC": {**r.scores["MRPC"], "test_accuracy": 50.0, "test_f1": 200 / 3}})(r), SCL
    )
    (flag,) = found(folder, "degenerate")
    assert (labels(folder, flag), flag.tasks) == ({SCL}, {"MRPC"})
    assert "one class is predicted for every item" in flag.sentence
    assert between(folder, SCL, BASELINE, frozenset({"MRPC", "MR"})) == {"degenerate"}
    assert between(folder, SCL, BASELINE, STS) == set()


def test_cosines_that_are_all_the_same(folder: Path):
    def constant(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return arrays | {"STS12": np.ones_like(arrays["STS12"])}

    predictions(folder, SCL, constant)
    rewrite(folder, score("STS12", spearman_wmean=0.0), SCL)
    assert "degenerate" in between(folder, SCL, BASELINE)


DEV = frozenset({"dev.STSBenchmark"})


def test_collapsed_embeddings_by_their_geometry(folder: Path):
    """A row whose sentences all got one vector was scored, ranked and judged: its cosines were not quite the same."""
    rewrite(folder, put(geometry={"anisotropy": 0.99997}), SCL)
    (flag,) = found(folder, "degenerate")
    assert labels(folder, flag) == {SCL}
    assert "collapsed: all sentences get nearly the same vector" in flag.sentence
    assert "0.99997 or more" in flag.sentence
    for tasks in (STS, DEV, frozenset({"MR"})):
        assert between(folder, SCL, BASELINE, tasks) == {"degenerate"}
        assert between(folder, AUGMENT, BASELINE, tasks) == set()


def test_one_collapsed_seed_is_enough(folder: Path):
    rewrite(folder, put(geometry={"anisotropy": 0.99997}), SCL, seed=2)
    (flag,) = found(folder, "degenerate")
    assert "not under every seed" in flag.sentence
    assert between(folder, SCL, BASELINE) == {"degenerate"}


@pytest.mark.parametrize(("scale", "flagged"), [(1e-5, True), (1e-2, False)])
def test_collapsed_embeddings_by_their_cosines(folder: Path, scale: float, flagged: bool):
    """Older records have no geometry. Ranks, and so scores, stay as they are."""

    def narrow(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        span = np.ptp([extreme for task in STS for extreme in (arrays[task].min(), arrays[task].max())])
        return arrays | {task: 1 - scale * (1 - arrays[task].astype(float) / span) for task in STS}

    rewrite(folder, put(geometry={"anisotropy": None}), SCL)
    predictions(folder, SCL, narrow)
    assert ["collapsed" in flag.sentence for flag in found(folder, "degenerate")] == [True] * flagged
    assert between(folder, SCL, BASELINE) == ({"degenerate"} if flagged else set())
    assert between(folder, SCL, BASELINE, frozenset({"MR"})) == ({"degenerate"} if flagged else set())


@pytest.mark.parametrize("anisotropy", [0.9, None])
def test_narrow_embeddings_have_not_collapsed(folder: Path, anisotropy: float | None):
    """Plain language models have mean cosines of 0.8 and 0.9."""
    rewrite(folder, put(geometry={"anisotropy": anisotropy}), SCL)
    assert found(folder, "degenerate") == []


def measured(positives: float | None) -> Change:
    return put(training={"positives_per_anchor": positives})


def test_limits_that_differ_and_never_bind(folder: Path):
    """Two rows with 3 and 2 positives measured 1.08 under both."""
    rename(folder, AUGMENT, objective__positives=2)
    for row in (SCL, AUGMENT):
        rewrite(folder, measured(1.08), row)
    (flag,) = found(folder, "caps")
    assert labels(folder, flag) == {SCL, AUGMENT}
    assert "set `objective.positives` to 2 and 3" in flag.sentence
    assert "not varied in effect" in flag.sentence
    assert between(folder, SCL, AUGMENT) == set()  # said, and forbids nothing
    results = load(folder)
    recipe_hash = results.info.row_hashes[SCL] or ""
    assert find_flags(results).of_recipe(recipe_hash, STS) == ()  # nor is it marked: the score is what it is


def test_limits_that_bind_are_silent(folder: Path):
    rename(folder, AUGMENT, objective__positives=2)
    rewrite(folder, measured(1.95), AUGMENT)
    rewrite(folder, measured(2.6), SCL)
    assert found(folder, "caps") == []


def test_a_limit_that_is_hardly_reached(folder: Path):
    for row in (SCL, AUGMENT, LAMBDA):
        rewrite(folder, measured(1.08), row)
    (flag,) = found(folder, "caps")
    assert labels(folder, flag) == {SCL, AUGMENT, LAMBDA}
    assert "the limit `objective.positives` = 3 hardly bound" in flag.sentence
    assert "1.08 an anchor measured, so at most 4 %" in flag.sentence


def test_training_that_measured_no_positives_has_no_limits(folder: Path):
    rewrite(folder, measured(None))
    assert found(folder, "caps") == []


def test_without_predictions_the_share_of_the_largest_class_is_suspicious(folder: Path):
    recipe_hash = StudyInfo.load(folder).row_hashes[SCL]
    for path in (folder / "predictions").glob(f"{recipe_hash}-*.npz"):
        path.unlink()
    rewrite(folder, score("MRPC", test_accuracy=66.49), SCL)
    (flag,) = found(folder, "degenerate")
    assert not flag.blocks
    assert between(folder, SCL, BASELINE) == {"items"}


def test_a_broken_file_of_predictions_is_named(folder: Path):
    recipe_hash = StudyInfo.load(folder).row_hashes[SCL]
    (folder / "predictions" / f"{recipe_hash}-1.npz").write_bytes(b"PK nothing")
    (flag, *_) = found(folder, "items")
    assert f"{recipe_hash}-1.npz" in flag.sentence
    assert "items" in between(folder, SCL, BASELINE)


def test_scores_that_are_not_those_of_the_predictions(folder: Path):
    rewrite(folder, score("MR", test_accuracy=99.0), SCL, seed=1)
    (flag,) = found(folder, "items")
    assert flag.tasks == {"MR", "dev.MR"}  # the same trial may be wrong there, too
    assert "99.00 in the ledger" in flag.sentence
    assert between(folder, SCL, BASELINE, frozenset({"MR"})) == {"items"}
    assert between(folder, SCL, BASELINE) == set()


def test_other_test_items(folder: Path):
    predictions(folder, SCL, lambda arrays: arrays | {"items.STS12": np.array("others")})
    (flag,) = found(folder, "items")
    assert (labels(folder, flag), flag.tasks) == ({SCL}, {"STS12"})
    assert between(folder, SCL, BASELINE) == {"items"}
    assert between(folder, AUGMENT, BASELINE) == set()


def test_stored_averages_that_disagree_with_their_parts(folder: Path):
    results = Results.load(folder)
    recipe_hash = results.info.row_hashes[SCL]
    path = folder / LEDGER / f"{recipe_hash}-1.json"
    content = json.loads(path.read_text())
    AVERAGES.add(Average("mine", cells(("MR", "MRPC"), "test_accuracy")))
    try:
        right = results.of_figure(results.of_hash(recipe_hash)[:1], average_quantity("mine"))
        assert right is not None
        path.write_text(json.dumps(content | {"averages": {"mine": right.mean}}))
        assert found(folder, "parts") == []
        path.write_text(json.dumps(content | {"averages": {"mine": right.mean + 5}}))
        (flag,) = found(folder, "parts")
        assert labels(folder, flag) == {SCL}
        assert between(folder, SCL, BASELINE) == {"parts"}
    finally:
        AVERAGES.remove("mine")


def test_sizes_that_disagree(folder: Path):
    rewrite(folder, score("STS12", examples=3108), SCL)
    (flag,) = found(folder, "parts")
    assert "3,108, not 60" in flag.sentence
    assert between(folder, SCL, BASELINE) == {"parts"}


def saw(share: float) -> Change:
    """Records whose training held so large a share of the test items of STS12."""
    counts = {"items": 1000, "seen": round(1000 * share)}
    return lambda record: put(data={"overlap": {**record.data["overlap"], "STS12": counts}})(record)


def test_sentences_seen_in_training(folder: Path):
    rewrite(folder, saw(0.001), SCL)
    (flag,) = found(folder, "overlap")
    assert not flag.blocks  # one item is said, and forbids nothing
    assert flag.tasks == {"STS12"}
    assert "0.1 %" in flag.sentence
    rewrite(folder, saw(0.03), SCL)
    assert [flag.blocks for flag in found(folder, "overlap")] == [False, True]
    assert between(folder, SCL, BASELINE) == {"overlap"}
    assert between(folder, SCL, BASELINE, frozenset({"MR"})) == set()


def test_rows_that_saw_the_same_may_be_compared(folder: Path):
    rewrite(folder, saw(0.03))
    (flag,) = found(folder, "overlap")
    assert not flag.blocks
    assert between(folder, SCL, BASELINE) == set()


def test_a_few_items_that_all_rows_saw_are_said_and_not_marked(folder: Path):
    """Five of 3,000 items, the same in every trained row, put a mark at each of them."""
    rewrite(folder, saw(0.002))
    results = load(folder)
    (flag,) = found(folder, "overlap")
    assert "equally in all of these rows; gains between them are hardly touched" in flag.sentence
    recipe_hash = results.info.row_hashes[SCL] or ""
    assert find_flags(results).of_recipe(recipe_hash, STS) == ()
    rewrite(folder, saw(0.006))
    assert find_flags(load(folder)).of_recipe(recipe_hash, STS) != ()  # no few any more
    rewrite(folder, saw(0.002))
    rewrite(folder, saw(0.0), AUGMENT)
    assert find_flags(load(folder)).of_recipe(recipe_hash, STS) != ()  # not in all


def test_test_sentences_do_not_touch_development_scores(folder: Path):
    rewrite(folder, saw(0.03), SCL)
    results = load(folder)
    recipe_hash = results.info.row_hashes[SCL] or ""
    assert find_flags(results).of_recipe(recipe_hash, frozenset({"STS12"})) != ()
    assert find_flags(results).of_recipe(recipe_hash, frozenset({"dev.STS12"})) == ()
    assert between(folder, SCL, BASELINE, frozenset({"dev.STS12"})) == set()


def test_a_figure_of_development_scores_names_its_items():
    figure = Quantity("x", {("STSBenchmark", "dev_spearman_cosine"): 1.0, ("MR", "test_accuracy"): 1.0})
    assert (figure.parts, figure.tasks) == ({"dev.STSBenchmark", "MR"}, {"STSBenchmark", "MR"})


def test_development_items_were_not_looked_at(tmp_path: Path):
    make_results(tmp_path, space=spaces()["clsr_pooling"], seeds=(1, 2))
    overlap = {task: {"items": 9, "seen": 0} for task in ("STS12", "STSBenchmark")}
    rewrite(tmp_path, put(data={"overlap": overlap}, scores={"STS12": {"spearman_wmean": 50.0}}))
    assert ["development items" in flag.sentence for flag in found(tmp_path, "overlap")] == [True]
    assert found(tmp_path, "overlap")[0].recipes == frozenset()


def test_vectors_made_before_have_no_tokens(folder: Path):
    rewrite(folder, put(training={"tokens": 5000, "sentences": 5000}))
    (flag,) = found(folder, "tokens")
    assert not flag.recipes
    assert "no tokens were counted" in flag.sentence


def test_overlap_that_only_some_records_know(folder: Path):
    rewrite(folder, put(data={"overlap": {}}), SCL)
    assert between(folder, SCL, BASELINE) == {"overlap"}


FRESH: list[tuple[dict[str, Any], list[str], bool]] = [
    ({"optimisation.epochs": 0}, ["backbone.pooler.weight"], True),
    ({"optimisation.epochs": 0}, ["mlm_head.head.0.weight"], False),  # is not part of an embedding
    ({}, ["backbone.pooler.weight"], False),  # is trained
    ({"encoder.adapter": "mlp"}, ["net.0.weight"], False),  # the adapter itself, which is trained
    ({"encoder.adapter": "mlp"}, ["backbone.pooler.weight", "net.0.weight"], True),  # frozen below the adapter
    ({"encoder.adapter": "mlp", "optimisation.epochs": 0}, [], True),
]


@pytest.mark.parametrize(("keys", "fresh", "flagged"), FRESH)
def test_parameters_that_nobody_trained(folder: Path, keys: dict[str, Any], fresh: list[str], flagged: bool):
    rename(folder, SCL, **{key.replace(".", "__"): value for key, value in keys.items()})
    rewrite(folder, put(data={"encoder": {"name": "e", "fingerprint": "feed", "fresh": fresh}}), SCL)
    assert [labels(folder, flag) for flag in found(folder, "untrained")] == [{SCL}] * flagged
    assert ("untrained" in between(folder, SCL, BASELINE)) == flagged


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
