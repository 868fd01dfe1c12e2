"""Results folders as each version wrote them: `VERSION.tar.xz` here, one tiny study of real trials each.

When a version is released, at its commit:

    python -m tests.archive.versions

runs that study by the code of the checkout (minutes on two cores), and keeps what a later version reads again: what
was asked for, Optuna's journal and the ledger. `tests/reports/upgrade/test_upgrades.py` has the code of its day report
and continue all of them, and wants one for each version that CHANGELOG.md names. A folder is not written
anew once its version is out.

0.1.0, which was not tagged, was made later, of its last commit: the version's own searcher and its own trials ran in
one process, without a cluster. 0.2.0 was made before its release, and is to be made again when it is out.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tests.archive import pack

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
STUDY = (
    "--space=scl_tau", "--scale=laptop", "--search=optuna", "--set=optimisation.max_steps=4",
    "--set=evaluation.tasks=STSBenchmark,MR",
)  # fmt: skip
"""What every version was asked for, with `--trials` `EXPLORED`."""
EXPLORED = 2
KEPT = ("study.json", "optuna.journal", "ledger/*.json")


def make() -> Path:
    """Run the study by the code here, and keep it under the version in pyproject.toml."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) / "results"
        command = [sys.executable, "study/run.py", *STUDY, f"--trials={EXPLORED}", f"--results={results}"]
        subprocess.run(command, cwd=ROOT, check=True)
        return keep(results, version)


def keep(results: Path, version: str) -> Path:
    """Pack what a later version reads again, without this machine's path."""
    files = sorted(file for pattern in KEPT for file in results.glob(pattern))
    archive = HERE / f"{version}.tar.xz"
    there = str(results).encode()
    kept = {file.relative_to(results).as_posix(): file.read_bytes().replace(there, b"results") for file in files}
    pack(archive, kept)
    return archive
