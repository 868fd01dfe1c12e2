"""Which keys change nothing in a recipe: what is said of them is what the code does, searches leave them alone, and
`--set` refuses them."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import pytest

from search_spaces import Domain, spaces
from study.check import check_plan
from study.cli.options import parse
from study.plan import decide, read_request
from study.search.ask_tell import Explorer, memory_study
from study.search.journal import HASH, NAME, explored_recipe, name_explored
from study.search.points import applying, in_order, point
from study.search.samplers import SAMPLERS
from tests.objective_batches import grouped, labelled, random_rows
from trainables.corpora.layouts import LAYOUTS, make_sampler
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.idle import RULES, deciding, idle
from trainables.keys import Key, Value
from trainables.objectives import OBJECTIVES
from trainables.recipe import Recipe, keys
from trainables.testing.objectives import Watched, keys_read
from trainables.trial.check import check_recipes
from trainables.trial.data_requests import sampler_request
from trainables.trial.run import run_trial

BASE = Recipe().override(
    {
        "encoder.name": "scenes-small",
        "corpus.nli": "scenes",
        "corpus.documents": "scenes",
        "corpus.limit": 120,
        "corpus.senteval": "scenes",
        "optimisation.max_steps": 2,
        "optimisation.batch_size": 8,
        "spans.shortest": 4,
        "spans.longest": 8,
    }
)
EVALUATION = EvaluationConfig("scenes", ("STSBenchmark",), "fast")


@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_objective_reads_what_its_entry_says(name: str) -> None:
    entry = OBJECTIVES[name]
    batch = labelled(random_rows(1)) if "rows" in entry.layouts else grouped(1)
    assert keys_read(entry, batch) == set(entry.keys or ())


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_reads_what_its_entry_says(name: str, make_encoder: Any) -> None:
    recipe = BASE.override({"corpus.layout": name, "objective.name": "ntxent", "spans.places": "apart"})
    encoder = make_encoder() if LAYOUTS[name].tokens else None
    request = sampler_request(recipe, 0, encoder)
    corpus, spans = Watched("corpus", request.corpus), Watched("spans", request.spans)
    wanted = 5 if LAYOUTS[name].exact else None  # more than there are, so that they are filled
    watched: Any = {"corpus": corpus, "spans": spans, "positives": wanted}
    sampler, _ = make_sampler(name, dataclasses.replace(request, **watched))
    sampler.batch(0)
    read = (corpus.read | spans.read) - {"corpus.layout"}
    only_paraphrasing = {"corpus.paraphraser"} if LAYOUTS[name].exact else set()
    assert read == set(LAYOUTS[name].keys or ()) - only_paraphrasing - {"corpus.senteval"}  # it is the request's folder


TRIALS: dict[str, dict[str, Value]] = {
    "scl": {},
    "released": {"objective.name": "ce_augment", "objective.fidelity": "released"},
    "mnrl": {"objective.name": "mnrl", "corpus.layout": "groups", "pooling.mode": "mean"},
    "pairs": {"objective.name": "ntxent", "corpus.layout": "pairs", "head.kind": "mlp", "objective.bank": 16},
    "similar pairs": {"objective.name": "supcon", "corpus.layout": "similar_pairs", "optimisation.keep": "average"},
    "sentences": {"objective.name": "simcse", "corpus.layout": "sentences", "optimisation.keep": "best"},
    "spans": {"objective.name": "supmpn", "corpus.layout": "spans"},
    "untrained": {"optimisation.epochs": 0},
    "whitened": {"optimisation.epochs": 0, "pooling.after": "whiten"},
}


@pytest.mark.parametrize("name", TRIALS)
def test_a_trial_is_the_same_whatever_its_idle_keys_say(name: str) -> None:
    """All of them at once, but those that are refused there anyway."""
    recipe = BASE.override(TRIALS[name])
    check_recipes([recipe], EVALUATION)
    changed = recipe
    for key in keys().values():
        if idle(recipe.flat(), key.name) is not None:
            try:
                other = changed.override({key.name: another(key, recipe.flat()[key.name])})
                check_recipes([other], EVALUATION)
            except UserError:
                continue
            changed = other
    different = {key for key, value in changed.flat().items() if value != recipe.flat()[key]}
    assert len(different) >= 8
    assert changed.hash != recipe.hash
    ours, theirs = (run_trial(one, 1, EVALUATION) for one in (recipe, changed))
    assert ours.training.get("loss") == theirs.training.get("loss")
    assert numbers(ours.scores) == numbers(theirs.scores)


def numbers(scores: Any) -> dict[str, Any]:
    return {task: {k: v for k, v in found.items() if k != "seconds"} for task, found in scores.items()}


def another(key: Key, value: Any) -> Value:
    """Another value of a key."""
    if key.names is not None:
        return next(name for name in key.names if name != value)
    if key.literals and None not in key.options and int not in key.options:
        return next(one for one in key.literals if one != value)
    if key.literals and value is None:
        return key.literals[-1]
    if tuple in key.options or isinstance(value, tuple):
        return ("query",)
    if str in key.options:
        return "elsewhere"
    if isinstance(value, float) or float in key.options:
        return 0.75 * value if value else 0.25
    return int(value) + 1 if isinstance(value, int) else 7


class TestSearch:
    def test_a_recipe_is_not_asked_for_twice_by_a_key_that_nothing_reads(self) -> None:
        domains = (
            Domain("objective.margin", low=1.0, high=9.0),  # before what decides it
            Domain("objective.name", choices=("mnrl", "triplet")),
            Domain("head.dim", choices=(8, 16)),
        )
        base = Recipe().override({"corpus.layout": "groups"})
        for sampler in ("random", "qmc"):
            entry = SAMPLERS[sampler]
            explorer = Explorer(memory_study(entry.build(0)), base, domains, conditional=entry.conditional)
            recipes = [explorer.ask()[1] for _ in range(20)]
            margins = {name: [r.objective.margin for r in recipes if r.objective.name == name] for name in OBJECTIVES}
            assert len(set(margins["triplet"])) == len(margins["triplet"]) > 3
            assert set(margins["mnrl"]) == {base.objective.margin}
            assert {recipe.head.dim for recipe in recipes} == {None}

    def test_domains_come_after_what_decides_them(self) -> None:
        margin, name, rate = (
            Domain("objective.margin", low=1.0, high=9.0),
            Domain("objective.name", choices=("mnrl", "triplet")),
            Domain("optimisation.learning_rate", low=1e-5, high=1e-3),
        )
        assert in_order((margin, rate, name)) == (rate, name, margin)
        assert in_order((name, margin, rate)) == (name, margin, rate)

    @pytest.mark.parametrize("space", spaces().values(), ids=lambda space: space.name)
    def test_the_spaces_here_ask_for_what_they_always_did(self, space: Any) -> None:
        """Their domains' conditions leave out all that is idle: no recipe has another hash."""
        assert in_order(space.domains) == space.domains
        base = space.base.flat()
        for values in itertools.product(*map(ends, space.domains)):
            drawn = {domain.key: value for domain, value in zip(space.domains, values, strict=True)}
            assert applying(space.domains, drawn, base) == applying(space.domains, drawn, base, with_idle=True)

    @pytest.mark.parametrize("sampler", ["random", "qmc"])
    def test_a_journal_gives_the_recipes_that_were_asked_for(self, sampler: str) -> None:
        """Also where the domains are listed before what decides them, and one that does not apply would decide."""
        domains = (
            Domain("head.dim", choices=(8, 16)),
            Domain("head.kind", choices=("none", "mlp"), when=("optimisation.keep", ("average",))),
            Domain("optimisation.keep", choices=("last", "average")),
        )
        base = Recipe()
        entry = SAMPLERS[sampler]
        explorer = Explorer(memory_study(entry.build(0)), base, domains, conditional=entry.conditional)
        asked = [explorer.ask(lambda trial, recipe: name_explored(trial, "a", recipe))[1] for _ in range(20)]
        found = [explored_recipe(trial, base, domains) for trial in explorer.study.get_trials()]
        assert [recipe.hash for recipe in found if recipe] == [recipe.hash for recipe in asked]
        assert {recipe.head.dim for recipe in asked} == {None, 8, 16}

    def test_a_recipe_of_an_older_journal_keeps_its_hash(self) -> None:
        """There the idle keys were searched, too."""
        base = Recipe().override({"objective.name": "mnrl", "corpus.layout": "groups"})
        domains = (Domain("objective.margin", low=1.0, high=9.0), Domain("objective.temperature", low=0.1, high=1.0))
        explorer = Explorer(memory_study(SAMPLERS["qmc"].build(0)), base, domains, conditional=False)
        explorer.ask(lambda trial, recipe: trial.set_user_attr(NAME, "optuna 1"))
        (trial,) = explorer.study.get_trials()
        older = explored_recipe(trial, base, domains)
        assert older is not None
        assert older.objective.margin == trial.params["objective.margin"] != base.objective.margin
        trial.set_user_attr(HASH, "any")
        newer = explored_recipe(trial, base, domains)
        assert newer is not None
        assert newer.objective.margin == base.objective.margin

    def test_a_row_is_a_point_whatever_the_order_of_the_domains(self) -> None:
        base = Recipe().override({"corpus.layout": "groups", "objective.name": "mnrl"})
        row = base.override({"objective.name": "triplet", "objective.margin": 2.0})
        domains = [Domain("objective.margin", low=1.0, high=9.0), Domain("objective.name", choices=("mnrl", "triplet"))]
        chosen = {"objective.name": "triplet", "objective.margin": 2.0}
        assert point(row.flat(), base, domains) == point(row.flat(), base, domains[::-1]) == chosen


def ends(domain: Domain) -> tuple[Value, ...]:
    """Every name, and of numbers the least and the largest."""
    values = domain.grid_values or (domain.low, domain.high)
    return values if isinstance(values[0], str) else (values[0], values[-1])


class TestSet:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (
                "--space supmpn_main --set objective.margin=3",
                "the objective 'supmpn' does not read it",
            ),
            ("--space scl_lambda --set head.dim=32", "--set head.dim changes nothing in this study: head.kind is none"),
            (
                "--space scl_lambda --documents texts.txt",
                "--documents changes nothing in this study: corpus.layout=rows",
            ),
            ("--space scl_lambda --set encoder.lora_rank=4", "encoder.adapter is none; leave it out"),
            ("--space scl_lambda --set objective.bank_warmup=9", "objective.bank is 0"),
            ("--space scl_lambda --set optimisation.keep_every=9", "optimisation.keep is last"),
            ("--space scl_lambda --set optimisation.epochs=0 --set lr=1", "epochs is 0, so nothing is trained"),
        ],
    )
    def test_what_no_trial_reads_is_refused(self, arguments: str, said: str, tmp_path: Path) -> None:
        plan = decide(read_request(parse([*arguments.split(), "--scale", "laptop", "--results", str(tmp_path)])), 0)
        with pytest.raises(UserError, match="changes nothing in this study") as found:
            check_plan(plan)
        assert said in str(found.value)

    @pytest.mark.parametrize(
        "arguments",
        [
            "--space scl_lambda --set head.dim=32 --set head.kind=mlp",
            "--space scl_ablation --search optuna --trials 1 --only SBERT --set head.dim=32",  # the search has heads
            "--space contrastive_all --search optuna --trials 1 --set objective.margin=3",  # a triplet loss may come
            "--space supmpn_objectives --set objective.margin=3",  # some rows have one
        ],
    )
    def test_what_one_trial_reads_is_not(self, arguments: str, tmp_path: Path) -> None:
        arguments = arguments.replace("--only SBERT", "--only=SBERT baseline")
        given = [
            part.replace("--only=SBERT", "--only=SBERT baseline") for part in arguments.split() if part != "baseline"
        ]
        check_plan(decide(read_request(parse([*given, "--scale", "laptop", "--results", str(tmp_path)])), 0))


def test_every_rule_is_of_keys_that_there_are() -> None:
    assert {key for rule in RULES for key in (*rule.keys, *rule.decided_by)} <= set(keys())
    declared = {key for entry in (*OBJECTIVES.values(), *LAYOUTS.values()) for key in entry.keys or ()}
    assert declared <= set(keys())
    assert all(name not in deciding(name) for name in keys())
