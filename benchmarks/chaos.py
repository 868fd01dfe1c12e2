"""Studies that are struck on purpose, seed by seed, and plain Tune under the same faults: what each of them loses.

A study runs on a head and two nodes, made of Linux namespaces on this machine, with arithmetic in place of trainings.
The seed draws the fault and the moment. Where the fault ends the study, the same command is run again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks._asked import check_numbers, check_page, write_between
from trainables.errors import UserError

BEGIN, END = "<!-- chaos: begin -->", "<!-- chaos: end -->"
"""Between these lines of a page its table stands."""


def main(arguments: Sequence[str]) -> None:
    """Strike, and write the table."""
    asked = _parser().parse_args(arguments)
    check_numbers(asked, seeds=1, first=0)
    check_page(asked.out, BEGIN)
    from benchmarks._chaos_machines import check_namespaces, run_inside

    check_namespaces()
    from benchmarks._chaos_faults import fault_of
    from benchmarks._chaos_table import page

    found: dict[int, dict[str, Any]] = {}
    # those of several workers are the slowest, and come last
    seeds = sorted(range(asked.first, asked.first + asked.seeds), key=lambda seed: fault_of(seed).workers)
    with run_inside("benchmarks._chaos_run", ["ours" if asked.ours else "both", *map(str, seeds)]) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="", file=sys.stderr, flush=True)
            row = json.loads(line)
            found.setdefault(row["seed"], {}).update(row)
            if asked.out is not None:  # at once: a person may stop it
                write_between(asked.out, BEGIN, page(list(found.values())), END)
    rows = list(found.values())
    if rows:
        print(page(rows))
    if len(rows) < asked.seeds or running.returncode:
        raise UserError(f"chaos ended after {len(rows)} of {asked.seeds} seeds; what it said is above")
    broken = [f"seed {row['seed']}: {', '.join(row['study']['broken'])}" for row in rows if row["study"]["broken"]]
    if broken:
        raise UserError("promises were broken: " + "; ".join(broken))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks chaos",
        description=(__doc__ or "").partition("\n")[0],
        epilog="example:\n  python -m benchmarks chaos --seeds 20 --out docs/reliability.md\n\n"
        "A seed takes one to two minutes on two cores. It needs Linux namespaces. Exit code 2 where a promise was "
        "broken;\nthen the console of that study is printed.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=20, metavar="N", help="how many (default 20)")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first of them (default 0)")
    parser.add_argument("--ours", action="store_true", help="without plain Tune")
    parser.add_argument("--out", type=Path, metavar="PAGE", help=f"a page to write the table into, after {BEGIN}")
    return parser
