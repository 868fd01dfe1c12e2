"""The licences of what is installed, from the packages' own metadata: `make licences` prints them as a table.

A package says its licence by an SPDX expression, by classifiers, or in words, often in several ways; the first that is
there counts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from email.message import Message
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
FAMILIES = {
    "Apache-2.0": r"Apache([ -]2(\.0)?)?( Software)?( License)?",
    "MIT": r"MIT(-0|-CMU)?( License)?",
    "BSD": r"0BSD|BSD(-[23]-Clause)?( License)?|[23]-Clause BSD( License)?",
    "ISC": r"ISC( License)?",
    "PSF": r"PSF(L|-2\.0)|Python Software Foundation License|CNRI-Python",
    "MPL-2.0": r"MPL-2\.0|Mozilla Public License 2\.0",
    "public domain": r"CC0-1\.0|PDDL-1\.0",
    "Zlib": r"Zlib",
    "Boost": r"BSL-1\.0",
}
"""What we depend on: it may be used and passed on beside our own licence. The MPL asks that changes of its own files
stay open; we change none. Nothing of the families GPL, LGPL, AGPL, SSPL, nor of licences against some uses, is here."""


def families(expression: str) -> list[str]:
    """The families that an expression needs, or may have; `unknown: ...` for a part that is of none."""
    names = []
    for part in re.split(r"\s+(?:AND|OR)\s+|\s+WITH\s+[\w.-]+|[()]", expression):
        if part.strip():
            known = (family for family, words in FAMILIES.items() if re.fullmatch(words, part.strip(), re.IGNORECASE))
            names.append(next(known, f"unknown: {part.strip()[:60]}"))
    return list(dict.fromkeys(names)) or ["unknown: nothing is said"]


def pinned() -> set[str]:
    """The packages of `constraints.txt`, by names as the package index compares them."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return {canonicalize_name(line.partition("==")[0]) for line in lines}


def licences() -> Iterator[tuple[str, str, list[str]]]:
    """Name, version and families of everything that `constraints.txt` pins and that is installed here."""
    installed: dict[str, Distribution] = {canonicalize_name(item.metadata["Name"]): item for item in distributions()}
    for name in sorted(installed.keys() & pinned()):
        yield name, installed[name].version, families(stated(installed[name].metadata))


def stated(metadata: Message | Any) -> str:
    """What a package says of its licence."""
    if metadata.get("License-Expression"):
        return str(metadata["License-Expression"])
    words = [line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier") or [] if line.startswith("License")]
    short = [re.sub(r" \([\w. ]+\)$", "", word) for word in words]  # `ISC License (ISCL)`
    return " OR ".join(short) or str(metadata.get("License") or "")


if __name__ == "__main__":
    print("| package | version | licence |\n|---|---|---|")
    for name, version, families_of in licences():
        print(f"| {name} | {version} | {', '.join(families_of)} |")
    sys.exit(any(family.startswith("unknown") for *_, families_of in licences() for family in families_of))
