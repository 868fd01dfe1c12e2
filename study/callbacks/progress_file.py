"""Writes the state of a running study to `RESULTS/progress.json`, for live displays (`reports.live`)."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping
from typing import Any

from reports.facts.recipe_names import in_short
from reports.ledger import Progress, Running, Waiting, add_losses
from reports.ledger.finals import PART_SEED, SHARE
from reports.ledger.moments import now
from study.callbacks.base import Callback
from study.callbacks.state import RunningTrial, StudyState
from study.cli.terminal import say
from study.trial import Trial

EVERY_SECONDS = 5.0
"""Seconds after which the file is written even without an event."""
SOON_SECONDS = 1.0
"""Seconds after which the file is written if there was an event."""
LISTED = 200
"""At most this many queued trials are listed by name in the file."""


class ProgressFile(Callback):
    """Writes `progress.json`, and beside it the losses of trials."""

    def __init__(self, state: StudyState) -> None:
        self.state = state
        self.results = state.plan.results
        self.base = state.plan.base.flat()
        self.began_at = now()
        self.words: dict[str, dict[str, Any]] = {}  # of listed trials: their changes take long to compute
        self.losses: dict[str, list[tuple[int, float]]] = {}  # losses by trial that are not written yet
        self.steps: dict[str, int] = {}
        self.written = float("-inf")
        self.events = -1  # the state's number of events at the last write
        self.warned = False

    def step(self, trial: Trial, step: int, steps: int, scalars: Mapping[str, float]) -> None:
        loss = scalars.get("loss")
        if loss is not None and math.isfinite(loss):
            self.losses.setdefault(trial.key, []).append((step, loss))
            self.steps[trial.key] = steps

    def tick(self) -> None:
        changed = self.state.events > self.events
        if time.monotonic() - self.written > (SOON_SECONDS if changed else EVERY_SECONDS):
            self.write()

    def close(self) -> None:
        """Write the file for the last time, with the information that this run of the study is over."""
        self.write(ended=True)

    def write(self, ended: bool = False) -> None:
        """Write the file and the new losses. On a full disk warn once, drop these losses, and try again the next
        time."""
        self.written, self.events = time.monotonic(), self.state.events
        losses, self.losses = self.losses, {}
        try:
            for key, points in losses.items():
                add_losses(self.results, key, self.steps[key], points)
            self.progress(ended).save(self.results)
        except OSError as error:
            if not self.warned:
                say(f"warning: what runs cannot be shown: {error}")
            self.warned = True

    def progress(self, ended: bool = False) -> Progress:
        """Return the current progress of the study."""
        state = self.state
        forecast = state.forecast()
        running = [*state.running.values()]
        listed = [*itertools.islice(state.waiting(), LISTED)]
        earlier = self.words
        self.words = {run.trial.key: earlier.get(run.trial.key) or self._words(run.trial) for run in running}
        self.words |= {planned.key: earlier.get(planned.key) or self._words(planned) for planned in listed}
        return Progress(
            written_at=now(),
            began_at=self.began_at,
            counts=state.counts(),
            running=[self._running(run) for run in running],
            queued=[Waiting(**self.words[planned.key]) for planned in listed],
            at_once=state.at_once,
            seconds_left=None if ended else forecast.seconds,
            estimate="" if ended else forecast.how,
            stages=[] if ended else state.stages(),
            failed_starts=state.failed_starts,
            ended=ended,
        )

    def _running(self, run: RunningTrial) -> Running:
        return Running(
            **self.words[run.trial.key],
            since=run.since,
            step=run.step,
            steps=run.steps,
            loss=run.loss,
            rung=run.rung,
            scores={**run.scores},
            attempt=run.attempt,
        )

    def _words(self, trial: Trial) -> dict[str, Any]:
        recipe, objective = trial.recipe.flat(), trial.recipe.objective.name
        if trial.seed == PART_SEED:  # its name has the share
            recipe = {**recipe, SHARE: self.base[SHARE]}
        changes = in_short(self.base, recipe)
        return {"key": trial.key, "name": trial.name, "changes": changes, "seed": trial.seed, "objective": objective}
