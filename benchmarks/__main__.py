"""The measurements that docs/performance.md quotes: `python -m benchmarks NAME`, from a checkout.

A benchmark is a module in this folder with a docstring and `main(arguments) -> None`; adding one adds a file.
"""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

from trainables.errors import UserError, answer_user_errors, choices


def main() -> int:
    """List the benchmarks, or run one with the rest of the command line."""
    found = benchmarks()
    name, *arguments = sys.argv[1:] or ["--help"]
    if name in ("-h", "--help"):
        print("usage: python -m benchmarks NAME [options]\n")
        for benchmark, summary in found.items():
            print(f"  {benchmark:<20} {summary}")
        print("\nexamples:")
        print("  python -m benchmarks senteval_classifiers\n  python -m benchmarks senteval_classifiers --help")
        return 0
    if name not in found:
        raise UserError(f"{name!r} is no benchmark; use {choices(found)}")
    importlib.import_module(f"benchmarks.{name}").main(arguments)
    return 0


def benchmarks() -> dict[str, str]:
    """Names and first lines of the modules beside this one, none of which is loaded for it."""
    summaries = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if not path.stem.startswith("_"):
            docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            summaries[path.stem] = docstring.partition("\n")[0]
    return summaries


if __name__ == "__main__":
    sys.exit(answer_user_errors(main))
