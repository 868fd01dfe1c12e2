"""A GPU at work: training, encoding and classifier heads, beside sentence-transformers; `benchmarks/gpu.sh` runs it.

One table: tokens a second and the share of the card's own rate, for BERT-base and MiniLM shapes with random weights (or
models that are named), padded and packed, plain and compiled. The card's own rate is that of a large bf16 product on
it; a share counts the arithmetic of real tokens alone, training as three times a forward pass. The peer is
sentence-transformers. No network, no Ray.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks._asked import check_model, check_numbers, check_table
from benchmarks._gpu_models import SHAPES
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig

if TYPE_CHECKING:
    from benchmarks._gpu_work import Machine, Timed
    from trainables.recipe import Recipe

BATCHES = (64, 256, 1024, 4096, 16_384)
HOUR = 3600.0
COLUMNS = (
    "model",
    "work",
    "way",
    "batch",
    "chunk",
    "seconds",
    "tokens/s",
    "share of peak",
    "peak memory, GB",
    "times peer",
)


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    model: str
    work: str
    way: str
    batch: int | None
    timed: Timed | None
    """None where the memory of the GPU did not suffice."""

    def line(self, rate: float, theirs: Mapping[tuple[str, str, int | None], float]) -> str:
        """`rate`: the card's own, in operations a second; `theirs`: tokens a second of sentence-transformers."""
        named = [self.model, self.work, self.way, "-" if self.batch is None else f"{self.batch:,}"]
        if self.timed is None:
            return _cells(*named, "-", "out of memory", "-", "-", "-", "-")
        timed, peer = self.timed, theirs.get((self.model, self.work, self.batch))
        speed = timed.tokens / timed.seconds
        return _cells(
            *named,
            "-" if timed.chunk is None else str(timed.chunk),
            f"{timed.seconds:.4g}",
            f"{speed:,.0f}" if timed.tokens else "-",
            f"{timed.flops / timed.seconds / rate:.1%}" if timed.flops else "-",
            "-" if timed.peak_gb is None else f"{timed.peak_gb:.1f}",
            f"{speed / peer:.2f}" if peer else "-",
        )


def main(arguments: Sequence[str]) -> None:
    """Measure, print the table, and write it to the file that was named."""
    asked = _parser().parse_args(arguments)
    _check(asked)
    import torch

    from benchmarks._gpu_work import THEIRS, Machine

    if asked.smoke:
        machine = Machine("cpu", steps=1)
        asked = _changed(asked, model=asked.model or ["tiny"], batches=[2], encode=8, heads=(40, 8, "fast"))
    elif torch.cuda.is_available():
        machine = Machine("cuda", asked.steps)
        asked = _changed(asked, model=asked.model or ["MiniLM", "BERT-base"], heads=(10_662, 768, "full"))
    else:
        raise UserError("there is no GPU here; --smoke runs all of it on the CPU, with tiny shapes")
    side = 256 if asked.smoke else 8192
    rate = machine.peak(side)

    rows: list[Row] = []
    lines = [
        *_heading(machine, rate, side),
        "",
        _cells(*COLUMNS),
        "|" + "---|" * len(COLUMNS),
    ]
    print("\n".join(lines), flush=True)
    for row in _rows(asked, machine):
        rows.append(row)
        theirs = {
            (r.model, r.work, r.batch): r.timed.tokens / r.timed.seconds for r in rows if r.way == THEIRS and r.timed
        }
        lines.append(row.line(rate, theirs))
        print(lines[-1], flush=True)
        asked.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _check(asked: argparse.Namespace) -> None:
    """Refuse what would end the measurements later."""
    check_table(asked.out)
    check_numbers(asked, batches=1, steps=1, encode=1)
    for name in asked.model or ():
        if name not in SHAPES:
            check_model(name, "--model")
    if not asked.hour:
        return
    if not (asked.nli and asked.senteval):
        raise UserError("--hour needs data: name it with --nli and --senteval")
    from trainables.trial.check import check_recipes

    check_recipes(_hours_recipes(asked), EvaluationConfig(asked.senteval))


def _rows(asked: argparse.Namespace, machine: Machine) -> Iterator[Row]:
    """Of every model sentence-transformers first, so that ours can be set against it."""
    from benchmarks import _gpu_work as work
    from benchmarks._gpu_models import write_model

    ways = (work.PADDED, work.PACKED, work.COMPILED)
    with tempfile.TemporaryDirectory() as scratch:
        for name in asked.model:
            folder = name
            if name in SHAPES:
                folder = str(Path(scratch) / name)
                write_model(name, Path(folder))
            for batch in asked.batches:
                row = Row(Path(name).name, "training", work.THEIRS, batch, None)
                yield _measured(row, partial(work.their_training, folder, batch, machine))
                for way in ways:
                    yield _measured(replace(row, way=way), partial(work.our_training, folder, way, batch, machine))
            row = Row(Path(name).name, "encoding", work.THEIRS, None, None)
            yield _measured(row, partial(work.their_encoding, folder, asked.encode, machine))
            for way in ways:
                yield _measured(replace(row, way=way), partial(work.our_encoding, folder, way, asked.encode, machine))
    count, dim, protocol = asked.heads
    for device in dict.fromkeys((machine.device, "cpu")):
        row = Row(f"heads, {dim} dimensions", "MR", device, None, None)
        yield _measured(row, partial(work.heads, device, count, dim, protocol, machine))
    if asked.hour:
        yield _hour(asked)


def _measured(row: Row, run: Callable[[], Timed]) -> Row:
    import torch

    try:
        return replace(row, timed=run())
    except torch.OutOfMemoryError:
        return row


def _hour(asked: argparse.Namespace) -> Row:
    """Trials of `scl_ablation` as the paper has them, one after another: those that were begun within the hour."""
    from benchmarks._gpu_work import Timed
    from trainables.trial.run import run_trial

    recipes, evaluation = _hours_recipes(asked), EvaluationConfig(asked.senteval)
    begin, trials, tokens, peak = time.perf_counter(), 0, 0, 0.0
    while time.perf_counter() - begin < HOUR:
        found: Any = run_trial(recipes[trials % len(recipes)], 1 + trials // len(recipes), evaluation)
        trials, tokens = trials + 1, tokens + found.training.get("tokens", 0)
        peak = max(peak, found.cost["peak_memory_mb"] * 2**20 / 1e9)
    seconds = time.perf_counter() - begin
    return Row("scl_ablation", f"{trials} trials", "packed", None, Timed(seconds, tokens, peak_gb=peak))


def _hours_recipes(asked: argparse.Namespace) -> list[Recipe]:
    from search_spaces import load_space

    places = {"corpus.nli": asked.nli}
    space = load_space("scl_ablation")
    base = space.base.override({**places, **({"encoder.name": asked.encoder} if asked.encoder else {})})
    return [recipe for row in space.rows if (recipe := base.override(row.overrides)).trains]


def _heading(machine: Machine, rate: float, side: int) -> list[str]:
    import sentence_transformers
    import torch
    import transformers

    where = torch.cuda.get_device_name() if machine.device == "cuda" else f"{platform.machine()} (CPU)"
    return [
        f"{where}, torch {torch.__version__}, transformers {transformers.__version__}, "
        f"sentence-transformers {sentence_transformers.__version__}",
        "",
        f"Peak: {rate / 1e12:.3g} TFLOP/s, measured here by products of {side} x {side} matrices. "
        f"All of it in {machine.precision}. Steps of training that are timed: {machine.steps}.",
    ]


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _changed(asked: argparse.Namespace, **changes: Any) -> argparse.Namespace:
    """The same with some values changed."""
    return argparse.Namespace(**{**vars(asked), **changes})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks gpu", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("gpu.md"), help="the table's file (default: gpu.md)")
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
        help=f"anchors of a training step (default: {' '.join(map(str, BATCHES))})",
    )
    parser.add_argument("--steps", type=int, default=20, help="training steps that are timed (default: 20)")
    parser.add_argument("--encode", type=int, default=50_000, help="sentences that are encoded (default: 50,000)")
    parser.add_argument("--hour", action="store_true", help="also an hour of scl_ablation as in the paper")
    parser.add_argument("--nli", help="for --hour: folder or files of NLI pairs")
    parser.add_argument("--senteval", help="for --hour: folder in SentEval's layout")
    parser.add_argument(
        "--encoder",
        help="for --hour: a model's folder (default: the paper's; benchmarks/gpu.sh does not ask the hub, so that it "
        "must have been fetched before)",
    )
    parser.add_argument("--smoke", action="store_true", help="tiny shapes on the CPU: shows that it all runs")
    return parser
