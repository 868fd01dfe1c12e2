"""Measurements that pages in docs quote: `python -m benchmarks NAME`, from a checkout.

A benchmark is a module in a folder beside this file, with a docstring and `main(arguments) -> None`. Modules whose
names begin with `_` are parts of benchmarks.
"""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

from trainables.errors import UserError, answer_user_errors, choices

ROOT = Path(__file__).parent


def main() -> int:
    """List the benchmarks, or run one with the rest of the command line."""
    files = benchmarks()
    name, *arguments = sys.argv[1:] or ["--help"]
    if name in ("-h", "--help"):
        print("usage: python -m benchmarks NAME [options]\n")
        for benchmark, file in files.items():
            print(f"  {benchmark:<20} {summary(file)}")
        print("\nexamples:")
        print("  python -m benchmarks training\n  python -m benchmarks training --help")
        return 0
    if name not in files:
        raise UserError(f"{name!r} is no benchmark; use {choices(files)}")
    importlib.import_module(f"benchmarks.{files[name].parent.name}.{name}").main(arguments)
    return 0


def benchmarks() -> dict[str, Path]:
    """Return the benchmarks' files by name."""
    files = (path for path in ROOT.glob("*/*.py") if not path.stem.startswith("_"))
    return {path.stem: path for path in sorted(files, key=lambda path: path.stem)}


def summary(file: Path) -> str:
    """Return the first line of the module's docstring, without loading the module."""
    return (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").partition("\n")[0]


if __name__ == "__main__":
    sys.exit(answer_user_errors(main))
