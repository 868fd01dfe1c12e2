"""Results folders of twenty spaces with made-up scores, and the reports that are expected of them.

`ledgers.tar.xz` holds forty folders, `SPACE-laptop` and `SPACE-paper`: `study.json` and the records.
`reports.tar.xz` holds each folder's `report.md` and `trials.csv`; `tests/reports/test_archive.py` compares them byte
for byte.
Where a change is meant, look at what the test prints, then write the expected reports anew:

    python -m tests.archive

The folders keep no predictions, so their reports give no verdicts; and twenty of the made-up records hold scores that
cannot be (an accuracy of 100.44 %), which the reports set aside by name.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from reports.report import write_report

FOLDER = Path(__file__).parent
LEDGERS, REPORTS = FOLDER / "ledgers.tar.xz", FOLDER / "reports.tar.xz"
WRITTEN = ("report.md", "trials.csv")


def unpack(archive: Path, folder: Path) -> None:
    """All files of an archive into a folder."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")


def pack(archive: Path, files: Mapping[str, bytes]) -> None:
    """An archive that has the same bytes for the same files."""
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size = len(files[name])
            packed.addfile(entry, io.BytesIO(files[name]))


def written(results: Path) -> dict[str, str]:
    """Write a folder's report, and return what is compared, by the file's name; pictures are not."""
    write_report(results)
    return {name: (results / name).read_text(encoding="utf-8") for name in WRITTEN}


def rebuild() -> None:
    """Write the expected reports anew from the ledgers."""
    with TemporaryDirectory() as scratch:
        unpack(LEDGERS, Path(scratch))
        files = {
            f"{folder.name}/{name}": text.encode()
            for folder in sorted(Path(scratch).iterdir())
            for name, text in written(folder).items()
        }
    pack(REPORTS, files)
