"""Mixtures of corpora: shares, orders and joined batches, beside sentence-transformers' samplers; prompts; refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.json_lines import write_rows
from tests.peers import Both, Case
from trainables.corpora.batch import Batch, Sampler
from trainables.corpora.layouts import Layout, make_sampler, training_sentences
from trainables.corpora.layouts.mix import OneCorpusABatch, apportion, join_batches
from trainables.corpora.samplers import PairSampler
from trainables.corpora.shuffled import fill_batches
from trainables.errors import UserError
from trainables.objectives import check_bank, chosen_objective
from trainables.recipe import SCENES_ENCODER, Recipe
from trainables.testing.layouts import equal
from trainables.training.rungs import RungPlan
from trainables.trial.check import check_recipes, forecast_rungs
from trainables.trial.data_requests import sampler_request

Make = Callable[..., Recipe]


@pytest.fixture
def recipe(tmp_path: Path) -> Make:
    """On a corpus of 24 NLI rows with 8 entailments and 8 premises, and one of 20 pairs, `mix` with further keys."""
    rows = [
        {"premise": f"premise {i}", "hypothesis": f"hypothesis {i} {label}", "label": label}
        for i in range(8)
        for label in ("entailment", "neutral", "contradiction")
    ]
    pairs = [{"anchor": f"question {i}", "positive": f"answer {i}"} for i in range(20)]
    for name, content in (("nli", rows), ("pairs", pairs)):
        write_rows(tmp_path / f"{name}.jsonl", content)

    def make(nli: str = "nli,pairs", layouts: str = "groups,pairs", size: int = 4, **more: Any) -> Recipe:
        return Recipe().override(
            {
                "encoder.name": SCENES_ENCODER,
                "corpus.layout": "mix",
                "corpus.nli": ",".join(f"{tmp_path / name}.jsonl" for name in nli.split(",")),
                "corpus.mix_layouts": tuple(layouts.split(",")),
                "objective.name": "mnrl",
                "optimisation.batch_size": size,
                **{f"corpus.{name}": value for name, value in more.items()},
            }
        )

    return make


def sampler_of(recipe: Recipe, seed: int = 1) -> tuple[Sampler, dict[str, Any]]:
    return make_sampler(recipe.part(Layout), sampler_request(recipe, seed))


def source(batch: Batch) -> str:
    """Of a batch of one corpus, which."""
    (name,) = {"pairs" if text.startswith(("question", "answer")) else "nli" for text in batch.sentences}
    return name


class TestShares:
    @given(st.integers(0, 500), st.lists(st.floats(0.01, 100), min_size=1, max_size=8))
    def test_largest_remainders(self, more: int, weights: list[float]):
        total = len(weights) + more
        ideal = total * np.array(weights) / np.sum(weights)
        shares = apportion(total, weights)
        assert np.sum(shares) == total
        assert min(shares) >= 1
        if ideal.min() >= 1:
            lifted = np.array(shares) - np.floor(ideal + 1e-9)
            remainder = ideal - np.floor(ideal + 1e-9)
            assert set(lifted.tolist()) <= {0, 1}
            assert remainder[lifted == 1].min(initial=1) >= remainder[lifted == 0].max(initial=0) - 1e-9

    @pytest.mark.parametrize(
        ("keys", "counts"),
        [
            ({}, {"nli": 2, "pairs": 5}),
            ({"mix": "equal"}, {"nli": 4, "pairs": 3}),
            ({"mix_temperature": 2.0}, {"nli": 3, "pairs": 4}),  # 2^0.5 of 2^0.5 + 5^0.5 is 0.39 of 7
            ({"mix": "weights", "mix_weights": ("1", "6")}, {"nli": 1, "pairs": 6}),
            ({"mix": "weights", "mix_weights": ("0", "2")}, {"pairs": 5}),
        ],
    )
    def test_of_an_epoch(self, recipe: Make, keys: dict[str, Any], counts: dict[str, int]):
        sampler, described = sampler_of(recipe(**keys))
        assert sampler.steps_per_epoch == sum(counts.values())
        for epoch in range(3):
            steps = range(epoch * sampler.steps_per_epoch, (epoch + 1) * sampler.steps_per_epoch)
            assert Counter(source(sampler.batch(step)) for step in steps) == counts
        names = [Path(part["source"]).stem for part in described["parts"]]
        assert dict(zip(names, described["batches_each_epoch"], strict=True)) == counts
        assert described["shares"] == [round(counts[name] / sum(counts.values()), 4) for name in names]

    def test_of_a_batch(self, recipe: Make):
        """8 groups and 20 pairs: of 7 places 2 and 5."""
        sampler, described = sampler_of(recipe(size=7, mix_batches="mixed"))
        assert described["of_each_batch"] == [2, 5]
        assert sampler.steps_per_epoch == 28 // 7
        for step in range(6):
            batch = sampler.batch(step)
            kinds = {batch.sentences[i].split()[0] for i in batch.premise}
            assert kinds == {"premise", "question"}
            assert len(set(batch.group.tolist())) == 7

    def test_what_the_sampler_of_a_part_gives_comes_in_its_order(self, recipe: Make):
        """By size each batch of each corpus once an epoch."""
        made = recipe()
        sampler, _ = sampler_of(made)
        corpora, seeds = made.part(Layout).corpora, (1, 1 + 1_000_003)  # type: ignore[attr-defined]
        alone = {
            name: make_sampler(corpus.layout, sampler_request(made, seed))[0]
            for name, corpus, seed in zip(("nli", "pairs"), corpora, seeds, strict=True)
        }
        counts = Counter[str]()
        for step in range(14):
            batch = sampler.batch(step)
            name = source(batch)
            assert equal(batch, alone[name].batch(counts[name]))
            counts[name] += 1
        assert counts == {name: 2 * own.steps_per_epoch for name, own in alone.items()}


def of_the_peer(kind: str, sizes: Sequence[int]) -> list[int]:
    """The corpus of each batch of 4, of what pytorch's own samplers give for each corpus."""
    from sentence_transformers.base import sampler as peer
    from torch.utils.data import BatchSampler, ConcatDataset, SequentialSampler

    sets = [list(range(size)) for size in sizes]
    samplers = [BatchSampler(SequentialSampler(rows), 4, drop_last=True) for rows in sets]
    batches = [*getattr(peer, kind)(ConcatDataset(sets), samplers)]  # type: ignore[type-var]
    return [int(np.searchsorted(np.cumsum(sizes), batch[0], side="right")) for batch in batches]


def of_ours(mix: str, sizes: Sequence[int]) -> list[int]:
    samplers = [
        PairSampler([f"{n} a {i}" for i in range(size)], [f"{n} b {i}" for i in range(size)], 4, n)
        for n, size in enumerate(sizes)
    ]
    steps = [sampler_of_part.steps_per_epoch for sampler_of_part in samplers]
    counts = apportion(sum(steps), steps if mix == "size" else [1] * 3)
    sampler = OneCorpusABatch(samplers, counts, [None] * 3, 3, in_turn=mix == "equal")
    return [int(sampler.batch(step).sentences[0][0]) for step in range(sampler.steps_per_epoch)]


def drawn_sizes(seed: int) -> list[int]:
    return np.random.default_rng(seed).integers(4, 60, 3).tolist()


def proportional(seed: int) -> Both:
    """How often each corpus comes, of both in an order drawn at random."""
    of = drawn_sizes(seed)
    return Both((sorted(of_ours("size", of)), sorted(of_the_peer("ProportionalBatchSampler", of))))


def in_turn(seed: int) -> Both:
    """The peer ends with the smallest corpus; ours goes on in the same order."""
    theirs = of_the_peer("RoundRobinBatchSampler", drawn_sizes(seed))
    return Both((of_ours("equal", drawn_sizes(seed))[: len(theirs)], theirs))


def no_duplicates(seed: int) -> Both:
    """Batches of rows. From one order of the rows the peer's full batches are ours, as far as an epoch goes."""
    import torch
    from datasets import Dataset
    from sentence_transformers.base.sampler import NoDuplicatesBatchSampler

    size = 4
    rows = np.random.default_rng(seed).integers(0, 9, (30, 2)).tolist()
    table = Dataset.from_dict({"a": [f"text {a}" for a, _ in rows], "b": [f"text {b}" for _, b in rows]})
    peer = NoDuplicatesBatchSampler(table, size, drop_last=True, generator=torch.Generator(), seed=seed)
    theirs = [*peer]
    order = torch.randperm(30, generator=torch.Generator().manual_seed(seed)).numpy()
    ours = fill_batches(order, rows, 30 // size, size)
    full = [batch.tolist() for batch in ours if len(batch) == size]
    assert len(full) == len(theirs) or len(ours) == 30 // size
    return Both((full, theirs[: len(full)]))


CASES = [
    Case("corpus.mix=size", "ProportionalBatchSampler", proportional),
    Case("corpus.mix=equal", "RoundRobinBatchSampler", in_turn),
    Case("corpus.mix_repeats=apart", "NoDuplicatesBatchSampler", no_duplicates),
]
"""For `tests.peers_page`."""


class TestBesidesThePeer:
    """`sentence_transformers.base.sampler`."""

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.entry)
    def test_equals(self, case: Case, seed: int):
        both = case.find(seed)
        both.check()
        assert both.value[1]

    def test_by_size_in_an_order_of_its_own_and_in_turn_to_the_end(self):
        sizes = (23, 40, 9)
        by_size = of_ours("size", sizes)
        assert Counter(by_size) == {0: 5, 1: 10, 2: 2}
        assert by_size != sorted(by_size)
        assert Counter(of_ours("equal", sizes)) == {0: 6, 1: 6, 2: 5}


class TestApart:
    @given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=60), st.integers(1, 9))
    def test_is_the_first_batch_that_fits(self, rows: list[tuple[int, int]], size: int):
        size = min(size, len(rows))
        count = len(rows) // size
        order = np.random.default_rng(len(rows)).permutation(len(rows))
        naive: list[list[int]] = [[] for _ in range(count)]
        for unit in order.tolist():
            for batch in naive:
                known = {text for other in batch for text in rows[other]}
                if len(batch) < size and not known & {*rows[unit]}:
                    batch.append(unit)
                    break
        assert [batch.tolist() for batch in fill_batches(order, rows, count, size)] == naive
        assert all(naive), "no batch of a training is empty"

    @staticmethod
    def twice(batch: Batch) -> bool:
        """Whether a text stands in two groups."""
        items = np.concatenate([batch.premise, batch.hypothesis]).tolist()
        texts = {(batch.sentences[item], group) for item, group in zip(items, [*batch.group] * 2, strict=True)}
        return max(Counter(text for text, _ in texts).values()) > 1

    @pytest.mark.parametrize("layout", ["pairs", "groups"])
    def test_of_a_mixture(self, recipe: Make, tmp_path: Path, layout: str):
        rows = [
            {"anchor": f"question {i}", "positive": f"answer {i % 5}", "negative": f"no {i % 4}"} for i in range(20)
        ]
        write_rows(tmp_path / "few.jsonl", rows)
        made = {repeats: recipe(nli="few", layouts=layout, mix_repeats=repeats) for repeats in ("together", "apart")}
        (together, _), (apart, described) = (sampler_of(made[repeats]) for repeats in ("together", "apart"))
        assert apart.steps_per_epoch == together.steps_per_epoch
        assert not any(self.twice(apart.batch(step)) for step in range(2 * apart.steps_per_epoch))
        assert any(self.twice(together.batch(step)) for step in range(10)), "the negative control"
        in_first = sum(len(set(apart.batch(step).group.tolist())) for step in range(apart.steps_per_epoch))
        (part,) = described["parts"]
        assert part["left_out_first_epoch"] == part["anchors"] - in_first

    def test_one_text_in_all_pairs_ends_in_short_batches(self):
        sampler = PairSampler(["same"] * 8, [f"other {i}" for i in range(8)], 4, 1, no_duplicates=True)
        assert [len(sampler.batch(step).label) for step in range(4)] == [1, 1, 1, 1]
        assert sampler.counts == {"anchors": 8, "left_out_first_epoch": 6, "short_batches": 2}


class TestJoined:
    def of(self, *pairs: tuple[str, str]) -> Batch:
        first, second = zip(*pairs, strict=True)
        return PairSampler(first, second, len(pairs), 1).batch(0)

    def spoken(self, batch: Batch) -> set[tuple[str, str]]:
        return {(batch.sentences[p], batch.sentences[h]) for p, h in zip(batch.premise, batch.hypothesis, strict=True)}

    def test_a_text_of_two_corpora_stands_once(self):
        first, other = self.of(("a", "b"), ("c", "d")), self.of(("e", "b"), ("a", "f"))
        batch = join_batches([first, other], [None, None])
        assert sorted(batch.sentences) == ["a", "b", "c", "d", "e", "f"]
        assert self.spoken(batch) == {("a", "b"), ("c", "d"), ("e", "b"), ("a", "f")}
        assert len(set(batch.group.tolist())) == 4
        assert batch.prompts is None

    def test_unless_its_prompts_differ(self):
        first, other = self.of(("a", "b")), self.of(("a", "c"))
        batch = join_batches([first, other], [("q: ", None), None])
        assert sorted(batch.sentences) == ["a", "a", "b", "c"]
        assert self.spoken(batch) == {("a", "b"), ("a", "c")}
        assert dict(zip(batch.prompts or (), batch.sentences, strict=True)).keys() == {("q: ", None), (None, None)}
        assert sorted(join_batches([first, other], [("q: ", None)] * 2).sentences) == ["a", "b", "c"]

    def test_a_second_view_stays_one(self):
        """Of a text with itself; the other corpus knows it, too."""
        batch = join_batches([self.of(("a", "b")), self.of(("a", "a"))], [None, None])
        assert sorted(batch.sentences) == ["a", "a", "b"]
        assert (batch.premise != batch.hypothesis).all()
        assert len(set(batch.premise.tolist())) == 1

    def test_scores_are_there_where_all_have_them(self):
        scored = PairSampler(["a"], ["b"], 1, 1, np.array([0.5], dtype=np.float32)).batch(0)
        assert join_batches([scored, scored], [None, None]).score is not None
        assert join_batches([scored, self.of(("c", "d"))], [None, None]).score is None


@pytest.mark.parametrize("batches", ["one", "mixed"])
@pytest.mark.parametrize("layout", ["pairs", "groups", "rows", "sentences"])
def test_a_mixture_of_one_corpus_is_its_layout(recipe: Make, layout: str, batches: str):
    objective = {"rows": "scl", "sentences": "simcse"}.get(layout, "mnrl")
    mixed = recipe(nli="nli", layouts=layout, mix_batches=batches).override({"objective.name": objective})
    alone = mixed.preferring({"corpus.layout": layout})
    ours, theirs = sampler_of(mixed)[0], sampler_of(alone)[0]
    assert ours.steps_per_epoch == theirs.steps_per_epoch
    assert all(equal(ours.batch(step), theirs.batch(step)) for step in range(2 * ours.steps_per_epoch))
    assert mixed.hash != alone.hash


def test_one_source_is_read_in_each_layout(recipe: Make):
    made = recipe(nli="nli", layouts="pairs,groups")
    _, described = sampler_of(made)
    assert [part["layout"] for part in described["parts"]] == ["pairs", "groups"]
    assert len({part["source"] for part in described["parts"]}) == 1


def test_scenes_beside_a_file(recipe: Make, tmp_path: Path):
    made = recipe().override({"corpus.nli": f"scenes,{tmp_path / 'pairs.jsonl'}", "corpus.mix_layouts": ("pairs",)})
    check_recipes_of(made)
    assert forecast_rungs(RungPlan("share", (0.5,)), made) == (True, sampler_of(made)[0].steps_per_epoch)


def test_the_hash_is_of_contents_in_their_order(recipe: Make, tmp_path: Path):
    first, swapped = recipe(), recipe(nli="pairs,nli")
    assert first.hash != swapped.hash
    (tmp_path / "moved.jsonl").write_text((tmp_path / "nli.jsonl").read_text())
    assert recipe(nli="moved,pairs").hash == first.hash
    assert sampler_of(first)[1]["fingerprint"] != sampler_of(swapped)[1]["fingerprint"]


def test_training_sentences_are_of_all_that_have_a_share(recipe: Make):
    made = recipe(mix="weights", mix_weights=("1", "1"))
    sentences = training_sentences(made.part(Layout), sampler_request(made, 0), 1000)
    assert len(sentences) == 8 + 24 + 40
    alone = recipe(mix="weights", mix_weights=("0", "1"))
    assert len(training_sentences(alone.part(Layout), sampler_request(alone, 0), 1000)) == 40


@pytest.mark.parametrize("batches", ["one", "mixed"])
def test_prompts_stand_before_the_texts_of_their_corpus(recipe: Make, batches: str):
    from tests.trainables.encoders.test_prompts import load
    from trainables.training.model import TokenizedBatch

    made = recipe(size=7, mix_batches=batches, mix_query_prompts="the dog |a, man ", mix_document_prompts="two women |")
    encoder = load("a lake ", "a lake ")
    bare, (sampler, _) = load(), sampler_of(made)
    cases = set()
    for step in range(8):
        batch = sampler.batch(step)
        tokenized = TokenizedBatch.of(batch, encoder)
        for role, side in (("q", "premise"), ("d", "hypothesis")):
            items, places = (getattr(sides, side).tolist() for sides in (batch, tokenized))
            for item, place in zip(items, places, strict=True):
                text = batch.sentences[item]
                corpus = "pairs" if text.startswith(("question", "answer")) else "nli"
                before = {"qnli": "the dog ", "qpairs": "a, man ", "dnli": "two women ", "dpairs": ""}[role + corpus]
                assert tokenized.tokens[place] == bare.tokenize([before + text])[0]
                cases.add(role + corpus)
    assert len(cases) == 4


def test_without_prompts_the_encoder_s_stand_there(recipe: Make):
    from tests.trainables.encoders.test_prompts import load
    from trainables.training.model import TokenizedBatch

    encoder, batch = load("the dog ", "two women "), sampler_of(recipe(mix_query_prompts="a man "))[0].batch(0)
    tokenized = TokenizedBatch.of(batch, encoder)
    texts = [batch.sentences[batch.premise[0]], batch.sentences[batch.hypothesis[0]]]
    expected = load().tokenize([f"a man {texts[0]}", f"two women {texts[1]}"])
    assert [tokenized.tokens[tokenized.premise[0]], tokenized.tokens[tokenized.hypothesis[0]]] == expected


def check_recipes_of(recipe: Recipe) -> None:
    from trainables.evaluation_config import EvaluationConfig

    check_recipes([recipe], EvaluationConfig("scenes", tasks=("MR",)))


@pytest.mark.parametrize(
    ("keys", "objective", "sentence"),
    [
        ({}, "cosent", "'cosent' cannot use corpus.mix_layouts='groups'; it can use 'scored_pairs'"),
        ({"mix": "weights"}, "mnrl", "corpus.mix_weights has 0 entries, and the mixture 2 corpora; give one for each"),
        ({"layouts": "pairs,pairs,pairs"}, "mnrl", "corpus.nli has 2 entries, and the mixture 3 corpora; give one"),
        ({"mix_query_prompts": "a|b|c"}, "mnrl", "corpus.mix_query_prompts has 3 entries, and the mixture 2 corpora"),
        (
            {"layouts": "pairs,same_label", "mix_repeats": "apart"},
            "supcon",
            "corpus.mix_repeats=apart has no meaning for corpus.mix_layouts=same_label; set it to together, or take gr",
        ),
        ({"size": 9}, "mnrl", "optimisation.batch_size=9 is more than corpus.nli="),
        ({"layouts": "pairs,spans"}, "mnrl", "corpus.mix_layouts must name layouts that read corpus.nli: rows, groups"),
        ({"layouts": "mix"}, "mnrl", "corpus.mix_layouts must name layouts that read corpus.nli"),
        (
            {"mix": "weights", "mix_weights": ("0", "0")},
            "mnrl",
            "corpus.mix_weights must be numbers of at least 0, one",
        ),
        ({"mix_weights": ("1", "1")}, "mnrl", "corpus.mix_weights changes nothing where corpus.mix is size; leave it"),
        (
            {"mix_batches": "mixed", "mix_repeats": "apart"},
            "mnrl",
            "corpus.mix_repeats changes nothing where corpus.mix_batches is mixed",
        ),
        ({"size": 29, "mix_batches": "mixed"}, "mnrl", "optimisation.batch_size=29 is more than corpus.layout=mix has"),
        (
            {"size": 2, "layouts": "pairs", "nli": "nli,pairs,nli", "mix_batches": "mixed"},
            "mnrl",
            "optimisation.batch_size=2 has no place for each of the 3 corpora; take a larger batch",
        ),
    ],
)
def test_refused(recipe: Make, keys: dict[str, Any], objective: str, sentence: str):
    with pytest.raises(UserError) as caught:
        check_recipes_of(recipe(**keys).preferring({"objective.name": objective}))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_objectives_are_asked_of_each_part(recipe: Make):
    settings = {"objective.name": "scl", "objective.negatives": 1}
    rows_too, groups = (recipe(layouts=layouts).preferring(settings) for layouts in ("groups,rows", "groups,groups"))
    assert vars(chosen_objective(rows_too))["negatives"] == 1, "rows are not exact, so the objective draws"
    assert vars(chosen_objective(groups))["negatives"] is None
    check_bank(recipe(layouts="groups,pairs").override({"objective.bank": 64}))
    with pytest.raises(UserError, match=r"objective\.negatives changes nothing where corpus\.mix_layouts"):
        recipe(layouts="pairs").override({"objective.negatives": 1})
    classes = recipe(layouts="groups,same_label").override({"objective.name": "supcon", "objective.bank": 64})
    with pytest.raises(UserError, match=r"objective\.bank=64 would hold texts of a class"):
        check_bank(classes)


@pytest.mark.parametrize(("key", "value"), [("adapter", "mlp"), ("kind", "static")])
def test_prompts_need_an_encoder_that_takes_them(recipe: Make, key: str, value: str):
    sentence = f"corpus.mix_query_prompts puts texts before sentences, which encoder.{key} '{value}'"
    with pytest.raises(UserError, match=sentence):
        check_recipes_of(recipe(mix_query_prompts="q: ").preferring({f"encoder.{key}": value}))
