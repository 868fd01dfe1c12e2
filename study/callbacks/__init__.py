"""Callbacks that follow a running study: the console, the live page's file, experiment trackers, metrics.

A callback of your own is a class with some of the methods of `Callback`, in a file given by `--plugin`:

    CALLBACKS.add(CallbackEntry("mine", Mine, "what it shows"))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from study.callbacks.base import Callback
from study.callbacks.state import StudyState
from trainables.registry import Registry, load

__all__ = ["CALLBACKS", "Callback", "CallbackEntry", "StudyState"]


@dataclass(frozen=True)
class CallbackEntry:
    """A callback by name."""

    name: str
    builder: str | Callable[[StudyState], Callback | None]
    """A function, or `"module:function"`, from the `StudyState`, which it may keep, to a `Callback`, or to None if the
    user did not ask for the callback."""
    meaning: str

    def build(self, state: StudyState) -> Callback | None:
        """Return a new callback."""
        callback: Callback | None = load(self.builder)(state)
        return callback


CALLBACKS = Registry(
    "callback",
    CallbackEntry("console", "study.callbacks.console:Console", "a line a trial, and what runs now"),
    CallbackEntry("progress", "study.callbacks.progress_file:ProgressFile", "the file that the live page shows"),
    CallbackEntry("tensorboard", "study.callbacks.tensorboard:build", "curves, and every score of a trial"),
    CallbackEntry("mlflow", "study.callbacks.mlflow:build", "a run a trial, if MLFLOW_TRACKING_URI is set"),
    CallbackEntry("wandb", "study.callbacks.wandb:build", "a run a trial, if WANDB_API_KEY or WANDB_MODE is set"),
    CallbackEntry("prometheus", "study.callbacks.prometheus:Prometheus", "Ray's metrics, for Grafana"),
)
