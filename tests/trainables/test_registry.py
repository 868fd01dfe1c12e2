"""Registries: names once, clear refusals, and entries whose code is loaded when it is needed."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from trainables import plugins
from trainables.errors import UserError
from trainables.plugins import run_source
from trainables.registry import Registry, load


@dataclass(frozen=True)
class Thing:
    name: str


def test_a_name_is_there_once():
    things = Registry("thing", Thing("one"), Thing("two"))
    with pytest.raises(UserError, match="the name 'one' is taken by another thing; give yours another name"):
        things.add(Thing("one"))
    things.remove("one")
    things.add(Thing("one"))
    assert list(things) == ["two", "one"]


def test_an_unknown_name_is_told_the_nearest_and_all():
    things = Registry("thing", Thing("alpha"), Thing("beta"))
    with pytest.raises(UserError, match=r"no thing 'alpa'; did you mean 'alpha'\? the names are 'alpha' or 'beta'"):
        things["alpa"]
    assert "alpa" not in things


def test_load():
    assert load("trainables.registry:Registry") is Registry
    assert load(Thing) is Thing


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("no_such_module:thing", "names 'no_such_module:thing', but there is no module 'no_such_module'"),
        ("trainables.nowhere:thing", "there is no module 'trainables.nowhere'"),
        ("trainables.registry:Regisry", "trainables.registry has no 'Regisry'"),
    ],
)
def test_a_misspelt_entry_is_one_sentence(target: str, sentence: str):
    with pytest.raises(UserError, match=sentence):
        load(target)


def test_what_a_module_itself_lacks_is_not_hidden(tmp_path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "lacking.py").write_text("import no_such_library\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        load("lacking:thing")


def test_a_space_takes_away_only_what_it_added(tmp_path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "lazy_things.py").write_text(
        "from dataclasses import make_dataclass\nfrom trainables.registry import Registry\n"
        "Thing = make_dataclass('Thing', ['name'], frozen=True)\nTHINGS = Registry('thing', Thing('built_in'))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "_loaded_files", {})
    run_source("from lazy_things import *\nTHINGS.add(Thing('mine'))\nSPACE = {}\n", "space.py", "space")
    from lazy_things import THINGS  # type: ignore[import-not-found]

    assert list(THINGS) == ["built_in", "mine"]
    plugins.withdraw_spaces()
    assert list(THINGS) == ["built_in"]
