"""The same trials by plain Ray Tune, as its guide says: a checkpoint with each report, three more attempts a trial, and
`Tuner.restore` where the folder holds an earlier run.

    python -m benchmarks.chaos._tune RESULTS KEY [KEY ...]
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ATTEMPTS_MORE = 3
"""As many as a study of ours gives a trial."""
NAME, SCORES = "tune", "scores.json"


def trial(config: dict[str, Any]) -> None:
    """One trial: what `_chaos_work` does in a worker."""
    from ray import tune

    from benchmarks.chaos._work import STEPS, ArithmeticTraining

    checkpoint = tune.get_checkpoint()
    if checkpoint is None:
        training = ArithmeticTraining(config["key"], None)
    else:
        with checkpoint.as_directory() as folder:
            training = ArithmeticTraining(config["key"], Path(folder))
    while training.step < STEPS:
        training.go()
        if training.pauses or training.step == STEPS:
            with tempfile.TemporaryDirectory() as scratch:
                training.save(Path(scratch))
                metrics = {"key": training.key, "score": training.score}
                tune.report(metrics, checkpoint=tune.Checkpoint.from_directory(scratch))


def main(results: Path, keys: list[str]) -> int:
    """Run or continue it. Returns how many trials have no score in the end, which stand in `SCORES`."""
    os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
    import ray
    from ray import tune

    ray.init(log_to_driver=False)
    folder = results / NAME
    if tune.Tuner.can_restore(str(folder)):
        tuner = tune.Tuner.restore(str(folder), trainable=_limited(), resume_unfinished=True, resume_errored=True)
    else:
        tuner = tune.Tuner(
            _limited(),
            param_space={"key": tune.grid_search(keys)},
            run_config=tune.RunConfig(
                name=NAME,
                storage_path=str(results),
                failure_config=tune.FailureConfig(max_failures=ATTEMPTS_MORE),
                verbose=0,
            ),
        )
    ended = [result.metrics for result in tuner.fit() if result.error is None]
    scores = {metrics["key"]: metrics["score"] for metrics in ended if metrics and "score" in metrics}
    (results / SCORES).write_text(json.dumps(scores, indent=1, sort_keys=True))
    return len(set(keys) - set(scores))


def _limited() -> Any:
    from ray import tune

    return tune.with_resources(trial, {"CPU": 1})


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
