"""What only a GPU can show. `pytest -m gpu` runs these; without a GPU they are skipped."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.chunked import batch_of
from tests.conftest import ROWS, SENTENCES, pairs_of
from tests.gloo_worker import OBJECTIVE_CASES
from trainables.corpora.samplers import RowSampler
from trainables.encoders import load_encoder
from trainables.encoders.packed import attend_in_runs
from trainables.encoders.packing import AttentionSettings, Packing
from trainables.encoders.pooling import Mean
from trainables.encoders.transformer import TransformerEncoder
from trainables.encoders.varlen import attend_in_tiles, flash, memory_efficient
from trainables.recipe import SCENES_ENCODER, EncoderConfig, Recipe
from trainables.senteval.classifier import Fold, fit_classifiers
from trainables.senteval.embedded import Singles
from trainables.senteval.protocol import Fit
from trainables.training.checkpoint import TrainingProgress
from trainables.training.chunks import OUT_OF_MEMORY_KINDS
from trainables.training.distributed import Workers
from trainables.training.loop import Watcher, build_optimiser, stepwise, train
from trainables.trial.build import build_model

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU, and this machine has none"),
]
DEVICE = "cuda"
# Of the largest absolute value: bf16 keeps eight bits, and a gradient is a sum of many such products.
TOLERANCES = {"fp32": 1e-4, "bf16": 5e-2}


def encoder_in(precision: Any) -> TransformerEncoder:
    """The built-in one, without dropout."""
    encoder = load_encoder(
        EncoderConfig(name=SCENES_ENCODER),
        Mean(),
        device=DEVICE,
        training_precision=precision,
        evaluation_precision=precision,
    )
    assert isinstance(encoder, TransformerEncoder)
    return encoder.eval()


def state_and_gradients(encoder: TransformerEncoder, tokens: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Embeddings, and all gradients as one vector: some are 0 but for rounding, and have no size of their own."""
    encoder.zero_grad()
    embedded = encoder.embed(tokens)
    (embedded * torch.linspace(-1, 1, embedded.numel(), device=DEVICE).view_as(embedded)).sum().backward()
    gradients = [parameter.grad for parameter in encoder.parameters() if parameter.grad is not None]
    assert len(gradients) > 10
    return embedded.detach(), torch.cat([gradient.flatten() for gradient in gradients])


def close(mine: Tensor, right: Tensor, tolerance: float) -> None:
    torch.testing.assert_close(mine, right, atol=tolerance * float(right.abs().max()) + 1e-6, rtol=0)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_packed_equals_padded_in_value_and_gradient(precision: str):
    encoder, exact = encoder_in(precision), encoder_in("fp32")
    tokens = encoder.tokenize([*SENTENCES] * 3)
    exact._passes.packed = False
    packed, padded = state_and_gradients(encoder, tokens), state_and_gradients(exact, tokens)
    for mine, right in zip(packed, padded, strict=True):
        close(mine, right, TOLERANCES[precision])


WAYS = [
    (attend_in_tiles, torch.float32),
    (attend_in_tiles, torch.bfloat16),
    (flash, torch.bfloat16),
    (memory_efficient, torch.float32),
]


@pytest.mark.parametrize("window", [None, 5])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("longest", [60, 100])
@pytest.mark.parametrize(("way", "precision"), WAYS)
def test_a_kernel_equals_the_runs(way: Any, precision: torch.dtype, longest: int, causal: bool, window: int | None):
    if way is memory_efficient and window:
        pytest.skip("torch's kernel for 32 bits has no windows, and is not asked for them")
    lengths, settings = (longest, 33, 33, 7, 1), AttentionSettings(causal=causal, window=window)
    packing = Packing.pack(lengths, torch.device(DEVICE), rounded=True)
    torch.manual_seed(0)
    exact = [torch.randn(1, 4, sum(packing.lengths), 32, device=DEVICE, requires_grad=True) for _ in range(3)]
    given = [part.detach().to(precision).requires_grad_() for part in exact]
    result, expected = way(*given, packing, settings), attend_in_runs(*exact, packing, settings)
    tolerance = 1e-4 if precision == torch.float32 else 5e-2
    close(result.float(), expected, tolerance)
    weights = torch.randn_like(expected)
    for mine, right in zip(
        torch.autograd.grad((result.float() * weights).sum(), given),
        torch.autograd.grad((expected * weights).sum(), exact),
        strict=True,
    ):
        close(mine.float(), right, tolerance)


@pytest.mark.parametrize(("way", "precision"), WAYS)
def test_attention_is_dropped_at_random_and_scaled(way: Any, precision: torch.dtype):
    packing = Packing.pack([64] * 32, torch.device(DEVICE))
    query, key = (torch.randn(1, 4, 2048, 32, device=DEVICE, dtype=precision) for _ in "qk")
    result = way(query, key, torch.ones_like(query), packing, AttentionSettings(dropout=0.25)).float()
    assert result.std() > 0.01
    assert float(result.mean()) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_step_waits_for_nothing(precision: str):
    encoder = encoder_in(precision).train()
    optimiser = torch.optim.AdamW(encoder.parameters(), lr=1e-4, fused=True)
    tokens = encoder.tokenize(SENTENCES)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        encoder.embed(tokens).square().mean().backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimiser.step()

    step()  # kernels are loaded, memory is taken
    torch.cuda.set_sync_debug_mode("error")
    try:
        step()
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("changes", OBJECTIVE_CASES, ids=lambda changes: " ".join(map(str, changes.values())))
def test_a_step_of_every_objective_waits_for_nothing(changes: dict[str, Any]):
    """Only a memory bank has to know how many texts come."""
    model = build_model(Recipe().preferring(changes), encoder_in("bf16"))
    batch, recipe = batch_of(), Recipe().preferring(changes)
    pauses = stepwise(model, lambda steps: [batch for _ in steps], 3, recipe, 1, Watcher(), Workers())
    next(pauses)
    next(pauses)  # kernels are loaded, memory is taken
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            next(pauses)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    waits = [str(warning.message) for warning in caught if "synchroniz" in str(warning.message)]
    assert len(waits) <= (1 if model.bank else 0), waits


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-4), ("tf32", 5e-3), ("bf16", 5e-2)])
def test_encoding_gives_the_embeddings_of_the_cpu(precision: Any, tolerance: float):
    on_cpu = load_encoder(EncoderConfig(name=SCENES_ENCODER), Mean(), device="cpu")
    on_gpu = load_encoder(EncoderConfig(name=SCENES_ENCODER), Mean(), device=DEVICE, evaluation_precision=precision)
    np.testing.assert_allclose(on_gpu.encode(SENTENCES), on_cpu.encode(SENTENCES), atol=tolerance)


def training(
    copies: int = 1, dropout: bool = True, watcher: Watcher | None = None, resume: Path | None = None
) -> TrainingProgress:
    """A short training of the built-in encoder on cross-entropy, all pairs in each of four batches."""
    pairs = [(f"{p} {number}", f"{h} {number}", label) for number in range(copies) for p, h, label in ROWS]
    size = {"optimisation.batch_size": len(pairs), "optimisation.epochs": 4, "optimisation.learning_rate": 1e-3}
    recipe = Recipe().preferring({"encoder.name": SCENES_ENCODER, "objective.name": "ce", **size})
    encoder = encoder_in("bf16")
    torch.manual_seed(1)
    model = build_model(recipe, encoder)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout) and not dropout:
            module.p = 0.0
    assert model.encoder.device.type == DEVICE
    return train(model, RowSampler(pairs_of(pairs), len(pairs)), recipe, 1, watcher or Watcher(), Workers(), resume)


def test_the_optimiser_is_one_kernel_for_all_parameters():
    optimiser = build_optimiser(encoder_in("bf16"), Recipe())
    assert all(group["fused"] for group in optimiser.param_groups)


def test_two_trainings_after_each_other_leave_no_memory_and_give_the_same():
    first = training().last_loss
    gc.collect()
    before = torch.cuda.memory_allocated()
    second = training().last_loss
    gc.collect()
    assert torch.cuda.memory_allocated() <= before + 2**20
    assert second == pytest.approx(first, rel=1e-3)


class Saver(Watcher):
    """Saves after the second of four steps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def wants_checkpoint(self, step: int) -> bool:
        return step == 2

    def checkpoint(self, step: int, save: Callable[[Path], None]) -> bool:
        save(self.folder)
        return True


def test_a_resumed_training_goes_on_as_if_unbroken(tmp_path: Path):
    """With dropout, whose stream on a GPU is saved: without it the loss would differ in its second digit."""
    whole, resumed = training(watcher=Saver(tmp_path)), training(resume=tmp_path)
    assert (whole.step, resumed.step) == (4, 4)
    assert resumed.last_loss == pytest.approx(whole.last_loss, rel=1e-3)


def test_a_step_that_does_not_fit_is_done_in_smaller_passes():
    training(copies=100, dropout=False)  # kernels are loaded
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_reserved()
    plain = training(copies=100, dropout=False)
    needed = torch.cuda.max_memory_reserved() - before
    gc.collect()
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(DEVICE).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 0.6 * needed) / total)
    OUT_OF_MEMORY_KINDS.clear()
    try:
        chunked = training(copies=100, dropout=False)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        OUT_OF_MEMORY_KINDS.clear()
    assert plain.chunk is None
    assert chunked.chunk is not None
    assert chunked.last_loss == pytest.approx(plain.last_loss, rel=1e-2)


@pytest.mark.parametrize("own_order", [False, True])
def test_classifiers_are_those_of_the_cpu(own_order: bool):
    random = np.random.RandomState(0)
    labels = random.randint(0, 2, 200)
    vectors = torch.from_numpy((random.randn(200, 20) + labels[:, None]).astype(np.float32))
    folds = [Fold(np.delete(np.arange(200), part), part) for part in np.split(np.arange(200), 4)]
    fit, decays = Fit("adam", batch=64, tenacity=2, epoch_size=2, max_epochs=8), (1e-4, 1e-2)
    on_cpu, on_gpu = (
        fit_classifiers(
            Singles(vectors.to(device), torch.arange(200, device=device)),
            labels,
            2,
            folds,
            decays,
            fit,
            1,
            own_order=own_order,
        )
        for device in ("cpu", DEVICE)
    )
    torch.testing.assert_close(on_gpu.weights.cpu(), on_cpu.weights, atol=1e-3, rtol=1e-3)
    assert np.abs(on_gpu.dev_correct - on_cpu.dev_correct).max() <= 1
