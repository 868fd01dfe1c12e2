"""What a report says that stopping trials early saved."""

from __future__ import annotations

from pathlib import Path

from reports.document import markdown
from reports.ledger import Record
from reports.results import Results
from reports.sections import explored
from reports.testing import changed
from tests.reports.sections.test_sections import rewrite
from tests.synthetic_results import make_results

TRIALS, THROUGH = 12, 7


def test_stopped_trials(tmp_path: Path) -> None:
    """Of 12 explored trials 5 were stopped at the first rung, after a quarter of 480 steps."""
    info = make_results(tmp_path, explored=TRIALS)
    numbers = iter(range(TRIALS))

    def change(record: Record) -> Record:
        if record.recipe_hash not in info.explored:
            return record
        through = next(numbers) < THROUGH
        rung = {"rung": 1, "step": 120, "seconds": 40.0, "tokens": 900, "scores": {"sts": 60.0}}
        steps = 480 if through else 120
        stopped = None if through else "stopped at rung 1"
        training = {**record.training, "rungs": [rung], "planned_steps": 480, "steps": steps, "seconds": steps / 3,
                    "stopped": stopped}  # fmt: skip
        cost = {"seconds": steps / 3 + 20 * through, "train_seconds": steps / 3, "evaluation_seconds": 20.0 * through}
        scores = record.scores if through else {}
        return changed(record, status="finished" if through else "pruned", scores=scores, training=training, cost=cost)

    rewrite(tmp_path, change)
    text = markdown(explored.write(Results.load(tmp_path), tmp_path))
    assert "7 finished, 5 stopped early. The 12 trials that could be stopped took" in text
    saved = 1 - (THROUGH * 180 + 5 * 40) / (TRIALS * 180)
    assert f"saved **{100 * saved:.0f} %**" in text
