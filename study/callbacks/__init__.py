"""What follows a study while it runs."""

from study.callbacks.base import CALLBACKS, Callback, CallbackEntry
from study.callbacks.state import StudyState

__all__ = ["CALLBACKS", "Callback", "CallbackEntry", "StudyState"]
