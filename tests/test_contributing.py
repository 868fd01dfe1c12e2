"""CONTRIBUTING.md, followed: every code block is written to a file, loaded as a plugin, and its entry used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.objective_batches import labelled
from trainables import plugins
from trainables.errors import UserError
from trainables.plugins import load_plugin
from trainables.recipe import CorpusConfig, EncoderConfig, ObjectiveConfig, Recipe, SpansConfig

ROOT = Path(__file__).resolve().parents[1]
BLOCKS: dict[str, str] = dict(
    re.findall(r"^```python (\S+)\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text(), re.M | re.S)
)
Plug = Callable[[str, Any], Any]


@pytest.fixture
def plug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plug]:
    """`plug("my_objective.py", OBJECTIVES)` loads that block as a plugin and returns its entry, for one test."""
    monkeypatch.setattr(plugins, "_ran", {})
    added = []

    def load(name: str, registry: Any) -> Any:
        before = set(registry)
        (tmp_path / name).write_text(BLOCKS[name])
        load_plugin(tmp_path / name)
        (new,) = set(registry) - before
        added.append((registry, new))
        return registry[new]

    yield load
    for registry, name in added:
        registry.remove(name)


def test_every_block_is_followed() -> None:
    tests = Path(__file__).read_text()
    assert len(BLOCKS) == 9
    assert [name for name in BLOCKS if f'"{name}"' not in tests] == []


def test_an_objective(plug: Plug) -> None:
    from trainables.objectives import OBJECTIVES, build_objective

    entry = plug("my_objective.py", OBJECTIVES)
    objective = build_objective(ObjectiveConfig(name=entry.name), 5, "rows")
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
        build_objective(ObjectiveConfig(name=entry.name), 5, "spans")


def test_a_layout(plug: Plug) -> None:
    from trainables.corpora.layouts import LAYOUTS, SamplerRequest, check_layout, make_sampler

    entry = plug("my_layout.py", LAYOUTS)

    def request(size: int) -> SamplerRequest:
        return SamplerRequest(CorpusConfig(layout=entry.name), SpansConfig(), size, 1, None, None, Path(), 32)

    sampler, description = make_sampler(entry.name, request(8))
    batch = sampler.batch(3)
    assert len(batch.label) == 8
    assert len(batch.sentences) == len(set(batch.sentences))
    for first, second in zip(batch.premise, batch.hypothesis, strict=True):
        numbers = [int(batch.sentences[i].split()[1]) for i in (first, second)]
        assert numbers[1] == numbers[0] + 1
    assert description["layout"] == "next_lines"
    with pytest.raises(UserError, match="the poem"):
        check_layout(entry.name, request(100))


def test_a_pooling(plug: Plug, make_encoder: Any) -> None:
    from trainables.encoders.pooling import POOLINGS

    entry = plug("my_pooling.py", POOLINGS)
    encoder = make_encoder(entry.name)
    alone = encoder.encode(["two dogs run"])
    both = encoder.encode(["two dogs run", "a man is sleeping on a bench in the park"])
    np.testing.assert_allclose(both[0], alone[0], atol=1e-5)  # padding has no say
    assert np.isfinite(both).all()


def test_a_kind_of_encoder(plug: Plug) -> None:
    from trainables.encoders import load_encoder
    from trainables.encoders.contract import trainable
    from trainables.encoders.kinds import ENCODERS

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


def test_a_task(plug: Plug, tmp_path: Path) -> None:
    from trainables.senteval import evaluate
    from trainables.senteval.tasks import TASKS

    entry = plug("my_task.py", TASKS)
    folder = tmp_path / "reviews"
    folder.mkdir()
    for part, count in (("train", 40), ("dev", 10), ("test", 20)):
        lines = [f"{'good' if i % 2 else 'bad'} film number {i}\t{'good' if i % 2 else 'bad'}" for i in range(count)]
        (folder / f"{part}.tsv").write_text("\n".join(["sentence\tlabel", *lines]) + "\n")

    def encode(texts: Any) -> np.ndarray:
        return np.array([[10 * text.startswith("good"), 10 * text.startswith("bad")] for text in texts], np.float32)

    scores = evaluate(encode, tmp_path, (entry.name,), "fast").tasks[entry.name]
    assert scores["test_accuracy"] == 100


def test_a_space(tmp_path: Path) -> None:
    from search_spaces import load_space

    (tmp_path / "my_space.py").write_text(BLOCKS["my_space.py"])
    space = load_space(str(tmp_path / "my_space.py"))
    assert [row.label for row in space.rows] == ["margin 5", "margin 1"]


def test_a_sampler(plug: Plug) -> None:
    import optuna

    from study.samplers import SAMPLERS

    entry = plug("my_sampler.py", SAMPLERS)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=entry.build(0))
    drawn = [study.ask().suggest_float("tau", 0.0, 1.0) for _ in range(8)]
    assert len(set(drawn)) == 8


def test_a_scheduler(plug: Plug) -> None:
    from ray.tune.schedulers import TrialScheduler

    from study.schedulers import SCHEDULERS

    entry = plug("my_scheduler.py", SCHEDULERS)
    assert isinstance(entry.build(), TrialScheduler)
    assert entry.stops


def test_a_section(plug: Plug, tmp_path: Path) -> None:
    from reports.report import write_report
    from reports.sections import SECTIONS
    from tests.synthetic_results import make_results

    plug("my_section.py", SECTIONS)
    make_results(tmp_path / "results")
    report = write_report(tmp_path / "results").read_text()
    assert "## The slowest trial\n" in report


def test_a_recipe_takes_its_names(plug: Plug) -> None:
    """A plugin's entry is a value of its key at once."""
    from trainables.objectives import OBJECTIVES

    with pytest.raises(UserError, match="alignment"):
        Recipe().override({"objective.name": "alignment"})
    plug("my_objective.py", OBJECTIVES)
    assert Recipe().override({"objective.name": "alignment"}).objective.name == "alignment"
