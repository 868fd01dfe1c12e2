"""A recipe has the keys of the components that it chooses and no others; a stranger's are as good as ours."""

from __future__ import annotations

import random
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from search_spaces import Domain, spaces
from study.check import check_plan
from study.cli.listing import list_keys
from study.cli.options import parse
from study.plan import decide, read_request
from study.search.ask_tell import AskTell, memory_study
from study.search.journal import explored_recipe, name_explored
from study.search.points import applying, in_order, point
from study.search.samplers import SAMPLERS
from tests.contributing import PLUGINS
from trainables import plugins
from trainables.errors import UserError
from trainables.evaluation_config import all_keys
from trainables.keys import Value
from trainables.objectives import OBJECTIVES
from trainables.objectives.objective import Objective
from trainables.plugins import load_plugin
from trainables.recipe import FIDELITY, Recipe, keys, parse_assignment

RELEASED = {FIDELITY: "released"}


@pytest.mark.parametrize("name", [name for name, item in all_keys().items() if item.names is not None])
def test_every_component_says_what_it_is(name: str) -> None:
    """`--keys` prints it, so no page lists components."""
    item = all_keys()[name]
    assert item.names is not None
    for entry in item.names.values():
        assert f" {entry.name}: {entry.meaning}" in item.full_meaning
        assert entry.meaning


class TestWhatARecipeHas:
    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"objective.margin": 1.0}, "objective.name=scl has no objective.margin; leave it out, or take objective."),
            ({"spans.anchors": 1}, "corpus.layout=rows has no spans.anchors; leave it out, or take corpus.layout 'spa"),
            ({"corpus.paraphraser": "x"}, "corpus.paraphraser changes nothing in this recipe; leave it out"),
            ({"head.dim": 8}, "head.kind=none has no head.dim; leave it out, or take head.kind 'linear' or 'mlp'"),
            ({"encoder.lora_rank": 4}, "encoder.lora_rank changes nothing where encoder.adapter is none; leave it out"),
            ({"optimisation.keep_every": 4}, "optimisation.keep_every changes nothing where optimisation.keep is last"),
            ({"objective.bank_warmup": 4}, "objective.bank_warmup changes nothing where objective.bank is 0; leave it"),
            ({"pooling.mode": "cls", "pooling.padding": "count"}, "pooling.mode=cls has no pooling.padding; leave it"),
            ({"optimisation.momentum": 0.5}, "optimisation.optimiser=adamw has no optimisation.momentum; leave it out"),
            ({"encoder.kind": "pipeline", "encoder.layers": 2}, "encoder.layers changes nothing where encoder.kind is"),
            ({"optimisation.epochs": 0, "optimisation.batch_size": 8}, "changes nothing where nothing is trained"),
        ],
    )
    def test_others_are_refused_by_name(self, changes: dict[str, Any], sentence: str) -> None:
        with pytest.raises(UserError) as caught:
            Recipe().override(changes)
        assert sentence in str(caught.value)
        assert set(changes) - set(Recipe().preferring(changes).flat()) != set()

    def test_a_value_waits_for_its_key(self) -> None:
        """So a space's base may hold what only some rows have."""
        base = Recipe().preferring({"objective.name": "mnrl", "corpus.layout": "groups", "objective.margin": 2.0})
        assert "objective.margin" not in base.flat()
        triplet = base.override({"objective.name": "triplet"})
        assert triplet.flat()["objective.margin"] == 2.0
        assert triplet.override({"objective.name": "mnrl"}) == base
        assert base.hash == Recipe().override({"objective.name": "mnrl", "corpus.layout": "groups"}).hash

    def test_of_one_that_trains_nothing_only_the_encoder_is_left(self) -> None:
        sections = {name.partition(".")[0] for name in Recipe().override({"optimisation.epochs": 0}).flat()}
        assert sections == {"encoder", "pooling", "optimisation"}
        whitened = Recipe().override({"optimisation.epochs": 0, "pooling.after": "whiten"})
        assert "corpus.nli" in whitened.flat()


class TestReleasedCode:
    """`objective.fidelity` is a preset: it writes plain keys."""

    def test_of_liao(self) -> None:
        flat = Recipe().override(RELEASED).flat()
        assert (flat["objective.anchors"], flat["objective.false_negatives"]) == ("rows", "keep")
        assert (flat["pooling.padding"], flat["optimisation.schedule"]) == ("count", "constant")
        assert FIDELITY not in flat
        assert Recipe.from_flat(flat).hash == Recipe().override(RELEASED).hash
        assert "pooling.padding" not in Recipe().override({**RELEASED, "pooling.mode": "cls"}).flat()

    def test_only_declutr_divides_by_the_workers(self) -> None:
        spans, pairs = (
            Recipe().override({"objective.name": "ntxent", "corpus.layout": layout, **RELEASED}).flat()
            for layout in ("spans", "pairs")
        )
        assert (spans["objective.workers"], spans["spans.places"]) == ("mean", "blocks")
        assert (pairs["objective.workers"], pairs["objective.false_negatives"]) == ("sum", "keep")

    def test_keys_that_are_set_win_and_each_row_has_its_own(self) -> None:
        mixed = Recipe().override({**RELEASED, "objective.anchors": "premises"})
        assert mixed.flat()["objective.anchors"] == "premises"
        supmpn = Recipe().preferring(RELEASED).override({"objective.name": "supmpn", "corpus.layout": "groups"})
        assert supmpn.flat()["objective.own_positives"] == "score_zero"
        assert parse_assignment("objective.fidelity=released") == (FIDELITY, "released")
        with pytest.raises(UserError, match=r"objective\.fidelity must be 'paper' or 'released', not 'code'"):
            parse_assignment("objective.fidelity=code")


def twenty_draws(conditional: bool, base: Recipe, domains: tuple[Domain, ...]) -> list[tuple[Any, Recipe]]:
    """Twenty trials and recipes, as a search draws them one after the other. `conditional` as of `SamplerEntry`."""
    ask_tell = AskTell(memory_study(SAMPLERS["random"].build(0)), base, domains, conditional=conditional)
    return [ask_tell.ask() for _ in range(20)]


class TestSearch:
    def test_a_recipe_is_not_asked_for_twice_by_a_key_that_nothing_reads(self) -> None:
        domains = (
            Domain("objective.margin", low=1.0, high=9.0),  # before what decides it
            Domain("objective.name", choices=("mnrl", "triplet")),
            Domain("head.dim", choices=(8, 16)),
        )
        base = Recipe().override({"corpus.layout": "groups"})
        for conditional in (True, False):
            recipes = [recipe for _, recipe in twenty_draws(conditional, base, domains)]
            margins: dict[str, list[Any]] = {"mnrl": [], "triplet": []}
            for recipe in recipes:
                margins[recipe.objective.name].append(recipe.flat().get("objective.margin"))
            assert len(set(margins["triplet"])) == len(margins["triplet"]) > 3
            assert set(margins["mnrl"]) == {None}
            assert len({recipe.hash for recipe in recipes}) == len(set(margins["triplet"])) + 1
            assert {recipe.flat().get("head.dim") for recipe in recipes} == {None}

    def test_domains_come_after_what_decides_them(self) -> None:
        margin, name, rate = (
            Domain("objective.margin", low=1.0, high=9.0),
            Domain("objective.name", choices=("mnrl", "triplet")),
            Domain("optimisation.learning_rate", low=1e-5, high=1e-3),
        )
        assert in_order((margin, rate, name)) == (rate, name, margin)
        assert in_order((name, margin, rate)) == (name, margin, rate)

    @pytest.mark.parametrize("space", spaces().values(), ids=lambda space: space.name)
    def test_the_conditions_of_the_spaces_here_say_no_more_than_their_keys_do(self, space: Any) -> None:
        assert in_order(space.domains) == space.domains
        base, draws = space.base.flat(), random.Random(1)
        for _ in range(40):
            drawn = {domain.key: draws.choice(ends(domain)) for domain in space.domains}
            applied = applying(space.domains, drawn, base)
            assert {key: space.base.override(applied).flat()[key] for key in applied} == applied

    @pytest.mark.parametrize("conditional", [True, False])
    def test_a_journal_gives_the_recipes_that_were_asked_for(self, conditional: bool) -> None:
        """Also where the domains are listed before what decides them, and one that does not apply would decide."""
        domains = (
            Domain("head.dim", choices=(8, 16)),
            Domain("head.kind", choices=("none", "mlp"), when=("optimisation.keep", ("average",))),
            Domain("optimisation.keep", choices=("last", "average")),
        )
        base = Recipe()
        trials, recipes = zip(*twenty_draws(conditional, base, domains), strict=True)
        assert ({len(trial.params) for trial in trials} == {len(domains)}) == (not conditional)
        for trial, recipe in zip(trials, recipes, strict=True):
            name_explored(trial, "a", recipe)
        explored = [explored_recipe(trial, base, domains) for trial in trials[0].study.get_trials()]
        assert [recipe.hash for recipe in explored if recipe] == [recipe.hash for recipe in recipes]
        assert {recipe.flat().get("head.dim") for recipe in recipes} == {None, 8, 16}

    def test_a_row_is_a_point_whatever_the_order_of_the_domains(self) -> None:
        base = Recipe().override({"corpus.layout": "groups", "objective.name": "mnrl"})
        row = base.override({"objective.name": "triplet", "objective.margin": 2.0})
        domains = [Domain("objective.margin", low=1.0, high=9.0), Domain("objective.name", choices=("mnrl", "triplet"))]
        chosen = {"objective.name": "triplet", "objective.margin": 2.0}
        assert point(row, base, domains) == point(row, base, domains[::-1]) == chosen


def ends(domain: Domain) -> tuple[Value, ...]:
    """Every name, and of numbers the least and the largest."""
    values = domain.grid_values or (domain.low, domain.high)
    return values if isinstance(values[0], str) else (values[0], values[-1])


class TestSet:
    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ("--space supmpn_main --set objective.margin=3", "objective.name=supmpn has no objective.margin"),
            ("--space scl_lambda --documents texts.txt", "--documents changes nothing in this study:"),
            ("--space scl_lambda --set objective.bank_warmup=9", "objective.bank is 0"),
            ("--space scl_lambda --set optimisation.epochs=0 --set lr=1", "changes nothing where nothing is trained"),
        ],
    )
    def test_what_no_trial_reads_is_refused(self, arguments: str, sentence: str, tmp_path: Path) -> None:
        plan = decide(read_request(parse([*arguments.split(), "--scale", "laptop", "--results", str(tmp_path)])), 0)
        with pytest.raises(UserError, match="changes nothing in this study") as caught:
            check_plan(plan)
        assert sentence in str(caught.value)

    @pytest.mark.parametrize(
        "arguments",
        [
            "--space scl_lambda --set head.dim=32 --set head.kind=mlp",
            "--space scl_ablation --search optuna --trials 1 --only 'SBERT *' --set head.dim=32",  # it tries heads
            "--space contrastive_all --search optuna --trials 1 --set objective.margin=3",  # a triplet loss may come
            "--space supmpn_objectives --set objective.margin=3",  # some rows have one
        ],
    )
    def test_what_one_trial_reads_is_not(self, arguments: str, tmp_path: Path) -> None:
        given = [*shlex.split(arguments), "--scale", "laptop", "--results", str(tmp_path)]
        check_plan(decide(read_request(parse(given)), 0))


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(plugins, "_loaded_files", {})
    path = tmp_path / "my_objective.py"
    path.write_text(PLUGINS[path.name])
    yield path
    if "alignment" in OBJECTIVES:
        OBJECTIVES.remove("alignment")


class TestAStrangersObjective:
    """Its two keys are as good as ours."""

    def test_set_domains_and_hash(self, plugin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        space = tmp_path / "my_search.py"
        space.write_text(PLUGINS[space.name])
        given = f"--plugin {plugin} --space {space} --set objective.power=3 --results {tmp_path / 'r'} --scale laptop"
        plan = decide(read_request(parse(given.split())), 0)
        check_plan(plan)
        (row,) = plan.rows.values()
        assert row is not None
        assert row.hash != plan.space.base.hash
        assert row.part(Objective) == OBJECTIVES["alignment"](**{"power": 3.0, "evenness": 0.0})
        assert "objective.temperature" not in row.flat()
        assert [(domain.low, domain.high) for domain in plan.space.domains] == [(0.0, 1.0)], "the other one is set"
        assert list_keys([plugin]) == 0
        assert "  objective.evenness = 0.0\n" in capsys.readouterr().out

    def test_optuna_asks_for_them_where_it_is_chosen(self, plugin: Path) -> None:
        load_plugin(plugin)
        base = Recipe().override({"corpus.layout": "pairs", "objective.name": "ntxent"})
        domains = (Domain("objective.name", choices=("ntxent", "alignment")), Domain("objective.evenness"))
        recipes = [recipe.flat() for _, recipe in twenty_draws("random", base, domains)]
        assert {recipe["objective.name"] for recipe in recipes} == {"ntxent", "alignment"}
        assert all(("objective.evenness" in flat) == (flat["objective.name"] == "alignment") for flat in recipes)

    def test_a_key_that_means_something_else_elsewhere_is_refused(self, plugin: Path) -> None:
        plugin.write_text(plugin.read_text().replace("    power: float", "    temperature: float"))
        load_plugin(plugin)
        with pytest.raises(UserError, match=r"Alignment defines objective\.temperature otherwise than it is defined"):
            keys()
