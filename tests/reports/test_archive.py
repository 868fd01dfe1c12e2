"""Archived ledgers give the reports that they always gave, byte for byte. `tests/archive` says how to mean a change."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from search_spaces import spaces
from tests.archive import LEDGERS, REPORTS, WRITTEN, unpack, written
from tests.conftest import slow_case

LATER = {
    "scl_batch_size",
    "frozen_grid",
    "crops_or_dropout",
    "data_mixtures",
    "distilbert_search",
    "distilled_layers",
    "modern_negatives",
    "modern_objectives",
    "modern_published",
    "false_negatives",
    "matryoshka_dims",
    "learned_temperature",
    "static_encoders",
    "teacher_or_labels",
    "tuned_grid",
}
"""Spaces that came after the archive."""
QUICK = {"scl_ablation-paper", "scl_ablation-laptop", "clsr_main-laptop", "supmpn_main-laptop", "declutr_main-laptop"}
"""One of each paper, and both scales; that every space makes a report, another test sees."""
NAMES = [f"{space}-{scale}" for space in spaces() if space not in LATER for scale in ("laptop", "paper")]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folders of the ledgers, and those of the expected reports."""
    ledgers, reports = tmp_path_factory.mktemp("ledgers"), tmp_path_factory.mktemp("reports")
    unpack(LEDGERS, ledgers)
    unpack(REPORTS, reports)
    return ledgers, reports


@pytest.mark.parametrize("name", [slow_case(name, when=name not in QUICK) for name in NAMES])
def test_the_report_is_the_same(name: str, archive: tuple[Path, Path]):
    ledgers, reports = archive
    for file, text in written(ledgers / name).items():
        expected = (reports / name / file).read_text(encoding="utf-8")
        changed = difflib.unified_diff(expected.splitlines(), text.splitlines(), "expected", "now", lineterm="", n=1)
        assert text == expected, "\n".join([f"{name}/{file}", *changed])


def test_every_folder_of_the_archive_is_compared(archive: tuple[Path, Path]):
    for folder in archive:
        assert sorted(path.name for path in folder.iterdir()) == sorted(NAMES)
    assert all((archive[1] / name / file).is_file() for name in NAMES for file in WRITTEN)
