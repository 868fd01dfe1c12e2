"""A page on this machine that shows a running study: `python -m reports RESULTS --live`."""

from reports.live.server import listen, serve

__all__ = ["listen", "serve"]
