"""What a reader is told of doubts: what is a warning, and the verdicts that a flag forbids."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from types import SimpleNamespace

from reports.facts.guards import Flag
from reports.ledger import StudyInfo
from reports.sections import trust
from reports.testing import make_study
from tests.guarded import put, rewrite
from tests.synthetic_results import section_text


def test_what_only_a_search_varies_is_no_warning() -> None:
    def only(rows: list[float], guard: str = "steps") -> bool:
        values = {"e": 300.0, **dict(zip("ab", rows, strict=False))}
        flag = Flag(guard, guard, frozenset({"e"}), crossed_by="unequal", values=values, tolerance=0.05)
        results = SimpleNamespace(labels={"a": "A", "b": "B"}, explored=["e"])
        return trust._only_searched(results, flag)  # type: ignore[arg-type]

    assert only([100.0])
    assert only([100.0, 101.0])
    assert not only([100.0, 200.0])
    assert not only([100.0], "hardware")


def test_a_line_a_flag_with_what_it_forbids(tmp_path: Path):
    folder = make_study(tmp_path, rows=3, seeds=2).folder
    rewrite(folder, put(versions={"trainables": "bbbb2222"}), "3p3n-Augment", seed=1)
    (line,) = [line for line in section_text(folder, "trust").splitlines() if line.startswith("- ⚠")]
    assert re.match(r"- ⚠ \*\*code\*\* \(\d rows?\): trials ran different code \(", line)
    assert "bbbb2222" in line
    assert line.endswith("**No verdict** between rows that differ in it.")
    assert section_text(folder, "trust").count("--across") == 1
    dataclasses.replace(StudyInfo.load(folder), across=["code"]).save(folder)
    assert "Judged all the same, as `--across code` asks." in section_text(folder, "trust")
