"""CONTRIBUTING.md, followed: every code block is written to a file, loaded as a plugin, and its entry used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
import torch

from reports.formats import FORMATS, Format
from reports.importance import ENOUGH, importance
from reports.report import write_report
from reports.sections import SECTIONS, Section
from reports.testing import FormatContract, SectionContract
from search_spaces import Domain, load_space
from study.callbacks import CALLBACKS
from study.search.ask_tell import AskTell, memory_study
from study.search.samplers import SAMPLERS, SamplerEntry
from study.search.schedulers import SCHEDULERS, SchedulerEntry
from study.testing import callbacks as followed
from study.testing.search import SamplerContract, SchedulerContract
from tests.contributing import BLOCKS
from tests.objective_batches import labelled
from tests.synthetic_results import make_results
from tests.trainables.senteval import test_own_kind as own_kind
from trainables import plugins
from trainables.corpora.layouts import LAYOUTS, SamplerRequest, make_sampler
from trainables.encoders import load_encoder
from trainables.encoders.contract import TrainableEncoder, trainable
from trainables.encoders.kinds import ENCODERS
from trainables.encoders.pooling import POOLINGS
from trainables.errors import UserError
from trainables.evaluation_config import parse_assignment
from trainables.objectives import OBJECTIVES, chosen_objective
from trainables.objectives.objective import Objective
from trainables.plugins import load_plugin
from trainables.recipe import EncoderConfig, Recipe
from trainables.senteval import evaluate
from trainables.senteval.protocol import PROTOCOLS
from trainables.senteval.tasks import TASKS, Task
from trainables.testing.encoders import TrainableEncoderContract
from trainables.testing.objectives import Built, ObjectiveContract
from trainables.testing.tasks import TaskContract
from trainables.trial.build import build_encoder

FOLLOWED = (Path(__file__), Path(own_kind.__file__))
Plug = Callable[[str, Any], Any]


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside the repository, for plugins and what they read."""
    return tmp_path_factory.mktemp("outside")


@pytest.fixture
def plug(outside: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plug]:
    """`plug("my_objective.py", OBJECTIVES)` loads that block as a plugin and returns its entry, for one test."""
    monkeypatch.setattr(plugins, "_ran", {})
    added = []

    def load(name: str, registry: Any) -> Any:
        before = set(registry)
        (outside / name).write_text(BLOCKS[name])
        load_plugin(outside / name)
        (new,) = set(registry) - before
        added.append((registry, new))
        return registry[new]

    yield load
    for registry, name in added:
        registry.remove(name)


def test_every_block_is_followed() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in FOLLOWED)
    assert len(BLOCKS) == 13
    assert [name for name in BLOCKS if f'"{name}"' not in tests] == []


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_is_short(name: str) -> None:
    assert len(BLOCKS[name].splitlines()) < 60


def test_an_objective(plug: Plug) -> None:
    entry = plug("my_objective.py", OBJECTIVES)
    objective = Built(entry(), 5)
    batch = labelled([(0, 1, 0), (0, 2, 2), (3, 4, 0)])
    loss = objective(batch)
    assert loss.counts["anchors"] == 2
    assert 0 < loss.value.item() <= 4  # of unit vectors
    loss.value.backward()
    gradient = batch.projected.grad
    assert gradient is not None
    assert gradient[[0, 1, 3, 4]].abs().sum(dim=1).min() > 0
    assert gradient[2].abs().sum() == 0  # contradicted
    with pytest.raises(UserError, match="alignment"):
        chosen_objective(Recipe().override({"objective.name": entry.name, "corpus.layout": "spans"}))


def test_its_keys_are_searched_and_ranked(plug: Plug) -> None:
    """Both, over the ranges that they name, and the one that decides the score stands first."""
    entry = plug("my_objective.py", OBJECTIVES)
    base = Recipe().override({"objective.name": entry.name})
    domains = (Domain("objective.power"), Domain("objective.evenness"))
    search = AskTell(memory_study(optuna.samplers.RandomSampler(seed=0)), base, domains)
    scored = []
    for _ in range(ENOUGH):
        number, recipe = search.ask()
        assert search.begin(number, recipe, [0])
        score = 10.0 * recipe.flat()["objective.power"]  # type: ignore[operator]
        scored.append((recipe.flat(), score))
        search.tell(recipe.hash, 0, [score])
    found = importance(domains, scored)
    assert found is not None
    assert [effect.keys for effect in found.keys] == [("objective.power",), ("objective.evenness",)]
    assert [effect.share.above for effect in found.keys] == [True, False]


def test_a_layout(plug: Plug) -> None:
    entry = plug("my_layout.py", LAYOUTS)

    def request(size: int) -> SamplerRequest:
        return SamplerRequest(size, 1, None, None, 32)

    sampler, description = make_sampler(entry(), request(8))
    batch = sampler.batch(3)
    assert len(batch.label) == 8
    assert len(batch.sentences) == len(set(batch.sentences))
    for first, second in zip(batch.premise, batch.hypothesis, strict=True):
        numbers = [int(batch.sentences[i].split()[1]) for i in (first, second)]
        assert numbers[1] == numbers[0] + 1
    assert description["layout"] == "next_lines"
    with pytest.raises(UserError, match="the poem"):
        entry().check(request(100))


def test_a_pooling(plug: Plug, make_encoder: Any) -> None:
    entry = plug("my_pooling.py", POOLINGS)
    encoder = make_encoder(entry.name)
    alone = encoder.encode(["two dogs run"])
    both = encoder.encode(["two dogs run", "a man is sleeping on a bench in the park"])
    np.testing.assert_allclose(both[0], alone[0], atol=1e-5)  # padding has no say
    assert np.isfinite(both).all()


def test_a_kind_of_encoder(plug: Plug) -> None:
    entry = plug("my_encoder.py", ENCODERS)
    encoder = trainable(load_encoder(EncoderConfig(kind=entry.name, name="trigrams"), device="cpu"))
    sentences = ["two dogs run", "two dogs sleep"]
    before = encoder.encode(sentences)
    assert before.shape == (2, encoder.dim)
    optimiser = torch.optim.SGD(encoder.parameters(), lr=0.1)
    embedded = encoder.embed(encoder.tokenize(sentences))
    np.testing.assert_allclose(embedded.detach(), before, atol=1e-6)
    (embedded[0] - embedded[1]).pow(2).sum().backward()
    optimiser.step()
    after = encoder.encode(sentences)
    assert np.square(after[0] - after[1]).sum() < np.square(before[0] - before[1]).sum()


def good_or_bad(texts: Any) -> np.ndarray:
    return np.array([[10 * text.startswith("good"), 10 * text.startswith("bad")] for text in texts], np.float32)


def write_reviews(folder: Path) -> None:
    folder.mkdir()
    for part, count in (("train", 40), ("dev", 10), ("test", 20)):
        lines = [f"{'good' if i % 2 else 'bad'} film number {i}\t{'good' if i % 2 else 'bad'}" for i in range(count)]
        (folder / f"{part}.tsv").write_text("\n".join(["sentence\tlabel", *lines]) + "\n")


def test_a_task(plug: Plug, outside: Path) -> None:
    entry = plug("my_task.py", TASKS)
    write_reviews(outside / "reviews")

    assert evaluate(good_or_bad, outside, (entry.name,), "fast").tasks[entry.name]["test_accuracy"] == 100


def test_a_protocol(plug: Plug, outside: Path) -> None:
    entry = plug("my_protocol.py", PROTOCOLS)
    plug("my_task.py", TASKS)
    write_reviews(outside / "reviews")
    scored = evaluate(good_or_bad, outside, ("reviews",), entry.name)
    assert scored.protocol == entry.name == parse_assignment(f"evaluation.protocol={entry.name}")[1]
    assert scored.tasks["reviews"]["test_accuracy"] == 100
    with pytest.raises(UserError, match="no SentEval protocol 'four_folds'; did you mean 'three_folds'"):
        evaluate(good_or_bad, outside, ("reviews",), "four_folds")


def test_a_space(tmp_path: Path) -> None:
    (tmp_path / "my_space.py").write_text(BLOCKS["my_space.py"])
    space = load_space(str(tmp_path / "my_space.py"))
    assert [row.label for row in space.rows] == ["margin 5", "margin 1"]


def test_a_section(plug: Plug, tmp_path: Path) -> None:
    plug("my_section.py", SECTIONS)
    make_results(tmp_path / "results")
    report = write_report(tmp_path / "results").read_text()
    assert "## The slowest trial\n" in report


def test_a_callback(plug: Plug, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = plug("my_callback.py", CALLBACKS)
    state = followed.study_state(tmp_path)
    assert entry.build(state) is None
    monkeypatch.setenv("ON_DUTY", "1")
    callback = entry.build(state)
    trial = followed.trial(state)
    callback.started([trial])
    callback.failed(trial, "no such file")
    callback.close()
    assert (tmp_path / "duty.txt").read_text() == f"{trial.name} (seed 0): no such file\n"


class TestObjectiveKeepsTheContract(ObjectiveContract):
    @pytest.fixture
    def entry(self, plug: Plug) -> type[Objective]:
        entry: type[Objective] = plug("my_objective.py", OBJECTIVES)
        return entry


class TestEncoderKeepsTheContract(TrainableEncoderContract):
    @pytest.fixture
    def encoder(self, plug: Plug) -> TrainableEncoder:
        kind = plug("my_encoder.py", ENCODERS)
        return trainable(load_encoder(EncoderConfig(kind=kind.name, name="trigrams"), device="cpu"))


class TestTaskKeepsTheContract(TaskContract):
    @pytest.fixture
    def task(self, plug: Plug, data: Path) -> Task:
        entry: Task = plug("my_task.py", TASKS)
        return entry

    @pytest.fixture
    def data(self, outside: Path) -> Path:
        write_reviews(outside / "reviews")
        return outside


class TestSamplerKeepsTheContract(SamplerContract):
    @pytest.fixture
    def entry(self, plug: Plug) -> SamplerEntry:
        entry: SamplerEntry = plug("my_sampler.py", SAMPLERS)
        return entry


class TestSchedulerKeepsTheContract(SchedulerContract):
    @pytest.fixture
    def entry(self, plug: Plug) -> SchedulerEntry:
        entry: SchedulerEntry = plug("my_scheduler.py", SCHEDULERS)
        return entry


class TestSectionKeepsTheContract(SectionContract):
    @pytest.fixture
    def section(self, plug: Plug) -> Section:
        entry: Section = plug("my_section.py", SECTIONS)
        return entry


def test_a_recipe_takes_its_names(plug: Plug) -> None:
    """A plugin's entry is a value of its key at once."""

    with pytest.raises(UserError, match="alignment"):
        Recipe().preferring({"objective.name": "alignment"})
    plug("my_objective.py", OBJECTIVES)
    plug("my_encoder.py", ENCODERS)
    recipe = Recipe().override({"objective.name": "alignment", "encoder.kind": "trigrams", "encoder.width": 8})
    assert (recipe.objective.name, recipe.flat()["objective.power"]) == ("alignment", 2.0)
    assert recipe.hash != recipe.override({"objective.power": 3.0}).hash
    assert build_encoder(recipe, 1, None).dim == 8


class TestFormatKeepsTheContract(FormatContract):
    @pytest.fixture
    def form(self, plug: Plug) -> Format:
        entry: Format = plug("my_format.py", FORMATS)
        return entry
