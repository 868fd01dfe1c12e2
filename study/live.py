"""The live page beside a study: served by the process that runs it, for as long as it runs."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

from reports.live import serve
from study.cluster import inside_job
from study.console import say


def show_live(results: Path) -> None:
    """Serve the page in a thread of its own and print its address. If that fails one sentence says so."""
    threading.Thread(target=_serve, args=(results,), name="live page", daemon=True).start()


def _serve(results: Path) -> None:
    try:
        serve(results, ready=lambda address: say(how_to_reach(address)))
    except Exception as error:  # whatever it is, the study goes on without the page
        say(f"no live page: {error}; the study goes on, and `python -m reports {results} --live` may serve it")


def how_to_reach(address: str) -> str:
    """One line: where the page is, and how to open it from another machine."""
    host, port = socket.gethostname(), address.rstrip("/").rpartition(":")[2]
    where = f"on {host}, the cluster's node where this job's driver runs" if inside_job() else "on this machine"
    return f"live page: {address} {where}; from elsewhere first: ssh -N -L {port}:127.0.0.1:{port} {host}"
