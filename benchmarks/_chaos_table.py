"""What chaos did, as a page's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks._chaos_work import EVERY, PAUSE, STEPS


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """Markdown: a row a seed, and what all of them come to."""
    from reports.markdown import table

    both = all("tune" in row for row in rows)
    seeds = [int(row["seed"]) for row in rows]
    heads = ["seed", "fault", "what was done", "the study", "steps repeated", "seconds lost"]
    lines = []
    for row in sorted(rows, key=lambda row: (str(row["fault"]), int(row["seed"]))):
        study = row["study"]
        line = [str(row["seed"]), str(row["fault"]), f"{study['done']}, after {study['moment']:.0%}", _told(study)]
        line += [str(study["repeated"]), f"{study['seconds']:.0f}"]
        if both:
            line += [_told(row["tune"]), str(row["tune"]["repeated"]), f"{row['tune']['seconds']:.0f}"]
        lines.append(line)
    heads += ["plain Tune", "steps repeated", "seconds lost"] if both else []
    return "\n\n".join(
        [
            f"Seeds {min(seeds)} to {max(seeds)}, {len(seeds)} studies; trials of {STEPS} steps of {PAUSE:g} s, a "
            f"checkpoint every {EVERY} steps.",
            table(heads, lines),
            *(_sums(name, [row[system] for row in rows]) for name, system in _systems(both)),
        ]
    )


def _systems(both: bool) -> list[tuple[str, str]]:
    return [("The study", "study"), *([("Plain Tune", "tune")] if both else [])]


def _told(outcome: Mapping[str, Any]) -> str:
    """How it went on, in a few words."""
    codes = outcome["codes"]
    again = len(codes) - 1
    if codes[-1]:
        went = "did not end well" if codes[-1] > 0 else "hung"
    else:
        went = "went on" if not again else "the same command went on" + (f", the {again}th time" if again > 1 else "")
    told = [went]
    if outcome["again"]:
        told.append(f"{outcome['again']} finished trials trained again")
    if not outcome["same"]:
        told.append("**another result**")
    if outcome["broken"]:
        told.append("broken: " + "; ".join(outcome["broken"]))
    return ", ".join(told)


def _sums(name: str, outcomes: Sequence[Mapping[str, Any]]) -> str:
    whole = sum(outcome["codes"][-1] == 0 and outcome["same"] for outcome in outcomes)
    again = sum(outcome["again"] for outcome in outcomes)
    repeated, seconds = (sum(outcome[what] for outcome in outcomes) for what in ("repeated", "seconds"))
    return (
        f"{name}: {whole} of {len(outcomes)} came to the undisturbed result; {again} finished trials trained again; "
        f"{repeated} steps repeated; {seconds:.0f} s lost in all."
    )
