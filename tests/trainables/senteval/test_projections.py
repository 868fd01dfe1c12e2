"""When the projections of captions and images stop, and which of their states is scored."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from trainables.senteval import projections
from trainables.senteval.examples import Split


def captioned(images: int, seed: int) -> tuple[Tensor, Split]:
    """Embeddings of five captions for each image, and the images."""
    random = np.random.default_rng(seed)
    texts = torch.from_numpy(random.standard_normal((5 * images, 3), dtype=np.float32))
    features = random.standard_normal((images, 4), dtype=np.float32)
    return texts, Split([""] * len(texts), None, np.arange(images).repeat(5), features)


@pytest.mark.parametrize(
    ("scores", "epochs", "best"),
    [((1, 7, 3, 7, 5, 6, 9), 6, 2), ((*range(1, 30),), 21, 21), ((5, 4, 6, 4, 4, 4, 8), 6, 3)],
    ids=["four failures after the best", "always better", "failures before it count, too"],
)
def test_they_stop_after_four_failures_or_at_the_end_and_the_best_state_is_scored(
    scores: tuple[int, ...], epochs: int, best: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`scores`: the sums of the recalls on dev, by epoch."""
    looks = iter(scores)
    ranked: list[Tensor] = []
    plain = projections._ranks

    def ranks(model: torch.nn.ModuleDict, embeddings: Tensor, split: Split) -> tuple[np.ndarray, np.ndarray]:
        ranked.append(model["text"].weight.detach().clone())
        return plain(model, embeddings, split)

    monkeypatch.setattr(projections, "_SPACE", 8)
    monkeypatch.setattr(projections, "_ranks", ranks)
    monkeypatch.setattr(projections, "recalls", lambda *_: {"sum": float(next(looks))})
    parts = {"train": captioned(30, 0), "dev": captioned(5, 1), "test": captioned(5, 2)}
    dev, _, _ = projections.fit_projections(parts, 1)
    *states, scored = ranked
    assert len(states) == epochs
    assert dev == scores[best - 1] / 6
    assert torch.equal(scored, states[best - 1])
    assert not any(torch.equal(scored, state) for number, state in enumerate(states, 1) if number != best)
