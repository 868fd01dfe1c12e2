"""Every layout keeps its contract, and so does one from outside the repository."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import WordEncoder
from trainables.corpora.layouts import LAYOUTS, Layout, SamplerRequest
from trainables.errors import UserError
from trainables.plugins import load_plugin
from trainables.recipe import CorpusConfig, Recipe, SpansConfig
from trainables.testing.layouts import LayoutContract

PLUGIN = '''
"""A layout of neighbours: each line of a text file with the next one as its positive."""

from pathlib import Path

import numpy as np

from trainables.corpora.batch import Batch
from trainables.corpora.layouts import LAYOUTS, Layout
from trainables.corpora.request import check_batch_size
from trainables.labels import ENTAILMENT


class NeighbourSampler:
    def __init__(self, lines, size):
        self.lines, self.size = lines, size
        self.steps_per_epoch = (len(lines) - 1) // size

    def batch(self, step):
        first = step % self.steps_per_epoch * self.size
        rows = np.arange(self.size)
        label = np.full(self.size, ENTAILMENT, dtype=np.int8)
        sentences = self.lines[first : first + self.size + 1]
        return Batch(sentences=sentences, premise=rows, hypothesis=rows + 1, label=label, group=rows)


def lines(request):
    return Path(request.corpus.documents).read_text().splitlines()


def check(request):
    found = len(lines(request)) - 1
    check_batch_size(request.batch_size, found, request.corpus.documents, f"{found} neighbours")


def make(request):
    check(request)
    return NeighbourSampler(lines(request), request.batch_size), {"source": request.corpus.documents}


LAYOUTS.add(
    Layout("neighbours", make, check, lines, check, positives=1, negatives=False, objectives=("ntxent", "mnrl"))
)
'''


@pytest.fixture(scope="module", autouse=True)
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("plugin") / "neighbours.py"
    path.write_text(PLUGIN)
    load_plugin(path)
    yield path
    LAYOUTS.remove("neighbours")


@pytest.fixture
def request_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: Layout) -> SamplerRequest:
    """Of a folder that has a small corpus for every layout."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rows = [
        {"premise": f"premise {i}", "hypothesis": f"hypothesis {i} {label}", "label": label}
        for i in range(6)
        for label in ("entailment", "neutral", "contradiction")
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "docs.txt").write_text("".join(f"{i} " * 60 + "\n" for i in range(7)))
    folder = tmp_path / "downstream" / "STS" / "STSBenchmark"
    folder.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        scored = (f"g\tf\ty\t{i}\t4.5\t{split} {i}\tthe {split} {i}\n" for i in range(3))
        (folder / f"sts-{split}.csv").write_text("".join(scored))
    return SamplerRequest(
        CorpusConfig(nli=str(tmp_path / "pairs.jsonl"), documents=str(tmp_path / "docs.txt"), layout=entry.name),
        SpansConfig(shortest=2, longest=8),
        batch_size=2,
        seed=1,
        positives=2 if entry.exact else None,
        negatives=3 if entry.exact else None,
        senteval=tmp_path,
        max_length=64,
        encoder=WordEncoder(max_length=64),
    )


class TestLayouts(LayoutContract):
    @pytest.fixture(params=[*LAYOUTS, "neighbours"])
    def entry(self, request: pytest.FixtureRequest) -> Layout:
        return LAYOUTS[request.param]


class TestFailures:
    """The contract can fail."""

    @pytest.fixture
    def entry(self) -> Layout:
        return LAYOUTS["neighbours"]

    def test_of_a_batch(self, entry: Layout, request_for_it: SamplerRequest) -> None:
        LAYOUTS.add(dataclasses.replace(LAYOUTS["rows"], name="liar", negatives=False))
        try:
            with pytest.raises(AssertionError):
                LayoutContract().test_batches_are_well_formed(LAYOUTS["liar"], request_for_it)
        finally:
            LAYOUTS.remove("liar")

    def test_of_a_check(self, entry: Layout, request_for_it: SamplerRequest) -> None:
        LAYOUTS.add(dataclasses.replace(entry, name="careless", check=lambda request: None))
        try:
            with pytest.raises(pytest.fail.Exception):
                LayoutContract().test_the_check_refuses_what_cannot_be_made(LAYOUTS["careless"], request_for_it)
        finally:
            LAYOUTS.remove("careless")


def test_a_recipe_can_name_it() -> None:
    recipe = Recipe().override({"corpus.layout": "neighbours"})
    assert Recipe.from_flat(recipe.flat()) == recipe
    with pytest.raises(UserError, match="the name 'neighbours' is taken by another layout"):
        LAYOUTS.add(LAYOUTS["neighbours"])
