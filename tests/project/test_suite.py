"""What `tests/conftest.py` promises of the whole suite."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("package", ["reports.quantity", "study"])
def test_our_packages_do_not_sum_floats_with_the_builtin(package: str):
    with pytest.raises(AssertionError, match=r"math\.fsum"):
        exec("sum([0.1, 0.2])", {"__name__": package})
    exec("assert sum([1, 2]) == 3", {"__name__": package})


def test_others_sum_floats_as_they_like():
    exec("assert sum([0.5, 0.5]) == 1", {"__name__": "numpy.random"})
