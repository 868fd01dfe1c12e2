"""Every dependency has a licence that we know and may use. No network is needed: packages say it themselves."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.licences import families, licences


def test_every_dependency_has_a_licence_that_we_know() -> None:
    rows = list(licences())
    assert len(rows) > 100
    assert [item for item in rows if any(family.startswith("unknown") for family in item[2])] == []


@pytest.mark.parametrize(
    "expression",
    [
        "GPL-3.0-or-later", "GNU Affero General Public License v3", "LGPL-2.1", "MIT AND GPL-2.0-only", "SSPL-1.0",
        "Other/Proprietary License", "", "CC-BY-NC-4.0", "Apache-2.0 OR AGPL-3.0 ", "LicenseRef-Proprietary",
    ],
)  # fmt: skip
def test_another_licence_is_seen(expression: str) -> None:
    assert any(family.startswith("unknown") for family in families(expression))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("Apache-2.0 WITH LLVM-exception AND MIT", ["Apache-2.0", "MIT"]),
        ("(MIT OR Apache-2.0)", ["MIT", "Apache-2.0"]),
        ("3-Clause BSD License", ["BSD"]),
        ("Mozilla Public License 2.0", ["MPL-2.0"]),
        ("MIT, but not for evil", ["unknown: MIT, but not for evil"]),
    ],
)
def test_how_words_are_read(expression: str, expected: list[str]) -> None:
    assert families(expression) == expected


KNOWN: dict[str, Any] = {"name": "a", "version": "1", "vulns": []}
HOLED: dict[str, Any] = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["2.1"]}]}
UNKNOWN: dict[str, Any] = {"name": "c", "skip_reason": "Dependency not found on PyPI"}


@pytest.mark.parametrize(
    ("packages", "code", "sentence"),
    [
        ([KNOWN, KNOWN], 0, "2 of 2 packages were looked up; 0 known holes"),
        ([KNOWN, UNKNOWN], 0, "not known to the service: c"),
        ([KNOWN, HOLED], 1, "b 2: CVE-1, mended in 2.1"),
        ([UNKNOWN, UNKNOWN], 1, "nothing was audited: the vulnerability service of pypi.org cannot be reached"),
        (None, 1, "nothing was audited"),
    ],
)
def test_an_audit_never_passes_in_silence(packages: Any, code: int, sentence: str, tmp_path: Path) -> None:
    """pip-audit ends well where its service knows nothing of any package, as behind a mirror of the index."""
    write = (
        "" if packages is None else f"cat > \"${{@: -1}}\" << 'END'\n{json.dumps({'dependencies': packages})}\nEND\n"
    )
    (tmp_path / "pip-audit").write_text(f"#!/usr/bin/env bash\n{write}exit {int(packages is None)}\n")
    (tmp_path / "pip-audit").chmod(0o755)
    audit = Path(__file__).resolve().parents[2] / ".ci" / "audit"
    done = subprocess.run([audit, tmp_path / "pip-audit"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, sentence in done.stdout + done.stderr) == (code, True), done
