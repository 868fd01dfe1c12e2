"""Guards that look at scores and what is behind them: predictions, embeddings, limits, overlap, parameters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.facts.guards import find_flags, sentence
from reports.facts.quantity import Quantity
from reports.ledger import StudyInfo
from search_spaces import spaces
from tests.guarded import (
    AUGMENT,
    BASELINE,
    LAMBDA,
    SCL,
    STS,
    Change,
    between,
    clean_study,
    flags_of,
    labels,
    load,
    put,
    rename,
    rewrite,
    score,
)
from tests.synthetic_results import make_results
from trainables.arrays import arrays_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return clean_study(tmp_path / "results")


def predictions(folder: Path, row: str, change: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]) -> None:
    """Change the predictions of a row's trials."""
    recipe_hash = StudyInfo.load(folder).row_hashes[row]
    for path in (folder / "predictions").glob(f"{recipe_hash}-*.npz"):
        arrays = arrays_in(path.read_bytes())
        np.savez(path, **change(arrays))  # type: ignore[arg-type]


def test_one_class_for_every_item(folder: Path):
    """As heads did that predict one class on MRPC, whose 66 was then printed in bold."""
    predictions(folder, SCL, lambda arrays: arrays | {"MRPC": np.ones_like(arrays["MRPC"])})
    rewrite(
        folder, lambda r: put(scores={"MRPC": {**r.scores["MRPC"], "test_accuracy": 50.0, "test_f1": 200 / 3}})(r), SCL
    )
    (flag,) = flags_of(folder, "degenerate")
    assert (labels(folder, flag), flag.kind, flag.tasks) == ({SCL}, "one class", {"MRPC"})
    assert between(folder, SCL, BASELINE, frozenset({"MRPC", "MR"})) == {"degenerate"}
    assert between(folder, SCL, BASELINE, STS) == set()


def test_cosines_that_are_all_the_same(folder: Path):
    predictions(folder, SCL, lambda arrays: arrays | {"STS12": np.ones_like(arrays["STS12"])})
    rewrite(folder, score("STS12", spearman_wmean=0.0), SCL)
    assert [flag.kind for flag in flags_of(folder, "degenerate")] == ["equal cosines"]
    assert "degenerate" in between(folder, SCL, BASELINE)


DEV = frozenset({"dev.STSBenchmark"})


@pytest.mark.parametrize("seed", [None, 2])
def test_collapsed_embeddings_by_their_geometry(folder: Path, seed: int | None):
    """A row whose sentences all got one vector was scored, ranked and judged: its cosines were not quite the same."""
    rewrite(folder, put(geometry={"anisotropy": 0.99997}), SCL, seed)
    (flag,) = flags_of(folder, "degenerate")
    assert (labels(folder, flag), flag.kind) == ({SCL}, "collapsed")
    assert flag.facts == {"cosine": 0.99997, "some_seeds": seed is not None}
    later = "; not under every seed" * (seed is not None)
    assert f"(the mean cosine of two sentences is 0.99997 or more{later})" in sentence(load(folder), flag)
    for tasks in (STS, DEV, frozenset({"MR"})):
        assert between(folder, SCL, BASELINE, tasks) == {"degenerate"}
        assert between(folder, AUGMENT, BASELINE, tasks) == set()


@pytest.mark.parametrize(("scale", "flagged"), [(1e-5, True), (1e-2, False)])
def test_collapsed_embeddings_by_their_cosines(folder: Path, scale: float, flagged: bool):
    """Older records have no geometry. Ranks, and so scores, stay as they are."""

    def narrow(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        span = np.ptp([extreme for task in STS for extreme in (arrays[task].min(), arrays[task].max())])
        return arrays | {task: 1 - scale * (1 - arrays[task].astype(float) / span) for task in STS}

    rewrite(folder, put(geometry={"anisotropy": None}), SCL)
    predictions(folder, SCL, narrow)
    assert [flag.kind for flag in flags_of(folder, "degenerate")] == ["collapsed"] * flagged
    assert between(folder, SCL, BASELINE) == ({"degenerate"} if flagged else set())
    assert between(folder, SCL, BASELINE, frozenset({"MR"})) == ({"degenerate"} if flagged else set())


@pytest.mark.parametrize("anisotropy", [0.9, None])
def test_narrow_embeddings_have_not_collapsed(folder: Path, anisotropy: float | None):
    """Plain language models have mean cosines of 0.8 and 0.9."""
    rewrite(folder, put(geometry={"anisotropy": anisotropy}), SCL)
    assert flags_of(folder, "degenerate") == []


def measured(positives: float | None) -> Change:
    return put(training={"positives_per_anchor": positives})


def test_limits_that_differ_and_never_bind(folder: Path):
    """Two rows with 3 and 2 positives measured 1.08 under both."""
    rename(folder, AUGMENT, objective__positives=2)
    for row in (SCL, AUGMENT):
        rewrite(folder, measured(1.08), row)
    (flag,) = flags_of(folder, "caps")
    assert (labels(folder, flag), flag.kind, flag.facts["limits"]) == ({SCL, AUGMENT}, "not varied", [2, 3])
    assert "set `objective.positives` to 2 and 3, " in sentence(load(folder), flag)
    assert between(folder, SCL, AUGMENT) == set()  # said, and forbids nothing
    results = load(folder)
    recipe_hash = results.info.row_hashes[SCL] or ""
    assert find_flags(results).of_recipe(recipe_hash, STS) == ()  # nor is it marked: the score is what it is
    rewrite(folder, measured(1.95), AUGMENT)
    rewrite(folder, measured(2.6), SCL)
    assert flags_of(folder, "caps") == []  # these bind


def test_a_limit_that_is_hardly_reached(folder: Path):
    for row in (SCL, AUGMENT, LAMBDA):
        rewrite(folder, measured(1.08), row)
    (flag,) = flags_of(folder, "caps")
    assert (labels(folder, flag), flag.kind) == ({SCL, AUGMENT, LAMBDA}, "hardly reached")
    assert (flag.facts["limit"], flag.facts["share"]) == (3, pytest.approx(0.04))
    assert "(1.08 an anchor measured, so at most 4 % of the anchors reached it)" in sentence(load(folder), flag)
    rewrite(folder, measured(None))
    assert flags_of(folder, "caps") == []


def test_a_filter_that_leaves_no_negatives(folder: Path):
    rewrite(folder, put(training={"negatives_per_anchor": 0.5, "filtered_per_anchor": 60.5}), SCL)
    rewrite(folder, put(training={"negatives_per_anchor": 30.0, "filtered_per_anchor": 31.0}), LAMBDA)
    (flag,) = flags_of(folder, "filters")
    assert (labels(folder, flag), flag.facts, flag.blocks) == ({SCL}, {"negatives": 0.5}, False)


def test_without_predictions_the_share_of_the_largest_class_is_suspicious(folder: Path):
    recipe_hash = StudyInfo.load(folder).row_hashes[SCL]
    for path in (folder / "predictions").glob(f"{recipe_hash}-*.npz"):
        path.unlink()
    rewrite(folder, score("MRPC", test_accuracy=66.49), SCL)
    (flag,) = flags_of(folder, "degenerate")
    assert (flag.kind, flag.facts, flag.blocks) == ("largest class", {"accuracy": 66.49}, False)
    assert between(folder, SCL, BASELINE) == {"items"}


def test_a_broken_file_of_predictions_is_named(folder: Path):
    recipe_hash = StudyInfo.load(folder).row_hashes[SCL]
    (folder / "predictions" / f"{recipe_hash}-1.npz").write_bytes(b"PK nothing")
    (flag, *_) = flags_of(folder, "items")
    assert flag.kind == "no predictions"
    assert f"is unknown ({recipe_hash}-1.npz cannot be read" in sentence(load(folder), flag)
    assert "items" in between(folder, SCL, BASELINE)


def test_scores_that_are_not_those_of_the_predictions(folder: Path):
    rewrite(folder, score("MR", test_accuracy=99.0), SCL, seed=1)
    (flag,) = flags_of(folder, "items")
    assert flag.tasks == {"MR", "dev.MR"}  # the same trial may be wrong there, too
    assert (flag.kind, flag.facts["stored"]) == ("other scores", 99.0)
    assert "on MR (MR 99.00 in the ledger, " in sentence(load(folder), flag)
    assert between(folder, SCL, BASELINE, frozenset({"MR"})) == {"items"}
    assert between(folder, SCL, BASELINE) == set()


def test_other_test_items(folder: Path):
    predictions(folder, SCL, lambda arrays: arrays | {"items.STS12": np.array("others")})
    (flag,) = flags_of(folder, "items")
    assert (labels(folder, flag), flag.tasks) == ({SCL}, {"STS12"})
    assert between(folder, SCL, BASELINE) == {"items"}
    assert between(folder, AUGMENT, BASELINE) == set()


def test_sizes_that_disagree(folder: Path):
    rewrite(folder, score("STS12", examples=3108), SCL)
    (flag,) = flags_of(folder, "sizes")
    assert flag.facts == {"task": "STS12", "stored": 3108, "computed": 60}
    assert "(STS12 3,108, not 60)" in sentence(load(folder), flag)
    assert between(folder, SCL, BASELINE) == {"sizes"}


def saw(share: float) -> Change:
    """Records whose training held so large a share of the test items of STS12."""
    counts = {"items": 1000, "seen": round(1000 * share)}
    return lambda record: put(data={"overlap": {**record.data_read["overlap"], "STS12": counts}})(record)


def test_sentences_seen_in_training(folder: Path):
    rewrite(folder, saw(0.001), SCL)
    (flag,) = flags_of(folder, "overlap")
    assert (flag.kind, flag.tasks, flag.blocks) == ("seen", {"STS12"}, False)
    assert "(STS12 0.1 % of the test items): these scores may be too high" in sentence(load(folder), flag)
    rewrite(folder, saw(0.03), SCL)
    assert [flag.blocks for flag in flags_of(folder, "overlap")] == [False, True]
    assert between(folder, SCL, BASELINE) == {"overlap"}
    for others in ({"MR"}, {"dev.STS12"}):
        assert between(folder, SCL, BASELINE, frozenset(others)) == set()
    results = load(folder)
    marked = [
        find_flags(results).of_recipe(results.info.row_hashes[SCL] or "", {name}) for name in ("STS12", "dev.STS12")
    ]
    assert [bool(flags) for flags in marked] == [True, False]
    rewrite(folder, saw(0.03))
    assert [flag.blocks for flag in flags_of(folder, "overlap")] == [False]
    assert between(folder, SCL, BASELINE) == set()  # all saw the same


def test_a_few_items_that_all_rows_saw_are_said_and_not_marked(folder: Path):
    """Five of 3,000 items, the same in every trained row, put a mark at each of them."""
    rewrite(folder, saw(0.002))
    results = load(folder)
    (flag,) = flags_of(folder, "overlap")
    assert flag.kind == "seen little"
    recipe_hash = results.info.row_hashes[SCL] or ""
    assert find_flags(results).of_recipe(recipe_hash, STS) == ()
    rewrite(folder, saw(0.006))
    assert find_flags(load(folder)).of_recipe(recipe_hash, STS) != ()  # no few any more
    rewrite(folder, saw(0.002))
    rewrite(folder, saw(0.0), AUGMENT)
    assert find_flags(load(folder)).of_recipe(recipe_hash, STS) != ()  # not in all


def test_a_figure_of_development_scores_names_its_items():
    figure = Quantity("x", {("STSBenchmark", "dev_spearman_cosine"): 1.0, ("MR", "test_accuracy"): 1.0})
    assert (figure.parts, figure.tasks) == ({"dev.STSBenchmark", "MR"}, {"STSBenchmark", "MR"})


def test_development_items_were_not_looked_at(tmp_path: Path):
    make_results(tmp_path, space=spaces()["clsr_pooling"], seeds=(1, 2))
    overlap = {task: {"items": 9, "seen": 0} for task in ("STS12", "STSBenchmark")}
    rewrite(tmp_path, put(data={"overlap": overlap}, scores={"STS12": {"spearman_wmean": 50.0}}))
    assert [(flag.kind, flag.recipes) for flag in flags_of(tmp_path, "overlap")] == [("development", frozenset())]


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
    assert [labels(folder, flag) for flag in flags_of(folder, "untrained")] == [{SCL}] * flagged
    assert ("untrained" in between(folder, SCL, BASELINE)) == flagged
