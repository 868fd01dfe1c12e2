"""What tests of training share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gloo_worker import in_float64
from trainables.training.chunks import OUT_OF_MEMORY_KINDS


@pytest.fixture
def float64() -> Iterator[None]:
    """What a test makes is in float64, where rounding hides no difference; which chunks were tight is forgotten."""
    OUT_OF_MEMORY_KINDS.clear()
    with in_float64():
        yield
    OUT_OF_MEMORY_KINDS.clear()
