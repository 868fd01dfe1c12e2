"""Training of a population: many small trials that train together, with NT-Xent on the embeddings of a frozen base.

Adapters and projection heads of equal shape are stacked, so that one batched matrix product computes all members.
Gradients are computed by explicit formulas, without autograd. Otherwise each member is computed as in
`trainables.training.loop` and `trainables.objectives.losses.ntxent`. Members exchange nothing, so a member that
diverges does not change the other members.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from trainables.corpora.batch import Batch, Sampler
from trainables.corpora.mining import RenewedSampler
from trainables.encoders.adapter import AdaptedEncoder
from trainables.encoders.embedding_store import EmbeddingStore
from trainables.errors import UserError
from trainables.labels import ENTAILMENT
from trainables.objectives.losses.ntxent import NTXent
from trainables.objectives.truly_false import count_by_masks
from trainables.recipe import OptimisationConfig, Recipe
from trainables.training.checkpoint import NUMBERS, TENSORS, TrainingProgress, on_cpu, readable
from trainables.training.loop import Interrupted, learning_rate
from trainables.training.model import StudyModel
from trainables.training.optimisers import Optimiser
from trainables.training.pending_numbers import PendingNumbers
from trainables.typed_json import Count, parse_json, read_fields

if TYPE_CHECKING:
    from trainables.corpora.scene_meanings import Meanings

NUMBERS_AT_ONCE = {"cpu": 2**23, "cuda": 2**28}
"""Most numbers in one activation tensor of a stack, by device. Members beyond this limit are put into more stacks."""
SCORES_AT_ONCE = {"cpu": 2**20, "cuda": 2**28}
"""Most scores computed at once, by device; none is stored for later. On a CPU they should fit in its caches."""


@dataclass
class Member:
    """One trial of a population. `model`, whose encoder is an `AdaptedEncoder`, is trained in place."""

    model: StudyModel
    recipe: Recipe
    sampler: Sampler
    """Members with the same sampler object share batches; if they have the same store too, also base embeddings."""
    progress: TrainingProgress = field(default_factory=TrainingProgress)
    """Steps and sums, as from `loop.train`. `seconds` is an equal share of the population's seconds."""
    diverged: str | None = None
    """Why the member's training ended early, in the words of `TrainingDivergedError`; None if it did not."""

    @property
    def optimisation(self) -> OptimisationConfig:
        return self.recipe.optimisation

    @property
    def steps(self) -> int:
        """Number of steps of the whole training."""
        return self.optimisation.steps(self.sampler.steps_per_epoch)

    @property
    def objective(self) -> NTXent:
        objective = self.model.objective
        assert isinstance(objective, NTXent), "an objective with `fits_population` is NT-Xent"
        return objective

    @property
    def encoder(self) -> AdaptedEncoder:
        encoder = self.model.encoder
        assert isinstance(encoder, AdaptedEncoder)
        return encoder


class PopulationWatcher(Protocol):
    """Callbacks of a population's training. Steps are counted from 1."""

    def wants_step(self, step: int) -> bool:
        """Return whether to call `step` after this step. Called after each step; `step` waits for the device."""

    def step(self, step: int, save: Callable[[Path], None]) -> bool:
        """Handle a step; `save(folder)` writes a checkpoint. To end the training, save one and return False."""


def train_population(
    members: Sequence[Member], watcher: PopulationWatcher | None = None, resume: Path | None = None
) -> None:
    """Train all members in place, step by step together.

    Their recipes have one `population_key`; shapes of heads may differ. A loss that is not finite ends the training of
    its member only. `resume`: the folder of a checkpoint from which the training continues unchanged. Raises
    `Interrupted` if the watcher ends the training.
    """
    steps = members[0].steps
    stacks = [_Stack(group, steps) for group in _groups(members)]
    for stack in stacks:
        for member in stack.inputs():
            embed_ahead(member.encoder.store, member.sampler, steps)
    first = _load(resume, members, stacks) if resume else 0
    began = time.perf_counter() - len(members) * members[0].progress.seconds
    for step in range(first, steps):
        if all(member.diverged for member in members):
            break
        batches = _Batches(step)
        for stack in stacks:
            stack.step(step, batches)
        if watcher is None or not watcher.wants_step(step + 1):
            continue
        for stack in stacks:
            stack.settle()
        share_seconds(members, began)
        if not watcher.step(step + 1, functools.partial(_save, step=step + 1, members=members, stacks=stacks)):
            raise Interrupted(f"training goes on elsewhere from its checkpoint after step {step + 1}")
    for stack in stacks:
        stack.settle()
        stack.unstack()
    share_seconds(members, began)


def share_seconds(members: Sequence[Member], began: float) -> None:
    """Divide the seconds since `began` equally among the members."""
    for member in members:
        member.progress.seconds = (time.perf_counter() - began) / len(members)


def embed_ahead(store: EmbeddingStore, sampler: Sampler, steps: int) -> None:
    """Embed all sentences of a training with a frozen encoder at once, not batch by batch.

    A sampler may leave out another part of its corpus in each epoch, so epochs are read until one has nothing new.
    """
    if isinstance(sampler, RenewedSampler):  # its later negatives are not known yet
        store.rows(sampler.texts)
        return
    sentences: dict[str, None] = {}
    for start in range(0, steps, sampler.steps_per_epoch):
        before = len(sentences)
        for step in range(start, min(start + sampler.steps_per_epoch, steps)):
            sentences.update(dict.fromkeys(sampler.batch(step).sentences))
        if len(sentences) == before:
            break
    store.rows(list(sentences))


@dataclass(frozen=True)
class _StackedPairs:
    """A batch of m pairs for NT-Xent: 2 m texts, all first texts and then all second texts."""

    base: Tensor  # (2 m, dim)
    excluded: Tensor  # (excluded,) flat index into (2 m, 2 m): entries that are not in the denominator of their row
    one_way: Tensor  # (some,) the excluded entries with a transposed entry that is not excluded
    other_way: Tensor  # (some,) these transposed entries
    counts: dict[str, int]


class _Batches:
    """The batches of one step. Each is prepared once for all members that share it."""

    def __init__(self, step: int) -> None:
        self.number = step
        self._made: dict[tuple[int, int, bool], _StackedPairs] = {}
        self._drawn: dict[int, Batch] = {}

    def of(self, member: Member, like: Tensor, masks: bool) -> _StackedPairs:
        """Return a member's batch on the device of `like`. `masks`: leave out equal texts (`false_negatives=mask`)."""
        sampler, store = member.sampler, member.encoder.store
        key = id(sampler), id(store), masks
        if key not in self._made:
            if id(sampler) not in self._drawn:
                self._drawn[id(sampler)] = sampler.batch(self.number)
            self._made[key] = _prepare(self._drawn[id(sampler)], store, like, masks, member.model.meanings)
        return self._made[key]


def _prepare(
    batch: Batch, store: EmbeddingStore, like: Tensor, masks: bool, meanings: Meanings | None
) -> _StackedPairs:
    pairs = len(batch.label)
    if (batch.label != ENTAILMENT).any() or len(np.unique(batch.group)) != pairs:
        raise UserError(
            "a layout with fits_population=True must give entailed pairs, each a group of its own, and this one gives "
            "others; leave its entry at fits_population=False"
        )
    items = np.concatenate([batch.premise, batch.hypothesis])
    rows = store.rows(batch.sentences)[items]
    excluded = np.eye(2 * pairs, dtype=bool)
    if masks:
        _, text = np.unique(rows, return_inverse=True)
        own, other = text[:pairs], text[pairs:]
        agreed = (text == own[:, None]) | (text == other[:, None])  # (pairs, 2 m): equal to one of the pair's texts
        excluded |= np.concatenate([agreed, agreed])
        excluded[np.arange(2 * pairs), np.roll(np.arange(2 * pairs), pairs)] = False  # the positive itself
    flat, one_way = np.flatnonzero(excluded), np.flatnonzero(excluded & ~excluded.T)
    other_way = one_way % (2 * pairs) * (2 * pairs) + one_way // (2 * pairs)
    counts = {
        "pairs": pairs,
        "sentences": len(batch.sentences),
        "tokens": len(batch.sentences),
        "anchors": 2 * pairs,
        "positives": 2 * pairs,
        "negatives": 4 * pairs * pairs - len(flat) - 2 * pairs,
        "batches_without_anchor": 0,
        **_count_false_negatives(batch, items, excluded, meanings),
    }
    base = torch.from_numpy(store.take(rows)).to(like.device, like.dtype)
    indices = [torch.from_numpy(numbers).to(like.device) for numbers in (flat, one_way, other_way)]
    return _StackedPairs(base, indices[0], indices[1], indices[2], counts)


def _count_false_negatives(
    batch: Batch, items: np.ndarray, excluded: np.ndarray, meanings: Meanings | None
) -> dict[str, int]:
    """Return the counts of `objectives/truly_false.py`. `items`: (2 m,) the texts; `excluded`: (2 m, 2 m)."""
    entailed = meanings.entailed(batch.sentences, batch.premise.tolist()) if meanings else None
    if entailed is None:
        return {}
    itself = np.eye(len(items), dtype=bool)
    negatives = ~itself & ~np.roll(itself, len(items) // 2, axis=1)
    false = entailed[np.tile(batch.premise, 2)][:, items]
    counts = count_by_masks(itself.any(axis=1), negatives, negatives & excluded, false)
    return {name: int(number) for name, number in counts.items()}


class _Stack:
    """Members with layers of equal shapes, trained by one optimiser. Their parameters are stacked layer by layer."""

    def __init__(self, members: Sequence[Member], steps: int) -> None:
        self.members, self.steps = members, steps
        layers = [_layers(member.model) for member in members]
        self.linear = [[layer for layer, _ in own] for own in layers]  # [member][layer]
        self.rectified = [rectified for _, rectified in layers[0]]
        with torch.no_grad():
            self.weight = [torch.stack([own[i].weight for own in self.linear]) for i in range(len(self.rectified))]
            self.bias = [torch.stack([own[i].bias for own in self.linear]) for i in range(len(self.rectified))]
        self.masks = members[0].objective.false_negatives == "mask"
        configs = [member.optimisation for member in members]
        self.decay = self._column([config.weight_decay for config in configs])
        self.clip = [math.inf if config.clip_norm is None else config.clip_norm for config in configs]
        self.temperature = self._column([float(member.objective.temperature) for member in members])
        self.tables: list[Tensor] | None = None
        self.last: tuple[int, PendingNumbers, list[_StackedPairs]] | None = None
        """The step that the device may still be computing: its number, losses and batches."""
        own = [member.recipe.part(Optimiser) for member in members]
        self.optimiser = own[0].stacked(own, [*self.weight, *self.bias])

    @torch.no_grad()
    def step(self, step: int, batches: _Batches) -> None:
        if all(member.diverged for member in self.members):
            return
        like = self.weight[0]
        pairs = [batches.of(member, like, self.masks) for member in self.members]
        activations = self._forward(pairs)
        losses, delta = self._contrast(activations[-1], pairs)
        gradients = self._backward(activations, delta)
        if min(self.clip) < math.inf:
            self._clip(gradients)
        rates = [learning_rate(step, self.steps, member.optimisation) for member in self.members]
        self.optimiser.step(step, gradients, self._column(rates), self.decay)
        queued = step, PendingNumbers(losses), pairs
        self.settle()
        self.last = queued

    def settle(self) -> None:
        """Wait for the last step and add it to the progress of the members, unless this was done."""
        if self.last is None:
            return
        (step, losses, pairs), self.last = self.last, None
        for member, own, loss in zip(self.members, pairs, losses.read(), strict=True):
            if member.diverged:
                continue
            if not math.isfinite(loss):
                member.diverged = f"the loss is {loss} at step {step}"
                continue
            member.progress.step = step + 1
            member.progress.last_loss = loss
            member.progress.add(loss=loss, **own.counts)

    def inputs(self) -> Iterable[Member]:
        """Return one member for each different input: each pair of sampler and embedding store."""
        return {(id(member.sampler), id(member.encoder.store)): member for member in self.members}.values()

    def unstack(self) -> None:
        """Copy the trained parameters back to the members."""
        with torch.no_grad():
            for member, own in enumerate(self.linear):
                for layer, linear in enumerate(own):
                    linear.weight.copy_(self.weight[layer][member])
                    linear.bias.copy_(self.bias[layer][member])

    def tensors(self) -> Iterator[tuple[Member, str, Tensor]]:
        """Yield views of everything that training changes: each member's parameters and optimiser state, by name."""
        everything = {"parameter": [*self.weight, *self.bias], **self.optimiser.state}
        for name, stacked in everything.items():
            for number, tensor in enumerate(stacked):
                for member, own in zip(self.members, tensor, strict=True):
                    yield member, f"{name}.{number}", own

    def _forward(self, pairs: Sequence[_StackedPairs]) -> list[Tensor]:
        """Return the input of the first layer and the output of each layer, (members, 2 m, dim) each."""
        same = all(own is pairs[0] for own in pairs)
        first = pairs[0].base.expand(len(pairs), -1, -1) if same else torch.stack([own.base for own in pairs])
        activations = [first]
        for weight, bias, rectified in zip(self.weight, self.bias, self.rectified, strict=True):
            output = torch.baddbmm(bias.unsqueeze(1), activations[-1], weight.mT)
            activations.append(output.relu_() if rectified else output)
        return activations

    def _backward(self, activations: list[Tensor], delta: Tensor) -> list[Tensor]:
        """Return the gradients in the optimiser's order: weights, then biases. `delta`: gradient by the last output."""
        weights: list[Tensor] = []
        biases: list[Tensor] = []
        for layer in reversed(range(len(self.weight))):
            if self.rectified[layer]:
                delta = torch.ops.aten.threshold_backward(delta, activations[layer + 1], 0)
            weights.insert(0, torch.bmm(delta.mT, activations[layer]))
            biases.insert(0, delta.sum(dim=1))
            if layer:
                delta = torch.bmm(delta, self.weight[layer])
        return [*weights, *biases]

    def _contrast(self, projected: Tensor, pairs: Sequence[_StackedPairs]) -> tuple[Tensor, Tensor]:
        """Return NT-Xent of each member, (members,), and its gradient by `projected`, (members, 2 m, dim).

        With P the softmax of each row of scores and Y the pairing, the gradient by the normalised vectors z is
        (P + P' - 2 Y) z / (2 m tau). `denominator` is the log of each row's sum of exponentials.
        """
        lengths = torch.linalg.vector_norm(projected, dim=2, keepdim=True).clamp_(min=1e-12)
        z = projected / lengths
        count = z.shape[1]
        partner = z.roll(count // 2, dims=1)
        gradient = torch.empty_like(z)
        denominator = torch.empty(z.shape[:2], dtype=z.dtype, device=z.device)
        together = min(len(z), max(1, SCORES_AT_ONCE[z.device.type] // count**2))
        for start in range(0, len(z), together):
            part = slice(start, start + together)
            z_part = z[part]
            # The temperature divides one factor, which has fewer numbers than the scores.
            scores, shares = (buffer[: len(z_part)] for buffer in self._buffers(together, count))
            torch.bmm(z_part / self.temperature[part], z_part.mT, out=scores)
            for own, table in zip(pairs[part], scores, strict=True):
                table.view(-1)[own.excluded] = -math.inf
            torch.softmax(scores, dim=2, out=shares)
            # The largest share never underflows; the share of a positive may.
            denominator[part] = scores.amax(dim=2) - shares.amax(dim=2).log_()
            # Scores are symmetric, so P' needs no slow transposition, except at entries that are excluded one way only.
            both = scores.sub_(denominator[part].unsqueeze(1)).exp_().add_(shares)
            for own, table, share in zip(pairs[part], both, shares, strict=True):
                table.view(-1)[own.one_way] = table.view(-1)[own.other_way] = share.view(-1)[own.other_way]
            torch.bmm(both, z_part, out=gradient[part])
        losses = denominator - (z * partner).sum(dim=2) / self.temperature.squeeze(2)  # (members, 2 m)
        gradient.sub_(partner, alpha=2).div_(self.temperature * count)
        # Gradient through the normalisation: the component along z has no effect.
        gradient.sub_((gradient * z).sum(dim=2, keepdim=True) * z).div_(lengths)
        return losses.mean(dim=1), gradient

    def _buffers(self, members: int, count: int) -> list[Tensor]:
        """Return two score tables per member. They are reused: new memory in each step costs as much as a product."""
        if self.tables is None or self.tables[0].shape != (members, count, count):
            self.tables = [self.weight[0].new_empty(members, count, count) for _ in range(2)]
        return self.tables

    def _clip(self, gradients: Sequence[Tensor]) -> None:
        norms = torch.stack([torch.linalg.vector_norm(gradient.flatten(1), dim=1) for gradient in gradients])
        norm = torch.linalg.vector_norm(norms, dim=0)  # (members,)
        scale = (torch.tensor(self.clip, dtype=norm.dtype, device=norm.device) / (norm + 1e-6)).clamp(max=1)
        for gradient in gradients:
            gradient.mul_(scale.view(-1, *[1] * (gradient.dim() - 1)))

    def _column(self, values: Sequence[float]) -> Tensor:  # (members, 1, 1)
        return torch.tensor(values, dtype=self.weight[0].dtype, device=self.weight[0].device).view(-1, 1, 1)


def _save(folder: Path, step: int, members: Sequence[Member], stacks: Sequence[_Stack]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    index_of = {id(member): number for number, member in enumerate(members)}
    tensors = {f"{index_of[id(member)]}.{name}": tensor for stack in stacks for member, name, tensor in stack.tensors()}
    save_file(on_cpu(tensors), folder / TENSORS)
    content = [{"progress": dataclasses.asdict(m.progress), "diverged": m.diverged} for m in members]
    (folder / NUMBERS).write_text(json.dumps({"step": step, "members": content}))


def _load(folder: Path, members: Sequence[Member], stacks: Sequence[_Stack]) -> int:
    """Load a saved state, and return its step. Raises `UserError` for an invalid state or one of other members."""
    index_of = {id(member): number for number, member in enumerate(members)}
    with readable(folder):
        tensors = load_file(folder / TENSORS)
        for stack in stacks:
            for member, name, tensor in stack.tensors():
                tensor.copy_(tensors[f"{index_of[id(member)]}.{name}"])
        saved = read_fields(_Saved, parse_json((folder / NUMBERS).read_bytes()))
        for member, own in zip(members, saved.members, strict=True):
            member.progress, member.diverged = own.progress, own.diverged
    return saved.step


@dataclass(frozen=True)
class _SavedMember:
    progress: TrainingProgress
    diverged: str | None = None


@dataclass(frozen=True)
class _Saved:
    """The numbers of a population's checkpoint."""

    step: Count
    members: list[_SavedMember]


def _layers(model: StudyModel) -> list[tuple[nn.Linear, bool]]:
    """Return the linear layers of adapter and head, each with whether a ReLU follows."""
    assert isinstance(model.encoder, AdaptedEncoder)
    head = model.head if isinstance(model.head, nn.Sequential) else [model.head]
    modules = [module for module in [*model.encoder.adapter, *head] if not isinstance(module, nn.Identity)]
    after = itertools.chain(modules[1:], [None])
    return [(m, isinstance(n, nn.ReLU)) for m, n in zip(modules, after, strict=True) if isinstance(m, nn.Linear)]


def _groups(members: Sequence[Member]) -> list[list[Member]]:
    """Return groups of members of equal shapes and optimiser, limited by `NUMBERS_AT_ONCE`. Members that share their
    input are neighbours."""
    shapes: dict[object, list[Member]] = {}
    for member in members:
        shape = tuple((layer.weight.shape, rectified) for layer, rectified in _layers(member.model))
        rule = member.optimisation.optimiser, member.objective.false_negatives
        shapes.setdefault((shape, rule), []).append(member)
    groups = []
    for alike in shapes.values():
        inputs = {(id(m.sampler), id(m.encoder.store)): None for m in alike}
        alike.sort(key=lambda m: list(inputs).index((id(m.sampler), id(m.encoder.store))))
        width = max(layer.weight.shape[0] for layer, _ in _layers(alike[0].model))
        size = 2 * alike[0].optimisation.batch_size * width
        most = max(1, NUMBERS_AT_ONCE[alike[0].encoder.device.type] // size)
        groups += [alike[start : start + most] for start in range(0, len(alike), most)]
    return groups
