"""What chaos did, as a page's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks._chaos_work import EVERY, PAUSE, STEPS


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """Markdown: a row a seed, and what all of them come to."""
    from reports.markdown import table

    seeds = sorted(int(row["seed"]) for row in rows)
    both = any("tune" in row for row in rows)
    lines = []
    for row in sorted(rows, key=lambda row: (str(row["fault"]), int(row["seed"]))):
        study, tune = row["study"], row.get("tune")
        done = f"{study['done']}, after {study['moment']:.0%}"
        if tune and tune["done"] != study["done"]:
            done += f" (plain Tune: {tune['done']})"
        line = [str(row["seed"]), str(row["fault"]), done]
        lines.append(line + _cells(study) + (_cells(tune) if both else []))
    heads = ["the study", "steps repeated (most of a trial)", "seconds lost"]
    heads = ["seed", "fault", "what was done", *heads, *(["plain Tune", *heads[1:]] if both else [])]
    systems = [("The study", "study"), *([("Plain Tune", "tune")] if both else [])]
    return "\n\n".join(
        [
            f"{len(seeds)} seeds: {', '.join(map(str, seeds))}. Trials of {STEPS} steps of {PAUSE:g} s, a checkpoint "
            f"every {EVERY} steps.",
            table(heads, lines),
            *(_sums(name, [row[system] for row in rows if system in row]) for name, system in systems),
        ]
    )


def _cells(outcome: Mapping[str, Any] | None) -> list[str]:
    if outcome is None:
        return ["not run", "", ""]
    return [_told(outcome), f"{outcome['repeated']} ({outcome['longest']})", f"{outcome['seconds']:.0f}"]


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
