"""What runs on a GPU mixes no tensors of both devices, and a step does not wait: on one that is only pretended."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from tests.chunked import batch_of
from tests.conftest import SENTENCES, slow_case
from tests.gloo_worker import OBJECTIVE_CASES, Tiny
from tests.pretended_gpu import GPU, WAITS, Pretended, pretended
from tests.trainables.senteval.test_projections import captioned
from tests.trainables.training.test_population import TinySampler
from trainables.encoders import builtin, load_encoder
from trainables.encoders.adapter import AdaptedEncoder
from trainables.encoders.embedding_store import EmbeddingStore
from trainables.encoders.pooling import POOLINGS
from trainables.encoders.precision import resolve_precision
from trainables.encoders.projection import PROJECTIONS
from trainables.evaluation_config import EvaluationConfig
from trainables.machine import machine
from trainables.recipe import SCENES_ENCODER, EncoderConfig, Recipe
from trainables.senteval import projections
from trainables.senteval.classifier import Fold, fit_classifiers
from trainables.senteval.embedded import Singles
from trainables.senteval.protocol import Fit
from trainables.to_device import to_device
from trainables.training import chunks, distributed, gradients
from trainables.training.distributed import Workers
from trainables.training.loop import Watcher, stepwise, train
from trainables.training.model import StudyModel
from trainables.training.optimisers import OPTIMISERS
from trainables.training.population_training import Member, train_population
from trainables.trial import TrialResult
from trainables.trial.build import build_encoder, build_model
from trainables.trial.run import run_trial

BASE = Recipe().preferring(
    {
        "encoder.name": SCENES_ENCODER,
        "encoder.layers": 1,
        "corpus.layout": "pairs",
        "objective.name": "mnrl",
        "objective.temperature": 0.1,
        "optimisation.batch_size": 6,
        "optimisation.epochs": 1,
        "optimisation.learning_rate": 1e-3,
        "optimisation.warmup": 0.0,
    }
)
SAMPLER, TWO_STEPS = TinySampler(1), TinySampler(1)
TWO_STEPS.steps_per_epoch = 2  # in the second nothing is made for the first time
LORA = {"encoder.adapter": "lora", "encoder.lora_rank": 2}
MLP = {"encoder.adapter": "mlp", "objective.name": "ntxent"}
REGISTRIES = {"optimisation.optimiser": OPTIMISERS, "head.kind": PROJECTIONS, "pooling.mode": POOLINGS}
COMPONENTS: list[dict[str, Any]] = [
    # a training has one of each, so that there are no more of them than the largest registry has names
    *(
        {key: names[number % len(names)] for key, names in zip(REGISTRIES, map(list, REGISTRIES.values()), strict=True)}
        for number in range(max(map(len, REGISTRIES.values())))
    ),
    {"pooling.mode": "mean_without_cls", "pooling.padding": "count"},
    {"objective.temperature": "learned", "objective.bank": 8},
    {"optimisation.precision": "bf16", "optimisation.clip_norm": 1.0},
    {"encoder.dtype": "bf16", "encoder.precision": "bf16"},
    {"optimisation.chunk": 12},
    {"optimisation.keep": "average"},
    {"objective.mlm": 0.1},
    {"objective.false_negatives": "guide", "objective.guide": SCENES_ENCODER},
    {"objective.name": "distill", "objective.teacher": SCENES_ENCODER},
    {"encoder.kind": "static"},
    LORA,
    MLP,
]


@pytest.fixture
def pretended_gpu() -> Iterator[None]:
    with pretended():
        yield


pytestmark = pytest.mark.usefixtures("pretended_gpu")


class Small(Tiny):
    """A tiny encoder on the GPU."""

    device = GPU

    def embed(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        starts = np.cumsum([0, *map(len, tokens)])[:-1]
        flat = torch.tensor([word for ids in tokens for word in ids])
        return torch.tanh(self.layer(self.words(to_device(flat, GPU), to_device(torch.tensor(starts), GPU))))


def model_of(changes: dict[str, Any], shared: Path | None = None) -> tuple[StudyModel, Recipe]:
    recipe = BASE.override(changes)
    torch.manual_seed(2)
    return build_model(recipe, build_encoder(recipe, 1, shared), shared), recipe


def all_on_gpu(model: nn.Module) -> None:
    tensors = [*model.parameters(), *model.buffers(), *(p.grad for p in model.parameters() if p.grad is not None)]
    assert tensors
    assert all(isinstance(tensor, Pretended) for tensor in tensors)


@pytest.mark.parametrize("changes", OBJECTIVE_CASES, ids=lambda changes: " ".join(map(str, changes.values())))
def test_steps_of_every_objective_give_the_same_and_wait_for_nothing(changes: dict[str, Any]):
    """The second one, where nothing is made for the first time. Only a memory bank has to know how many texts come."""
    entailed = torch.rand(20, 20, generator=torch.Generator().manual_seed(3)) < 0.2
    recipe, losses, batch = Recipe().preferring(changes), [], dataclasses.replace(batch_of(20), entailed=entailed)
    for encoder in (Tiny(), Small()):
        torch.manual_seed(5)
        model = build_model(recipe, encoder)
        for number, parameter in enumerate(model.parameters()):
            draws = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(number))
            parameter.data.copy_(0.5 * draws)
        for progress in stepwise(model, lambda steps: [batch for _ in steps], 2, recipe, 1, Watcher(), Workers()):
            loss, waits = progress.last_loss, Counter(WAITS)
            WAITS.clear()
        losses.append(loss)
    all_on_gpu(model)
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
    assert waits == ({"nonzero": 1} if model.bank else {})


def test_hidden_tokens_are_not_waited_for():
    waits = []

    class Counting(Watcher):
        def step(self, step: int, scalars: dict[str, float]) -> None:
            waits.append(Counter(WAITS))
            WAITS.clear()

    model, recipe = model_of({"objective.mlm": 0.1})
    train(model, TWO_STEPS, recipe, 1, Counting(), Workers())
    assert waits[1:] == [{}]


@pytest.mark.parametrize(
    "changes",
    [slow_case(changes, when=number % 3 > 0) for number, changes in enumerate(COMPONENTS)],
    ids=[" ".join(map(str, changes.values())) for changes in COMPONENTS],
)
def test_a_training_and_an_encoding_with_every_component(changes: dict[str, Any], tmp_path: Path):
    model, recipe = model_of(changes, tmp_path)
    assert model.encoder.device == GPU
    progress = train(model, TWO_STEPS, recipe, 1, Watcher(), Workers())
    assert progress.step == 2
    assert math.isfinite(progress.last_loss or math.nan)
    all_on_gpu(model)
    embedded = model.encoder.encode(SENTENCES)
    assert embedded.shape == (len(SENTENCES), model.encoder.dim)
    assert np.isfinite(embedded).all()
    assert len(model.encoder.fingerprint()) == 16


def members(changes: dict[str, Any], store: EmbeddingStore) -> list[Member]:
    """Two, which share a base."""
    recipe = BASE.override(changes)
    encoders = (AdaptedEncoder(store.encoder, store=store) for _ in range(2))
    return [Member(build_model(recipe, encoder), recipe, SAMPLER) for encoder in encoders]


class Saving:
    """Saves a population after its second step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def wants_step(self, step: int) -> bool:
        return step == 2

    def step(self, step: int, save: Any) -> bool:
        save(self.folder)
        return True


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_a_population_of_adapters(optimiser: str, tmp_path: Path):
    changes = {**MLP, "optimisation.optimiser": optimiser, "optimisation.clip_norm": 1.0, "head.kind": "mlp"}
    store = EmbeddingStore(build_encoder(BASE, 1, None), tmp_path / "embeddings")
    unbroken, resumed = members(changes, store), members(changes, store)
    train_population(unbroken, Saving(tmp_path / "saved"))
    train_population(resumed, resume=tmp_path / "saved")
    for mine, right in zip(resumed, unbroken, strict=True):
        all_on_gpu(mine.model)
        assert mine.progress.last_loss == pytest.approx(right.progress.last_loss)


class Saver(Watcher):
    """Saves after the second step; scores the encoder by a made-up number."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.scores = folder, iter((50.0, 70.0, 60.0, 40.0))

    def wants_checkpoint(self, step: int) -> bool:
        return step == 2

    def checkpoint(self, step: int, save: Any) -> bool:
        save(self.folder)
        return True

    def score(self) -> float:
        return next(self.scores)


@pytest.mark.parametrize("keep", ["best", "average"])
def test_a_resumed_training_goes_on_as_if_unbroken(keep: str, tmp_path: Path):
    """Dropout included, which a GPU draws from a stream of its own."""
    changes: dict[str, Any] = {"optimisation.keep": keep, "objective.bank": 8, "objective.temperature": "learned"}
    changes |= {"optimisation.keep_every": 1} if keep == "best" else {"optimisation.keep_share": 0.9}
    made = [model_of(changes) for _ in range(2)]
    saver = Saver(tmp_path)
    (whole, recipe), (resumed, _) = made
    train(whole, SAMPLER, recipe, 1, saver, Workers())
    after = Saver(tmp_path)
    after.scores = iter((60.0, 40.0))
    train(resumed, SAMPLER, recipe, 1, after, Workers(), tmp_path)
    all_on_gpu(resumed)
    for mine, right in zip(resumed.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(mine.detach().cpu(), right.detach().cpu(), rtol=0, atol=0)


def test_a_step_that_runs_out_of_memory_is_done_again_in_smaller_passes(monkeypatch: pytest.MonkeyPatch):
    model, recipe = model_of({"objective.bank": 8})
    embed, most = model.encoder.embed, 40

    def tight(tokens: Sequence[Sequence[int]]) -> Tensor:
        if torch.is_grad_enabled() and sum(map(len, tokens)) > most:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return embed(tokens)

    monkeypatch.setattr(model.encoder, "embed", tight)
    monkeypatch.setattr(chunks, "OUT_OF_MEMORY_KINDS", set())
    progress = train(model, TWO_STEPS, recipe, 1, Watcher(), Workers())
    assert isinstance(progress.chunk, int)
    all_on_gpu(model)


@pytest.mark.parametrize("own_order", [False, True])
@pytest.mark.parametrize("optimiser", ["adam", "rmsprop"])
def test_classifiers_are_those_of_the_cpu(optimiser: str, own_order: bool):
    random = np.random.RandomState(0)
    labels = random.randint(0, 3, 60)
    vectors = torch.from_numpy((random.randn(60, 5) + labels[:, None]).astype(np.float32))
    folds = [Fold(np.delete(np.arange(60), part), part) for part in np.split(np.arange(60), 3)]
    fit, index = Fit(optimiser, batch=16, tenacity=1, epoch_size=1, max_epochs=3), torch.arange(60)
    on_cpu, on_gpu = (
        fit_classifiers(rows, labels, 3, folds, (1e-4, 1e-2), fit, 1, own_order=own_order)
        for device in ("cpu", GPU)
        for rows in (Singles(vectors.to(device), index.to(device)),)
    )
    torch.testing.assert_close(on_gpu.weights.cpu(), on_cpu.weights)
    assert np.array_equal(on_gpu.dev_correct, on_cpu.dev_correct)


def test_retrieval_is_computed_on_the_gpu(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(projections, "_MAX_EPOCHS", 0)
    parts = {"train": captioned(30, 0), "dev": captioned(5, 1), "test": captioned(5, 2)}
    _, to_images, _ = projections.fit_projections(parts, 1)
    assert to_images.shape == (25,)


@pytest.mark.slow
def test_a_whole_trial(small_corpus: Path, tmp_path: Path):
    """With its corpus and its evaluation, saved and read again."""
    pairs = str(small_corpus / "nli" / "train.jsonl")
    changes = {"corpus.layout": "groups", "corpus.nli": pairs, "corpus.limit": 48, "pooling.after": "whiten"}
    recipe = BASE.override(
        {**changes, "corpus.negatives_from": "mined", "corpus.mined_every": 1, "objective.negatives": 1}
    )
    tasks = EvaluationConfig(str(small_corpus / "senteval"), ("STSBenchmark", "TREC"), "fast")
    result = run_trial(recipe, 1, tasks, model_folder=tmp_path / "model")
    assert isinstance(result, TrialResult)
    assert not result.stopped
    assert result.scores["TREC"]["test_accuracy"] > 0
    saved = load_encoder(EncoderConfig(name=str(tmp_path / "model")))
    assert saved.device == GPU
    assert np.isfinite(saved.encode(SENTENCES)).all()


@pytest.mark.parametrize("changes", [{}, {"encoder.kind": "static"}], ids=["transformer", "static"])
def test_encoding_gives_the_embeddings_of_the_cpu(changes: dict[str, Any]):
    encoder: Any = build_encoder(BASE.override(changes), 1, None)
    embeddings = encoder.encode(SENTENCES)
    np.testing.assert_allclose(embeddings, encoder.to("cpu").encode(SENTENCES), atol=1e-5)


class Exchanges:
    """Of `torch.distributed`: two workers of one kind. What is told on the GPUs must lie there, the rest must not."""

    ReduceOp = dist.ReduceOp

    def __init__(self, hosts: Any) -> None:
        self.hosts, self.counts = hosts, Counter[str]()

    def all_reduce(self, tensor: Tensor, op: Any = None, group: Any = None, async_op: bool = False) -> Any:
        self.counts["all_reduce"] += 1
        assert isinstance(tensor, Pretended) == (group is None)
        return SimpleNamespace(wait=lambda: None)

    def all_gather(self, parts: list[Tensor], own: Tensor) -> None:
        self.counts["all_gather"] += 1
        for part in (own, *parts):
            assert isinstance(part, Pretended)
        for part in parts:
            part.copy_(own)

    def broadcast_object_list(self, box: list[Any], src: int, group: Any) -> None:
        self.counts["objects"] += 1
        assert group is self.hosts

    def gather_object(self, own: Any, arrays: list[Any], dst: int, group: Any) -> None:
        self.counts["objects"] += 1
        assert group is self.hosts
        arrays[:] = [own, own]


@pytest.mark.parametrize("chunk", ["auto", 12])
def test_several_workers_tell_each_other_tensors_of_the_gpu_and_objects_of_the_cpu(
    chunk: Any, monkeypatch: pytest.MonkeyPatch
):
    """NCCL takes nothing else than tensors of the GPU, and objects would need its memory."""
    workers = Workers(0, 2, cpu_group=object())
    exchanges = Exchanges(workers.cpu_group)
    for module in (distributed, gradients):
        monkeypatch.setattr(module, "dist", exchanges)
    model, recipe = model_of({"optimisation.chunk": chunk, "objective.bank": 8, "objective.temperature": "learned"})
    train(model, TWO_STEPS, recipe, 1, Watcher(), workers)
    all_on_gpu(model)
    assert workers.gather_arrays(np.ones(2)) is not None
    assert {"all_reduce", "all_gather", "objects"} == set(exchanges.counts)


def test_loading_encoders_leaves_the_streams_of_other_gpus_alone(monkeypatch: pytest.MonkeyPatch):
    """Workers of one machine see each other's GPUs, and torch warns of that."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(torch.random, "_fork_rng_warned_already", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        builtin.build()
        model_of({"objective.false_negatives": "guide", "objective.guide": SCENES_ENCODER})


@pytest.mark.parametrize("native", [False, True])
def test_auto_is_bf16_where_the_gpu_does_not_emulate_it(native: bool, monkeypatch: pytest.MonkeyPatch):
    """torch says of a V100 and a T4 that they support it, for they emulate it, slowly."""
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: native or including_emulation)
    assert resolve_precision("auto", GPU) == (torch.bfloat16 if native else torch.float32)
    assert resolve_precision("bf16", GPU) == torch.bfloat16
    assert machine()["bf16"] is native


def test_mixing_devices_is_refused():
    """What the tests above would see."""
    gpu, cpu = torch.ones(3, 2, device="cuda"), torch.ones(3, 2)
    indices, generator = torch.tensor([1, 0]), torch.Generator()
    assert (gpu.device, gpu.is_cuda, cpu.to(GPU).device, gpu.cpu().is_cuda) == (GPU, True, GPU, False)
    refused = [
        lambda: gpu + cpu,
        lambda: cpu.add_(gpu),
        lambda: gpu @ cpu.T,
        lambda: torch.cat([gpu, cpu]),
        lambda: gpu.index_select(0, indices),
        lambda: cpu[indices.to(GPU)],
        lambda: torch.stack([gpu[0, 0], torch.tensor(1.0)]),
        lambda: nn.Linear(2, 2)(gpu),
        lambda: torch.randn(2, generator=generator, device=GPU),
        lambda: gpu.pin_memory(),
        lambda: nn.functional.cross_entropy(gpu, torch.tensor([0, 1, 0])),
    ]
    for mixed in refused:
        with pytest.raises(RuntimeError, match=r"device|pin"):
            mixed()
    with pytest.raises(TypeError, match="numpy"):
        gpu.numpy()
    assert torch.equal((gpu[indices] * torch.tensor(2.0)).cpu(), torch.full((2, 2), 2.0))


def test_waits_are_counted():
    """What the tests above would see."""
    gpu, indices, mask = torch.ones(3, device="cuda"), torch.tensor([1, 0]), torch.tensor([True, False, True]).to(GPU)
    pinned = indices.pin_memory()
    waiting = {
        "item": lambda: float(gpu.sum()),
        "if": lambda: bool(mask.any()),
        "read": lambda: gpu.cpu(),
        "list": lambda: gpu.tolist(),
        "copied": lambda: torch.tensor([1.0], device="cuda"),
        "mask": lambda: gpu[mask],
        "places on the CPU": lambda: gpu[indices],
        "nonzero": lambda: mask.nonzero(),
        "unique": lambda: gpu.unique(),
        "bincount": lambda: mask.int().bincount(),
        "repeated": lambda: torch.repeat_interleave(mask.int()),
    }
    for name, wait in waiting.items():
        WAITS.clear()
        wait()
        assert WAITS.total() >= 1, name
    WAITS.clear()
    on_card = to_device(pinned, GPU)
    gpu[on_card] = 2.0
    gpu[mask] = 3.0
    assert (gpu[on_card] * torch.tensor(2.0)).shape == (2,)
    assert not WAITS


def test_a_planted_mistake_in_a_training_is_found(monkeypatch: pytest.MonkeyPatch):
    model, recipe = model_of({})
    monkeypatch.setattr("trainables.training.model.to_device", lambda tensor, device: tensor)
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cpu"):
        train(model, SAMPLER, recipe, 1, Watcher(), Workers())
