"""Screenshots of the live page for the docs: `python -m tests.live_pictures docs/pictures`.

Of a study that is made up (`tests.live_folder`), in headless Chromium; needs playwright.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reports.live.server import LiveServer
from tests.live_folder import running_study

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SIZES = {
    "live": ({"width": 1000, "height": 1200}, "light"),  # the whole page
    "live-dark": ({"width": 1000, "height": 640}, "dark"),
    "live-phone": ({"width": 390, "height": 844}, "light"),
}


@contextlib.contextmanager
def served(results: Path) -> Iterator[LiveServer]:
    """The server, in a thread, for as long as the block lasts."""
    with LiveServer(results) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Headless Chromium, the system's own where there is one."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


def take(to: Path) -> None:
    """Write `live.png`, `live-dark.png` and `live-phone.png` into the folder."""
    to = to.resolve()
    results = Path("results/scl_ablation")  # the page shows this path
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        running_study(results, predictions=True, explored=5)
        with served(results) as server, chromium() as browser:
            server.verdicts.get(server.folder.view().signature)
            for name, (size, scheme) in SIZES.items():
                page = browser.new_page(viewport=size, color_scheme=scheme)
                page.goto(server.address)
                page.wait_for_selector("#losses svg")
                page.screenshot(path=to / f"{name}.png", full_page=name == "live")


if __name__ == "__main__":
    take(Path(sys.argv[1]))
