"""How the losses of the finals fell: the picture, and where there is nothing to say."""

from __future__ import annotations

import re
from pathlib import Path

from reports.ledger import CURVES, add_losses, trial_key
from reports.ledger.finals import FIRST_FRESH
from reports.recipe_names import AS_IT_CAME, called
from reports.results import Results
from tests.synthetic_results import add_finals, make_results, section_text


def made(folder: Path) -> Results:
    """Two finalists and the base settings under five fresh seeds each, every trial with its losses."""
    make_results(folder, rows=["SBERT baseline"], explored=3, seeds=(0,))
    add_finals(folder, (3.0, 1.0))
    results = Results.load(folder)
    for record in [*results.records, *(record for records in results.finals.values() for record in records)]:
        add_losses(folder, record.key, 3, [(step, 4.0 / step) for step in (1, 2, 3)])
    return results


def test_every_seed_of_the_finals_has_a_line(tmp_path: Path, drawn: None) -> None:
    results = made(tmp_path)
    finals = results.info.finals
    assert finals.base is not None
    (tmp_path / CURVES / f"{trial_key(finals.finalists[1], FIRST_FRESH)}.jsonl").unlink()
    section = section_text(tmp_path, "losses")
    assert "![Losses of the finals over steps](" in section
    picture = (tmp_path / "pictures" / "losses.svg").read_text()
    assert len(re.findall(r'<path d="M ([\d. ]+) *\nL ([\d. ]+) *\nL ([\d. ]+) *\n" clip-path', picture)) == 14
    assert all(called(results, recipe) in picture for recipe in (*finals.finalists, finals.base))
    assert AS_IT_CAME not in picture


def test_without_losses_and_without_finals_there_is_no_section(tmp_path: Path) -> None:
    made(tmp_path / "bare")
    for file in (tmp_path / "bare" / CURVES).iterdir():
        file.unlink()
    assert section_text(tmp_path / "bare", "losses") == ""
    make_results(tmp_path / "rows", rows=["SBERT baseline"])
    assert section_text(tmp_path / "rows", "losses") == ""
