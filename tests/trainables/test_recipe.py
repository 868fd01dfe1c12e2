"""Recipes: one content, one hash; flat and back; every mistake one clear sentence."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainables.errors import (
    MAX_REASON_LENGTH,
    MAX_SENTENCE_LENGTH,
    MAX_VALUE_LENGTH,
    UserError,
    answer_user_errors,
    choices,
    describe_error,
    listed,
    reason,
    sentence,
    shown,
)
from trainables.fingerprints import fingerprint
from trainables.objectives.directions import DIRECTIONS
from trainables.objectives.losses.scl import SCL
from trainables.recipe import Recipe, keys, parse_assignment

ROOT = Path(__file__).resolve().parents[2]
DEFAULTS = Recipe().flat()
EVERY = sorted(keys())
GOLDEN = {
    # A changed hash makes every ledger's finished trials unknown. Change these only where that is meant.
    "ede0de807492": {},
    "0aaa2466dfb9": {
        "encoder.name": "scenes-small",
        "encoder.layers": 1,
        "pooling.mode": "first_last_mean",
        "head.kind": "mlp",
        "head.dim": 32,
        "objective.positives": 3,
        "objective.temperature": 0.05,
    },
}
PROMISED = json.loads((ROOT / "tests" / "trainables" / "defaults.json").read_text())
"""Hashes leave defaults out, so another default would make other recipes of old ones. New keys are added here."""

# Keys that end at 1.
SHARES = {"objective.weight", "optimisation.momentum", "optimisation.warmup", "optimisation.keep_share", "corpus.share"}
SHARES |= {"corpus.mined_max_score", "corpus.mined_min_score"}

# Lists of names that a check knows.
LISTS = {
    "objective.directions": st.sampled_from([DIRECTIONS[:1], DIRECTIONS[:2], DIRECTIONS]),
    "objective.dims": st.sets(st.integers(1, 99)).map(lambda dims: tuple(map(str, sorted(dims, reverse=True)))),
    "corpus.mix_layouts": st.lists(st.sampled_from(["pairs", "groups", "same_label"]), min_size=1).map(tuple),
    "corpus.mix_weights": st.lists(st.floats(0.1, 9).map(str), max_size=3).map(tuple),
    "objective.dims_weights": st.lists(st.floats(0.1, 9).map(str), max_size=3).map(tuple),
}


def values(key: str) -> st.SearchStrategy[Any]:
    """Valid values of a key, from its type."""
    hint = keys()[key].type
    if key in LISTS:
        return LISTS[key]
    if keys()[key].names is not None:
        return st.sampled_from(sorted(keys()[key].names or ()))
    options = get_args(hint) if get_origin(hint) is not Literal and get_args(hint) else (hint,)
    if get_origin(hint) is tuple:
        return st.lists(st.text(max_size=5), max_size=3).map(tuple)
    values: list[st.SearchStrategy[Any]] = []
    for option in options:
        if option is type(None):
            values.append(st.none())
        elif option is int:
            values.append(st.integers(4, 10**6))
        elif option is float:
            top = 1.0 if key in SHARES else 1e6
            values.append(st.floats(1e-9, top, allow_subnormal=False) | st.just(1))
        elif option is str:
            values.append(st.text(max_size=10).filter(lambda text: not {*"~./"} & {*text}))  # no folder of this machine
        elif get_origin(option) is Literal:
            values.append(st.sampled_from(get_args(option)))
    return st.one_of(values)


overrides = st.fixed_dictionaries({}, optional={key: values(key) for key in EVERY})


class TestHash:
    @pytest.mark.parametrize(("digits", "changes"), GOLDEN.items())
    def test_golden(self, digits: str, changes: dict[str, Any]):
        assert Recipe().override(changes).hash == digits

    @pytest.mark.slow
    @given(overrides, st.randoms())
    def test_does_not_depend_on_the_order_of_keys(self, changes: dict[str, Any], random: Any):
        items = list(changes.items())
        random.shuffle(items)
        assert Recipe().preferring(dict(items)).hash == Recipe().preferring(changes).hash

    @given(overrides)
    def test_differs_where_the_content_does(self, changes: dict[str, Any]):
        recipe = Recipe().preferring(changes)
        assert (recipe.hash == Recipe().hash) == (recipe.flat().items() <= DEFAULTS.items())

    def test_a_default_is_a_promise(self):
        values = {name: json.loads(json.dumps(item.default)) for name, item in keys().items()}
        assert values == PROMISED

    def test_a_folder_counts_by_what_it_holds(self, tmp_path: Path):
        """A study that was moved is the same study; so is one whose files are gone, by what it wrote down of them."""
        for name, text in (("a", "1"), ("b", "1"), ("c", "2")):
            (tmp_path / name / "deeper").mkdir(parents=True)
            (tmp_path / name / "deeper" / "pairs.csv").write_text(text)
            (tmp_path / name / "README.md").write_text(name)
        first, moved, other = (Recipe().override({"corpus.nli": str(tmp_path / name)}) for name in "abc")
        assert first.hash == moved.hash != other.hash
        written, before = first.places, first.hash
        (tmp_path / "a" / "deeper" / "pairs.csv").write_text("another text")
        missing = Recipe.from_flat(first.flat())
        assert missing.hash not in (before, other.hash)
        assert missing.hash_with(written) == before

    def test_what_is_not_here_counts_as_its_text(self):
        named = [Recipe().override({"encoder.name": name}) for name in ("some/model", "some/model@v2", "./no/model")]
        assert len({recipe.hash for recipe in named}) == 3
        assert [recipe.places for recipe in named] == [{}, {}, {}]

    def test_one_and_one_point_nought_are_alike(self):
        whole, real = (Recipe().override({"objective.temperature": number}) for number in (1, 1.0))
        assert whole.hash == real.hash
        assert type(whole.flat()["objective.temperature"]) is float


class TestFlat:
    @given(overrides)
    def test_round_trip_through_json(self, changes: dict[str, Any]):
        recipe = Recipe().preferring(changes)
        back = Recipe.from_flat(json.loads(json.dumps(recipe.flat())))
        assert back == recipe
        assert back.hash == recipe.hash


class TestMistakes:
    @pytest.mark.parametrize("key", EVERY)
    def test_a_misspelt_key_names_the_right_one(self, key: str):
        section, name = key.split(".")
        misspelt = f"{section}.{name[:-1]}" if len(name) > 4 else f"{section}.{name}x"
        with pytest.raises(UserError, match=f"{misspelt!r} is not a key of a recipe; did you mean {key!r}"):
            Recipe().override({misspelt: 1})

    @pytest.mark.parametrize("name", ["pooling", "encoder.pooling"])
    def test_a_section_for_a_key_names_its_first_key(self, name: str):
        with pytest.raises(UserError, match=r"did you mean 'pooling\.mode'"):
            Recipe().override({name: "mean"})

    def test_an_unlike_key_gets_the_list(self):
        with pytest.raises(UserError, match="`--keys` prints them all"):
            Recipe().override({"zzz": 1})

    @pytest.mark.parametrize("key", EVERY)
    def test_a_value_of_the_wrong_type_is_refused_with_what_would_work(self, key: str):
        for wrong in (object(), {"a": 1}, True, (1, 2)):
            with pytest.raises(UserError, match=rf"^{key} must be .*, not "):
                Recipe().override({key: wrong})

    @pytest.mark.parametrize(
        ("key", "value", "sentence"),
        [
            ("encoder.adapter", "lore", "encoder.adapter must be 'none', 'mlp' or 'lora', not 'lore'"),
            ("encoder.layers", 0, "encoder.layers must be at least 1, not 0"),
            ("encoder.layers", 1.5, "encoder.layers must be a whole number or none, not 1.5"),
            ("encoder.max_length", 3, "encoder.max_length must be at least 4, not 3"),
            ("head.dim", 0, "head.dim must be at least 1, not 0"),
            ("corpus.limit", 0, "corpus.limit must be at least 1, not 0"),
            ("objective.positives", 0, "objective.positives must be at least 1, not 0"),
            ("objective.negatives", -1, "objective.negatives must be at least 1, not -1"),
            ("objective.weight", 1.1, "objective.weight must lie between 0 and 1, not 1.1"),
            ("objective.weight", "0.5", "objective.weight must be a number, not '0.5'"),
            ("objective.weight", None, "objective.weight must be a number, not None"),
            ("objective.temperature", 0, "objective.temperature must be above 0, not 0.0"),
            ("objective.fidelity", "code", "objective.fidelity must be 'paper' or 'released', not 'code'"),
            ("optimisation.learning_rate", -1, "optimisation.learning_rate must be above 0, not -1.0"),
            ("optimisation.batch_size", 1, "optimisation.batch_size must be at least 2, not 1"),
            ("optimisation.epochs", -1, "optimisation.epochs must be at least 0, not -1"),
            ("optimisation.warmup", 2, "optimisation.warmup must lie between 0 and 1, not 2.0"),
            ("optimisation.weight_decay", -0.1, "optimisation.weight_decay must be at least 0, not -0.1"),
            ("optimisation.clip_norm", 0, "optimisation.clip_norm must be above 0, not 0.0"),
            ("optimisation.chunk", 0, "optimisation.chunk must be at least 1, not 0"),
            ("optimisation.chunk", "most", "optimisation.chunk must be 'auto', a whole number or none, not 'most'"),
            ("optimisation.keep_every", 0, "optimisation.keep_every must be at least 1, not 0"),
            ("optimisation.keep_share", 1.1, "optimisation.keep_share must lie between 0 and 1, not 1.1"),
            ("encoder.precision", "quick", "encoder.precision must be 'fp32', 'tf32' or 'bf16', not 'quick'"),
            ("encoder.lora_targets", "query", "encoder.lora_targets must be a list of names, not 'query'"),
        ],
    )
    def test_the_sentence(self, key: str, value: Any, sentence: str):
        with pytest.raises(UserError) as caught:
            Recipe().preferring({key: value})
        assert str(caught.value) == sentence

    @pytest.mark.parametrize("key", [key for key, item in keys().items() if isinstance(item.default, float)])
    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_what_is_not_finite_is_refused(self, key: str, value: float):
        with pytest.raises(UserError, match=key):
            Recipe().override({key: value})

    def test_a_component_made_directly_is_validated(self):
        with pytest.raises(UserError, match=r"objective\.weight must lie between"):
            SCL(weight=7.0)


class TestAssignment:
    @given(st.data())
    def test_what_is_written_is_read_back(self, data: st.DataObject):
        key = data.draw(st.sampled_from(EVERY))
        value = data.draw(values(key))
        if isinstance(value, str) and (value != value.strip() or value.lower() == "none"):
            return
        if isinstance(value, tuple):
            value = tuple(part.strip() for part in value if part.strip() and "," not in part)
        text = ",".join(value) if isinstance(value, tuple) else str(value)
        if keys()[key].keep_blanks and value is not None:
            value = f" {text} "
        assert parse_assignment(f" {key} = {text} ") == (key, value)

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("objective.positives=none", None),
            ("head.kind=none", "none"),
            ("head.dim=None", None),
            ("optimisation.chunk=512", 512),
            ("objective.temperature=1e-2", 0.01),
            ("encoder.name=a=b", "a=b"),
            ("encoder.lora_targets=query, value,", ("query", "value")),
        ],
    )
    def test_values(self, text: str, value: Any):
        assert parse_assignment(text) == (text.partition("=")[0], value)

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("objective.temperature", "--set 'objective.temperature' has no '='; write it as KEY=VALUE"),
            ("objective.temprature=1", "did you mean 'objective.temperature'?"),
            ("optimisation.epochs=1.5", "optimisation.epochs must be a whole number, not '1.5'"),
            ("objective.positives=many", "objective.positives must be a whole number or none, not 'many'"),
            ("objective.weight=none", "objective.weight must be a number, not 'none'"),
        ],
    )
    def test_mistakes(self, text: str, sentence: str):
        with pytest.raises(UserError) as caught:
            parse_assignment(text)
        assert sentence in str(caught.value)

    @given(st.text(max_size=30))
    def test_any_text_is_parsed_or_refused(self, text: str):
        try:
            key, _ = parse_assignment(text)
        except UserError:
            return
        assert key in keys()


def deep() -> Any:
    """A list within a list, and so on, as far as Python still writes it."""
    value: Any = []
    for _ in range(600):
        value = [value]
    return value


class TestErrors:
    def test_choices(self):
        assert choices(["a"]) == "a"
        assert choices(iter(["a", "b", "c"])) == "a, b or c"

    def test_listed(self):
        assert listed(["a b", "x\n", *"cdefghij"]) == "a b, 'x\\n', c, d, e, f, g, h, 2 more"
        assert listed([]) == "none"

    @pytest.mark.parametrize("value", ["x" * 10**6, "\ud800\x1b[31m\n", {"a": ["b" * 500] * 500}, deep()])
    def test_what_others_brought_in_is_short_and_can_be_printed(self, value: Any):
        assert shown(value).isprintable()
        assert len(shown(value)) <= MAX_VALUE_LENGTH + 10
        for text, most in ((sentence(str(value)), MAX_SENTENCE_LENGTH), (reason(ValueError(value)), MAX_REASON_LENGTH)):
            assert text.isprintable()
            assert len(text) <= most + 10

    def test_an_error_has_its_kind_where_nobody_foresaw_it_or_it_says_nothing(self):
        assert reason(ValueError("no JSON\nat all")) == "no JSON"
        assert reason(MemoryError()) == describe_error(MemoryError()) == "MemoryError"
        assert describe_error(KeyError("model")) == "KeyError: 'model'"
        assert describe_error(UserError("no such thing")) == "no such thing"

    def test_a_front_door_answers_with_one_line_and_code_2(self, capsys: pytest.CaptureFixture[str]):
        def wrong() -> None:
            raise UserError("no such thing")

        assert answer_user_errors(wrong) == 2
        assert capsys.readouterr().err == "error: no such thing\n"
        assert answer_user_errors(lambda: None) == 0

    def test_nobody_has_to_read_what_a_command_prints(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("sys.stdout", None)
        assert answer_user_errors(lambda: None) == 0

    def test_other_exceptions_are_not_hidden(self):
        with pytest.raises(ZeroDivisionError):
            answer_user_errors(lambda: 1 // 0)


def test_a_file_that_cannot_be_read_is_named() -> None:
    unreadable = Path("/proc/self/mem")  # also for a user who may read all: its first bytes are in no memory
    if not unreadable.exists():
        pytest.skip("no file here that nobody can read")
    with pytest.raises(UserError, match="/mem cannot be read: Input/output error"):
        fingerprint(unreadable)


def test_a_folder_that_is_called_as_what_is_built_in_changes_no_hash(tmp_path, monkeypatch):
    recipe = Recipe({"corpus.nli": "scenes", "encoder.name": "scenes-small", "corpus.senteval": "scenes"})
    monkeypatch.chdir(tmp_path)
    for name in ("scenes", "scenes-small"):
        (tmp_path / name / "downstream" / "STS" / "STSBenchmark").mkdir(parents=True)
        (tmp_path / name / "train.jsonl").write_text("{}")
    assert Recipe(recipe.settings).hash == recipe.hash
    assert Recipe(recipe.settings).places == {}
    assert Recipe({**recipe.settings, "corpus.nli": "./scenes"}).hash != recipe.hash
