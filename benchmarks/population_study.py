"""Whole studies over a frozen encoder (CLSR): trials per hour of a population against one trial after another.

Both are `study/run.py` on the built-in corpus, as a person would run it, with its processes and Ray, one Tune trial
at a time. The population's trials differ in their seed. Those that run one after another differ in their batch size (64
and the next numbers), so that no two can train together; they too find the embeddings in the study's store.

One after another, a trial's time is that between the first record and the last, divided by the number of trials after
the first. In the population it is that of the whole command (start of Ray, embedding and report included), divided by
the number of members.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from trainables.errors import UserError

ROOT = Path(__file__).resolve().parents[1]
SPACE = """
from search_spaces import Row, Space, load_space
CLSR = load_space("clsr_main")
ROWS = tuple(Row(f"batch {{size}}", {{"optimisation.batch_size": size}}) for size in range(64, 64 + {rows}))
SPACE = Space("population", "Population", CLSR.paper, CLSR.base, CLSR.laptop, rows=ROWS)
"""
TASKS = "STS12,STS13,STS14,STS15,STS16,STSBenchmark"


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table."""
    asked = _parser().parse_args(arguments)
    if asked.single < 2:
        raise UserError(f"--single must be at least 2, not {asked.single}: the first trial is not timed")
    print(f"{asked.members} members, {asked.single} trials one after another, {asked.steps} steps, {asked.runs} runs\n")
    print("| one after another, s a trial | in a population, s a trial | trials an hour | ratio |\n" + "|---" * 4 + "|")
    pairs = [_run(asked) for _ in range(asked.runs)]
    ratios = sorted(alone / together for alone, together in pairs)
    alone, together = (median(values) for values in zip(*pairs, strict=True))
    print(
        f"| {alone:.1f} | {together:.2f} | {3600 / alone:.0f} and {3600 / together:.0f} "
        f"| {median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f}) |"
    )


def _run(asked: argparse.Namespace) -> tuple[float, float]:
    """Seconds a trial: one after another, and in a population."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _study(folder / "alone", asked.single, 1, asked.steps)
        together = _study(folder / "together", 1, asked.members, asked.steps)
        moments = sorted(path.stat().st_mtime for path in (folder / "alone" / "ledger").glob("*.json"))
        return (moments[-1] - moments[0]) / (asked.single - 1), together / asked.members


def _study(results: Path, rows: int, seeds: int, steps: int) -> float:
    """Run a study of rows x seeds trials to its end; its wall-clock seconds."""
    results.parent.mkdir(parents=True, exist_ok=True)
    space = results.with_suffix(".py")
    space.write_text(SPACE.format(rows=rows))
    command = [sys.executable, str(ROOT / "study" / "run.py"), "--space", str(space), "--scale", "laptop"]
    command += ["--seeds", str(seeds), "--concurrent", "1", "--results", str(results)]
    command += ["--set", f"optimisation.max_steps={steps}", "--set", f"evaluation.tasks={TASKS}"]
    began = time.perf_counter()
    done = subprocess.run(command, env={**os.environ, "HF_HUB_OFFLINE": "1"}, capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"the study failed: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    return time.perf_counter() - began


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks population_study",
        description=(__doc__ or "").partition("\n")[0],
        epilog="example:\n  python -m benchmarks population_study --members 32 --runs 1",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--members", type=int, default=128, metavar="N", help="trials of the population (default 128)")
    parser.add_argument("--single", type=int, default=5, metavar="N", help="trials one after another (default 5)")
    parser.add_argument("--steps", type=int, default=60, metavar="N", help="steps of every trial (default 60)")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="repetitions (default 3)")
    return parser
