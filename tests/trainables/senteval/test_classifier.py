"""Stacked classifiers against the original's one-by-one fits, in value, uneven sizes included."""

from __future__ import annotations

import platform
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests import naive_classifiers as oracle
from tests.conftest import slow_case
from trainables.senteval.classifier import (
    Fold,
    fast_precision,
    fit_classifiers,
    hold_out,
    initial_weights,
)
from trainables.senteval.embedded import Embedded, PairRows, Singles
from trainables.senteval.examples import Split, TaskData
from trainables.senteval.protocol import PROTOCOLS, Fit
from trainables.senteval.regressor import bins, fit_regressor
from trainables.senteval.scoring import score_task
from trainables.senteval.tasks import TASKS

FITS = {
    "adam": Fit("adam", batch=16, tenacity=2, epoch_size=2, max_epochs=30),
    "rmsprop": Fit("rmsprop", batch=24, tenacity=1, epoch_size=1, max_epochs=30),
}
DECAYS = (1e-5, 1e-3, 1e-1)


def blobs(count: int, dim: int, classes: int, seed: int = 0, noise: float = 1.5) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(seed)
    labels = random.randint(0, classes, count)
    centres = np.random.RandomState(99).randn(classes, dim)
    return (centres[labels] + noise * random.randn(count, dim)).astype(np.float32), labels


def singles(x: np.ndarray) -> Singles:
    return Singles(torch.from_numpy(x), torch.arange(len(x)))


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("count", [97, 128])
@pytest.mark.parametrize("classes", [2, 4])
def test_one_fold_repeats_the_original_fit(name: str, count: int, classes: int) -> None:
    """Also where another classifier of the stack has stopped before. Of two classes one column stands for a pair that
    starts antisymmetric, and stays so; a common part of the start never reaches a probability."""
    x, y = blobs(count + 40, 7, classes)
    fold = Fold(np.arange(count), np.arange(count, count + 40))
    decays = (1e-5, 1e-1, 3.0)
    classifiers = fit_classifiers(singles(x), y, classes, [fold], decays, FITS[name], seed=1111)
    for number, decay in enumerate(decays):
        classifier = oracle.OneByOne(7, classes, decay, FITS[name])
        if classes == 2:
            antisymmetric(classifier)
        best = classifier.fit(x[fold.train], y[fold.train], (x[fold.dev], y[fold.dev]))
        assert classifiers.dev_correct[number] == round(best * 40)
        linear = classifier.model[0]
        columns = torch.cat([linear.weight.data, linear.bias.data[:, None]], dim=1)
        ours = classifiers.weights[number][:, :8]
        pair = torch.cat([-ours, ours]) if classes == 2 else ours
        torch.testing.assert_close(pair, columns, atol=2e-4, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_folds_apart_repeat_the_original_fits(classes: int) -> None:
    """Uneven folds too: 103 examples do not divide by 4."""
    x, y = blobs(103, 5, classes)
    parts = oracle.folds(y, 4)
    folds = [Fold(train, dev) for train, dev in parts]
    classifiers = fit_classifiers(singles(x), y, classes, folds, DECAYS, FITS["adam"], seed=1111, own_order=True)
    for number, (train, dev) in enumerate(parts):
        for i, decay in enumerate(DECAYS):
            classifier = oracle.OneByOne(5, classes, decay, FITS["adam"])
            if classes == 2:
                antisymmetric(classifier)
            best = classifier.fit(x[train], y[train], (x[dev], y[dev]))
            assert classifiers.dev_correct[number * len(DECAYS) + i] == round(best * len(dev))


def antisymmetric(classifier: oracle.OneByOne) -> None:
    with torch.no_grad():
        for parameter in classifier.model[0].parameters():
            half = (parameter[1] - parameter[0]) / 2
            parameter.copy_(torch.stack([-half, half]))


def test_refit_holds_out_what_the_original_holds_out() -> None:
    x, y = blobs(203, 5, 3)
    folds = [hold_out(train, 1111) for train, _ in oracle.folds(y, 3)]
    classifiers = fit_classifiers(singles(x), y, 3, folds, [[1e-4], [1e-3], [1e-2]], FITS["adam"], 1111, own_order=True)
    for number, (train, dev) in enumerate(oracle.folds(y, 3)):
        classifier = oracle.OneByOne(5, 3, 10.0 ** (number - 4), FITS["adam"])
        classifier.fit(x[train], y[train])
        rows = singles(x).take(torch.from_numpy(dev))
        assert (classifiers.predict(rows, [number])[:, 0] == classifier.predict(x[dev])).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_shared_stack_equals_a_loop_over_classifiers(classes: int) -> None:
    """Step by step: each classifier sees its own rows of the step, and the mean is over those."""
    x, y = blobs(83, 5, classes)
    folds = [Fold(train, dev) for train, dev in oracle.folds(y, 5)]
    fit = Fit("adam", batch=16, tenacity=0, epoch_size=3, max_epochs=0)
    classifiers = fit_classifiers(singles(x), y, classes, folds, DECAYS, fit, seed=7)
    assert max_difference(classifiers.weights, looped(x, y, classes, folds, fit, masked=True)) < 1e-4
    # A stack that forgot the masks would be seen.
    assert max_difference(classifiers.weights, looped(x, y, classes, folds, fit, masked=False)) > 1e-3


def max_difference(stacked: torch.Tensor, plain: torch.Tensor) -> float:
    return float((stacked[:, :, : plain.shape[2]] - plain).abs().max())


def looped(
    x: np.ndarray, y: np.ndarray, classes: int, folds: list[Fold], fit: Fit, masked: bool
) -> torch.Tensor:  # (classifiers, columns, dim + 1)
    inputs = torch.from_numpy(np.c_[x, np.ones(len(x), np.float32)])
    step = round(fit.batch * len(x) / np.mean([len(fold.train) for fold in folds]))
    fits = []
    for fold in folds:
        for decay in DECAYS:
            start = initial_weights(classes, x.shape[1], 16, 7)[:, : x.shape[1] + 1]
            pair = torch.cat([-start, start]) if classes == 2 else start
            weights = torch.nn.Parameter(pair.clone())
            optimiser = torch.optim.Adam([weights], weight_decay=decay)
            random = np.random.RandomState(7)
            for _ in range(fit.epoch_size):
                order = random.permutation(len(x))
                for low in range(0, len(x), step):
                    rows = order[low : low + step]
                    rows = rows[np.isin(rows, fold.train)] if masked else rows
                    loss = torch.nn.functional.cross_entropy(inputs[rows] @ weights.T, torch.from_numpy(y[rows]))
                    optimiser.zero_grad()
                    loss.backward()
                    optimiser.step()
            fits.append(weights.data[1:] if classes == 2 else weights.data)
    return torch.stack(fits)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [slow_case(name, when=name != "fast") for name in PROTOCOLS])
def test_nested_cross_validation_scores_like_the_original(protocol: str) -> None:
    x, y = blobs(220, 8, 2, noise=3.0)
    small = replace(PROTOCOLS[protocol], folds=3, decays=(1e-5, 1e-2))
    small = replace(small, fit=replace(small.fit, batch=16, max_epochs=16))
    data = TaskData({"all": Split([str(i) for i in range(len(y))], None, y)}, classes=2)
    given = Embedded(TASKS["MR"], data, torch.from_numpy(x), lambda texts: torch.tensor([int(t) for t in texts]))
    numbers, scores = score_task(given, small, 1111)
    (answers,) = scores.answers
    dev, test = oracle.nested_cv(x, y, small)
    assert numbers["dev_accuracy"] == pytest.approx(dev, abs=1.5)
    assert numbers["test_accuracy"] == pytest.approx(test, abs=2.0)
    assert 100 * (answers.predicted == y).mean() == pytest.approx(numbers["test_accuracy"], abs=0.5)


def test_bf16_products_choose_alike() -> None:
    x, y = blobs(300, 12, 2, noise=3.0)
    folds = [Fold(train, dev) for train, dev in oracle.folds(y, 5)]
    exact, low = (
        fit_classifiers(singles(x), y, 2, folds, DECAYS, FITS["adam"], 1, precision=precision)
        for precision in (torch.float32, torch.bfloat16)
    )
    assert abs(exact.dev_correct.mean() - low.dev_correct.mean()) < 0.6


def test_pair_features() -> None:
    u, v = torch.randn(3, 4), torch.randn(3, 4)
    table = torch.cat([u, v])
    left, right = torch.arange(3), torch.arange(3, 6)
    plain = PairRows(table, left, right)
    torch.testing.assert_close(plain.take(left)[:, :8], torch.cat([(u - v).abs(), u * v], dim=1))
    both = PairRows(table, left, right, both=True)
    torch.testing.assert_close(both.take(left)[:, :16], torch.cat([u, v, u * v, (u - v).abs()], dim=1))
    assert (both.take(left)[:, 16] == 1).all()
    assert (both.take(left)[:, 17:] == 0).all()


def test_regressor_bins_and_fit() -> None:
    target = bins(np.array([1.0, 2.25, 5.0, 0.5]))
    assert target.tolist() == [[1, 0, 0, 0, 0], [0, 0.75, 0.25, 0, 0], [0, 0, 0, 0, 1], [0.5, 0, 0, 0, 0]]
    random = np.random.RandomState(0)
    x = random.randn(200, 6).astype(np.float32)
    scores = np.clip(3 + x[:, 0] + 0.1 * random.randn(200), 1, 5)
    rows = singles(x).take(torch.arange(200))
    predict = fit_regressor(rows[:120], scores[:120], rows[120:160], scores[120:160], 6, seed=1111)
    assert np.corrcoef(predict(rows[160:]), scores[160:])[0, 1] > 0.9


@pytest.mark.slow
def test_regressor_repeats_the_original_fit() -> None:
    """The same checks by autograd and nn.Linear, with the same permutations."""
    random = np.random.RandomState(3)
    x = random.randn(90, 5).astype(np.float32)
    scores = np.clip(3 + x[:, 0], 1, 5)
    rows = singles(x).take(torch.arange(90))
    predict = fit_regressor(rows[:60], scores[:60], rows[60:], scores[60:], 5, seed=1111)

    torch.manual_seed(1111)
    order = np.random.RandomState(1111)
    model = torch.nn.Sequential(torch.nn.Linear(5, 5), torch.nn.Softmax(dim=1))
    optimiser = torch.optim.Adam(model.parameters())
    inputs, target = torch.from_numpy(x), torch.from_numpy(bins(scores[:60]))
    best, best_score, failures, epochs, kept = None, -1.0, 0, 0, None
    while failures <= 3 and epochs <= 1000:
        for _ in range(50):
            index = order.permutation(60)
            loss = torch.nn.functional.mse_loss(model(inputs[index]), target[index])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        epochs += 50
        best = (model(inputs[60:]).detach().numpy() * np.arange(1, 6)).sum(axis=1)
        score = np.corrcoef(best, scores[60:])[0, 1]
        if score > best_score:
            best_score, kept = score, best
        else:
            failures += 1
    np.testing.assert_allclose(predict(rows[60:]), kept, atol=5e-3)


@pytest.mark.parametrize(
    ("device", "processor", "native", "precision"),
    [
        ("cpu", "x86_64", True, torch.bfloat16),
        ("cpu", "x86_64", False, torch.float32),
        ("cpu", "x86_64", None, torch.float32),  # an older torch, which cannot say
        ("cpu", "aarch64", True, torch.float32),
        ("cpu", "arm64", True, torch.float32),
        ("cuda", "aarch64", True, torch.bfloat16),
        ("cuda", "aarch64", False, torch.float32),
    ],
)
def test_inner_folds_use_bf16_where_it_is_known_to_be_fast(
    device: str, processor: str, native: bool | None, precision: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where that is, `test_model_card.py` and `test_pretended_gpu.py` ask."""
    monkeypatch.setattr(platform, "machine", lambda: processor)
    monkeypatch.setattr("trainables.senteval.classifier.native_bf16", lambda device: native)
    assert fast_precision(torch.device(device)) == precision
