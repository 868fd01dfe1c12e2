"""How small embeddings may be: what a budget promises, and the command."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from reports.__main__ import main
from reports.facts.quantity import Quantity
from reports.facts.results import Results
from reports.ledger import LEDGER, Ledger
from reports.size import ScoredSize, SizeBudget, choose_size, development_figure, loss_bound, score_sizes
from reports.statistics import Sample
from reports.testing import make_study
from search_spaces.goals import GOALS, Goal
from trainables.encoders import load_encoder
from trainables.encoders.pooling import Mean
from trainables.errors import UserError
from trainables.recipe import SCENES_ENCODER, EncoderConfig
from trainables.senteval import sizes
from trainables.senteval.__main__ import main as score_encoder
from trainables.senteval.effects import mean_effects
from trainables.senteval.sizes import Variant

ITEMS, TRUE_LOSS, SPLITS = 500, 1.0, 1500


def sample(values: np.ndarray) -> Sample:
    return Sample(np.array([100 * values.mean()]), (0,), True, mean_effects(values)[None], "t")


def sized(width: int, test: np.ndarray, dev: np.ndarray | None = None, numbers: str = "fp32") -> ScoredSize:
    return ScoredSize(Variant(width, numbers), sample(test), None if dev is None else sample(dev))


def lossy(random: np.random.Generator, whole: np.ndarray, loss: float) -> np.ndarray:
    """Scores of which a fifth differ, by `loss` points in the mean over very many."""
    moved = random.random(len(whole)) < 0.2
    return whole - moved * random.normal(loss / 20, 0.2, len(whole))


def study_with_a_model(folder: Path) -> Results:
    made = make_study(folder, rows=1, seeds=1)
    (record,) = made.records
    record = dataclasses.replace(record, checkpoint=f"models/{record.key}")
    Ledger(made.folder / LEDGER).write(record)
    load_encoder(EncoderConfig(name=SCENES_ENCODER, max_length=32), Mean(), device="cpu").save(
        made.folder / str(record.checkpoint)
    )
    return Results.load(folder)


@pytest.mark.slow
def test_a_bound_holds_on_held_back_items_as_often_as_it_says() -> None:
    random = np.random.default_rng(1)
    held = 0
    for _ in range(SPLITS):
        whole = random.random(ITEMS)
        held += loss_bound(sample(whole), sample(lossy(random, whole, TRUE_LOSS))) >= TRUE_LOSS
    assert 0.93 <= held / SPLITS <= 0.97


@pytest.mark.slow
def test_a_budget_holds_however_many_sizes_are_tried() -> None:
    """The first size loses nothing that counts; those after it lose a little more than the budget."""
    random = np.random.default_rng(2)
    broken = 0
    for _ in range(SPLITS):
        every = [random.random(ITEMS) for _ in range(2)]
        columns = [[lossy(random, whole, loss) for whole in every] for loss in (-2.0, 1.0, 1.0, 1.0)]
        made = [sized(width, *both) for width, both in zip((64, 32, 16, 8, 4), [every, *columns], strict=True)]
        taken = choose_size(made, SizeBudget(loss=TRUE_LOSS)).sized
        broken += taken is not None and taken.variant.width < 32
    assert 0.03 <= broken / SPLITS <= 0.07


def test_where_nothing_is_shown_the_largest_loss_is_told() -> None:
    random = np.random.default_rng(3)
    whole = random.random(ITEMS)
    made = [sized(8, whole), sized(4, lossy(random, whole, 5.0))]
    choice = choose_size(made, SizeBudget(loss=0.5))
    assert choice.sized is None
    assert choice.loss_bound == loss_bound(made[0].test, made[1].test) > 5


def test_without_development_items_the_whole_width_alone_is_tried() -> None:
    """Else the first cut would end the order, since nothing says that coarser numbers lose less."""
    random = np.random.default_rng(6)
    whole = random.random(ITEMS)
    made = [sized(8, whole), sized(7, lossy(random, whole, 9.0)), sized(8, whole, numbers="int8")]
    assert choose_size(made, SizeBudget(loss=1.0)).sized is made[2]


def test_development_numbers_are_no_test_numbers() -> None:
    assert development_figure(Quantity("STS", {("STS12", "spearman_wmean"): 1.0})) is None
    both = development_figure(Quantity("t", {("t", "test_ndcg@10"): 1.0}))
    assert both.weights == {("t", "dev_ndcg@10"): 1.0}


def test_of_equal_bytes_whole_queries_are_tried_where_no_development_items_choose() -> None:
    random = np.random.default_rng(7)
    whole = random.random(ITEMS)
    made = [sized(8, whole), sized(8, lossy(random, whole, 9.0), numbers="binary")]
    made += [sized(8, whole, numbers="binary, rescored"), sized(1, lossy(random, whole, 9.0), numbers="int8")]
    assert choose_size(made, SizeBudget(loss=1.0)).sized is made[2]
    assert choose_size(made, SizeBudget(bytes=1e6)).sized is made[2]


def test_development_items_of_another_task_order_the_sizes_and_give_ranges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "SHARES", (1.0,))
    results = study_with_a_model(tmp_path / "r")
    goal = Goal("h", "h", ("STSBenchmark",), judged_by=(("STS12", "spearman_wmean"),))
    object.__setattr__(results, "goals", (goal, GOALS["seconds"]))
    made = score_sizes(results, results.records[0], results.figures[0])
    assert results.figures[0].tasks == {"STS12"}
    assert "int8" in {sized.variant.numbers for sized in made}
    assert all(sized.dev for sized in made)


def test_no_item_that_differs_is_no_proof_of_none() -> None:
    whole = sample(np.random.default_rng(4).random(1000))
    assert loss_bound(whole, whole) == pytest.approx(0.299, abs=0.001)


def test_the_best_within_bytes_is_that_of_development() -> None:
    random = np.random.default_rng(5)
    whole = random.random(ITEMS)
    made = [sized(width, whole, lossy(random, whole, loss)) for width, loss in ((8, 0.0), (4, 9.0), (2, 1.0))]
    assert choose_size(made, SizeBudget(bytes=16e6)).sized is made[2]
    with pytest.raises(UserError, match="smallest takes bytes=8MB"):
        choose_size(made, SizeBudget(bytes=1.0))


@pytest.mark.parametrize(
    ("words", "budget"),
    [
        ("loss=0.5", SizeBudget(loss=0.5)),
        ("bytes=300MB", SizeBudget(bytes=300e6)),
        ("bytes=2gb", SizeBudget(bytes=2e9)),
        ("bytes=1000", SizeBudget(bytes=1000.0)),
    ],
)
def test_budgets(words: str, budget: SizeBudget) -> None:
    assert SizeBudget.of(words) == budget


@pytest.mark.parametrize("words", ["loss=5MB", "loss=0", "bytes=much", "300MB", ""])
def test_what_is_no_budget_is_refused(words: str) -> None:
    with pytest.raises(UserError, match="give points as in loss"):
        SizeBudget.of(words)


def test_a_study_without_a_kept_model_is_refused(tmp_path: Path) -> None:
    make_study(tmp_path / "r", rows=1, seeds=1)
    with pytest.raises(UserError, match="--keep-models all"):
        main(["size", str(tmp_path / "r")])


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("DOCUMENTS", 50), ("REPEATS", 1)):
        monkeypatch.setattr(sizes, name, value)
    monkeypatch.setattr(sizes, "SHARES", (1.0, 1 / 8))
    made = study_with_a_model(tmp_path / "r")
    assert main(["size", str(made.folder), "--budget", "loss=0.5", "--format", "md,html"]) == 0
    printed = capsys.readouterr().out
    assert "a million vectors" in printed
    assert {"size.md", "size.html"} <= {path.name for path in made.folder.iterdir()}
    assert "pictures/size.svg" in (made.folder / "size.md").read_text()
    with pytest.raises(UserError, match="md or html"):
        main(["size", str(made.folder), "--format", "pdf"])


@pytest.mark.slow
def test_any_encoder_is_scored_in_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    """Beside SentEval's scores; without tasks that hold queries against documents there is no second look."""
    of_encoder = ["--encoder", "scenes-small", "--data", "scenes", "--tasks", "STSBenchmark", "--protocol", "fast"]
    assert score_encoder([*of_encoder, "--sizes", "--quiet"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "MB a million" in line]
    assert len(lines) == 20
    assert lines[0].split()[:4] == ["128", "fp32", "512", "MB"]
    assert not any("rescored" in line for line in lines)
