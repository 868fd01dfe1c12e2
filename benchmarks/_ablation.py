"""The default sampler without one of its parts, each by itself: what is it worth?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from study.search import gaussian_process
from study.search.gaussian_process import GaussianProcessSampler

Sampler = Callable[[int], GaussianProcessSampler]


class _Patched(GaussianProcessSampler):
    """With other values of the module's names while it chooses."""

    def __init__(self, seed: int, **names: Any) -> None:
        super().__init__(seed)
        self.names = names

    def before_trial(self, study: Any, trial: Any) -> None:
        with patch.multiple(gaussian_process, **self.names):
            super().before_trial(study, trial)


class _Drawn(GaussianProcessSampler):
    """Its first recipes are drawn by chance, not far from each other."""

    def _far_from(self, points: np.ndarray) -> np.ndarray:
        return np.asarray(self._applying(self._random(1))[0])


class _Unaware(GaussianProcessSampler):
    """What still runs is no part of the process."""

    def _improving(self, x: np.ndarray, y: np.ndarray, running: np.ndarray, asked: np.ndarray) -> np.ndarray:
        return super()._improving(x, y, running[:0], asked)


def _as_they_are(y: np.ndarray) -> np.ndarray:
    return y


class _AllByChance(GaussianProcessSampler):
    """It chooses among random recipes alone."""

    def _changed(self, best: np.ndarray) -> list[np.ndarray]:
        return [self._random(gaussian_process.RANDOM // 2)]


WITHOUT: Mapping[str, Sampler] = {
    "designed start": _Drawn,
    "noise": partial(_Patched, NOISES=(-9.0, -8.9)),
    "beliefs of reach": partial(_Patched, SPREAD=100.0),
    "bad ones drawn near": partial(_Patched, _tamed=_as_they_are),
    "what still runs": _Unaware,
    "changes of the best": _AllByChance,
}
"""By what is left out."""
