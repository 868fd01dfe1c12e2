"""The built-in corpus, and its 28 tasks scored once for all tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from trainables.corpora import scenes
from trainables.senteval import SentEvalResult, evaluate, projections
from trainables.senteval.tasks import TASKS
from trainables.testing.tasks import bag_of_words


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    """Tasks that a test adds leave the registry after it."""
    before = {*TASKS}
    yield
    for name in {*TASKS} - before:
        TASKS.remove(name)


@pytest.fixture(scope="session")
def corpus() -> Path:
    return scenes.ensure() / "senteval"


@pytest.fixture(scope="session")
def whole(corpus: Path) -> SentEvalResult:
    """Its tests have the mark `xdist_group("whole")`, so that one process of `pytest -n` scores them."""
    calls = []

    def encode(sentences: Sequence[str]) -> np.ndarray:
        calls.append(len(sentences))
        assert len(set(sentences)) == len(sentences)
        assert all(sentences)
        return bag_of_words(sentences)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projections, "_MAX_EPOCHS", 1)  # two epochs, in which retrieval learns enough
        result = evaluate(encode, corpus, ["all"], "fast")
    assert len(calls) == 1
    return result
