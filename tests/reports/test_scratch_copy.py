"""A copy that a report can be written in: it reads as the folder does, whatever code the study has of its own."""

from __future__ import annotations

from pathlib import Path

from reports.ledger import LEDGER, StudyInfo
from reports.ledger.own_code import trust_folder
from reports.report import scratch_copy

SPACE = """from search_spaces import Space
from trainables.recipe import Recipe

SPACE = Space(name="mine", title="Mine", paper="", base=Recipe())
"""


def test_a_copy_has_its_studys_code_and_nothing_that_a_report_writes(tmp_path: Path) -> None:
    results = tmp_path / "results"
    files = {"space.py": SPACE, "plugins/mine.py": "MINE = 1\n", "report.md": "old", "trials.csv": ""}
    for name, text in files.items():
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text(text, encoding="utf-8")
    (results / LEDGER).mkdir()
    StudyInfo(space="mine", space_file="space.py", plugins=["mine.py"]).save(results)
    trust_folder(results)
    with scratch_copy(results) as copy:
        assert {item.name for item in copy.iterdir()} == {LEDGER, "study.json", "space.py", "plugins"}
        assert (copy / LEDGER).is_symlink()
        assert StudyInfo.load(copy).load_space(copy).title == "Mine"
    assert not copy.exists()
