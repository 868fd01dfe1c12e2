"""Every layout keeps its contract, and so does one from outside the repository."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import WordEncoder
from tests.trainables.corpora.layouts.test_layouts import recipe_of
from trainables.corpora.layouts import LAYOUTS, Layout, SamplerRequest
from trainables.plugins import load_plugin
from trainables.testing.layouts import LayoutContract


@pytest.fixture(scope="module", autouse=True)
def plugin() -> Iterator[None]:
    load_plugin(Path(__file__).parents[3] / "docs" / "plugins" / "my_layout.py")
    yield
    LAYOUTS.remove("next_lines")


@pytest.fixture
def layout(tmp_path: Path, own_cache: None, entry: type[Layout]) -> Layout:
    """Over a small corpus, which every layout can read."""
    rows = [(f"premise {i}", f"hypothesis {i} {label}", label) for i in range(6) for label in range(3)]
    return recipe_of(tmp_path, rows).override({"corpus.layout": entry.name}).part(Layout)


@pytest.fixture
def request_for_it(entry: type[Layout]) -> SamplerRequest:
    most = (2, 3) if entry.exact_counts else (None, None)
    return SamplerRequest(2, 1, *most, max_length=64, encoder=WordEncoder(max_length=64))


class TestLayouts(LayoutContract):
    @pytest.fixture(params=[*LAYOUTS, "next_lines"])
    def entry(self, request: pytest.FixtureRequest) -> type[Layout]:
        return LAYOUTS[request.param]


class TestMixedBatches(LayoutContract):
    """Of two corpora, a batch of both."""

    @pytest.fixture
    def entry(self) -> type[Layout]:
        return LAYOUTS["mix"]

    @pytest.fixture
    def layout(self, layout: Layout) -> Layout:
        return dataclasses.replace(layout, **{"mix_layouts": ("pairs", "groups"), "mix_batches": "mixed"})


class TestFailures:
    """The contract can fail."""

    @pytest.fixture
    def entry(self) -> type[Layout]:
        return LAYOUTS["rows"]

    def test_of_a_batch(self, layout: Layout, request_for_it: SamplerRequest) -> None:
        class Liar(LAYOUTS["rows"]):  # type: ignore[misc]
            hard_negatives = False

        with pytest.raises(AssertionError):
            LayoutContract().test_batches_are_well_formed(Liar(**vars(layout)), request_for_it)

    def test_of_a_check(self, layout: Layout, request_for_it: SamplerRequest) -> None:
        class Careless(type(layout)):  # type: ignore[misc]
            def check(self, request: SamplerRequest) -> None:
                pass

        with pytest.raises(pytest.fail.Exception):
            LayoutContract().test_the_check_refuses_what_cannot_be_made(Careless(**vars(layout)), request_for_it)
