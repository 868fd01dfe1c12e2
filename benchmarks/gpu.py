"""A GPU at work: training by objective, encoding and classifier heads, beside sentence-transformers.

One table, whose rows are written as they are measured, in order of worth; `benchmarks/gpu.sh` runs the tests of a GPU
before it. Shapes of BERT-base and MiniLM with random weights, or models that are named. A share of the peak counts the
arithmetic of real tokens alone, training as three times a forward pass; the peak is that of a large bf16 product on the
card. Idle is the share of a profiled step in which no kernel runs, waits are those of the CPU for the GPU in a step. No
network, no Ray.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks._asked import check_model, check_numbers, check_table
from benchmarks._gpu_models import SHAPES
from trainables.errors import UserError, unforeseen

if TYPE_CHECKING:
    from benchmarks._gpu_work import Machine, Timed

BATCHES = (512, 4096)
WORKS = ("objectives", "training", "encoding", "heads")
PEERS = ("sentence-transformers", "sentence-transformers, best")
COLUMNS = (
    "model",
    "work",
    "way",
    "batch",
    "seconds",
    "tokens/s",
    "share of peak",
    "idle",
    "waits",
    "peak memory, GB",
    "times peer",
)


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    model: str
    work: str
    way: str
    batch: int | None = None
    timed: Timed | None = None
    failure: str = ""
    """Why it could not be measured."""

    def line(self, rate: float, peers: Mapping[tuple[str, str, int | None], float]) -> str:
        """`rate`: the card's own, in operations a second; `peers`: tokens a second of the first of PEERS."""
        named = [self.model, self.work, self.way, "-" if self.batch is None else f"{self.batch:,}"]
        if self.timed is None:
            return _cells(*named, f"FAILED: {self.failure}", *"------")
        timed, peer = self.timed, peers.get((self.model, self.work, self.batch))
        speed = timed.tokens / timed.seconds
        return _cells(
            *named,
            f"{timed.seconds:.4g}",
            f"{speed:,.0f}" if timed.tokens else "-",
            f"{timed.flops / timed.seconds / rate:.1%}" if timed.flops else "-",
            "-" if timed.idle is None else f"{timed.idle:.0%}",
            "-" if timed.waits is None else str(timed.waits),
            "-" if timed.peak_gb is None else f"{timed.peak_gb:.1f}",
            f"{speed / peer:.2f}" if peer and timed.tokens else "-",
        )


def main(arguments: Sequence[str]) -> None:
    """Measure, print the table, and write it to the file that was named."""
    options = _parser().parse_args(arguments)
    check_table(options.out)
    check_numbers(options, batches=1, steps=1, encode=1)
    for name in options.model or ():
        if name not in SHAPES:
            check_model(name, "--model")
    import torch

    from benchmarks._gpu_work import Machine

    if options.smoke:
        machine = Machine("cpu", steps=1)
        options.model, options.batches, options.encode, options.heads = (
            options.model or ["tiny"],
            [2],
            8,
            (40, 8, "fast"),
        )
    elif torch.cuda.is_available():
        machine = Machine("cuda", options.steps)
        options.model, options.heads = options.model or ["BERT-base", "MiniLM"], (10_662, 768, "full")
    else:
        raise UserError("there is no GPU here; --smoke runs all of it on the CPU, with tiny shapes")
    side = 256 if options.smoke else 8192
    rate = machine.peak(side)
    lines = [*_heading(machine, rate, side), "", _cells(*COLUMNS), "|" + "---|" * len(COLUMNS)]
    print("\n".join(lines), flush=True)
    peers: dict[tuple[str, str, int | None], float] = {}
    for row in _rows(options, machine):
        if row.way == PEERS[0] and row.timed:
            peers[row.model, row.work, row.batch] = row.timed.tokens / row.timed.seconds
        lines.append(row.line(rate, peers))
        print(lines[-1], flush=True)
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _rows(options: argparse.Namespace, machine: Machine) -> Iterator[Row]:
    """Of a comparison sentence-transformers first, so that ours can be set against it."""
    from benchmarks import _gpu_work as work
    from benchmarks._gpu_models import write_model

    with tempfile.TemporaryDirectory() as scratch:
        folders = {name: str(Path(scratch) / name) if name in SHAPES else name for name in options.model}
        for name in set(options.model) & set(SHAPES):
            write_model(name, Path(folders[name]))
        for kind in options.rows:
            for name, folder in folders.items():
                model = Path(name).name
                if kind == "objectives":
                    for way, settings in work.OBJECTIVES.items():
                        batch = options.batches[0]
                        row = Row(model, "objective", way, batch)
                        yield _measured(row, partial(work.objective, folder, settings, batch, machine))
                if kind == "training":
                    for batch in options.batches:
                        row = Row(model, "training", "", batch)
                        for best, way in enumerate(PEERS):
                            run = partial(work.their_training, folder, batch, machine, best=bool(best))
                            yield _measured(replace(row, way=way), run)
                        yield _measured(replace(row, way="ours"), partial(work.our_training, folder, batch, machine))
                if kind == "encoding":
                    row = Row(model, "encoding", PEERS[0])
                    yield _measured(row, partial(work.their_encoding, folder, options.encode, machine))
                    for precision in work.PRECISIONS:
                        run = partial(work.our_encoding, folder, precision, options.encode, machine)
                        yield _measured(replace(row, way=f"ours, {precision}"), run)
    if "heads" in options.rows:
        count, dim, protocol = options.heads
        for device in dict.fromkeys((machine.device, "cpu")):
            row = Row(f"heads, {dim} dimensions", "MR", device)
            yield _measured(row, partial(work.heads, device, count, dim, protocol, machine))


def _measured(row: Row, run: Callable[[], Timed]) -> Row:
    """A piece of work that fails, for want of memory or of a library, is a row with its reason; the next one runs."""
    try:
        return replace(row, timed=run())
    except Exception as error:
        return replace(row, failure=unforeseen(error).replace("|", "/"))


def _heading(machine: Machine, rate: float, side: int) -> list[str]:
    from importlib.metadata import version

    import torch

    where = torch.cuda.get_device_name() if machine.device == "cuda" else f"{platform.machine()} (CPU)"
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "sentence-transformers"))
    return [
        f"{where}, {versions}",
        "",
        f"Peak: {rate / 1e12:.3g} TFLOP/s, measured here by products of {side} x {side} matrices. Training in "
        f"{machine.precision}; steps that are timed: {machine.steps}.",
    ]


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks gpu", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("gpu.md"), help="the table's file (default: gpu.md)")
    parser.add_argument("--rows", nargs="+", choices=WORKS, default=WORKS, help="what is measured (default: all)")
    parser.add_argument(
        "--model",
        action="append",
        metavar="NAME",
        help="MiniLM or BERT-base (random weights), or a folder of a BERT; may be repeated (default: the two)",
    )
    parser.add_argument(
        "--batches",
        type=int,
        nargs="+",
        default=list(BATCHES),
        help=f"anchors of a training step; objectives take the first (default: {' '.join(map(str, BATCHES))})",
    )
    parser.add_argument("--steps", type=int, default=10, help="training steps that are timed (default: 10)")
    parser.add_argument("--encode", type=int, default=50_000, help="sentences that are encoded (default: 50,000)")
    parser.add_argument("--smoke", action="store_true", help="tiny shapes on the CPU: shows that it all runs")
    return parser
