"""What chaos did, as a page's table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks._chaos_work import EVERY, PAUSE, STEPS


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """Markdown: a row a fault, and what all of them come to."""
    from reports.document import DataTable

    seeds = sorted(int(row["seed"]) for row in rows)
    systems = [("The study", "study"), *([("Plain Tune", "tune")] if any("tune" in row for row in rows) else [])]
    strikes: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (str(row["fault"]), int(row["seed"]))):
        strikes.setdefault(str(row["fault"]), []).append(row)
    lines = [
        [
            fault,
            _listed(row["seed"] for row in those),
            *(cell for _, system in systems for cell in _cells(those, system)),
        ]
        for fault, those in strikes.items()
    ]
    heads = [head for name, _ in systems for head in (name, "steps repeated (most of a trial)", "seconds lost")]
    return "\n\n".join(
        [
            f"{len(seeds)} seeds, {seeds[0]} to {seeds[-1]}. Trials of {STEPS} steps of {PAUSE:g} s, a checkpoint "
            f"every {EVERY} steps.",
            DataTable(["fault", "seeds", *heads], lines).markdown,
            *(_sums(name, [row[system] for row in rows if system in row]) for name, system in systems),
        ]
    )


def _cells(rows: Sequence[Mapping[str, Any]], system: str) -> list[str]:
    """How it went on, what was repeated and what was lost, by seed; what is the same under all seeds once."""
    outcomes = [row[system] for row in rows if system in row]
    if not outcomes:
        return ["not run", "", ""]
    return [
        _listed(dict.fromkeys(map(_told, outcomes))),
        _listed(f"{outcome['repeated']} ({outcome['longest']})" for outcome in outcomes),
        _listed(f"{outcome['seconds']:.0f}" for outcome in outcomes),
    ]


def _listed(parts: Iterable[object]) -> str:
    return "; ".join(map(str, parts))


def _told(outcome: Mapping[str, Any]) -> str:
    """How it went on, in a few words."""
    codes = outcome["codes"]
    again = len(codes) - 1
    if codes[-1]:
        went = f"**no result**: it {'failed' if codes[-1] > 0 else 'hung'}" + f", {len(codes)} times" * bool(again)
    else:
        went = "went on" if not again else "the same command went on"
        went += f", run {again} times more" if again > 1 else ""
    told = [went]
    if outcome["again"]:
        told.append(f"{outcome['again']} finished trials trained again")
    if not codes[-1] and not outcome["same"]:
        told.append("**another result**")
    if outcome["broken"]:
        told.append("broken: " + "; ".join(outcome["broken"]))
    return ", ".join(told)


def _sums(name: str, outcomes: Sequence[Mapping[str, Any]]) -> str:
    whole = sum(outcome["codes"][-1] == 0 and outcome["same"] for outcome in outcomes)
    again = sum(outcome["again"] for outcome in outcomes)
    broken = sum(bool(outcome["broken"]) for outcome in outcomes)
    promises = "" if name == "Plain Tune" else f"promises broken in {broken}; "
    return (
        f"{name}: {promises}{whole} of {len(outcomes)} came to the undisturbed result; "
        f"{again} finished trials trained again."
    )
