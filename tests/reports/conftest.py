"""Short reports."""

from __future__ import annotations

import pytest


@pytest.fixture
def short_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports of what is quickly written: a picture, a table, how many looks there were."""
    from reports import report
    from reports.sections import SECTIONS

    monkeypatch.setattr(report, "in_order", lambda: [SECTIONS[name] for name in ("glance", "rows", "reading")])
