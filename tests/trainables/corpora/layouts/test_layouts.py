"""Every layout of a corpus: what is in a batch, once per epoch, the same in any order of asking."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.conftest import WordEncoder, pairs_of
from tests.json_lines import write_rows
from trainables.corpora.batch import Batch
from trainables.corpora.layouts import (
    LAYOUTS,
    Layout,
    SamplerRequest,
    check_sentences,
    make_sampler,
    training_sentences,
)
from trainables.corpora.nli import NLIPairs, census, load_nli
from trainables.corpora.samplers import GroupSampler, PairSampler, RowSampler
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.labels import LABELS
from trainables.recipe import SCENES_ENCODER, Recipe
from trainables.testing.layouts import check_batch, equal
from trainables.trial import check_recipes as check_whole_recipes

TEXT = st.sampled_from([f"text {letter}" for letter in "abcdefghijkl"])
ROWS = st.lists(st.tuples(TEXT, TEXT, st.integers(0, 2)), min_size=1, max_size=40)
NUMBER = st.one_of(st.none(), st.integers(1, 4))
SHARED = Path("../shared/data")
EVALUATION = EvaluationConfig("scenes", ("STSBenchmark",))


def check_recipes(recipes: Sequence[Recipe]) -> None:
    """With an encoder that is there."""
    check_whole_recipes([recipe.override({"encoder.name": SCENES_ENCODER}) for recipe in recipes], EVALUATION)


def spoken(batch: Batch) -> list[tuple[str, str, int, int]]:
    """A batch's rows as premise, hypothesis, label, group."""
    return [
        (batch.sentences[premise], batch.sentences[hypothesis], int(label), int(group))
        for premise, hypothesis, label, group in zip(
            batch.premise, batch.hypothesis, batch.label, batch.group, strict=True
        )
    ]


def groups(batch: Batch) -> dict[int, tuple[str, list[str], list[str]]]:
    """Group to its anchor, positives and negatives."""
    sides: dict[int, tuple[str, list[str], list[str]]] = {}
    for premise, hypothesis, label, group in spoken(batch):
        anchor, positives, negatives = sides.setdefault(group, (premise, [], []))
        assert anchor == premise
        (positives if label == 0 else negatives).append(hypothesis)
    return sides


def own(rows: list[tuple[str, str, int]]) -> dict[str, tuple[set[str], set[str]]]:
    """Premise to its entailments and those contradictions that are true negatives; only premises with any."""
    sides: dict[str, tuple[set[str], set[str]]] = {}
    for premise in dict.fromkeys(row[0] for row in rows):
        entailed, denied = ({h for p, h, label in rows if p == premise and label == code} for code in (0, 2))
        if entailed or denied - {premise}:
            sides[premise] = entailed, denied - entailed - {premise}
    return sides


@given(rows=ROWS, size=st.integers(1, 45))
def test_rows_are_every_pair_in_order_and_each_sentence_once(rows, size):
    sampler = RowSampler(pairs_of(rows), size)
    assert sampler.steps_per_epoch == -(-len(rows) // size)
    read: list[tuple[str, str, int]] = []
    names: dict[str, int] = {}
    for step in range(sampler.steps_per_epoch):
        batch = sampler.batch(step)
        check_batch(batch, LAYOUTS["rows"])
        assert len(batch.label) == min(size, len(rows) - len(read))
        assert len(set(batch.sentences)) == len(batch.sentences)
        for premise, hypothesis, label, group in spoken(batch):
            read.append((premise, hypothesis, label))
            assert names.setdefault(premise, group) == group  # in every batch
        assert equal(batch, sampler.batch(step + 2 * sampler.steps_per_epoch))
    assert read == rows
    assert len(set(names.values())) == len(names)


def possible(rows: list[tuple[str, str, int]], positives: int | None, negatives: int | None) -> bool:
    """Whether the corpus has an anchor, and for each anchor another text to draw."""
    anchors = {p: sides for p, sides in own(rows).items() if positives or sides[0]}
    pool = {text for sides in anchors.values() for side in sides for text in side}
    return bool(anchors) and (not negatives or all(pool - sides[0] - {p} for p, sides in anchors.items()))


@given(rows=ROWS, size=st.integers(1, 8), positives=NUMBER, negatives=NUMBER | st.just(0), seed=st.integers(0, 3))
def test_groups(rows, size, positives, negatives, seed):
    assume(possible(rows, positives, negatives))
    sampler = GroupSampler(pairs_of(rows), size, seed, positives, negatives)
    premises = own(rows)
    anchors = {p: sides for p, sides in premises.items() if positives or sides[0]}
    assert sampler.units == len(anchors)
    assert sampler.groups.without_pairs == len({row[0] for row in rows}) - len(premises)
    assert sampler.groups.without_entailment == len(premises) - len(anchors)
    assert sampler.filled_positives == sum(max(0, (positives or 0) - len(e)) for e, _ in anchors.values())
    assert sampler.filled_negatives == sum(max(0, (negatives or 0) - len(c)) for _, c in anchors.values())
    pool = {text for sides in anchors.values() for side in sides for text in side}
    for epoch in range(2):
        anchors_of_epoch: list[str] = []
        for part in range(sampler.steps_per_epoch):
            batch = sampler.batch(epoch * sampler.steps_per_epoch + part)
            check_batch(batch, LAYOUTS["groups"])
            sides = groups(batch)
            assert len(sides) == min(size, len(anchors))  # no step is short
            for anchor, near, far in sides.values():
                anchors_of_epoch.append(anchor)
                entailed, denied = anchors[anchor]
                assert len(near) == (positives or len(entailed))
                assert len(far) == (len(denied) if negatives is None else negatives)
                kept = min(len(near), len(entailed))
                assert set(near[:kept]) <= entailed  # its own first, none twice
                assert len(set(near[:kept])) == kept
                assert near[kept:] == [anchor] * (len(near) - kept)
                kept = min(len(far), len(denied))
                assert len(set(far[:kept]) & denied) == kept
                assert not set(far) & (entailed | {anchor})
                assert set(far) <= pool
                assert len(set(far)) == min(
                    len(far), len(pool - entailed - {anchor})
                )  # none twice, if there are others
            # A copy of the anchor is an item of its own, every other text stands once.
            copies = sum(hypothesis == premise for premise, hypothesis, _, _ in spoken(batch))
            assert len(batch.sentences) == len(others(batch)) + copies
        assert len(set(anchors_of_epoch)) == len(anchors_of_epoch) == len(anchors) - sampler.left_out_each_epoch
        assert sampler.left_out_each_epoch < max(size, 1)


def others(batch: Batch) -> set[str]:
    """Texts of anchors, and of hypotheses that are no copies of theirs."""
    rows = spoken(batch)
    return {premise for premise, *_ in rows} | {h for p, h, _, _ in rows if p != h}


SOME = [(f"premise {i}", f"hypothesis {i} {j}", (0, 2, 1)[j % 3]) for i in range(23) for j in range(i % 9 + 1)]


def test_epochs_and_seeds_differ():
    pairs = pairs_of(SOME)
    sampler, other = (PairSampler(pairs.premises, pairs.hypotheses, 4, seed) for seed in (1, 2))
    assert not equal(sampler.batch(sampler.steps_per_epoch), sampler.batch(0))
    assert not equal(other.batch(0), sampler.batch(0))


def test_a_sampler_is_freed_with_its_trial():
    """Without the collector of cycles: what a trial read does not outlive it in a worker."""
    pairs = pairs_of(SOME)
    gc.disable()
    try:
        for make in (lambda: PairSampler(pairs.premises, pairs.hypotheses, 4, 0), lambda: RowSampler(pairs, 4)):
            sampler = make()
            sampler.batch(0)
            sampler.batch(sampler.steps_per_epoch)
            alive = weakref.ref(sampler)
            del sampler
            assert alive() is None
    finally:
        gc.enable()


def test_what_an_anchor_gets_depends_on_seed_and_epoch():
    size = len(own(SOME))
    sampler, other = (GroupSampler(pairs_of(SOME), size, seed, 1, 3) for seed in (1, 2))
    first = groups(sampler.batch(0))
    assert first == groups(sampler.batch(0))
    for changed in (groups(other.batch(0)), groups(sampler.batch(1))):
        assert set(changed) == set(first)
        assert sum(changed[unit] != first[unit] for unit in first) > size / 2


def test_what_an_epoch_leaves_out_comes_in_another():
    sampler = GroupSampler(pairs_of(SOME), 20, 1, 1, 1)
    assert (sampler.units, sampler.steps_per_epoch, sampler.left_out_each_epoch) == (23, 1, 3)
    assert len({group for step in range(12) for group in groups(sampler.batch(step))}) == 23


def drawn_for_p(sampler: GroupSampler, side: int, epochs: int) -> Counter[str]:
    """How often each positive (1) or negative (2) of the anchor `p` comes, in batches of a whole epoch."""
    sides = (side_of for step in range(epochs) for side_of in groups(sampler.batch(step)).values())
    return Counter(text for texts in sides if texts[0] == "p" for text in texts[side])


def test_more_than_wanted_are_drawn_anew_each_epoch_and_all_alike():
    rows = [("p", f"e{i}", 0) for i in range(6)] + [("q", "f", 0)]
    drawn = drawn_for_p(GroupSampler(pairs_of(rows), 2, 1, 2, None), 1, 300)
    assert set(drawn) == {f"e{i}" for i in range(6)}
    assert all(70 < count < 130 for count in drawn.values())  # 100 each


def test_missing_negatives_are_drawn_alike_from_all_others():
    rows = [("p", "e", 0)] + [(f"q{i}", f"{kind}{i}", label) for i in range(5) for kind, label in (("x", 0), ("y", 2))]
    drawn = drawn_for_p(GroupSampler(pairs_of(rows), 6, 1, 1, 1), 2, 500)
    assert set(drawn) == {f"{kind}{i}" for i in range(5) for kind in "xy"}
    assert all(25 < count < 75 for count in drawn.values())  # 50 each


def test_a_corpus_of_one_premise_has_no_foreign_negative():
    with pytest.raises(UserError, match=r"no negative can be drawn for 'p'"):
        GroupSampler(pairs_of([("p", "e", 0)]), 1, 1, 1, 1).batch(0)


@given(pairs=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=30), size=st.integers(1, 12), seed=st.integers(0, 3))
def test_pairs(pairs, size, seed):
    sampler = PairSampler(*zip(*pairs, strict=True), size, seed)
    for epoch in range(2):
        rows_of_epoch: list[tuple[str, str]] = []
        for part in range(sampler.steps_per_epoch):
            batch = sampler.batch(epoch * sampler.steps_per_epoch + part)
            check_batch(batch, LAYOUTS["pairs"])
            rows = spoken(batch)
            assert len(rows) == len({group for *_, group in rows}) == min(size, len(pairs))
            assert (batch.premise != batch.hypothesis).all()
            assert all(pairs[group] == (a, b) and label == 0 for a, b, label, group in rows)
            rows_of_epoch += [(a, b) for a, b, _, _ in rows]
        assert not Counter(rows_of_epoch) - Counter(pairs)
        assert len(rows_of_epoch) == len(pairs) - sampler.left_out_each_epoch


# By name, from a recipe.

NLI = [
    ("a man runs", "a person moves", 0),
    ("a man runs", "a man sleeps", 2),
    ("a man runs", "a man is late", 1),
    ("a dog barks", "an animal barks", 0),
    ("a dog barks", "an animal makes a noise", 0),
    ("a cat sits", "a cat flies", 2),
    ("a bird sings", "a bird is old", 1),
]
STS = {
    "train": ["5.000\tone\tthe one", "4.000\tx\ty", "4.2\ttwo\ttwo"],
    "dev": ["4.75\tthree\ta three"],
    "test": ["4.6\tfour\ta four", "1\tz\tw"],
}


@pytest.fixture
def recipe(tmp_path: Path, own_cache: None) -> Recipe:
    return recipe_of(tmp_path, NLI)


def recipe_of(folder: Path, rows: list[tuple[str, str, int]], **more: Any) -> Recipe:
    records = [
        {"premise": premise, "hypothesis": hypothesis, "label": LABELS[label]}
        | {"sentence1": premise, "sentence2": hypothesis, "score": label, "sentence": hypothesis}
        for premise, hypothesis, label in rows
    ]
    write_rows(folder / "pairs.jsonl", records)
    (folder / "docs.txt").write_text(("word " * 40 + "\n") * 3 + "too short\n")
    place = folder / "senteval" / "downstream" / "STS" / "STSBenchmark"
    place.mkdir(parents=True, exist_ok=True)
    for split, lines in STS.items():
        text = "".join(f"main\tfile\t2012\t0001\t{line}\n" for line in lines)
        (place / f"sts-{split}.csv").write_text(text)
    return Recipe().preferring(
        {
            "corpus.nli": str(folder / "pairs.jsonl"),
            "corpus.senteval": str(folder / "senteval"),
            "optimisation.batch_size": 2,
            "corpus.documents": str(folder / "docs.txt"),
            "spans.shortest": 2,
            "spans.longest": 8,
            **more,
        }
    )


def load(recipe: Recipe, positives: int | None = None, negatives: int | None = None) -> tuple[Any, dict[str, Any]]:
    return make_sampler(recipe.part(Layout), request_of(recipe, positives, negatives))


def request_of(recipe: Recipe, positives: int | None = None, negatives: int | None = None) -> SamplerRequest:
    return SamplerRequest(
        recipe.optimisation.batch_size,
        seed=1,
        positives=positives,
        negatives=negatives,
        max_length=recipe.encoder.max_length,
        encoder=ENCODER,
    )


ENCODER = WordEncoder(max_length=128)


UNITS = {
    "rows": 7,
    "groups": 2,
    "pairs": 3,
    "similar_pairs": 4,
    "sentences": 11,
    "texts": 7,
    "spans": 3,
    "scored_pairs": 7,
    "same_label": 3,
    "mix": 3,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_by_its_name_and_a_batch_larger_than_its_corpus(recipe: Recipe, layout: str):
    """What else it keeps is in its contract."""
    recipe = recipe.override({"corpus.layout": layout})
    sampler, description = load(recipe)
    assert sampler.steps_per_epoch == -(-UNITS[layout] // 2) if layout == "rows" else UNITS[layout] // 2
    assert len(description["fingerprint"]) == 12
    recipe = recipe.override({"optimisation.batch_size": UNITS[layout] + 1})
    for ask in (load, lambda recipe: recipe.part(Layout).check(request_of(recipe))):
        with pytest.raises(
            UserError, match=rf"batch_size={UNITS[layout] + 1} is more than .* has: (at most )?{UNITS[layout]} "
        ):
            ask(recipe)


def test_with_p_a_premise_with_contradictions_alone_is_an_anchor(recipe: Recipe):
    _, description = load(recipe.override({"corpus.layout": "groups"}), 2, 2)
    names = ("anchors", "filled_positives", "filled_negatives", "premises_without_pairs", "premises_without_entailment")
    assert [description[name] for name in names] == [3, 3, 4, 1, 0]
    assert description["premises"] == {recipe.flat()["corpus.nli"]: [[0, 0, 1], [0, 1, 1], [1, 1, 1], [2, 0, 1]]}
    _, description = load(recipe.override({"corpus.layout": "groups"}))
    assert [description[name] for name in names] == [2, 0, 0, 1, 1]


def test_similar_pairs_are_above_4_and_say_that_dev_and_test_are_among_them(recipe: Recipe):
    sampler, description = load(recipe.override({"corpus.layout": "similar_pairs", "optimisation.batch_size": 4}))
    assert sorted(row[:2] for row in spoken(sampler.batch(0))) == [
        ("four", "a four"), ("one", "the one"), ("three", "a three"), ("two", "two"),
    ]  # fmt: skip
    assert description["splits"] == {"train": 2, "dev": 1, "test": 1}
    assert description["note"] == "1 dev and 1 test pairs of STSBenchmark are among them"


@pytest.mark.parametrize("layout", ["pairs", "groups"])
def test_no_entailment(tmp_path: Path, layout: str):
    rows = [("a", "b", 2), ("c", "d", 2), ("e", "f", 1)]
    recipe = recipe_of(tmp_path, rows, **{"corpus.layout": layout, "objective.name": "supmpn"})
    with pytest.raises(UserError, match=f"holds no pair labelled entailment, and corpus.layout={layout}"):
        check_recipes([recipe])


def test_no_contradiction_where_hard_negatives_are_asked_for(tmp_path: Path):
    recipe = recipe_of(tmp_path, [("a", "b", 0), ("c", "d", 0)], **{"corpus.layout": "groups"})
    load(recipe, 1, None)
    with pytest.raises(UserError, match="holds no pair labelled contradiction, so there are no hard negatives"):
        load(recipe, 1, 2)
    recipe = recipe.override({"objective.name": "supmpn", "objective.negatives": 2})
    with pytest.raises(UserError, match="holds no pair labelled contradiction, so there are no hard negatives"):
        check_recipes([recipe])


def test_without_a_split_of_stsbenchmark(recipe: Recipe, tmp_path: Path):
    (tmp_path / "senteval" / "downstream" / "STS" / "STSBenchmark" / "sts-dev.csv").unlink()
    with pytest.raises(UserError, match=r"sts-dev.csv is not there; corpus.layout=similar_pairs trains on STSBench"):
        load(recipe.override({"corpus.layout": "similar_pairs"}))


def test_local_files_are_read_once_for_all_recipes(recipe: Recipe, monkeypatch: pytest.MonkeyPatch):
    from trainables.corpora.layouts import nli as nli_layouts

    reads = []

    def read(*given: Any, **more: Any) -> NLIPairs:
        reads.append(given)
        return load_nli(*given, **more)

    monkeypatch.setattr(nli_layouts, "load_nli", read)
    changes = [{"corpus.layout": layout, "objective.temperature": t} for layout in ("pairs", "groups") for t in (1, 2)]
    recipes = [recipe.override({"objective.name": "supmpn", **change}) for change in changes]
    check_recipes(recipes)
    check_recipes(recipes)
    assert len(reads) == 1


def test_training_sentences(recipe: Recipe):
    sentences = training_sentences(recipe.override({"corpus.layout": "rows"}).part(Layout), request_of(recipe), 100)
    assert sentences[:4] == ["a man runs", "a person moves", "a man sleeps", "a man is late"]
    assert len(sentences) == len(set(sentences)) == census(load_nli(recipe.flat()["corpus.nli"])).sentences
    similar = recipe.override({"corpus.layout": "similar_pairs"}).part(Layout)
    assert training_sentences(similar, request_of(recipe), 3) == ["one", "the one", "two"]
    with pytest.raises(UserError, match=r"is fitted on sentences, and corpus.layout=spans holds none"):
        check_sentences(LAYOUTS["spans"](), request_of(recipe))


def test_speed_and_memory_of_a_batch():
    """256 groups of 1 + 5 + 5 sentences; the target is 5 ms on a quiet core, this only catches a change of order."""
    import time

    rows = [(f"p{i}", f"h{i}.{j}", (0, 2, 1)[j % 3]) for i in range(5000) for j in range(3)]
    sampler = GroupSampler(pairs_of(rows), 256, 1, 5, 5)
    sampler.batch(0)
    began = time.process_time()
    for step in range(15):
        sampler.batch(step)
    assert (time.process_time() - began) / 15 < 0.05


@pytest.mark.skipif(not (SHARED / "senteval").is_dir(), reason="needs ../shared/data/senteval")
def test_real_similar_pairs():
    recipe = Recipe().preferring({"corpus.layout": "similar_pairs", "corpus.senteval": str(SHARED / "senteval")})
    _, description = load(recipe)
    # Qiu 2022 counts 1,406 of 8,628 pairs; the published files hold these.
    assert (description["pairs"], description["splits"]) == (1491, {"train": 1052, "dev": 208, "test": 231})
