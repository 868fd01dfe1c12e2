"""One browser for all tests of pages, and short reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.live_pictures import CHROMIUM, chromium


@pytest.fixture
def short_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports of what is quickly written: a picture, a table, how many looks there were."""
    from reports import report
    from reports.sections import SECTIONS

    monkeypatch.setattr(report, "in_order", lambda: [SECTIONS[name] for name in ("glance", "rows", "reading")])


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Its tests have the mark `xdist_group("browser")`, so that one process of `pytest -n` starts it."""
    pytest.importorskip("playwright", reason="a browser is driven by playwright, which is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with chromium() as opened:
        yield opened
