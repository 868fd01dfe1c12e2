"""Searches replayed on a made-up record: what a set looks like to them, and where each of them ends."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from benchmarks.own import _replay_peers as peers
from benchmarks.own._portfolio import portfolio
from benchmarks.own._recipes import AS_IT_CAME, BATCH, EPOCHS, RATE, based, designed
from benchmarks.own._replay_ours import Outcomes, search
from benchmarks.own._replay_peers import Proposer
from benchmarks.own._replay_table import Replayed, in_space, space_of
from benchmarks.own._sets import SETS
from benchmarks.own._table import OF_STEPS, REST, SHARES, WHOLE, OwnTable, table_of
from benchmarks.own.own_replay import Run, page, replayed
from reports.ledger.finals import FIRST_FRESH_SEED
from study.search.samplers import SAMPLERS
from study.trial import Trial

ROWS = 3000
KINDS = {"a": "pairs", "b": "pairs", "c": "scored"}


def made(name: str, kind: str, best: float = 5e-4, seed: int = 0) -> OwnTable:
    """Scores fall with the distance of a rate from the best one; parts of the data say nearly the same."""
    chance = np.random.default_rng(seed)
    base, domains = space_of(kind)
    flat = based(base).flat()
    lines = [_line(name, kind, AS_IT_CAME, 1.0, 1, {EPOCHS: 0}, 50.0, 0)]
    for number, keys in designed(domains, flat).items():
        recipe = {**flat, **keys}
        away = abs(math.log(float(str(recipe[RATE])) / best))
        worth = 75 - 5 * away - 10 * (recipe.get("pooling.mode", "mean") != "mean") if number else 50.0
        for share in SHARES:
            steps = math.ceil(share * ROWS / int(str(recipe[BATCH]))) * int(str(recipe[EPOCHS]))
            for seed in (1, 2):
                score = worth + 3 * math.log2(share) + chance.normal(0, 0.3)
                lines.append(_line(name, kind, number, share, seed, keys, score, steps))
    return table_of(pd.DataFrame(lines))


def _line(
    name: str, kind: str, recipe: int, share: float, seed: int, keys: Mapping[str, object], score: float, steps: int
) -> dict[str, object]:
    rungs = {f"rung_{number}": score - 5 / number for number in (1, 2, 3)}
    described = {"set": name, "kind": kind, "recipe": recipe, "share": share, "seed": seed, "keys": json.dumps(keys)}
    seconds = 4 + 20 * share * float(str(keys.get(EPOCHS, 1))) + 0.1 * steps
    return {**described, "dev": score, "test": score - 2, "seconds": seconds, "steps": steps, **rungs}


@pytest.fixture(scope="module")
def tables() -> dict[str, OwnTable]:
    wholes = (made(name, kind, seed=number) for number, (name, kind) in enumerate(KINDS.items()))
    return {table.name: table for whole in wholes if (table := in_space(whole)) is not None}


@pytest.fixture(scope="module")
def own(tables: Mapping[str, OwnTable]) -> Replayed:
    return Replayed.of(tables["a"], [])


@pytest.mark.parametrize("kind", sorted({own.kind for own in SETS.values()}))
def test_a_space_is_that_of_a_study_of_such_data(kind: str) -> None:
    base, domains = space_of(kind)
    keys = [domain.key for domain in domains]
    assert {RATE, BATCH, EPOCHS} <= {*keys}
    assert not {"pooling.mode", "head.kind"} & {*keys}
    assert base.flat()["corpus.layout"] in ("pairs", "groups", "scored_pairs", "same_label")
    table = in_space(made("x", kind))
    assert 30 <= len(table.recipes) < len(made("x", kind).recipes)


def test_without_the_base_settings_there_is_nothing_to_replay() -> None:
    table = made("x", "scored")
    keys = [{**keys, RATE: 3e-4} for keys in table.keys]
    assert in_space(dataclasses.replace(table, keys=tuple(keys))) is None


def test_what_is_asked_for_becomes_the_nearest_recipe_that_was_not_tried(own: Replayed) -> None:
    for index, chosen in enumerate(own.points):
        assert own.nearest(chosen) == index
        assert own.nearest(chosen, {index}) != index
    rates = [float(str(point[RATE])) for point in own.points]
    base = own.points[own.base]
    for rate in (1e-5, 4e-5, 2.9e-4):
        near = own.points[own.nearest({**base, RATE: rate})]
        assert {**near, RATE: 0} == {**base, RATE: 0}
        others = [
            other for other, point in zip(rates, own.points, strict=True) if {**point, RATE: 0} == {**base, RATE: 0}
        ]
        assert near[RATE] == min(others, key=lambda other: abs(math.log(other / rate)))


def test_costs_are_passes_steps_and_the_rest(own: Replayed) -> None:
    assert own.costs[own.base, WHOLE] == pytest.approx(1.0)
    base = own.points[own.base]
    small, long = (
        own.points.index({**base, **changes}) for changes in ({RATE: 2e-4, BATCH: 16}, {RATE: 2e-4, EPOCHS: 3})
    )
    steps = [math.ceil(ROWS / size) for size in (16, int(str(base[BATCH])))]
    assert own.costs[small, WHOLE] == pytest.approx(1 + (1 - REST) * OF_STEPS * (steps[0] / steps[1] - 1))
    assert own.costs[long, WHOLE] == pytest.approx(REST + 3 * (1 - REST))
    assert own.costs[long, 0] == pytest.approx(REST + 3 * (1 - REST) / 8, abs=0.01)


def test_holes_are_filled_from_other_parts(tables: Mapping[str, OwnTable]) -> None:
    table = tables["a"]
    dev, seconds = table.dev.copy(), table.seconds.copy()
    dev[3, 1], seconds[3, 1] = np.nan, np.nan  # was not recorded
    dev[4, 0], seconds[4, 0] = np.nan, np.nan
    dev[5, WHOLE] = np.nan  # failed
    own = Replayed.of(dataclasses.replace(table, dev=dev, seconds=seconds), [])
    assert own.dev[3, 1, 0] == pytest.approx((table.dev[3, 0, 0] + table.dev[3, 2, 0]) / 2)
    assert own.dev[4, 0, 0] == pytest.approx(table.dev[4, 1, 0] - 3, abs=0.7)
    assert own.explored(5, WHOLE, 0) is own.fresh(5, 0, 0, np.random.default_rng(0)) is None
    assert not np.isnan(own.costs).any()


def test_fresh_seeds_are_recorded_ones_and_then_draws(own: Replayed) -> None:
    scores = np.stack([own.dev[3, WHOLE], own.test[3]], axis=1)
    for explored in (0, 1):
        assert own.explored(3, WHOLE, explored) == pytest.approx(tuple(scores[explored]))
        assert own.fresh(3, 0, explored, np.random.default_rng(0)) == pytest.approx(tuple(scores[1 - explored]))
    drawn = np.array([own.fresh(3, 1, 0, np.random.default_rng(number)) for number in range(2000)])
    assert drawn.mean(axis=0) == pytest.approx(scores.mean(axis=0), abs=0.05)
    assert drawn.std(axis=0) == pytest.approx(0.3, abs=0.08)


def test_a_seed_says_the_same_to_whoever_asks(own: Replayed) -> None:
    trial = Trial(own.recipes[2], FIRST_FRESH_SEED + 3, "")
    (seconds, first), (_, second) = (Outcomes(own, 4)(trial) for _ in range(2))
    assert seconds == pytest.approx(180 * own.costs[2, WHOLE])
    assert first.scores == second.scores


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_a_proposer_asks_for_each_recipe_once_and_tells_its_own_values(own: Replayed, sampler: str) -> None:
    entry = SAMPLERS[sampler]
    proposer = Proposer(own, entry.build(0), conditional=entry.conditional, first=[own.numbers[5], 9999])
    indices = []
    while proposer.has_more():
        trial, index = proposer.ask()
        proposer.tell(trial, float(own.truth[index]))
        assert {key: trial.params[key] for key in own.points[index]} == own.points[index]
        indices.append(index)
    assert indices[0] == 5
    assert sorted(indices) == [*range(len(own.recipes))]


def test_our_search_finds_a_good_recipe_and_says_to_use_it(own: Replayed, tables: Mapping[str, OwnTable]) -> None:
    first = portfolio([tables["b"], tables["c"]], 8)
    for time, lacking in ((8, 4.0), (16, 1.0)):
        ended = search(own, time, first, 0)
        assert own.truth.max() - own.truth[ended.recommended] <= lacking
        assert ended == search(own, time, first, 0)
    assert ended.kind == "use"


def test_peers_end_with_the_best_development_score_of_their_time(own: Replayed) -> None:
    for peer in peers.PEERS:
        if peer.name == "Optuna's Gaussian process":  # takes as long as all others
            continue
        indices = peers.search(own, (8.0, 16.0, 32.0), [own.numbers[3]], 0, peer)
        assert None not in indices
        assert own.truth[indices[2]] >= own.truth[indices[0]] - 1
    portfolio = next(peer for peer in peers.PEERS if peer.portfolio)
    assert peers.search(own, (2.5,), [own.numbers[3]], 0, portfolio) == [3]


def test_a_set_is_judged_by_what_other_data_taught_under_its_encoder(
    tables: Mapping[str, OwnTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    taught: list[list[str]] = []

    def spied(others: list[OwnTable], size: int, begin: list[int]) -> list[int]:
        taught.append([table.name for table in others])
        return []

    for name, value in {"portfolio": spied, "PEERS": (), "TIMES": (8.0,)}.items():
        monkeypatch.setattr(f"benchmarks.own.own_replay.{name}", value)
    six = {f"{name}, minilm-6": dataclasses.replace(tables[name], record="minilm-6") for name in "ab"}
    replayed({**tables, **six}, 1)
    assert taught == [["b", "c"], ["a", "c"], ["a", "b"], ["b"], ["a"]]


def test_a_page_has_a_table_for_each_time() -> None:
    common = {"time": 8.0, "scale": 4.0}
    runs = [
        Run(set=name, repeat=repeat, side=side, kind=kind, regret=regret, gain=1.0 - regret, **common)
        for name in "ab"
        for repeat in (0, 1)
        for side, kind, regret in (("ours", "use", 0.5), ("peer", None, 2.0))
    ]
    text = page(runs)
    assert "| ours | 0.50 [0.50, 0.50] | 0.12 [0.12, 0.12] | 100% | 0.0% | use 100% |" in text
    assert "| peer | 2.00 [2.00, 2.00] | 0.50 [0.50, 0.50] | 0% | 100.0% |  |" in text
    assert "The regret of ours is 0.25 times that of the best peer (peer): -1.50 [-1.50, -1.50] points more." in text
