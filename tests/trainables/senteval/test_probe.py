"""The cheap linear probe against fits that really leave each example out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from trainables.senteval.probe import PENALTY, predict_left_out, probe_accuracy


def _one_by_one(embeddings: Tensor, labels: Tensor, groups: Tensor) -> Tensor:
    """A ridge fit for each example, to those of all other groups."""
    count, dim = embeddings.shape
    centred = embeddings - embeddings.mean(dim=0)
    targets = torch.nn.functional.one_hot(labels).double()
    columns = torch.cat([centred, torch.ones(count, 1, dtype=torch.float64)], dim=1)
    penalty = PENALTY * centred.square().mean() * count * torch.eye(dim + 1, dtype=torch.float64)
    penalty[dim, dim] = 0  # the intercept is free
    accuracies = []
    for i in range(count):
        others = groups != groups[i]
        kept = columns[others]
        weights = torch.linalg.solve(kept.mT @ kept + penalty, kept.mT @ targets[others])
        accuracies.append((columns[i] @ weights).argmax())
    return torch.stack(accuracies)


@pytest.mark.parametrize("sharing", [1, 3])
@pytest.mark.parametrize(("count", "dim", "classes"), [(30, 4, 2), (47, 9, 3), (12, 20, 2)])
def test_it_is_the_fit_without_the_example_or_its_group(count: int, dim: int, classes: int, sharing: int):
    torch.manual_seed(count)
    embeddings = 3 + 0.01 * torch.randn(count, dim, dtype=torch.float64)  # small: the penalty must be, too
    labels = (embeddings[:, 0] * 150 + torch.randn(count)).argsort().argsort() * classes // count
    groups = torch.arange(count).roll(count // 3) // sharing  # of uneven sizes, one of them in two places
    expected = _one_by_one(embeddings, labels, groups)
    assert predict_left_out(embeddings, labels, None if sharing == 1 else groups.numpy()).equal(expected)


def test_one_group_of_all_is_none():
    torch.manual_seed(0)
    embeddings, labels = torch.randn(40, 5, dtype=torch.float64), torch.arange(40) % 3
    assert predict_left_out(embeddings, labels, np.zeros(40)).equal(predict_left_out(embeddings, labels))


def test_what_an_example_says_of_itself_does_not_count():
    """With more dimensions than examples a plain fit is always right; random labels must stay at chance."""
    torch.manual_seed(0)
    embeddings, labels = torch.randn(200, 300, dtype=torch.float64), torch.randint(2, (200,))
    assert probe_accuracy(embeddings, labels.numpy()) < 65


def test_embeddings_that_are_all_the_same_give_the_larger_class():
    assert predict_left_out(torch.ones(5, 3), torch.tensor([0, 1, 1, 1, 0])).tolist() == [1] * 5
