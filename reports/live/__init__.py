"""A page on this machine that shows a study while it runs: `python -m reports RESULTS --live`."""

from reports.live.server import serve

__all__ = ["serve"]
