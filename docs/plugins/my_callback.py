import os

from study.callbacks import CALLBACKS, Callback, CallbackEntry
from trainables.files import write_whole


class Failures(Callback):
    """A text file of what has failed, for whoever is on duty."""

    def __init__(self, path):
        self.path, self.lines = path, []

    def failed(self, trial, reason):
        self.lines.append(f"{trial.name} (seed {trial.seed}): {reason}")
        write_whole(self.path, "\n".join(self.lines) + "\n")


def build(state):
    return Failures(state.plan.results / "duty.txt") if "ON_DUTY" in os.environ else None


CALLBACKS.add(CallbackEntry("duty", build, "a file of what has failed, if ON_DUTY is set"))
