"""A GPU at work: training by objective, and training and encoding beside sentence-transformers.

The rows of one table are measured and written one by one, the most important first. Models have the shapes of BERT-base
and MiniLM with random weights, or are named by the user. A share of the peak counts the arithmetic of real tokens
alone, training as three times a forward pass. The peak is that of a large bf16 product on the card. Idle is the share
of a profiled step in which no kernel runs. No network, no Ray.
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

from benchmarks.gpu._models import SHAPES, write_model
from benchmarks.options import add_number, check_model, parser_of
from benchmarks.tables import head, row
from trainables.errors import UserError, describe_error

if TYPE_CHECKING:
    from benchmarks.gpu._work import Machine, Timed

WORKS = ("objectives", "training", "encoding")
PEER, OURS = "sentence-transformers", "ours"
COLUMNS = ("model", "work", "way", "batch", "seconds", "tokens/s", "share of peak", "idle", "peak GB", "times peer")


@dataclass(frozen=True)
class GpuRow:
    """A line of the table."""

    model: str
    work: str
    way: str
    batch: int | None = None
    timed: Timed | None = None
    failure: str = ""
    """Why the row could not be measured; empty if it was."""

    def line(self, rate: float, peers: Mapping[tuple[str, str, int | None], float]) -> str:
        """Return the row as a line of the table. `rate`: the card's peak in operations a second; `peers`: tokens a
        second of `PEER`, for comparison."""
        named = [self.model, self.work, self.way, "-" if self.batch is None else f"{self.batch:,}"]
        if self.timed is None:
            return row(*named, f"FAILED: {self.failure}", *"-----")
        timed, peer = self.timed, peers.get((self.model, self.work, self.batch))
        return row(
            *named,
            f"{timed.seconds:.4g}",
            f"{timed.speed:,.0f}",
            f"{timed.flops / timed.seconds / rate:.1%}",
            "-" if timed.idle is None else f"{timed.idle:.0%}",
            "-" if timed.peak_gb is None else f"{timed.peak_gb:.1f}",
            "-" if peer is None else f"{timed.speed / peer:.2f}",
        )


def main(arguments: Sequence[str]) -> None:
    """Measure, print the table, and write it to the file of `--out`."""
    options = _parser().parse_args(arguments)
    check_file(options.out)
    for name in options.model or ():
        if name not in SHAPES:
            check_model(name, "--model")
    import torch

    from benchmarks.gpu._work import Machine

    side = 8192
    if options.smoke:
        machine, side = Machine("cpu", steps=1), 256
        options.model, options.batches, options.encode = options.model or ["tiny"], [2], 8
    elif torch.cuda.is_available():
        machine = Machine("cuda", options.steps)
        options.model = options.model or ["BERT-base", "MiniLM"]
    else:
        raise UserError("there is no GPU here; --smoke runs all of it on the CPU, with tiny shapes")
    rate = machine.peak(side)
    lines = [*_heading(machine, rate, side), "", head(*COLUMNS)]
    print("\n".join(lines), flush=True)
    peers: dict[tuple[str, str, int | None], float] = {}
    for measured in _rows(options, machine):
        if measured.way == PEER and measured.timed:
            peers[measured.model, measured.work, measured.batch] = measured.timed.speed
        lines.append(measured.line(rate, peers))
        print(lines[-1], flush=True)
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _rows(options: argparse.Namespace, machine: Machine) -> Iterator[GpuRow]:
    """Yield measured rows. sentence-transformers comes first in a comparison, so that ours can be compared with it."""
    with tempfile.TemporaryDirectory() as scratch:
        folders = {name: str(Path(scratch) / name) if name in SHAPES else name for name in options.model}
        for name in set(options.model) & set(SHAPES):
            write_model(name, Path(folders[name]))
        for work in options.rows:
            for name, folder in folders.items():
                for row, run in _runs(work, Path(name).name, folder, options, machine):
                    yield _measured(row, run)


def _runs(
    work: str, model: str, folder: str, options: argparse.Namespace, machine: Machine
) -> Iterator[tuple[GpuRow, Callable[[], Timed]]]:
    """Yield the rows of one kind of work of a model, each with the function that measures it."""
    from benchmarks.gpu import _work

    if work == "objectives":
        batch = options.batches[0]
        for way, settings in _work.OBJECTIVES.items():
            yield GpuRow(model, "objective", way, batch), partial(_work.objective, folder, settings, batch, machine)
    if work == "training":
        for batch in options.batches:
            yield GpuRow(model, work, PEER, batch), partial(_work.their_training, folder, batch, machine)
            yield GpuRow(model, work, OURS, batch), partial(_work.our_training, folder, batch, machine)
    if work == "encoding":
        yield GpuRow(model, work, PEER), partial(_work.their_encoding, folder, options.encode, machine)
        for precision in _work.PRECISIONS:
            run = partial(_work.our_encoding, folder, precision, options.encode, machine)
            yield GpuRow(model, work, f"{OURS}, {precision}"), run


def _measured(row: GpuRow, run: Callable[[], Timed]) -> GpuRow:
    """Return the measured row. If the work fails, for lack of memory or of a library, the row has the reason."""
    try:
        return replace(row, timed=run())
    except Exception as error:
        return replace(row, failure=describe_error(error).replace("|", "/"))


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


def check_file(file: Path) -> None:
    """Raise `UserError` if the file for the table cannot be written."""
    if file.is_dir():
        raise UserError(f"--out {str(file)!r} is a folder; name a file")
    if not file.parent.is_dir():
        raise UserError(f"--out {str(file)!r} is in a folder that does not exist; make it first, or name another")


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--out", type=Path, default=Path("gpu.md"), help="the table's file (default: gpu.md)")
    parser.add_argument("--rows", nargs="+", choices=WORKS, default=WORKS, help="what is measured (default: all)")
    parser.add_argument(
        "--model",
        action="append",
        metavar="NAME",
        help="MiniLM or BERT-base (random weights), or a folder of a BERT; may be repeated (default: the two)",
    )
    add_number(parser, "--batches", [512, 4096], "anchors of a training step; objectives take the first")
    add_number(parser, "--steps", 10, "training steps that are timed")
    add_number(parser, "--encode", 50_000, "sentences that are encoded")
    parser.add_argument("--smoke", action="store_true", help="tiny shapes on the CPU: shows that it all runs")
    return parser
