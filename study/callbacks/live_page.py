"""Serves the live page of a study in the process that runs the study."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path

from reports.live import listen
from reports.words.commands import report_command
from study.cli.terminal import say
from study.engine.cluster import inside_job


def show_live(results: Path) -> Callable[[], None]:
    """Serve the page in a thread and print its address. Return a function that ends it.

    If the page cannot be served, a message says so, and the study goes on without it.
    """
    try:
        server = listen(results)
        thread = threading.Thread(target=server.serve_forever, name="live page", daemon=True)
        thread.start()
    except Exception as error:
        command = report_command(results, "--live")
        say(f"no live page: {error}; the study goes on, and `{command}` may serve it")
        return lambda: None
    say(how_to_reach(server.address))

    def close() -> None:
        server.shutdown()
        thread.join()
        server.server_close()
        say(f"the live page has ended; `{report_command(results, '--live')}` opens it again")

    return close


def how_to_reach(address: str) -> str:
    """Return one line: the address of the page, and how to open it from another machine."""
    host, port = socket.gethostname(), address.rstrip("/").rpartition(":")[2]
    where = f"on {host}, the cluster's node where this job's driver runs" if inside_job() else "on this machine"
    way = f"ssh -N -L {port}:127.0.0.1:{port} {host} ({host}: this machine's name as you reach it)"
    return f"live page: {address} {where}; from elsewhere first: {way}"
