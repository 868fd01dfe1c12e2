"""How learned temperatures moved: the picture, where each began and ended, and where there is nothing to say."""

from __future__ import annotations

import re
from pathlib import Path

from reports.ledger import Record
from reports.testing import changed
from search_spaces import spaces
from tests.guarded import rewrite
from tests.synthetic_results import make_results, section_text, table_lines

FIXED, QUICK, SLOW = "tau 0.05", "learned from 0.07", "learned from 0.07, slower"


def learned(end: float) -> object:
    """A course from 0.07 to this in three steps, a little lower with each seed."""

    def change(record: Record) -> Record:
        last = end - record.seed / 1000
        course = [{"step": step, "temperature": 0.07 + (last - 0.07) * (step - 1) / 2} for step in (1, 2, 3)]
        return changed(record, training={**record.training, "temperatures": course, "temperature": last})

    return change


def test_where_each_began_and_ended(tmp_path: Path, drawn: None) -> None:
    make_results(tmp_path, spaces()["learned_temperature"], rows=[FIXED, QUICK, SLOW], seeds=(1, 3))
    rewrite(tmp_path, learned(0.03), QUICK)  # type: ignore[arg-type]
    rewrite(tmp_path, learned(0.06), SLOW)  # type: ignore[arg-type]
    section = section_text(tmp_path, "temperatures")
    assert table_lines(section)[2:] == [
        [QUICK, "0.070", "0.028 ± 0.001"],
        [SLOW, "0.070", "0.058 ± 0.001"],
    ]
    assert "![Learned temperatures over steps](pictures/temperatures.svg)" in section
    picture = (tmp_path / "pictures" / "temperatures.svg").read_text()
    courses = re.findall(r'<path d="M ([\d. ]+) *\nL ([\d. ]+) *\nL ([\d. ]+) *\n" clip-path', picture)
    assert len(courses) == 4
    assert QUICK in picture
    assert SLOW in picture
    assert FIXED not in picture


def test_without_any_there_is_no_section(tmp_path: Path) -> None:
    make_results(tmp_path, spaces()["learned_temperature"], rows=[FIXED, QUICK])
    assert section_text(tmp_path, "temperatures") == ""
