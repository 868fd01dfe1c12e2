"""docs/findings.md says nothing that a committed study does not: its quotes and numbers stand in that study's report,
which `test_archive` makes anew from the ledger."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from search_spaces import spaces

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"(?<![\w.,])[+-]?\d+(?:,\d{3})*\.\d+")
COUNTS = re.compile(r"(?<![\w.,])\d+(?:,\d{3})* of \d+(?:,\d{3})*(?![\w%]|[.,]\d)")
PAGE = (DOCS / "findings.md").read_text(encoding="utf-8")
SECTIONS = {text.partition("\n")[0]: text for text in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}


def unfounded(section: str, report: str) -> list[str]:
    """Quoted lines, numbers with decimals, and counts (`2 of 5`) of a section that its report has not."""
    quoted = [line.removeprefix("> ") for line in section.splitlines() if line.startswith("> ")]
    missing = [line for line in quoted if line not in report.splitlines()]
    for form in (NUMBER, COUNTS):
        stated = set(form.findall(report))
        missing += [number for number in form.findall(section) if number not in stated]
    return missing


@pytest.mark.parametrize("title", SECTIONS)
def test_a_finding_stands_in_the_report_of_its_study(title: str) -> None:
    section = SECTIONS[title]
    [name] = set(re.findall(r"\(examples/(\w+)/report\.md\)", section))
    report = (DOCS / "examples" / name / "report.md").read_text(encoding="utf-8")
    assert unfounded(section, report) == []
    assert any(line.startswith("> ") for line in section.splitlines())
    assert name in spaces()
    assert title == spaces()[name].title
    assert f"python study/run.py --space {name}" in section


def test_what_no_report_says_is_found() -> None:
    report = "- **Gain:** +1.25 [+0.50, +2.00]\n"
    assert unfounded("> - **Gain:** +1.25 [+0.50, +2.00]\nSo +1.25, at least +0.50.", report) == []
    assert unfounded("> - **Gain:** +1.26\nSo 0.5.", report) == ["- **Gain:** +1.26", "+1.26", "0.5"]
    assert unfounded("So 1,200 of 3,000.", "(1,200 of 3,000)") == []
    assert unfounded("So 2 of 30, of 1.5 of 2.", "1 of 30, 1.5") == ["2 of 30"]
