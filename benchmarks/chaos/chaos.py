"""Studies under deliberate faults, seed by seed: what each study loses.

    python -m benchmarks chaos --seeds 20 --out docs/reliability.md

A study runs on a head and two nodes, made of Linux namespaces on this machine, with arithmetic instead of training. The
seed draws the fault and the moment. If the fault ends the study, the same command is run again. A seed takes one to two
minutes on two cores. Exit code 2 if a promise was broken; then that study's console is printed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.chaos._faults import fault_of
from benchmarks.chaos._machines import check_namespaces, run_inside
from benchmarks.chaos._work import EVERY, PAUSE, STEPS
from benchmarks.options import add_number, parser_of
from benchmarks.tables import check_page, write_between
from reports.document import DataTable
from trainables.errors import UserError

BEGIN, END = "<!-- chaos: begin -->", "<!-- chaos: end -->"
"""Lines of a page between which the table is written."""


def main(arguments: Sequence[str]) -> None:
    """Strike studies, and write the table."""
    parser = parser_of(__name__, __doc__)
    add_number(parser, "--seeds", 20, "number of seeds")
    add_number(parser, "--first", 0, "the first of them", least=0)
    parser.add_argument("--out", type=Path, metavar="PAGE", help=f"a page to write the table into, after {BEGIN}")
    options = parser.parse_args(arguments)
    check_page(options.out, BEGIN)
    check_namespaces()
    rows: list[dict[str, Any]] = []
    # studies with several workers are the slowest, and run last
    seeds = sorted(range(options.first, options.first + options.seeds), key=lambda seed: fault_of(seed).workers)
    with run_inside("benchmarks.chaos._run", [*map(str, seeds)]) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="", file=sys.stderr, flush=True)
            rows.append(json.loads(line))
            write_between(options.out, BEGIN, page(rows), END)  # at once: the user may stop the benchmark
    if rows:
        print(page(rows))
    if len(rows) < options.seeds or running.returncode:
        raise UserError(f"chaos ended after {len(rows)} of {options.seeds} seeds; why is above")
    broken = [f"seed {row['seed']}: {', '.join(row['broken'])}" for row in rows if row["broken"]]
    if broken:
        raise UserError("promises were broken: " + "; ".join(broken))


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return markdown: a row per fault, and a summary."""
    seeds = sorted(int(row["seed"]) for row in rows)
    strikes: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (str(row["fault"]), int(row["seed"]))):
        strikes.setdefault(str(row["fault"]), []).append(row)
    heads = ["fault", "seeds", "the study", "steps repeated (most of a trial)", "seconds lost"]
    lines = [
        [
            fault,
            _listed(row["seed"] for row in struck),
            _listed(dict.fromkeys(map(_course, struck))),
            _listed(f"{row['repeated']} ({row['longest']})" for row in struck),
            _listed(f"{row['seconds']:.0f}" for row in struck),
        ]
        for fault, struck in strikes.items()
    ]
    whole = sum(row["codes"][-1] == 0 and row["same"] for row in rows)
    broken, again = sum(bool(row["broken"]) for row in rows), sum(row["again"] for row in rows)
    parts = [
        f"{len(seeds)} seeds, {seeds[0]} to {seeds[-1]}. Trials of {STEPS} steps of {PAUSE:g} s, a checkpoint every "
        f"{EVERY} steps.",
        DataTable(heads, lines).markdown,
        f"Promises broken in {broken}; {whole} of {len(rows)} came to the undisturbed result; {again} finished trials "
        "trained again.",
    ]
    return "\n\n".join(parts)


def _listed(parts: Iterable[object]) -> str:
    return "; ".join(map(str, parts))


def _course(outcome: Mapping[str, Any]) -> str:
    """Return a few words on how the study continued after the fault, for a cell of the table."""
    codes = outcome["codes"]
    again = len(codes) - 1
    if codes[-1]:
        went = f"**no result**: it {'failed' if codes[-1] > 0 else 'hung'}" + f", {len(codes)} times" * bool(again)
    else:
        went = "went on" if not again else "the same command went on"
        went += f", run {again} times more" if again > 1 else ""
    parts = [went]
    if outcome["again"]:
        parts.append(f"{outcome['again']} finished trials trained again")
    if not codes[-1] and not outcome["same"]:
        parts.append("**another result**")
    if outcome["broken"]:
        parts.append("broken: " + "; ".join(outcome["broken"]))
    return ", ".join(parts)
