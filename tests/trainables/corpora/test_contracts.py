"""Every layout keeps its contract, and so does one from outside the repository."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from search_spaces import Domain
from tests.conftest import WordEncoder
from trainables.corpora.layouts import LAYOUTS, Layout, SamplerRequest
from trainables.errors import UserError
from trainables.keys import keys_of
from trainables.plugins import load_plugin
from trainables.recipe import Recipe, parse_assignment
from trainables.testing.layouts import LayoutContract

PLUGIN = '''
"""A layout of neighbours: each line of a text file with the next one as its positive."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trainables.corpora.batch import Batch
from trainables.corpora.layouts import LAYOUTS, Layout
from trainables.corpora.request import check_batch_size
from trainables.keys import at_least, key
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


@dataclass(frozen=True)
class Neighbours(Layout):
    """A line and the next one."""

    name = "neighbours"
    reads = "corpus.poem"
    positives_at_most = 1
    hard_negatives = False
    objectives = ("ntxent", "mnrl")

    poem: str = key("poem.txt", "A text file.", place=True)
    skip: int = key(0, "Leave out the first so many lines.", at_least(0), search=(0, 1))

    def sentences(self, request):
        return Path(self.poem).read_text().splitlines()[self.skip :]

    def check(self, request):
        found = len(self.sentences(request)) - 1
        check_batch_size(request.batch_size, found, self.poem, f"{found} neighbours")

    def make(self, request):
        self.check(request)
        return NeighbourSampler(self.sentences(request), request.batch_size), {"source": self.poem}


LAYOUTS.add(Neighbours)
'''


@pytest.fixture(scope="module", autouse=True)
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("plugin") / "neighbours.py"
    path.write_text(PLUGIN)
    load_plugin(path)
    yield path
    LAYOUTS.remove("neighbours")


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: type[Layout]) -> Layout:
    """Over a folder that has a small corpus for every layout."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rows = [
        {"premise": f"premise {i}", "hypothesis": f"hypothesis {i} {label}", "label": label}
        | {"sentence1": f"one {i}", "sentence2": f"two {i} {label}", "score": i, "sentence": f"{label} {i}"}
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
    given = {
        "nli": str(tmp_path / "pairs.jsonl"),
        "documents": str(tmp_path / "docs.txt"),
        "poem": str(tmp_path / "docs.txt"),
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
    @pytest.fixture(params=[*LAYOUTS, "neighbours"])
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
        return LAYOUTS["neighbours"]

    def test_of_a_batch(self, layout: Layout, request_for_it: SamplerRequest) -> None:
        class Liar(LAYOUTS["rows"]):  # type: ignore[misc]
            hard_negatives = False

        source = str(Path(vars(layout)["poem"]).with_name("pairs.jsonl"))
        with pytest.raises(AssertionError):
            LayoutContract().test_batches_are_well_formed(Liar(nli=source), request_for_it)

    def test_of_a_check(self, layout: Layout, request_for_it: SamplerRequest) -> None:
        class Careless(type(layout)):  # type: ignore[misc]
            def check(self, request: SamplerRequest) -> None:
                pass

        with pytest.raises(pytest.fail.Exception):
            LayoutContract().test_the_check_refuses_what_cannot_be_made(Careless(**vars(layout)), request_for_it)


def test_a_recipe_has_its_keys(tmp_path: Path) -> None:
    recipe = Recipe().override({"corpus.layout": "neighbours", "corpus.skip": 1})
    assert recipe.flat().items() >= {"corpus.skip": 1, "corpus.poem": "poem.txt"}.items()
    assert "corpus.nli" not in recipe.flat()
    assert Recipe.from_flat(recipe.flat()) == recipe
    assert recipe.hash != Recipe().override({"corpus.layout": "neighbours"}).hash
    assert parse_assignment("corpus.skip=2") == ("corpus.skip", 2)
    assert Domain("corpus.skip").choices == (0, 1)
    with pytest.raises(UserError, match=r"corpus\.layout=rows has no corpus\.skip; leave it out"):
        Recipe().override({"corpus.skip": 1})
    with pytest.raises(UserError, match="the name 'neighbours' is taken by another layout"):
        LAYOUTS.add(LAYOUTS["neighbours"])
