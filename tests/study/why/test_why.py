"""`--why`: each look sees a planted cause and none where there is none; tries name what gains again; and the page."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.own._sets import PARTS, of_files
from reports.document import markdown
from reports.ledger import LEDGER, Ledger, StudyInfo
from reports.ledger.location import ResultsLocation
from reports.ledger.own_code import trust_folder
from reports.ledger.request import Request
from reports.statistics import Sample
from reports.testing import made_record, make_study
from search_spaces import load_space
from search_spaces.own_data import BATCH, EPOCHS, RATE, TEMPERATURE
from study.cli.options import parse
from study.run import explain, main
from study.why import looks, words
from study.why.case import Cause, StudyCase
from study.why.changes import back, changes_of
from study.why.looks import LOOKS, near_copies
from study.why.page import blocks_of, joined, lines, mended
from study.why.tries import CHOOSING_SEED, JUDGING_SEEDS, Gained, Tries
from tests.study.plans import model_folder
from trainables.corpora.scenes.lexicon import NOUNS
from trainables.encoders import check_trainable, load_encoder
from trainables.encoders.pooling import Mean
from trainables.errors import UserError
from trainables.recipe import SCENES_ENCODER, EncoderConfig

pytestmark = pytest.mark.usefixtures("own_spaces")

Rows = list[tuple[str, ...]]
CaseOf = Callable[..., StudyCase]
WORDS = sorted({nouns[0].singular for nouns in NOUNS.values()})
SIZES = {"train": 300, "dev": 80, "test": 80}


class WordCounts:
    """Texts of common words are near each other."""

    def __init__(self) -> None:
        self.vectors: dict[str, np.ndarray] = {}

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        return np.array([np.sum([self._vector(word) for word in text.split()], axis=0) for text in sentences])

    def _vector(self, word: str) -> np.ndarray:
        word = word.strip(".").lower()
        if word not in self.vectors:
            self.vectors[word] = np.random.default_rng(list(word.encode())).normal(size=512)
        return self.vectors[word]


def pairs(count: int, draw: int, of: Sequence[str] = WORDS) -> Rows:
    """A question and an answer that share some words."""
    random = np.random.default_rng(draw)
    chosen = [random.choice(of, 6, replace=False) for _ in range(count)]
    return [(f"what does {a} {b} {c} {d}", f"{a} {b} is like {e} {f}") for a, b, c, d, e, f in chosen]


def parts_of() -> dict[str, Rows]:
    return {part: pairs(size, draw) for draw, (part, size) in enumerate(SIZES.items())}


def shuffled() -> Rows:
    """Those to train on, the first 60 of which have each the next one's positive."""
    rows = parts_of()["train"]
    return [(row[0], rows[(n + 1) % 60][1]) if n < 60 else row for n, row in enumerate(rows)]


@pytest.fixture
def case_of(tmp_path: Path) -> CaseOf:
    """A case of these rows, with an encoder that counts words."""

    def make(encoder: str = SCENES_ENCODER, **rows: Rows) -> StudyCase:
        parts = {**parts_of(), **rows}
        for part in PARTS:
            with (tmp_path / f"{part}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([("anchor", "positive", "negative")[: len(parts[part][0])], *parts[part]])
        own = of_files("pairs", "mine", tmp_path, encoder)
        load_space(own.space)
        request = Request(train=(str(tmp_path / "train.csv"),), encoder=(encoder,), set=(f"{RATE}=0.5",))
        case = StudyCase(own.base, own.base, own.evaluation, own.goal, request, tmp_path, "results/mine")
        case.__dict__["_encoders"] = (WordCounts(),) * 2
        return case

    return make


def seen(case: StudyCase, *without: str) -> list[str]:
    """The names of the causes; of looks that need no scores."""
    needs = {"ceiling", "configuration", *without}
    return [cause.name for look in LOOKS if look.__name__ not in needs and (cause := look(case))]


def test_where_nothing_is_planted_nothing_is_seen(case_of: CaseOf) -> None:
    assert seen(case_of()) == []


def test_shuffled_positives_are_seen_and_their_rows_named(case_of: CaseOf) -> None:
    cause = looks.mislabelled(case_of(train=shuffled()))
    assert cause.facts["wrong"] == pytest.approx(0.2, abs=0.07)
    assert np.mean([number < 60 for number in cause.rows]) >= 0.9


def test_copies_of_positives_among_negatives_are_seen(case_of: CaseOf) -> None:
    rows = parts_of()["train"]
    negatives = [row[1].upper() if n < 30 else rows[n - 7][1] for n, row in enumerate(rows)]
    case = case_of(train=[(*row, negative) for row, negative in zip(rows, negatives, strict=True)])
    cause = looks.false_negatives(case)
    assert cause.rows == tuple(range(30))
    clean = [(*row, rows[n - 7][1]) for n, row in enumerate(rows)]
    assert looks.false_negatives(case_of(train=clean)) is None


def test_copies_that_meet_in_a_batch_are_seen(case_of: CaseOf) -> None:
    rows = parts_of()["train"][:100]
    cause = looks.false_negatives(case_of(train=[*rows, *((f"again {row[0]}", f"{row[1]}.") for row in rows)]))
    assert cause.facts["met"] > 0.05


def test_a_sample_of_the_rows_meets_as_many_copies_as_all(case_of: CaseOf, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = parts_of()["train"][:150]
    case = case_of(train=[row for row in rows for row in (row, (f"again {row[0]}", f"{row[1]}."))])
    whole = looks._met_in_a_batch(case)
    monkeypatch.setattr("study.why.case.MOST_ROWS", 150)
    del case.__dict__["pairs"]
    assert len(case.pairs) == 150
    assert looks._met_in_a_batch(case) == pytest.approx(whole, rel=0.4)


def test_without_judged_development_items_no_row_is_called_wrong(case_of: CaseOf) -> None:
    assert looks.mislabelled(case_of(train=shuffled(), dev=parts_of()["dev"][:20])) is None


def test_texts_of_another_kind_are_seen(case_of: CaseOf) -> None:
    case = case_of(train=pairs(300, 9, [f"{word}q" for word in WORDS]))
    cause = looks.unlike(case)
    assert cause.facts["area"] > 0.95


def test_leaks_a_small_test_and_odd_settings_are_seen(case_of: CaseOf) -> None:
    parts = parts_of()
    case = case_of(train=[*parts["train"], *parts["dev"][:20]], test=parts["test"][:30])
    odd = {TEMPERATURE: 0.5, BATCH: 4}
    case = dataclasses.replace(case, recipe=case.recipe.override(odd))
    case.__dict__["_encoders"] = (WordCounts(),) * 2
    assert {"leaked", "few_items", "unusual"} <= {*seen(case)}
    leaked, few, unusual = looks.leaked(case), looks.few_items(case), looks.unusual(case)
    assert leaked.facts == {"dev": 0.25, "test": 0.0}
    assert few.facts["items"] == 30
    assert unusual.facts["used"] == odd


def test_answers_with_copies_take_room_from_the_test(case_of: CaseOf) -> None:
    parts = parts_of()
    assert looks.ceiling(case_of()) is None
    doubled = [
        row for question, answer in parts["test"] for row in ((question, answer), (f"is {question}", f"{answer}!"))
    ]
    cause = looks.ceiling(case_of(test=doubled))
    assert cause.facts["lost"] == pytest.approx(50)
    assert cause.facts["doubled"] == len(doubled)


def test_the_encoders_own_configuration_is_held_against_the_recipe(case_of: CaseOf, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    load_encoder(EncoderConfig(name=SCENES_ENCODER, max_length=32), Mean(), device="cpu").save(folder)
    case = case_of(str(folder))
    assert looks.configuration(case) is None
    wrong = dataclasses.replace(case, recipe=case.recipe.override({"pooling.mode": "cls"}))
    cause = looks.configuration(wrong)
    assert (cause.measured, cause.mend) == (True, {"set": {"pooling.mode": "mean"}})
    assert ("configuration", {"pooling.mode": "mean"}) in changes_of(wrong, [])


def test_lost_prompts_are_held_against_the_encoders_own(case_of: CaseOf, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    prompted = EncoderConfig(name=SCENES_ENCODER, max_length=32, query_prompt="ask: ", document_prompt="text: ")
    load_encoder(prompted, Mean(), device="cpu").save(folder)
    case = case_of(str(folder))
    assert case.not_as_configured == {}
    query, document = "encoder.query_prompt", "encoder.document_prompt"
    lost = dataclasses.replace(case, recipe=case.recipe.override({query: None, document: None}))
    ((name, changes), *_) = changes_of(lost, [])
    assert (name, changes) == ("configuration", {query: "ask: ", document: "text: "})
    mend = Cause("configuration", 1.0, mend={"set": changes})
    assert "--set 'encoder.query_prompt=ask: ' --set 'encoder.document_prompt=text: '" in words.command(mend, lost)
    adapted = dataclasses.replace(case, recipe=lost.recipe.override({"encoder.adapter": "mlp"}))
    assert adapted.not_as_configured == {query: "ask: ", document: "ask: "}
    check_trainable(adapted.recipe.override(adapted.not_as_configured))


@pytest.mark.usefixtures("own_folder")
def test_of_an_encoder_with_more_modules_prompts_and_pooling_are_held_against_its_own(
    case_of: CaseOf,
) -> None:
    """Such a one runs as it came through its own pipeline, which has no such keys."""
    name = model_folder("model", "Dense", query="ask: ", passage="text: ")
    case = case_of()
    keys = {"encoder.name": name, "encoder.max_length": None, "pooling.mode": "mean"}
    other = dataclasses.replace(case, recipe=case.recipe.override(keys))
    own = {"encoder.query_prompt": "ask: ", "encoder.document_prompt": "text: ", "pooling.mode": "cls"}
    assert other.not_as_configured == own
    assert other.untrained.encoder.query_prompt == "ask: "


def test_near_copies() -> None:
    assert near_copies("A dog runs in the park today.", "a dog runs in the park, today")
    assert not near_copies("a dog runs in the park", "a cat sleeps on the roof")


class MadeUp(Tries):
    """Scores of trainings by what differs, each item moved a little by its seed."""

    def __init__(self, case: StudyCase, gains: Mapping[str, float], seconds: float = 1e9, lucky: str = "") -> None:
        self.gains, self.lucky, self.now, self.trained = gains, lucky, 0.0, 0
        super().__init__(case, seconds, clock=lambda: self.now)

    def _trained(self, changes: Mapping[str, object], seed: int) -> Sample | None:
        self.now, self.trained = self.now + 1, self.trained + 1
        random = np.random.default_rng([seed, len(repr(changes))])
        items = (
            50 + random.normal(0, 3, 400) + sum(self.gains.get(f"{key}={value}", 0) for key, value in changes.items())
        )
        value = items.mean() + (9 if self.lucky in repr(changes) and self.lucky and seed == CHOOSING_SEED else 0)
        return Sample(np.array([value]), (seed,), effects=((items - items.mean()) / len(items))[None], items="dev")


def test_what_gains_again_is_named_and_what_was_lucky_is_not(case_of: CaseOf) -> None:
    case = case_of()
    colder = float(f"{float(str(case.recipe.flat()[TEMPERATURE])) / 5:.2g}")
    (cause,) = MadeUp(case, {f"{TEMPERATURE}={colder}": 5}, lucky=EPOCHS).causes([])
    assert (cause.name, cause.measured) == ("temperature", True)
    assert cause.facts["gain"] == pytest.approx(5, abs=0.7)
    assert MadeUp(case, {}).causes([]) == []


def test_tries_end_with_their_time(case_of: CaseOf) -> None:
    tries = MadeUp(case_of(), {}, seconds=4)
    tries.causes([])
    assert tries.now <= 5
    assert "epochs" in tries.left_out


def test_suspect_rows_are_left_out_in_a_try(case_of: CaseOf) -> None:
    case = case_of()
    suspect = mended(case, Cause("mislabelled", 1.0, rows=(0, 2)))
    name, changes = changes_of(case, [suspect])[0]
    left = Path(str(changes["corpus.nli"])).read_text().splitlines()
    assert (name, len(left)) == ("mislabelled", len(case.rows) - 2)
    masked = Cause("false_negatives", 1.0, mend={"set": {"objective.false_negatives": "self"}}, rows=(0,))
    assert mended(case, masked) == masked  # a setting mends it


def test_rows_are_named_by_the_lines_of_the_persons_file(case_of: CaseOf) -> None:
    """Rows of several lines, rows that were left out, equal rows, and rows that are there no more."""
    case = case_of()
    file, rows = Path(case.request.train[0]), [(row["anchor"], *row["positive"]) for row in case.rows]
    case.rows[3] = case.rows[1]
    with file.open("w", newline="") as written:
        kept = [(f"{rows[0][0]}\n", f"\n\n{rows[0][1]}"), ("", "no anchor"), rows[1], *rows[1:3]]
        csv.writer(written).writerows([("anchor", "positive"), *kept])
    prepared = f"{case.train}, line 5"
    lines = [f"{file}, line {line}" for line in (7, 8, 9, 2)]
    assert case.row_locations([1, 3, 2, 0, 4]) == [*lines, prepared]
    mended(case, Cause("mislabelled", 1.0, rows=(2,)))
    (suspect,) = map(json.loads, (case.folder / "mislabelled-why-suspects.jsonl").read_text().splitlines())
    assert suspect == {"place": lines[2], **case.rows[2]}
    page = markdown(
        blocks_of(case, [Cause("mislabelled", 1.0, facts={"wrong": 0.1, "of": 9, "suspects": 1}, rows=(2,))], [], None)
    )
    assert f"{file.name}, line 9: " in page
    file.unlink()
    assert case.row_locations([4]) == [prepared]


def test_settings_are_taken_back_together_and_alone(case_of: CaseOf) -> None:
    case = case_of()
    base = case.recipe.flat()
    own = {RATE: 0.002, TEMPERATURE: 0.1}
    case = dataclasses.replace(case, recipe=case.recipe.override(own))
    assert back(case) == {key: base[key] for key in own}
    gains = {f"{RATE}={base[RATE]}": -6.0}
    whole, first, second = MadeUp(case, gains).taken_back()
    assert (whole.changes, first.changes, second.changes) == (own, {RATE: 0.002}, {TEMPERATURE: 0.1})
    assert whole.gain == pytest.approx(6, abs=0.7)
    assert "nearly all of it is the learning rate 0.002" in words.worth([whole, first, second], 0.5)


def test_where_all_settings_together_cannot_be_trained_none_is_taken_for_them(
    case_of: CaseOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_of()
    base = case.recipe.flat()
    case = dataclasses.replace(case, recipe=case.recipe.override({RATE: 0.002, TEMPERATURE: 0.1}))
    tries = MadeUp(case, {})
    trained = tries._trained
    both = {RATE: base[RATE], TEMPERATURE: base[TEMPERATURE]}
    monkeypatch.setattr(tries, "_trained", lambda changes, seed: None if changes == both else trained(changes, seed))
    assert tries.taken_back() == []


def test_seeds_that_differ_much_show_nothing(case_of: CaseOf, monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of()
    colder = float(f"{float(str(case.recipe.flat()[TEMPERATURE])) / 5:.2g}")
    tries = MadeUp(case, {f"{TEMPERATURE}={colder}": 5})
    trained = tries._trained

    def noisy(changes: Mapping[str, object], seed: int) -> Sample | None:
        sample = trained(changes, seed)
        return dataclasses.replace(
            sample, values=sample.values + (12 if TEMPERATURE in changes and seed == JUDGING_SEEDS[0] else 0)
        )

    monkeypatch.setattr(tries, "_trained", noisy)
    assert tries.causes([]) == []


def test_a_training_is_scored_on_development_items(case_of: CaseOf) -> None:
    case = case_of(train=parts_of()["train"][:40])
    small = dataclasses.replace(case, recipe=case.recipe.override({BATCH: 16, "encoder.max_length": 16}))
    tries = Tries(small, 60)
    sample = tries._trained({EPOCHS: 1}, JUDGING_SEEDS[0])
    assert sample.effects.shape == (1, SIZES["dev"])
    assert tries._trained({"pooling.mode": "nothing"}, CHOOSING_SEED) is None


def test_the_page_and_the_console_have_sentence_and_command(case_of: CaseOf) -> None:
    case = case_of(train=shuffled())
    estimated = looks.mislabelled(case)
    gained = {"gain": 3.0, "low": 2.0, "high": 4.0, "changes": {RATE: 0.001}, "share": 0.25}
    rate = Cause("rate", 3.0, True, gained, {"set": {RATE: 0.001}})
    causes = joined([estimated], [rate, dataclasses.replace(rate, points=2.5)])
    assert [cause.name for cause in causes] == ["mislabelled", "rate"]
    console = [*lines(case, causes, [], None)]
    assert console[0].startswith("1      Wrong rows, perhaps ")
    assert "with learning rate 0.001 development gains +3.00 [+2.00, +4.00] on 25.0% of the rows" in console[2]
    assert f"--set {RATE}=0.001 --results results/mine-mended-rate" in console[3]
    assert f"{RATE}=0.5" not in console[3]
    case.train.with_name("heldout_dev").mkdir()
    clean = words.command(dataclasses.replace(estimated, mend={"train": ("clean.jsonl",)}), case)
    assert "--train clean.jsonl" in clean
    assert f"--dev {case.train.with_name('heldout_dev')}" in clean
    page = markdown(blocks_of(case, causes, [], None))
    assert "Nothing was trained: --limit minutes=10" in page
    assert f"and {len(estimated.rows) - 20} more rows" in page
    nothing = "Why    nothing is seen of: false negatives, training data unlike the test, leaks, "
    nothing += "a test of fewer than 50 items, no room, the encoder's own settings, unusual settings"
    assert [*lines(case, [], [], None)] == [f"{nothing}; no change of settings was tried"]
    no_time = Tries(case, 0.0, left_out=["rate"])
    assert [*lines(case, [], [], no_time)] == [f"{nothing}; no change of settings was tried, for want of time"]
    assert words.how(case, no_time).endswith("A larger --limit also tries changes of: learning rate.")


def test_the_command_looks_into_a_study(case_of: CaseOf, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case, results = case_of(test=parts_of()["test"][:30]), tmp_path / "results"
    (space,) = tmp_path.glob("space_*.py")
    results.mkdir()
    shutil.copy(space, results / "space.py")
    scores = {"mine": {"dev_ndcg@10": 50.0, "test_ndcg@10": 50.0}}
    info = StudyInfo(
        load_space(space).name,
        "space.py",
        base=dict(case.base.flat()),
        evaluation=dict(case.evaluation.flat()),
        row_hashes={"base settings": case.base.hash},
        requests=[dataclasses.replace(case.request, results=str(results)).values],
    )
    info.save(results)
    trust_folder(results)
    record = made_record(dict(case.base.flat()), case.base.hash, 0, scores=scores, protocol=case.evaluation.protocol)
    Ledger(results / LEDGER).write(record)
    assert main(["--why", str(results)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Look   at ")
    assert "A small test: the test has 30 items" in printed
    assert "How    Looks read" in printed
    assert "A small test" in (results / "why.md").read_text()
    make_study(tmp_path / "paper", rows=1, seeds=1)
    with pytest.raises(UserError, match="no study of --train"):
        main(["--why", str(tmp_path / "paper")])


def test_every_look_and_change_has_its_words(case_of: CaseOf) -> None:
    assert {*(look.__name__ for look in LOOKS)} == {*words.SENTENCES}
    assert {*(look.__name__ for look in LOOKS), *(name for name, _ in changes_of(case_of(), []))} <= {*words.TITLES}
    gained = Gained("base", {RATE: 0.1}, 1.0, 0.5, 1.5)
    (sentence,) = words.worth([gained], 1.0)
    assert sentence.startswith("the answer stands; in tries learning rate 0.1 gain +1.00 [+0.50, +1.50] over the base")


@pytest.mark.parametrize("kind", ["use", "base", "as it came"])
def test_what_the_answer_trains_is_in_question_and_not_what_it_refused(
    kind: str, case_of: CaseOf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    case = case_of()
    refused = case.base.override({TEMPERATURE: 0.336})
    finals = {recipe.hash: [SimpleNamespace(recipe=recipe.flat())] for recipe in (case.base, refused)}
    picked, base = (SimpleNamespace(recipe=recipe.hash) for recipe in (refused, case.base))
    to_train = {"use": picked, "base": base, "as it came": None}[kind]
    answer = SimpleNamespace(picked=(picked,), to_train=to_train)
    info = SimpleNamespace(request=case.request)
    results = SimpleNamespace(
        goals=[case.goal], base=case.base, evaluation=case.evaluation, finals=finals, info=info, folder=tmp_path
    )
    monkeypatch.setattr("study.why.case.Answer.of", lambda _: answer)
    monkeypatch.setattr("study.why.case.results_location", lambda _: "results/mine")
    assert StudyCase.of(results).recipe == (refused if kind == "use" else case.base)


def test_the_option_stands_alone() -> None:
    assert parse(["--why", "results/mine", "--limit", "minutes=10"]).why == "results/mine"
    with pytest.raises(UserError, match="--why looks into a study that has run"):
        parse(["--why", "results/mine", "--space", "scl_tau"])


@pytest.mark.parametrize(
    ("left", "printed"),
    [
        (math.inf, "Why    python study/run.py --why"),
        (0.0, "Why    python study/run.py --why"),
        (2.9, "Why    python study/run.py --why"),
        (4.9, "looked for 4 min"),
        (90.0, "looked for 10 min"),
    ],
)
def test_a_study_says_itself_why_in_the_minutes_that_are_left(
    left: float, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = make_study(tmp_path / "study", rows=1)
    monkeypatch.setattr("study.why.page.write", lambda _, minutes: [f"looked for {minutes} min"])
    explain(ResultsLocation(results.folder), left)
    assert capsys.readouterr().out.startswith(printed)


def test_why_that_fails_leaves_the_answer_and_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> Iterator[str]:
        yield "1      Wrong rows"
        raise RuntimeError("out of memory")

    results = make_study(tmp_path / "study", rows=1)
    monkeypatch.setattr("study.why.page.write", fail)
    explain(ResultsLocation(results.folder), 5.0)
    assert "warning: out of memory\nWhy    python study/run.py --why" in capsys.readouterr().out


def test_named_rows_are_no_more_than_the_share_of_wrong_ones_allows() -> None:
    """Where training pairs are only somewhat harder than those of the development part, too."""
    random = np.random.default_rng(0)
    usual, farther = random.beta(0.3, 6, 400), random.beta(0.3, 4, 1200)
    assert len(looks.suspects(farther, usual, 0.05)) <= 0.05 * 1200 / (1 - looks.RIGHT)
    planted = np.concatenate([np.ones(120), random.beta(0.3, 6, 1080)])
    named = looks.suspects(planted, usual, 0.1)
    assert 100 < sum(index < 120 for index in named) >= (1 - looks.RIGHT) * len(named)


def test_wrong_rows_are_not_looked_for_beside_rows_of_the_same_file(
    case_of: CaseOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_of()
    assert "Wrong rows were not looked for" not in words.how(case, None)
    monkeypatch.setattr(StudyCase, "dev_is_held_out", True)
    monkeypatch.setattr(looks, "_judged", lambda case: pytest.fail("these rows judge nothing"))
    assert looks.mislabelled(case) is None
    assert "Wrong rows were not looked for: development rows come from the same file" in words.how(case, None)
