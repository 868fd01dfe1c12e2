"""A population of LoRA trials: they take turns, step by step, over one frozen base in memory.

Each member's training is that of `trainables.training.loop` to the last bit, dropout included: a step computes with
nothing but the member's own matrices, and draws from its own seed. So a member costs the time that it would cost alone,
and the memory of its own matrices, their gradients and the optimiser's state. Members exchange nothing: one that
diverges leaves the others as they are.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from trainables.encoders.lora import LoraEncoder
from trainables.training import loop
from trainables.training.distributed import Workers
from trainables.training.loop import Interrupted, Pause, stepwise, total_steps
from trainables.training.model import TokenizedBatch
from trainables.training.population_training import Member, PopulationWatcher, load_numbers, save_numbers, share_seconds


def train_in_turns(
    members: Sequence[Member], watcher: PopulationWatcher | None = None, resume: Path | None = None
) -> None:
    """Train all members in place, as `train_population` does; their encoders share one base.

    From the checkpoint in the folder `resume` it goes on as if nothing had happened. Raises `Interrupted` where the
    watcher ends it.
    """
    steps = total_steps(members[0].sampler, members[0].optimisation)
    first = load_numbers(resume, members) if resume else 0  # tensors are read at a member's first turn
    with contextlib.ExitStack() as ending:
        batches = ending.enter_context(_TokenizedBatches(steps))
        turns = [
            ending.enter_context(_Turn(member, batches, resume / str(number) if resume else None))
            for number, member in enumerate(members)
        ]
        began = time.perf_counter() - len(members) * members[0].progress.seconds
        for step in range(first, steps):
            if all(member.diverged for member in members):
                break
            for turn in turns:
                turn.take()
            if watcher is None or not watcher.looks(step + 1):
                continue
            for turn in turns:
                turn.settle()
            share_seconds(members, began)
            if not watcher.step(step + 1, functools.partial(_save, step=step + 1, turns=turns)):
                raise Interrupted(f"training goes on elsewhere from its checkpoint after step {step + 1}")
        for turn in turns:
            turn.take()
        share_seconds(members, began)


class _Turn(contextlib.AbstractContextManager["_Turn"]):
    """A member's training, which goes on only while it is the member's turn. One that diverged has no more turns."""

    def __init__(self, member: Member, batches: _TokenizedBatches, resume: Path | None) -> None:
        """It is taken up to its first step."""
        self.member = member
        self._training = stepwise(
            member.model,
            batches.of(member),
            batches.steps,
            member.recipe,
            member.seed,
            loop.Watcher(),
            Workers(),
            resume,
        )
        self.pause: Pause | None = None
        self.take()

    def take(self) -> None:
        """One step; after the last one, what is still to be done."""
        self._go_on(lambda: next(self._training, None))

    def settle(self) -> None:
        """Wait for the last step and write it down."""
        if self.pause is not None:
            self._go_on(self.pause.settle)

    def save(self, folder: Path) -> None:
        """A checkpoint, after `settle`."""
        if self.pause is not None and not self.member.diverged:
            self.pause.save(folder)

    def __exit__(self, *error: object) -> None:
        """However it ended, the training leaves nothing at the parameters."""
        self._training.close()

    def _go_on(self, go: Callable[[], Pause | None]) -> None:
        if self.member.diverged:
            return
        encoder = self.member.model.encoder
        assert isinstance(encoder, LoraEncoder)
        encoder.activate()
        try:
            self.pause = go() or self.pause
        except loop.TrainingDivergedError as error:
            self.member.diverged = str(error)
        if self.pause is not None:
            self.member.progress = self.pause.progress


class _TokenizedBatches(contextlib.AbstractContextManager["_TokenizedBatches"]):
    """Tokenized batches, each made once for all members that share a sampler, in one thread and a step ahead."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._made: dict[tuple[int, int], Future[TokenizedBatch]] = {}

    def of(self, member: Member) -> Callable[[range], Iterable[TokenizedBatch]]:
        """The batches of some steps. All members are at the same step."""
        return lambda steps: (self._at(step, member) for step in steps)

    def __exit__(self, *error: object) -> None:
        self._thread.shutdown(cancel_futures=True)

    def _at(self, step: int, member: Member) -> TokenizedBatch:
        sampler = id(member.sampler)
        for ahead in range(step, min(step + 2, self.steps)):
            if (sampler, ahead) not in self._made:
                self._made[sampler, ahead] = self._thread.submit(_tokenized, member, ahead)
        self._made.pop((sampler, step - 1), None)
        return self._made[sampler, step].result()


def _tokenized(member: Member, step: int) -> TokenizedBatch:
    return member.model.tokenized(member.sampler.batch(step))


def _save(folder: Path, step: int, turns: Sequence[_Turn]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, turn in enumerate(turns):
        turn.save(folder / str(number))
    save_numbers(folder, step, [turn.member for turn in turns])
