"""The plugins that CONTRIBUTING.md links: each is loaded from outside the repository, and its entry used."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
import torch

from reports.document import markdown
from reports.facts.guards import GUARDS
from reports.facts.results import Results
from reports.formats import FORMATS, Format
from reports.importance import MIN_RECIPES, importance
from reports.ledger import request as requests
from reports.ledger.options import options_of
from reports.report import write_report
from reports.sections import SECTIONS, Section, trust
from reports.testing import FormatContract, SectionContract
from search_spaces import Domain, load_space
from study.callbacks import CALLBACKS
from study.cli.listing import list_keys
from study.search.ask_tell import AskTell, memory_study
from study.search.samplers import SAMPLERS, SamplerEntry
from study.search.schedulers import SCHEDULERS, SchedulerEntry
from study.testing import callbacks as followed
from study.testing.search import SamplerContract, SchedulerContract
from tests.conftest import ROWS, pairs_of
from tests.contributing import PLUGINS, added_lines, diffs
from tests.guarded import put, rewrite
from tests.objective_batches import labelled
from tests.synthetic_results import make_results
from tests.trainables.senteval import test_own_kind as own_kind
from trainables import plugins
from trainables.corpora.augment import AUGMENTATIONS
from trainables.corpora.layouts import LAYOUTS, SamplerRequest, make_sampler
from trainables.corpora.samplers import RowSampler
from trainables.encoders import load_encoder
from trainables.encoders import pooling as poolings
from trainables.encoders.contract import TrainableEncoder, trainable
from trainables.encoders.kinds import ENCODERS
from trainables.encoders.model_card import model_card
from trainables.encoders.pooling import POOLINGS
from trainables.encoders.projection import PROJECTIONS
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig, parse_assignment
from trainables.objectives import OBJECTIVES, chosen_objective
from trainables.objectives.objective import Objective
from trainables.plugins import load_plugin
from trainables.recipe import SCENES_ENCODER, EncoderConfig, Recipe, keys
from trainables.senteval import evaluate
from trainables.senteval.protocol import PROTOCOLS
from trainables.senteval.tasks import TASKS, Task
from trainables.testing.encoders import TrainableEncoderContract
from trainables.testing.objectives import Built, ObjectiveContract
from trainables.testing.tasks import TaskContract
from trainables.training.distributed import Workers
from trainables.training.loop import Watcher, build_optimiser, train
from trainables.training.optimisers import OPTIMISERS
from trainables.trial import population_key
from trainables.trial.build import build_encoder, build_model
from trainables.trial.data_requests import sampler_request

ROOT = Path(__file__).resolve().parents[2]
FOLLOWED = (Path(__file__), Path(own_kind.__file__))
Plug = Callable[[str, Any], Any]
IN_A_POPULATION = {"encoder.adapter": "mlp", "objective.name": "ntxent", "corpus.layout": "pairs"}


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside the repository, for plugins and what they read."""
    return tmp_path_factory.mktemp("outside")


@pytest.fixture
def plug(outside: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plug]:
    """`plug("my_objective.py", OBJECTIVES)` loads that plugin and returns its entry, for one test."""
    monkeypatch.setattr(plugins, "_loaded_files", {})
    added = []

    def load(name: str, registry: Any) -> Any:
        before = set(registry)
        (outside / name).write_text(PLUGINS[name])
        load_plugin(outside / name)
        (new,) = set(registry) - before
        added.append((registry, new))
        return registry[new]

    yield load
    for registry, name in added:
        registry.remove(name)


def test_every_plugin_is_linked_followed_and_short() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in FOLLOWED)
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(docs/plugins/(\w+\.py)\)", page)) == set(PLUGINS)
    assert [name for name in PLUGINS if f'"{name}"' not in tests] == []
    assert [name for name, text in PLUGINS.items() if len(text.splitlines()) >= 60] == []


def test_an_objective(plug: Plug) -> None:
    entry = plug("my_objective.py", OBJECTIVES)
    objective = Built(entry(), 5)
    batch = labelled([(0, 1, 0), (0, 2, 2), (3, 4, 0)])
    loss = objective(batch)
    assert loss.counts["anchors"] == 2
    assert 0 < loss.value.item() <= 4  # of unit vectors
    loss.value.backward()
    gradient = batch.projected.grad
    assert gradient[[0, 1, 3, 4]].abs().sum(dim=1).min() > 0
    assert gradient[2].abs().sum() == 0  # contradicted
    with pytest.raises(UserError, match="alignment"):
        chosen_objective(Recipe().override({"objective.name": entry.name, "corpus.layout": "spans"}))


@pytest.mark.slow
def test_its_keys_are_searched_and_ranked(plug: Plug, outside: Path) -> None:
    """Both, over the ranges that they name, and the one that decides the score stands first."""
    plug("my_objective.py", OBJECTIVES)
    (outside / "my_search.py").write_text(PLUGINS["my_search.py"])
    space = load_space(outside / "my_search.py")
    domains = space.domains
    search = AskTell(memory_study(optuna.samplers.RandomSampler(seed=0)), space.recipe("laptop"), domains)
    scored = []
    for _ in range(MIN_RECIPES):
        trial, recipe = search.ask()
        assert search.begin(trial.number, recipe, [0])
        score = 10.0 * recipe.flat()["objective.power"]
        scored.append((recipe.flat(), score))
        search.tell(recipe.hash, 0, [score])
    shares = importance(domains, scored)
    assert [effect.key for effect in shares.keys] == ["objective.power", "objective.evenness"]
    assert [effect.share.above for effect in shares.keys] == [True, False]


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


def test_a_pooling(plug: Plug) -> None:
    entry = plug("my_pooling.py", POOLINGS)
    states, mask = (torch.randn(2, 5, 8),), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])
    sizes = states[0][1, :2].abs()
    torch.testing.assert_close(entry(1.0).pool(states, mask)[1], sizes.mean(dim=0))
    torch.testing.assert_close(entry(60.0).pool(states, mask)[1], sizes.amax(dim=0), rtol=0.02, atol=0)  # 2 ** (1 / 60)

    def encoded(power: float, sentences: list[str]) -> np.ndarray:
        chosen = {"encoder.name": SCENES_ENCODER, "pooling.mode": entry.name, "pooling.power": power}
        return build_encoder(Recipe().override(chosen), 0, None).encode(sentences)

    sentences = ["two dogs run", "a man is sleeping on a bench in the park"]
    np.testing.assert_allclose(encoded(3.0, sentences)[:1], encoded(3.0, sentences[:1]), atol=1e-5)  # no padding
    assert not np.allclose(encoded(3.0, sentences), encoded(1.0, sentences), rtol=0.1)


def test_a_head(plug: Plug, make_encoder: Any) -> None:
    plug("my_head.py", PROJECTIONS)
    recipe = Recipe().override({"head.kind": "dropped", "head.dim": 7, "head.dropout": 0.5})
    head = build_model(recipe, make_encoder()).head
    halved = head[0](torch.ones(100, 100))
    assert set(halved.unique().tolist()) == {0.0, 2.0}
    assert 0.4 < halved.bool().float().mean().item() < 0.6
    assert head(torch.ones(2, make_encoder().dim)).shape == (2, 7)
    assert population_key(recipe.override(IN_A_POPULATION)) is None


def test_an_optimiser(plug: Plug, make_encoder: Any) -> None:
    plug("my_optimiser.py", OPTIMISERS)
    recipe = Recipe().override({"optimisation.optimiser": "nadam", "optimisation.first": 0.8, "optimisation.epochs": 2})
    model = build_model(recipe, make_encoder())
    optimiser = build_optimiser(model, recipe)
    assert isinstance(optimiser, torch.optim.NAdam)
    assert [group["betas"] for group in optimiser.param_groups] == [(0.8, 0.999)] * 2
    before = [parameter.detach().clone() for parameter in model.parameters()]
    train(model, RowSampler(pairs_of(ROWS), 5), recipe, 1, Watcher(), Workers())
    assert any(not torch.equal(now, then) for now, then in zip(model.parameters(), before, strict=True))
    known = Recipe().override(IN_A_POPULATION)
    assert population_key(known) is not None
    assert population_key(known.override({"optimisation.optimiser": "nadam"})) is None


def test_an_augmentation(plug: Plug) -> None:
    plug("my_augmentation.py", AUGMENTATIONS)
    groups = {"corpus.layout": "groups", "objective.name": "mnrl", "corpus.nli": "scenes"}
    recipe = Recipe().override({**groups, "corpus.augmentation": "swap", "corpus.swaps": 1})
    change = sampler_request(recipe, 1).augmentation.change(1, [])
    assert change("one two", random.Random(0)) == "two one"
    assert change("one", random.Random(0)) is None


OWN_KEYS = (
    ("my_objective.py", OBJECTIVES, "objective.name", "objective.power"),
    ("my_layout.py", LAYOUTS, "corpus.layout", "corpus.lines"),
    ("my_encoder.py", ENCODERS, "encoder.kind", "encoder.width"),
    ("my_pooling.py", POOLINGS, "pooling.mode", "pooling.power"),
    ("my_head.py", PROJECTIONS, "head.kind", "head.dropout"),
    ("my_optimiser.py", OPTIMISERS, "optimisation.optimiser", "optimisation.first"),
    ("my_augmentation.py", AUGMENTATIONS, "corpus.augmentation", "corpus.swaps"),
)


@pytest.mark.parametrize(("file", "registry", "chooser", "name"), OWN_KEYS, ids=[key for *_, key in OWN_KEYS])
def test_a_key_of_its_own_is_a_key_like_any_other(
    plug: Plug, file: str, registry: Any, chooser: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In `--set`, `--keys`, domains, hashes and model cards, where the component is chosen, and nowhere else."""
    assert name not in keys()
    entry = plug(file, registry)
    base = Recipe().preferring({"corpus.layout": "groups"} if chooser == "corpus.augmentation" else {})
    chosen = base.preferring({chooser: entry.name})
    assert chosen.flat()[name] == keys()[name].default
    key, value = parse_assignment(f"{name}=0.5" if float in keys()[name].options else f"{name}=7")
    changed = chosen.override({key: value})
    assert (changed.flat()[name], type(changed.flat()[name])) == (value, type(keys()[name].default))
    assert chosen.hash != changed.hash != base.hash
    with pytest.raises(UserError, match=f"{chooser}=.* has no {name}; leave it out, or take {chooser} '{entry.name}'"):
        base.override({key: value})
    with pytest.raises(UserError, match=f"^{name} must "):
        chosen.override({name: "many"})
    if keys()[name].search is not None:
        domain = Domain(name)
        search = AskTell(memory_study(optuna.samplers.RandomSampler(seed=0)), chosen, (domain,))
        values = {search.ask()[1].flat()[name] for _ in range(9)}
        assert len(values) > 1
    list_keys()
    assert f"  {name} = {keys()[name].default}\n" in capsys.readouterr().out
    card = model_card(changed.flat(), EvaluationConfig(), 0, {}, {})
    assert f"| {name.replace('_', chr(92) + '_')} | {value} |" in card


@pytest.mark.slow
def test_a_key_of_its_own_stands_in_the_report(plug: Plug, tmp_path: Path) -> None:
    """In the table of what the search found, in that of importance, and in that of the base recipe."""
    plug("my_pooling.py", POOLINGS)
    (tmp_path / "space.py").write_text(
        "from dataclasses import replace\n"
        "from search_spaces import Domain, spaces\n"
        "FROM = spaces()['scl_ablation']\n"
        "SPACE = replace(FROM, name='mine', base=FROM.base.override({'pooling.mode': 'power_mean'}),\n"
        "    domains=(Domain('pooling.power', grid=(1.0, 2.0, 8.0)), Domain('objective.weight', grid=(0.1, 0.9))))\n"
    )
    info = make_results(tmp_path, load_space(str(tmp_path / "space.py")), explored=MIN_RECIPES, spread=1.0)
    replace(info, space_file="space.py").save(tmp_path)
    report = write_report(tmp_path).read_text()
    assert (
        len(re.findall(r"^\| `#\d+ .*power [1248].*` +\| pooling\.power=[1248], weight=0\.\d+ +\|", report, re.M)) >= 5
    )
    assert re.search(r"^\| `pooling\.power` +\| always +\| +\d+ \|", report, re.M)  # importance
    assert re.search(r"^\| `pooling\.power` +\| `3\.0` +\| same +\|", report, re.M)  # the base recipe


def good_or_bad(texts: Any) -> np.ndarray:
    return np.array([[10 * text.startswith("good"), 10 * text.startswith("bad")] for text in texts], np.float32)


def write_reviews(folder: Path) -> None:
    folder.mkdir()
    for part, count in (("train", 40), ("dev", 10), ("test", 20)):
        lines = [f"{'good' if i % 2 else 'bad'} film number {i}\t{'good' if i % 2 else 'bad'}" for i in range(count)]
        (folder / f"{part}.tsv").write_text("\n".join(["sentence\tlabel", *lines]) + "\n")


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
    (tmp_path / "my_space.py").write_text(PLUGINS["my_space.py"])
    space = load_space(str(tmp_path / "my_space.py"))
    assert [row.label for row in space.rows] == ["margin 5", "margin 1"]


def test_a_guard(plug: Plug, tmp_path: Path) -> None:
    plug("my_guard.py", GUARDS)
    make_results(tmp_path, seeds=(1, 2))
    rewrite(tmp_path, put(cost={"seconds": 5400.0}), "SBERT baseline", seed=2)
    text = markdown(trust.write(Results.load(tmp_path), tmp_path))
    assert "**slow** (1 row): a trial took 1.5 hours, of `SBERT baseline`. Verdicts stand." in text


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
        return plug("my_objective.py", OBJECTIVES)


class TestEncoderKeepsTheContract(TrainableEncoderContract):
    @pytest.fixture
    def encoder(self, plug: Plug) -> TrainableEncoder:
        kind = plug("my_encoder.py", ENCODERS)
        return trainable(load_encoder(EncoderConfig(kind=kind.name, name="trigrams"), device="cpu"))


class TestTaskKeepsTheContract(TaskContract):
    @pytest.fixture
    def task(self, plug: Plug, data: Path) -> Task:
        return plug("my_task.py", TASKS)

    @pytest.fixture
    def data(self, outside: Path) -> Path:
        write_reviews(outside / "reviews")
        return outside


class TestSamplerKeepsTheContract(SamplerContract):
    @pytest.fixture
    def entry(self, plug: Plug) -> SamplerEntry:
        return plug("my_sampler.py", SAMPLERS)


class TestSchedulerKeepsTheContract(SchedulerContract):
    @pytest.fixture
    def entry(self, plug: Plug) -> SchedulerEntry:
        return plug("my_scheduler.py", SCHEDULERS)


class TestSectionKeepsTheContract(SectionContract):
    @pytest.fixture
    def section(self, plug: Plug) -> Section:
        return plug("my_section.py", SECTIONS)


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
        return plug("my_format.py", FORMATS)


@pytest.mark.parametrize("diff", diffs(), ids=["a pooling", "a kind of task", "an option"])
def test_a_diff_applies(diff: str) -> None:
    done = subprocess.run(["git", "apply", "--check"], cwd=ROOT, input=diff, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_diff_of_a_pooling_is_whole(tmp_path: Path) -> None:
    path = "trainables/encoders/pooling.py"
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text((ROOT / path).read_text())
    subprocess.run(["git", "apply", f"--include={path}"], cwd=tmp_path, input=diffs()[0], check=True, text=True)
    beside = dict(vars(poolings))
    exec((tmp_path / path).read_text(), beside)
    states = torch.arange(10.0).unsqueeze(1)
    assert beside["POOLINGS"]["second"]().pool_row((states,), torch.tensor([4, 6])).tolist() == [[1.0], [5.0]]


def test_the_diff_of_an_option_is_whole() -> None:
    """Its field has a value on the command line, in JSON, and in the command that a report prints."""
    beside = dict(vars(requests))
    exec(f"@dataclass(frozen=True)\nclass Asked(Request):\n{added_lines()['reports/ledger/request.py']}", beside)
    added = options_of(beside["Asked"])["most_draws"]
    assert added.default == 100
    assert added.arguments(added.value_of("9")) == ["--most-draws", "9"]
    assert added.json(9) == 9
    assert added.rules[0].broken(beside["Asked"](space="x"))
