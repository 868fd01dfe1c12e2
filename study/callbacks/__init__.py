"""What follows a study while it runs."""

from study.callbacks.base import WATCHERS, Outlook, Watcher, WatcherEntry

__all__ = ["WATCHERS", "Outlook", "Watcher", "WatcherEntry"]
