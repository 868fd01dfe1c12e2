"""What a report prints of trials that were stopped early."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

from reports.document import markdown
from reports.ledger import Record
from reports.results import Results
from reports.sections import stopping
from reports.testing import changed
from search_spaces.goals import GOALS
from tests.reports.sections.test_sections import rewrite, study

GOALS_OF = "goals=('sts', 'transfer')"
TRIALS, THROUGH = 12, 7


@pytest.mark.parametrize("names", [("sts", "transfer"), ("sts",)])
def test_stopped_trials(names: tuple[str, ...], tmp_path: Path) -> None:
    """Of 12 explored trials 5 were stopped at the first rung, after a quarter of 480 steps."""
    info = study(tmp_path, GOALS_OF if len(names) > 1 else "", explored=TRIALS)
    scores = np.random.default_rng(3).uniform(60, 70, size=(2, TRIALS))
    numbers = iter(range(TRIALS))

    def change(record: Record) -> Record:
        if record.recipe_hash not in info.explored:
            return record
        trial = next(numbers)
        through = trial < THROUGH
        rung = {"rung": 1, "step": 120, "seconds": 40.0, "tokens": 900,
                "scores": dict.fromkeys(names, float(scores[0, trial]))}  # fmt: skip
        ends = {task: dict(own) for task, own in record.scores.items()} if through else {}
        for name in (names if len(names) > 1 else ("sts", "transfer")) if through else ():
            for task in set(GOALS[name].tasks) & ends.keys():
                ends[task][GOALS[name].number] = float(scores[1, trial])
        steps = 480 if through else 120
        stopped = None if through else "stopped at rung 1"
        training = {**record.training, "rungs": [rung], "planned_steps": 480, "steps": steps, "seconds": steps / 3,
                    "stopped": stopped}  # fmt: skip
        cost = {"seconds": steps / 3 + 20 * through, "train_seconds": steps / 3, "evaluation_seconds": 20.0 * through}
        return changed(record, status="finished" if through else "pruned", scores=ends, training=training, cost=cost)

    rewrite(tmp_path, change)
    text = markdown(stopping.write(Results.load(tmp_path), tmp_path))
    assert "5 explored trials of 12 were stopped early." in text
    saved = 1 - (THROUGH * 180 + 5 * 40) / (TRIALS * 180)
    assert f"saved **{100 * saved:.0f} %**" in text
    tau = kendalltau(scores[0, :THROUGH], scores[1, :THROUGH]).statistic
    goals = [f"`{name}`" for name in names] if len(names) > 1 else ["development score"]
    assert f"the end is {'; '.join(f'{tau:.2f} at rung 1 by {name}' for name in goals)}." in text


def test_an_older_ledger_has_no_such_section(tmp_path: Path) -> None:
    study(tmp_path, GOALS_OF, explored=6, pruned=6)
    assert stopping.write(Results.load(tmp_path), tmp_path) == []
