"""The server of the live page. It answers GET requests to five addresses, from this machine alone."""

from __future__ import annotations

import functools
import re
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from reports.ledger import LOOKS, StudyInfo
from reports.live import html
from reports.live.folder import Folder
from reports.live.report_process import CachedReport, in_own_process
from trainables.errors import UserError

LOOPBACK = "127.0.0.1"
FILES = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = "frame-ancestors 'none'"
"""Content security policy of the report's address. The report itself has a policy that permits its script and style."""
HOSTS = re.compile(r"(localhost|127\.0\.0\.1)(:\d{1,5})?", re.IGNORECASE)
"""Accepted host names. A foreign name that resolves to this machine (DNS rebinding) is refused."""
HTML, JSON = "text/html; charset=utf-8", "application/json; charset=utf-8"


Push = Callable[[str], object]
"""Takes the name of a results folder's subfolder in which a file is new, and copies it to the URL, if there is one."""


def serve(results: Path, push: Push) -> None:
    """Serve a results folder until the process ends or is interrupted, and print the page's address.

    Raise `UserError` if the folder is not a study's, or if no port is free.
    """
    with listen(results, push) as server:
        print(f"live page: {server.address} (ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


def listen(results: Path, push: Push = lambda name: None) -> LiveServer:
    """Return a server for the results folder, bound to a free port. The caller then calls its `serve_forever`.

    Raise the same errors as `serve`.
    """
    StudyInfo.load(results).load_space(results)  # runs the plugins that the records' recipes may need
    try:
        return LiveServer(results.resolve(), push)
    except OSError as error:
        raise UserError(f"the live page cannot listen on {LOOPBACK} ({error})") from None


class LiveServer(ThreadingHTTPServer):
    """The server of the live page of one results folder."""

    daemon_threads = True

    def __init__(self, results: Path, push: Push = lambda name: None) -> None:
        super().__init__((LOOPBACK, 0), Handler)  # a free port
        self.folder = Folder(results)
        one_at_a_time = threading.Lock()
        self.verdicts = CachedReport(
            functools.partial(in_own_process, ["reports.live.slow_parts", str(results)]), one_at_a_time
        )
        self.report = CachedReport(functools.partial(_report, results, push), one_at_a_time)
        self.addresses: dict[str, Callable[[], tuple[str, str]]] = {
            "/": lambda: (HTML, self._page(html.page)),
            "/state.json": lambda: (JSON, self._page(html.state)),
            "/live.css": lambda: ("text/css; charset=utf-8", (FILES / "live.css").read_text(encoding="utf-8")),
            "/live.js": lambda: ("text/javascript; charset=utf-8", (FILES / "live.js").read_text(encoding="utf-8")),
            "/report": lambda: (HTML, self.report.get(self.folder.view().signature)),
        }

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server_address[1]}/"

    def _page(self, write: Callable[..., str]) -> str:
        view = self.folder.view()
        findings, problem = self.verdicts.latest(view.signature) if view.finished else (None, "")
        return write(view, html.verdicts(findings, problem, view.finished, view.runs))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing if a browser disconnects: the console belongs to the study."""


class Handler(BaseHTTPRequestHandler):
    """Handles one request to the live page."""

    server: LiveServer
    server_version, sys_version = "live", ""
    timeout = 30

    def do_GET(self) -> None:
        if not self._asked_for_this_machine():
            self._answer(403, "text/plain; charset=utf-8", "Only localhost and 127.0.0.1 are served.\n")
            return
        make = self.server.addresses.get(self.path)
        if make is None:
            self._answer(404, "text/plain; charset=utf-8", "There is no such page.\n")
            return
        if self.path != "/" and self.headers.get("Sec-Fetch-Site") == "cross-site":
            self._answer(403, "text/plain; charset=utf-8", "Another site may link to the page, and ask for no more.\n")
            return
        try:
            kind, content = make()
        except RuntimeError as error:
            self._answer(503, "text/plain; charset=utf-8", f"The report cannot be made now: {error}\n")
            return
        self._answer(200, kind, content, REPORT_POLICY if self.path == "/report" else POLICY)

    def _refuse(self) -> None:
        self._answer(405, "text/plain; charset=utf-8", "Only GET is answered.\n")

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _refuse  # noqa: N815

    def _asked_for_this_machine(self) -> bool:
        hosts = self.headers.get_all("Host") or []
        return len(hosts) == 1 and HOSTS.fullmatch(hosts[0].strip()) is not None

    def _answer(self, status: int, kind: str, text: str, policy: str = POLICY) -> None:
        content = text.encode()
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(content))),
            ("Content-Security-Policy", policy),
            ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        if status == 405:
            self.send_header("Allow", "GET")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Print nothing: the console belongs to the study."""


def _report(results: Path, push: Push) -> str:
    """Return the report as one HTML file, made in a copy of the folder. In the folder only the look is recorded."""
    from reports.report import scratch_copy  # imports the plotting libraries

    with scratch_copy(results) as copy:
        in_own_process(["reports.live.slow_parts", str(results), str(copy)])
        try:
            push(LOOKS)
        except UserError as error:
            print(f"note: {error}", file=sys.stderr, flush=True)
        return (copy / "report.html").read_text(encoding="utf-8")
