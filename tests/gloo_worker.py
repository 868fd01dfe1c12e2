"""Groups of gloo processes on the CPU: `python -m tests.gloo_worker FOLDER JOB,... JOB,...`.

The first jobs are for a group of two workers, the next ones for a group of three, and so on. Worker R of N answers with
`FOLDER/N/answer-R.pt`. All are forked from one new interpreter that has imported and done nothing else, so that
imports are paid once. A job also runs alone, in the test's own process.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn

from tests.conftest import ROWS, pairs_of
from trainables.corpora.batch import Sampler
from trainables.corpora.layouts.mix import JoinedSampler, OneCorpusABatch
from trainables.corpora.samplers import GroupSampler, PairSampler, RowSampler
from trainables.encoders.kinds import EncoderRequest
from trainables.encoders.passes import full_passes
from trainables.errors import UserError
from trainables.objectives import OBJECTIVES
from trainables.objectives.directions import DIRECTIONS
from trainables.recipe import EncoderConfig, Recipe
from trainables.training import gradients
from trainables.training.checkpoint import TrainingProgress
from trainables.training.distributed import Workers
from trainables.training.loop import Interrupted, Watcher, train
from trainables.training.model import StudyModel, TokenizedBatch
from trainables.training.rungs import RungPlan
from trainables.trial.build import build_encoder, build_model
from trainables.trial.evaluation import evaluate_together
from trainables.trial.reporter import Reporter
from trainables.trial.watcher import TrialWatcher

GUIDED = {
    "objective.false_negatives": "guide",
    "objective.guide": "scenes-small",
    "objective.filter_margin": -0.1,
}
OBJECTIVE_CASES: list[dict[str, Any]] = [
    {"objective.name": "scl"},
    {"objective.name": "scl", "objective.positives": 1, "objective.negatives": 2, "head.kind": "mlp", "head.dim": 7},
    {"objective.name": "scl", "objective.weight": 1.0, "objective.temperature": 0.1, "head.kind": "linear"},
    {"objective.name": "scl", "objective.fidelity": "released", "objective.positives": 2},
    {"objective.name": "ce"},
    {"objective.name": "ce_augment", "objective.positives": 1, "objective.negatives": 3},
    *(
        {"corpus.layout": "groups", "objective.temperature": 0.05, **changes}
        for changes in (
            {"objective.name": "ntxent"},
            {"objective.name": "ntxent", "objective.bank": 8, "head.kind": "mlp", "head.dim": 7},
            {"objective.name": "mnrl"},
            {"objective.name": "mnrl", "objective.directions": DIRECTIONS, "objective.hardness": 2.0},
            {"objective.name": "mnrl", "objective.directions": DIRECTIONS[:2], "objective.partition": "apart"},
            {"objective.name": "mnrl", "objective.temperature": "learned", "objective.bank": 8},
            {"objective.name": "simcse"},
            {"objective.name": "mnrl", "objective.false_negatives": "self", "objective.filter_margin": -0.1},
            {"objective.name": "mnrl", "objective.directions": DIRECTIONS, **GUIDED},
            {"objective.name": "ntxent", "objective.dims": ("4", "2"), "objective.bank": 8},
            {"objective.name": "supcon"},
            {"objective.name": "supcon", "objective.contrast": "all"},
            {"objective.name": "supmpn", "objective.fidelity": "released"},
            {"objective.name": "supmpn", "objective.bank": 4},
            {"objective.name": "triplet"},
            {"objective.name": "batch_all"},
            {"objective.name": "batch_hard"},
        )
    ),
    *(
        {"corpus.layout": "scored_pairs", "objective.name": name, "objective.temperature": 0.05, "objective.dims": dims}
        for name in ("cosent", "angle", "cosine")
        for dims in ((), ("4", "2"))
    ),
    *(
        {"corpus.layout": "groups", "objective.name": "distill", "objective.teacher": "scenes-small", **changes}
        for changes in (
            {"objective.temperature": 0.05},
            {"objective.matches": "margins", "objective.dims": ("4",)},
            {"objective.matches": "embeddings", "head.kind": "linear", "head.dim": 128},
        )
    ),
]

OBJECTIVE_CASES += [
    {"objective.name": name, "corpus.layout": loss.layouts[0]}
    for name, loss in OBJECTIVES.items()
    if not loss.mlm_only and name not in {changes["objective.name"] for changes in OBJECTIVE_CASES}
]

# Batches of (premise, hypothesis, label); sentences differ in length.
BATCHES = {
    "odd number of sentences": [(0, 1, 0), (0, 2, 1), (0, 3, 2), (4, 5, 0), (4, 6, 0), (7, 8, 0), (7, 1, 1)],
    "no more sentences than workers": [(0, 1, 0)],
    "fewer sentences than workers": [(0, 0, 0)],
    "one anchor": [(0, 1, 0), (2, 3, 1), (4, 5, 2)],
    "no anchor": [(0, 1, 1), (2, 3, 2), (0, 4, 1)],
}


def batches_of(case: int) -> list[str]:
    """Of a case of objectives: the uneven batch, and one of the others, by turns."""
    uneven, *others = BATCHES
    return [uneven, others[case % len(others)]]


class Tiny(nn.Module):
    """The part of an encoder that a study model needs: mean word embeddings through one layer, without dropout."""

    dim = 6
    device = torch.device("cpu")

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.EmbeddingBag(40, self.dim, mode="mean")
        self.layer = nn.Linear(self.dim, self.dim)

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        return [[len(word) for word in sentence.split()] for sentence in sentences]

    def passes(self, lengths: Sequence[int], most: int | None = None) -> list[list[int]]:
        return full_passes(lengths, most or 4096)

    def embed(self, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        starts = np.cumsum([0, *map(len, tokens)])[:-1]
        flat = torch.tensor([word for ids in tokens for word in ids])
        return torch.tanh(self.layer(self.words(flat, torch.tensor(starts))))


def model_of(changes: dict[str, Any]) -> StudyModel:
    torch.manual_seed(5)
    return build_model(Recipe().preferring(changes), Tiny())


def batch_of(rows: list[tuple[int, int, int]]) -> TokenizedBatch:
    premise, hypothesis, label = torch.tensor(rows).T
    count = int(max(premise.max(), hypothesis.max())) + 1
    tokens = [[(7 * n + k) % 40 for k in range(2 + (5 * n) % 9)] for n in range(count)]
    return TokenizedBatch(
        tokens=tokens,
        text=torch.arange(count),
        premise=premise,
        hypothesis=hypothesis,
        label=label,
        group=premise,
        score=(3 * hypothesis % 5) / 4,
        guide=torch.randn(count, 128, generator=torch.Generator().manual_seed(4)),
    )


def losses(workers: Workers) -> dict[str, Any]:
    """Loss, counts and gradients of every objective on two batches; of three workers of every third, as what two do
    right in all of them, three do right in all where they do in some."""
    answers = {}
    for number, changes in [*enumerate(OBJECTIVE_CASES)][:: 3 if workers.count == 3 else 1]:
        model = model_of(changes)
        for name in batches_of(number):
            rows = BATCHES[name]
            model.zero_grad(set_to_none=True)
            if model.bank is not None:  # a first batch fills it
                model = model_of(changes)
                model.loss(batch_of(rows), workers, torch.Generator().manual_seed(9))
            loss = model.loss(batch_of(rows), workers, torch.Generator().manual_seed(9))
            with gradients.GradientSum(model.parameters(), workers) as summed:
                summed.backward(loss.value)
            answers[f"{number} {name}"] = {
                "loss": workers.total(loss.value),
                "counts": dict(loss.counts),
                "gradients": [_or_zeros(p) for p in model.parameters()],
            }
    return answers


def halves(workers: Workers) -> dict[str, Any]:
    """The negative control: each worker sees only its own rows, the losses averaged as is usual."""
    rows = BATCHES["odd number of sentences"]
    mine = rows[len(rows) * workers.rank // workers.count : len(rows) * (workers.rank + 1) // workers.count]
    model = model_of(OBJECTIVE_CASES[0])
    value = model.loss(batch_of(mine), Workers(), torch.Generator().manual_seed(9)).value / workers.count
    with gradients.GradientSum(model.parameters(), workers) as summed:
        summed.backward(value)
    return {"loss": workers.total(value), "gradients": [_or_zeros(p) for p in model.parameters()]}


def steps(workers: Workers) -> dict[str, Any]:
    """One epoch, whose last batch is uneven, and what its watcher hears."""
    watcher = Counting()
    changes = {"optimisation.epochs": 1, "optimisation.weight_decay": 0.1, "optimisation.clip_norm": 0.5}
    trained = twelve_steps(workers, Tiny(), {**changes, "optimisation.warmup": 0.0}, watcher)
    return {"parameters": trained["state"], "sums": trained["sums"], "told": watcher.steps, "rungs": watcher.rungs}


def low_rank(workers: Workers) -> dict[str, Any]:
    """Training of LoRA in the built-in encoder, which starts from pristine weights and ends with them; no dropout."""
    from trainables.encoders.lora import LoraEncoder

    recipe = Recipe().preferring(
        {
            "encoder.name": "scenes-small",
            "encoder.adapter": "lora",
            "encoder.lora_rank": 2,
            "objective.mlm": 0.5,
            "optimisation.batch_size": 5,
            "optimisation.learning_rate": 0.01,
            "optimisation.warmup": 0.0,
            "optimisation.clip_norm": 0.5,
        }
    )
    encoder = build_encoder(recipe, 1, None)
    assert isinstance(encoder, LoraEncoder)
    encoder.base.double()
    encoder.double()  # in float32 Adam makes much of rounding where a gradient is nearly 0
    for module in encoder.base.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    frozen = {name: value.clone() for name, value in encoder.base.state_dict().items() if "base_layer" in name}
    model = build_model(recipe, encoder)
    first = [p.detach().clone() for p in model.parameters()]
    train(model, RowSampler(pairs_of(ROWS), 5), recipe, 3, Watcher(), workers)
    after = encoder.base.state_dict()
    return {
        "first": first,
        "parameters": [p.detach() for p in model.parameters()],
        "frozen": bool(frozen) and all(torch.equal(value, after[name]) for name, value in frozen.items()),
    }


class Counting(Watcher):
    """Counts what it is told."""

    rung_plan = RungPlan("share", (0.25, 0.5, 0.9))

    def __init__(self) -> None:
        self.steps = self.rungs = 0

    def step(self, step: int, scalars: dict[str, float]) -> None:
        self.steps += 1

    def rung(self, number: int, progress: TrainingProgress) -> bool:
        self.rungs += 1
        return True


def exchanges(workers: Workers) -> dict[str, Any]:
    """Each exchange by itself."""
    shares = {1: [[2, 0, 1]], 2: [[2, 0], [1]], 3: [[2, 0], [], [1]]}[workers.count]
    local = torch.tensor([[float(i), 10.0 * i] for i in shares[workers.rank]]).reshape(-1, 2).requires_grad_()
    gathered = workers.gather(local, shares)
    weights = torch.arange(6.0).reshape(3, 2) + 100 * workers.rank
    (gathered * weights).sum().backward()
    beside = [workers.most_per_machine]
    if workers.count > 1:  # again, the first worker on a machine of its own
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("socket.gethostname", lambda: f"machine {min(workers.rank, 1)}")
            beside.append(Workers.from_process_group().most_per_machine)
    return {
        "beside": beside,
        "gathered": gathered.detach(),
        "gradient": local.grad,
        "total": workers.total(torch.tensor([float(workers.rank), 1.0])),
        "from first": workers.from_first(["a", None] if workers.rank == 0 else None),
        "arrays": workers.gather_arrays(np.full((workers.rank, 2), workers.rank)),
    }


class Knots(nn.Module):
    """All that makes an exchange of gradients uneven: tied, frozen and unused weights, sizes from 1 to 350, tables of
    which few or no rows are looked up, a part that is ready before the embeddings' gradients are, and a worker that has
    no sentence for it."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(8)
        self.words = nn.Embedding(12, 7)
        self.frozen = nn.Linear(7, 7).requires_grad_(False)
        self.unused = nn.Linear(3, 2)
        self.places = nn.Embedding(50, 7)
        self.unused_places = nn.Embedding(13, 2)
        self.layer = nn.Linear(7, 7)
        self.guess = nn.Linear(7, 12)
        self.guess.weight = self.words.weight
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.early = nn.Linear(7, 1)

    def forward(self, sentences: torch.Tensor, workers: Workers) -> torch.Tensor:
        """This worker's part of a loss. The last worker of several encodes nothing."""
        encoding = max(1, workers.count - 1)
        shares = [list(range(len(sentences)))[rank::encoding] for rank in range(encoding)]
        shares += [[]] * (workers.count - encoding)
        mine, places = (of[shares[workers.rank]] for of in (sentences, places_of(sentences)))
        own = self.layer(torch.tanh(self.frozen(self.words(mine) + self.places(places)))).mean(dim=1)
        gathered = workers.gather(own, shares)
        part = slice(len(gathered) * workers.rank // workers.count, len(gathered) * (workers.rank + 1) // workers.count)
        value = (self.scale * gathered[part] @ gathered.T).pow(2).sum()
        if shares[workers.rank]:  # after the gather, so that the backward pass comes here first
            value = value + self.early(self.guess(own) @ self.words.weight).pow(2).sum()
        return value


class Forgetful(gradients._WordTable):
    """The negative control: it does not take over the sum of one row that has travelled."""

    def wait(self) -> None:
        if len(self._values) < len(self.parameters[0]):
            self._rows, self._values = self._rows[1:], self._values[1:]
        super().wait()


def buckets(workers: Workers) -> dict[str, Any]:
    """Gradients by buckets of several sizes, with tables by rows and whole, after each worker's own and after their
    plain sums."""
    answers: dict[str, Any] = {}
    default = gradients.BUCKET_BYTES
    for name, size, table_rows, table in (
        ("1", 1, 99, gradients._WordTable),
        ("300", 300, 99, gradients._WordTable),
        (str(default), default, 99, gradients._WordTable),
        ("rows", default, 12, gradients._WordTable),
        ("a row is dropped", default, 12, Forgetful),
    ):
        model = Knots()
        sent: list[int] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gradients, "BUCKET_BYTES", size)
            patch.setattr(gradients, "TABLE_ROWS", table_rows)
            patch.setattr(gradients, "_WordTable", table)
            with gradients.GradientSum(model.parameters(), workers) as summed:
                late = model.words.weight.register_hook(  # the last that is ready
                    lambda _, summed=summed, sent=sent: sent.append(sum(b._sent is not None for b in summed._buckets))
                )
                steps, rows = [], []
                for step in range(2):
                    model.zero_grad(set_to_none=True)
                    summed.backward(model(sentences_of(step), workers))
                    steps.append({name: _or_zeros(p).clone() for name, p in model.named_parameters()})
                    tables = [bucket for bucket in summed._buckets if isinstance(bucket, gradients._WordTable)]
                    rows.append([len(table._values) for table in tables])
                late.remove()
        answers[name] = {
            "steps": steps,
            "rows": rows,
            "buckets": len(summed._buckets),
            "sent early": sent,
            "frozen": model.frozen.weight.grad,
            "hooks": sum(len(p._post_accumulate_grad_hooks or {}) for p in model.parameters()),
        }
    for name in ("own", "plain"):
        answers[name] = []
        for step in range(2):
            model = Knots()
            model(sentences_of(step), workers).backward()
            sums = {key: _or_zeros(p) for key, p in model.named_parameters()}
            if name == "plain":
                sums = {key: workers.total(gradient) for key, gradient in sums.items()}
            answers[name].append(sums)
    return answers


def sentences_of(step: int) -> torch.Tensor:  # (5, 4)
    return torch.arange(20).reshape(5, 4).mul(3 + 2 * step).remainder(12)


def places_of(sentences: torch.Tensor) -> torch.Tensor:  # (5, 4), of 50
    return sentences + 5 * torch.arange(len(sentences)).unsqueeze(1)


class Dropping(Tiny):
    """With dropout, whose stream is the worker's own."""

    def embed(self, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        return nn.functional.dropout(super().embed(tokens), 0.3)


class Interrupting(Watcher):
    """Ends the training after a step, with a checkpoint; only the first worker knows which."""

    def __init__(self, at: int, workers: Workers, folder: Path) -> None:
        self.at, self.workers, self.folder = at, workers, folder
        self.saved: int | None = None

    def wants_checkpoint(self, step: int) -> bool:
        assert self.workers.rank == 0
        return step == self.at - 1

    def checkpoint(self, step: int, save: Any) -> bool:
        self.saved = step
        if self.workers.rank == 0:
            save(self.folder)
        return bool(self.workers.from_first(False))


def resumed(workers: Workers, step: int, train: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """What a training comes to that is broken after a step, and goes on from its checkpoint."""
    with shared_folder(workers) as folder:
        watcher = Interrupting(step, workers, folder)
        with contextlib.suppress(Interrupted):
            train(watcher=watcher)
        return train(resume=folder) | {"saved": watcher.saved}


def resumes(workers: Workers) -> dict[str, Any]:
    """Twelve steps of four epochs, unbroken, and broken at several steps."""

    def train(**how: Any) -> dict[str, Any]:
        return twelve_steps(workers, Dropping(), **how)

    return {"unbroken": train()} | {str(step): resumed(workers, step, train) for step in (3, 7, 12)}


def mixtures(workers: Workers) -> dict[str, Any]:
    """Twelve steps over two corpora, one a batch and mixed: whole, and broken after the seventh."""

    def sampler(mixed: bool) -> Any:
        first, second, _ = zip(*ROWS, strict=True)
        parts = PairSampler(first, second, 3, 1), GroupSampler(pairs_of(ROWS), 2, 2, 1, 1)
        bare = (None, None)
        return JoinedSampler(parts, 4, bare) if mixed else OneCorpusABatch(parts, (4, 2), bare, 1, in_turn=False)

    answers: dict[str, Any] = {}
    changes = {
        "corpus.layout": "mix",
        "corpus.mix_layouts": ("pairs", "groups"),
        "objective.name": "mnrl",
        "objective.temperature": 0.1,
        "optimisation.max_steps": 12,
    }
    for name, mixed in (("one", False), ("mixed", True)):

        def train(mixed: bool = mixed, **how: Any) -> dict[str, Any]:
            return twelve_steps(workers, Tiny(), changes, sampler=sampler(mixed), **how)

        answers[name] = {"whole": train(), "resumed": resumed(workers, 7, train)}
    return answers


def static(workers: Workers) -> dict[str, Any]:
    """Twelve steps of a static encoder: whole, by a gradient cache, and broken after the seventh."""
    from trainables.encoders.kinds import StaticStart
    from trainables.encoders.static import load_static

    def train(**how: Any) -> dict[str, Any]:
        drawn = EncoderRequest(EncoderConfig("static", "scenes-small"), device="cpu", options=StaticStart("random", 6))
        return twelve_steps(workers, load_static(drawn).double(), **how)

    cached = train(changes={"optimisation.chunk": 10})
    return {"whole": train(), "cached": cached, "resumed": resumed(workers, 7, train)}


def elastic(workers: Workers) -> dict[str, Any]:
    """One worker to step 4, all of them to step 9, one to the end; on the first worker beside one worker alone."""
    answers: dict[str, Any] = {}
    for name, changes in (
        ("sgd", {"optimisation.optimiser": "sgd"}),
        ("adamw", {"optimisation.weight_decay": 0.1, "optimisation.clip_norm": 0.5, "objective.bank": 7}),
        ("averaged", {"optimisation.optimiser": "sgd", "objective.workers": "mean"}),
    ):
        alone, first = Workers(), workers.rank == 0
        with shared_folder(workers) as folder:
            if first:
                with contextlib.suppress(Interrupted):
                    twelve_steps(alone, Tiny(), changes, Interrupting(4, alone, folder / "4"))
            workers.from_first(None)
            with contextlib.suppress(Interrupted):
                twelve_steps(workers, Tiny(), changes, Interrupting(9, workers, folder / "9"), folder / "4")
            if first:
                resized = twelve_steps(alone, Tiny(), changes, resume=folder / "9")
                answers[name] = {"resized": resized, "unbroken": twelve_steps(alone, Tiny(), changes)}
            workers.from_first(None)
    return answers


def drawn_model(recipe: Recipe, encoder: Any) -> StudyModel:
    """The same weights for every call."""
    torch.manual_seed(5)
    model = build_model(recipe, encoder)
    torch.manual_seed(5)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model


def twelve_steps(
    workers: Workers,
    encoder: Tiny,
    changes: dict[str, Any] | None = None,
    watcher: Watcher | None = None,
    resume: Path | None = None,
    sampler: Sampler | None = None,
) -> dict[str, Any]:
    """13 pairs in batches of 5, four times, unless another sampler is given."""
    recipe = Recipe().preferring(
        {
            "optimisation.batch_size": 5,
            "optimisation.epochs": 4,
            "optimisation.learning_rate": 0.02,
            "objective.negatives": 3,
            **(changes or {}),
        }
    )
    model = drawn_model(recipe, encoder)
    sampler = sampler or RowSampler(pairs_of(ROWS), 5)
    progress = train(model, sampler, recipe, 3, watcher or Watcher(), workers, resume)
    return {
        "state": {name: value.detach() for name, value in model.state_dict().items()},
        "sums": progress.sums,
        "step": progress.step,
        "last loss": progress.last_loss,
        "streams": progress.streams,
        "kept": progress.kept,
    }


class Scored(Tiny):
    """With embeddings for an evaluation, of which each worker computes its share."""

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        with torch.no_grad():
            return self.embed(self.tokenize(sentences)).float().numpy().reshape(-1, self.dim)


class Nearness(TrialWatcher):
    """Weights are kept by how near two sentences are, which rises and falls again."""

    def score(self) -> float | None:
        def nearness(encode: Any, _: Any) -> float:
            first, second = encode(["two dogs", "the woman plays a piano"])
            return -float(np.linalg.norm(first - second))

        return self.workers.from_first(evaluate_together(self.encoder, self.workers, nearness))


def keeps(workers: Workers) -> dict[str, Any]:
    """What twelve steps keep, under each rule."""
    answers = {}
    for keep in ("last", "best", "average"):
        encoder = Scored()
        changes = {"optimisation.keep": keep, "optimisation.keep_every": 2, "optimisation.keep_share": 0.5}
        changes |= {"optimisation.patience": 2}
        watcher = Nearness(encoder, None, workers, Reporter())
        answers[keep] = twelve_steps(workers, encoder, changes, watcher)
    return answers


@contextlib.contextmanager
def shared_folder(workers: Workers) -> Iterator[Path]:
    """One folder for all workers, until the first one leaves; the others have no need of it by then."""
    with tempfile.TemporaryDirectory() as own:
        yield Path(workers.from_first(own))
        workers.from_first(None)


class Lengths:
    """An encoder: a sentence's length, and the rank of the worker that encoded it."""

    dim = 2

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        return np.array([[len(sentence), self.rank] for sentence in sentences], dtype=np.float32).reshape(-1, 2)


def evaluations(workers: Workers) -> dict[str, Any]:
    """One evaluation after the other; the second asks for nothing and the third fails before it asks."""
    sentences = ["a" * n for n in (3, 1, 4, 15, 9)]

    def refuse(encode: Any, _: Any) -> Any:
        raise UserError("broken")

    encoder: Any = Lengths(workers.rank)
    answers: dict[str, Any] = {"encoded": evaluate_together(encoder, workers, lambda encode, _: encode(sentences))}
    answers["nothing"] = evaluate_together(encoder, workers, lambda encode, _: "nothing asked")
    try:
        answers["refused"] = evaluate_together(encoder, workers, refuse)
    except UserError as error:
        answers["refused"] = str(error)
    answers["few"] = evaluate_together(encoder, workers, lambda encode, _: encode(sentences[:1]))
    encoder.for_documents = Lengths(100)
    answers["half"] = evaluate_together(encoder, workers, lambda encode, own: encode(sentences[:1]))
    answers["documents"] = evaluate_together(
        encoder, workers, lambda encode, own: (encode(sentences[:1]), own(sentences))[1]
    )
    answers["after"] = workers.from_first("still in step" if workers.rank == 0 else None)
    return answers


def _or_zeros(parameter: nn.Parameter) -> torch.Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


def chunked(workers: Workers) -> dict[str, Any]:
    """Steps by the gradient cache."""
    from tests.chunked import on_workers

    return on_workers(workers)


def renewed(workers: Workers) -> dict[str, Any]:
    """Twelve steps with negatives that are mined anew every fifth, and by rules that find none then."""
    from tests import renewing

    try:
        refused = renewing.twelve_steps(workers, renewing.sampler(5, renewing.NONE))["step"]
    except UserError as error:
        refused = str(error)
    return renewing.twelve_steps(workers, renewing.sampler(5)) | {"refused": refused}


ALL = (losses, halves, steps, low_rank, exchanges, buckets, resumes, static, elastic, evaluations, keeps, chunked)
ALL += (mixtures, renewed)
JOBS = {job.__name__: job for job in ALL}


@contextlib.contextmanager
def in_float64() -> Iterator[None]:
    """New tensors are in float64, whatever the process is used to."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def run(job: str, workers: Workers) -> dict[str, Any]:
    with in_float64():
        return JOBS[job](workers)


def answer(jobs: Sequence[str], rank: int, workers: int, folder: Path) -> None:
    """Be one worker of a group."""
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder / 'meeting'}",
        rank=rank,
        world_size=workers,
        timeout=timedelta(seconds=120),
    )
    torch.save({job: run(job, Workers.from_process_group()) for job in jobs}, folder / f"answer-{rank}.pt")
    dist.destroy_process_group()


def main(folder: Path, *groups: str) -> int:
    """Fork all groups and wait for them; how many workers have failed. Every matrix of 12 rows is taken for a table of
    words, so that all jobs try how tables travel."""
    import peft  # noqa: F401  # once, and not by each worker

    gc.freeze()  # workers share the memory of what is imported, for nobody looks through it
    torch.set_num_threads(1)
    gradients.TABLE_ROWS = 12
    context, processes = multiprocessing.get_context("fork"), []
    for workers, jobs in enumerate(groups, start=2):
        if not jobs:
            continue
        (folder / str(workers)).mkdir()
        for rank in range(workers):
            given = (jobs.split(","), rank, workers, folder / str(workers))
            processes.append(context.Process(target=answer, args=given))
            processes[-1].start()
    for process in processes:
        process.join()
    return sum(process.exitcode != 0 for process in processes)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
