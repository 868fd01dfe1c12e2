"""Every layout keeps its contract, and so does one from outside the repository."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import WordEncoder
from tests.json_lines import write_rows
from trainables.corpora.layouts import LAYOUTS, Layout, SamplerRequest
from trainables.keys import keys_of
from trainables.plugins import load_plugin
from trainables.testing.layouts import LayoutContract


@pytest.fixture(scope="module", autouse=True)
def plugin() -> Iterator[None]:
    load_plugin(Path(__file__).parents[3] / "docs" / "plugins" / "my_layout.py")
    yield
    LAYOUTS.remove("next_lines")


@pytest.fixture
def layout(tmp_path: Path, own_cache: None, entry: type[Layout]) -> Layout:
    """Over a folder that has a small corpus for every layout."""
    rows = [
        {"premise": f"premise {i}", "hypothesis": f"hypothesis {i} {label}", "label": label}
        | {"sentence1": f"one {i}", "sentence2": f"two {i} {label}", "score": i, "sentence": f"{label} {i}"}
        for i in range(6)
        for label in ("entailment", "neutral", "contradiction")
    ]
    (tmp_path / "docs.txt").write_text("".join(f"{i} " * 60 + "\n" for i in range(7)))
    folder = tmp_path / "downstream" / "STS" / "STSBenchmark"
    folder.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        scored = (f"g\tf\ty\t{i}\t4.5\t{split} {i}\tthe {split} {i}\n" for i in range(3))
        (folder / f"sts-{split}.csv").write_text("".join(scored))
    given = {
        "nli": write_rows(tmp_path / "pairs.jsonl", rows),
        "documents": str(tmp_path / "docs.txt"),
        "senteval": str(tmp_path),
        "shortest": 2,
        "longest": 8,
    }
    return entry(**{name: given[name] for name in keys_of(entry) if name in given})


@pytest.fixture
def request_for_it(entry: type[Layout]) -> SamplerRequest:
    most = (2, 3) if entry.exact else (None, None)
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
