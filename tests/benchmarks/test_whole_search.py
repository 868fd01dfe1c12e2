"""Whole searches side by side: both sides run the same recipes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import whole_search
from reports.ledger import LEDGER, Evaluation, Ledger, Record
from reports.ledger.finals import FIRST_FRESH, PART
from search_spaces import load_space
from study.search.ask_tell import AskTell, memory_study
from study.search.samplers import SAMPLERS
from trainables.errors import UserError
from trainables.plugins import load_plugin
from trainables.recipe import SCENES, Recipe

ASKED = ["--train", "a", "--dev", "b", "--test", "c", "--encoder"]


def test_recipes_are_drawn_within_the_peers_ranges_and_again_the_same():
    drawn = whole_search.recipes(40, seed=0)
    assert drawn == whole_search.recipes(40, seed=0) != whole_search.recipes(40, seed=1)
    assert {recipe["optimisation.epochs"] for recipe in drawn} == {1, 2}
    assert all(32 <= recipe["optimisation.batch_size"] <= 128 for recipe in drawn)


def test_our_side_asks_for_the_recipes_of_the_list_in_their_order(tmp_path: Path):
    drawn = whole_search.recipes(3, seed=0)
    asked = {"train": SCENES, "dev": "dev.csv", "test": "test.csv", "encoder": "scenes-small", "recipes": drawn}
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    sampler, file = whole_search.written(tmp_path / "asked.json")
    load_plugin(sampler)
    space = load_space(file)
    asking = AskTell(memory_study(SAMPLERS["listed"].build(0)), space.base, space.domains)
    assert [asking.choose()[1] for _ in drawn] == drawn


def test_an_encoder_that_is_no_folder_is_refused():
    with pytest.raises(UserError, match=r"holds no config\.json"):
        whole_search.main([*ASKED, "none"])


def record(seed: int, end: int, seconds: float, score: float = 70.0) -> Record:
    """A trial that ended so many seconds after the beginning of 2026, half of its seconds training."""
    recipe = Recipe()
    return Record(
        recipe.flat(),
        recipe.hash,
        seed,
        evaluations=[Evaluation("full", {"dev": {"dev_spearman": score}}, parts="development")],
        training={"seconds": seconds / 2},
        cost={
            "seconds": seconds,
            "train_seconds": 0.6 * seconds,
            "evaluation_seconds": 0.4 * seconds,
            "evaluating_seconds": 0.1 * seconds,
        },
        finished_at=f"2026-01-01T00:{end // 60:02}:{end % 60:02}+00:00",
    )


def test_our_time_is_divided_into_phases_and_what_trials_did():
    began = 1767225600.0
    search = [record(PART, 90, 60), record(1, 150, 90)]
    # the first of the finals began while the last recipe ran
    finals = [record(FIRST_FRESH, 170, 30), record(FIRST_FRESH + 1, 210, 30)]
    parts = whole_search.parts_of([*finals, *search], began, began + 240)
    assert parts == pytest.approx(
        {
            "start": 0.5,
            "search": 2.0,
            "finals": 1.0,
            "end": 0.5,
            "trials at once": 210 / 180,
            "preparing": 0.1,
            "training": 0.5,
            "encoding": 0.3,
            "scoring": 0.1,
        }
    )
    alone = whole_search.parts_of(search, began, began + 240)
    assert (alone["search"], alone["finals"], alone["end"]) == (2.0, 0.0, 1.5)


def test_the_sides_asked_for_take_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    started = []

    def run(command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        if "--results" not in command:
            started.append("peer")
            return subprocess.CompletedProcess(command, 0, "some words\n72.5\n", "")
        started.append(command[command.index("--finals") + 1])
        ledger = Ledger(Path(command[command.index("--results") + 1]) / LEDGER)
        for seed, score in enumerate((71.25, 70.5)):
            ledger.write(record(seed, 100, 10, score))
        return subprocess.CompletedProcess(command, 0, "", "")

    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr(subprocess, "run", run)
    asked = [*ASKED, str(tmp_path), "--turns", "2", "--sides"]
    whole_search.main([*asked, "ours", "sentence_transformers"])
    assert started == ["peer", "none"] * 2
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    cells = {row[0]: row for row in table if row and row[0] in whole_search.SIDES and len(row) == 4}
    assert {side: row[-1] for side, row in cells.items()} == {
        "sentence_transformers": "72.50, 72.50",
        "ours": "71.25, 71.25",
    }
    (below,) = (row for row in table if len(row) == 10 and row[0] == "ours")
    assert below[5:] == [
        "2.00 (2.00 to 2.00)",
        *(f"{share} ({share} to {share})" for share in ("10%", "50%", "30%", "10%")),
    ]
    with pytest.raises(UserError, match="must name sentence_transformers too"):
        whole_search.main([*asked, "ours"])
