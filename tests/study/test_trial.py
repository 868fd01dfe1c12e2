"""What a crew is told survives the way through Tune's config."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from reports.ledger import split_key
from study.trial import SourceFile, TrialSpec, specs_of, to_config
from trainables.recipe import Value
from trainables.training.rungs import Measure, RungPlan

VALUES: st.SearchStrategy[Value] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()
)
SOURCES = st.builds(SourceFile, st.sampled_from(["plugin", "space"]), st.text(), st.text())
MEASURES = st.builds(Measure, st.text(), st.lists(st.text()).map(tuple), st.text())
SPECS = st.builds(
    TrialSpec,
    recipe=st.dictionaries(st.text(), VALUES),
    recipe_hash=st.text("0123456789abcdef", min_size=12, max_size=12),
    seed=st.integers(0, 10_000),
    name=st.text(),
    per_worker=st.dictionaries(st.sampled_from(["CPU", "GPU"]), st.floats(0, 8)),
    workers=st.integers(1, 8),
    most_workers=st.integers(1, 8),
    rungs=st.none() | st.builds(RungPlan, st.just("share"), st.just((0.25, 0.5)), st.lists(MEASURES).map(tuple)),
    hardware=st.text(),
    sources=st.lists(SOURCES, max_size=3).map(tuple),
)


@given(st.text(), st.lists(SPECS, max_size=4), st.lists(st.text(), max_size=2))
def test_a_spec_survives_rays_config(key: str, trials: list[TrialSpec], done: list[str]) -> None:
    config = to_config(key, trials, done)
    assert specs_of(json.loads(json.dumps(config))) == specs_of(config) == trials
    assert (config["key"], config["done"]) == (key, done)
    assert [trial["key"] for trial in config["trials"]] == [trial.key for trial in trials]


@given(SPECS)
def test_a_key_is_of_the_recipe_and_the_seed_alone(trial: TrialSpec) -> None:
    """Whatever a label holds, no file is called after it."""
    assert split_key(trial.key) == (trial.recipe_hash, trial.seed)
