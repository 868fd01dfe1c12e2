"""How often a search's answer is wrong, on made-up searches with finals.

    python -m benchmarks calibrate_finals
    python -m benchmarks calibrate_finals --searches 1000 --only "equal, a noisy base"
    python -m benchmarks calibrate_finals --schemes

A search tries recipes by one seed's development score, runs the best again with the base under fresh seeds, picks one
finalist, and answers as `reports.statistics.finals` does at a first look. The control judges the picked finalist by one
spread pooled over all finalists and the base, no test items, a level of 5 % and no flag for items. `--schemes`: what
finals show, by their numbers of finalists and seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import numpy as np
from scipy.special import stdtrit

from benchmarks.options import add_number, parser_of
from benchmarks.statistics.calibration import ALPHA, CHANCE, ITEMS_ERROR, Rate, covers
from benchmarks.tables import head, row
from reports.facts.looks import level_share
from reports.statistics.collapse import collapsed
from reports.statistics.finals import Answer, Judgement, Reference, borrowed_spread, judge, pick
from reports.statistics.power import pooled_spread
from reports.statistics.sample import Array, Sample

PLANTED = 3.0
"""The true gain that is given to good recipes, as a multiple of the spread between seeds."""
SEED = 6
"""Seed of the made-up searches. The rules of reports were chosen on searches of other seeds."""
BASE = 0
"""The number of the base; explored recipes are numbered from 1."""


@dataclass(frozen=True)
class SearchKind:
    """A kind of made-up search, in points of score. `spreads`: standard deviations of scores over seeds, used in turn
    for all explored recipes."""

    name: str
    good: int = 0
    """Number of explored recipes that are truly better than the base."""
    gain: float | None = None
    """True gain of these better recipes. None: PLANTED times the spread pooled over them and the base."""
    base_spread: float = 1.0
    spreads: tuple[float, ...] = (1.0,)
    correlation: float = 0.95
    """Correlation, over seeds, of a recipe's development and test scores."""
    items: int = 300
    items_error: float = 0.3
    """Standard error of a gain that is due to the choice of test items."""
    shared_items: bool = False
    """Whether development scores are made from the test items, so that these are not fresh."""
    heavy: bool = False
    """Whether seeds move scores by Student's t with 4 degrees of freedom."""
    collapses: float = 0.0
    """Probability that a seed of a recipe, not of the base, scores at chance. True scores do not include such seeds."""
    encoder: float | None = None
    """True score of the original encoder minus the base's; None if it is not scored."""
    recipes: int = 14
    finalists: int = 1
    seeds: int = 5
    borrowed_from: int = 0
    """Number of recipes, not chosen by scores, that run under two seeds each, so that the spread can be estimated. The
    base is the first of them."""
    looks: int = 1
    """Largest number of looks. A look judges all finals so far. While no gain is shown, as many seeds again are run,
    and another look follows."""


def _kinds() -> Iterator[SearchKind]:
    yield SearchKind("equal")
    yield SearchKind("equal, scores of a seed are unrelated", correlation=0.0)
    yield SearchKind("equal, unequal spreads", spreads=(0.15, 0.15, 0.15, 2.3))
    yield SearchKind("equal, a quiet base", base_spread=0.1, items_error=0.05)
    yield SearchKind("equal, a noisy base", spreads=(0.1,), items_error=0.05)
    yield SearchKind("equal, heavy tails", heavy=True)
    yield SearchKind("equal, seeds that collapse", collapses=0.15)
    yield SearchKind("equal, 100 items", items=100, items_error=2.7)
    yield SearchKind("equal, 5,000 items", items=5000, items_error=0.4)
    yield SearchKind("equal, chosen by the test items", 0, None, 0.2, (0.2,), items_error=0.85, shared_items=True)
    yield SearchKind("equal, a second look", looks=2)
    for recipes, seeds in ((1, 3), (1, 2), (2, 8), (3, 5), (8, 3)):
        named = f"equal, {recipes} finalist{'s' * (recipes > 1)} of {seeds} seeds"
        many = SearchKind(named, finalists=recipes, seeds=seeds)
        yield many
        yield replace(many, name=f"{named}, a quiet base", base_spread=0.1, items_error=0.05)
        yield replace(many, name=f"{named}, a noisy base", spreads=(0.1,), items_error=0.05)
    for borrowed_from in (0, 1, 3):
        yield SearchKind(f"equal, one seed, {borrowed_from} that ran twice", seeds=1, borrowed_from=borrowed_from)
    for name, spread in (("as recorded", 0.44), ("3 times as recorded", 1.3), ("5 times as recorded", 2.2)):
        for seeds, number in ((1, "one seed"), (2, "two seeds"), (3, "three seeds")):
            yield SearchKind(f"equal, {number}, spreads {name}", base_spread=spread, spreads=(spread,), seeds=seeds)
    quiet = (0.1, 0.1, 0.1, 0.1, 1.3)
    yield SearchKind(
        "equal, one seed, 5 quiet that ran twice", 0, None, 0.1, quiet, items_error=0.05, seeds=1, borrowed_from=5
    )
    mixed = (1.0, 0.3, 3.0)
    yield SearchKind("equal, one seed, 3 that ran twice, unequal spreads", spreads=mixed, seeds=1, borrowed_from=3)
    yield SearchKind("training does nothing", encoder=0.0)
    yield SearchKind("training does nothing, 3 finalists", encoder=0.0, finalists=3)
    yield SearchKind("training does nothing, the base alone", encoder=0.0, finalists=0)
    yield SearchKind("training harms", encoder=3.0)
    yield SearchKind("4 of 14 better", good=4, encoder=-2.0)
    yield SearchKind("4 of 14 better, heavy tails", good=4, heavy=True)
    yield SearchKind("4 of 14 better, unequal spreads", good=4, spreads=(0.5, 1.5))
    yield SearchKind("4 of 14 better, few items", good=4, items_error=ITEMS_ERROR)
    yield SearchKind("1 of 14 better", good=1)
    yield SearchKind("1 of 14 better, 2 finalists of 8 seeds", good=1, finalists=2, seeds=8)
    yield SearchKind("4 of 14 better, one seed, 3 that ran twice", good=4, seeds=1, borrowed_from=3)
    yield SearchKind("4 of 14 better by 4 points, one seed", 4, 4.0, 0.44, (0.44,), seeds=1, encoder=-4.0)


KINDS = {kind.name: kind for kind in _kinds()}

ANSWERS: tuple[Answer, ...] = ("use", "keep the base", "keep the encoder", "nothing yet")
SCHEMES = ((0, 2), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (2, 4), (1, 8), (2, 5), (3, 5), (2, 8))
"""Pairs of a number of finalists and a number of seeds of each finalist."""
GAINS = (1.0, 2.0, 3.0)
QUERIES = SearchKind("", base_spread=0.5, spreads=(0.5,), items_error=1.0)
"""A kind of search whose test has some 1,000 queries. With five seeds each, a gain has an error of `ITEMS_ERROR`."""
NULLS = (
    QUERIES,
    replace(QUERIES, items_error=0.05),
    replace(QUERIES, items_error=0.05, base_spread=0.05),
    replace(QUERIES, items_error=0.05, spreads=(0.05,)),
)
"""Kinds of searches in which no recipe is better than the base. Recipes are as noisy as the base, ten times as noisy,
or a tenth as noisy."""


Scored = tuple[float, float, Array]
"""Development score, test score, and the effects of test items, (items,)."""


class MadeUp:
    """Recipes with true gains over the base, which can be trained under any number of seeds.

    A score is the true gain plus normal errors: of the seed, of the items for a recipe, and for one of its seeds.
    """

    def __init__(self, kind: SearchKind, random: np.random.Generator) -> None:
        self.kind, self.random = kind, random
        own = (kind.spreads[index % len(kind.spreads)] for index in range(kind.recipes))
        self.spreads = np.array([kind.base_spread, *own])
        self.gains = planted(self.spreads, kind, random)  # (1 + recipes,), of test scores; the base's gain is 0
        scale = kind.items_error / math.sqrt(3 * kind.items)
        self.own = random.standard_normal((1 + kind.recipes, kind.items)) * scale
        self.own_development = random.standard_normal(1 + kind.recipes) * kind.items_error / math.sqrt(3)

    def train(self, recipe: int) -> Scored:
        """Return the scores under one more seed."""
        kind, random = self.kind, self.random
        moves = random.standard_normal(2)
        if kind.heavy:
            moves /= math.sqrt(random.chisquare(4) / 2)
        test, development = moves[0], kind.correlation * moves[0] + math.sqrt(1 - kind.correlation**2) * moves[1]
        items = self.own[recipe] + random.standard_normal(kind.items) * kind.items_error / math.sqrt(6 * kind.items)
        luck = items.sum() if kind.shared_items else self.own_development[recipe]
        true, spread = self.gains[recipe], self.spreads[recipe]
        if recipe != BASE and random.random() < kind.collapses:
            return -CHANCE, -CHANCE, items - items.mean()
        return true + spread * development + luck, true + spread * test + items.sum(), items - items.mean()


def planted(spreads: Array, kind: SearchKind, random: np.random.Generator) -> Array:
    """Return true gains over the base, (1 + recipes,): those of `kind.good` random recipes are larger than 0.
    `spreads`: of the base and the recipes."""
    gains = np.zeros(1 + kind.recipes)
    indices = random.choice(np.arange(1, 1 + kind.recipes), kind.good, replace=False)
    pooled = math.sqrt(float(np.mean(spreads[[BASE, *indices]] ** 2)))
    gains[indices] = PLANTED * pooled if kind.gain is None else kind.gain
    return gains


@dataclass
class AnswerRates:
    """Rates over the searches of one kind: how often the statement at each field is true."""

    wrong: Rate = field(default_factory=Rate)
    """The answer is to use the picked finalist, which is no better than the base or the original encoder; or to keep
    the base, which is no better than the encoder."""
    covered: Rate = field(default_factory=Rate)
    """The picked finalist's true gain over the base is inside its interval at the first look (judgement)."""
    all_covered: Rate = field(default_factory=Rate)
    """The true gains of all finalists are inside their intervals at once."""
    named: Rate = field(default_factory=Rate)
    """The picked recipe is truly the best, or as good as the best."""
    shown: Rate = field(default_factory=Rate)
    """The picked recipe is truly the best, or as good as the best, and the answer is to use it."""
    control: Rate = field(default_factory=Rate)
    answers: dict[Answer, Rate] = field(default_factory=lambda: {answer: Rate() for answer in ANSWERS})


def search(world: MadeUp, kind: SearchKind, rates: AnswerRates) -> Judgement:
    """Run one search: explore, run finals, judge, and compare with the truth."""
    explored = np.array([world.train(recipe)[0] for recipe in range(1, 1 + kind.recipes)])
    chosen = (np.argsort(-explored, kind="stable") + 1).tolist()[: kind.finalists]
    borrowed_from = [_sample(world, recipe, 2)[0] for recipe in range(kind.borrowed_from)]
    seeds: list[list[Scored]] = [[] for _ in (BASE, *chosen)]
    for look in range(1, kind.looks + 1):
        for own, recipe in zip(seeds, (BASE, *chosen), strict=True):
            own += [world.train(recipe) for _ in range(kind.seeds)]
        (base, _), *ran = [_of_seeds(own) for own in seeds]
        samples = [sample for sample, _ in ran]
        references: dict[Reference, Sample] = {"base": base}
        if kind.encoder is not None:
            effects = np.zeros((1, kind.items))
            references["encoder"] = Sample(np.array([kind.encoder]), (0,), True, effects, base.items)
        order = pick([[development] for _, development in ran]) if ran else []
        borrowed = borrowed_spread([base, *samples, *borrowed_from])
        judged = judge(
            samples, order, references, borrowed=borrowed, p_factor=1 / level_share(look), fresh=not kind.shared_items
        )
        if judged.answer == "use":
            break
    truths, good = world.gains[chosen], world.gains[1:].max()
    encoder = -math.inf if kind.encoder is None else kind.encoder
    used = judged.answer == "use" and truths[judged.picked] <= max(0.0, encoder)
    rates.wrong.add([used or (judged.answer == "keep the base" and encoder >= 0)])
    for answer, rate in rates.answers.items():
        rate.add([judged.answer == answer])
    if chosen:
        picked = judged.picked
        assert picked is not None
        covered = [covers(gain, true) for gain, true in zip(judged.gains["base"], truths, strict=True)]
        rates.covered.add([covered[picked]])
        rates.all_covered.add([all(covered)])
        rates.control.add([_control(samples, picked, base) and truths[picked] <= 0])
        if good > 0:
            rates.named.add([truths[picked] >= good])
            rates.shown.add([truths[picked] >= good and judged.answer == "use"])
    return judged


def _sample(world: MadeUp, recipe: int, seeds: int) -> tuple[Sample, float]:
    """Train the recipe under new seeds. Return a sample of test scores, and the mean of development scores."""
    return _of_seeds([world.train(recipe) for _ in range(seeds)])


def _of_seeds(ran: Sequence[Scored]) -> tuple[Sample, float]:
    """Return a sample of test scores, and the mean development score, of the trainings that did not collapse."""
    fell = collapsed([test for _, test, _ in ran], -CHANCE)
    sound = [seed for seed, out in zip(ran, fell, strict=True) if not out]
    developments, tests, effects = zip(*sound, strict=True)
    sample = Sample(np.array(tests), tuple(range(len(sound))), False, np.stack(effects), "made up")
    return sample, fmean(developments)


def _control(finalists: Sequence[Sample], picked: int, base: Sample) -> bool:
    spread = pooled_spread([*finalists, base])
    if spread is None:
        return finalists[picked].mean > base.mean
    error = spread.std * math.sqrt(1 / finalists[picked].count + 1 / base.count)
    return finalists[picked].mean - base.mean > float(stdtrit(spread.freedom, 1 - ALPHA / 2)) * error


def calibrate(kind: SearchKind, searches: int) -> AnswerRates:
    """Run made-up searches of one kind, and return their rates. Deterministic."""
    rates = AnswerRates()
    for number in range(searches):
        search(MadeUp(kind, np.random.default_rng([SEED, number])), kind, rates)
    return rates


def scheme(finalists: int, seeds: int, searches: int) -> tuple[float, list[float]]:
    """Return the largest rate of wrong answers over the NULLS, and how often a true gain is shown, for each of GAINS in
    points. All finalists have that gain. Without finalists the base has it, over the original encoder."""
    recipes = max(finalists, 1)
    sized = [replace(null, recipes=recipes, finalists=finalists, seeds=seeds) for null in NULLS]
    if not finalists:
        sized = [replace(null, encoder=0.0) for null in sized]
    wrong = max(calibrate(null, searches).wrong.value for null in sized)
    better = [
        replace(sized[0], encoder=-gain) if not finalists else replace(sized[0], good=recipes, gain=gain)
        for gain in GAINS
    ]
    answer: Answer = "use" if finalists else "keep the base"
    return wrong, [calibrate(kind, searches).answers[answer].value for kind in better]


def row_of_table(name: str, rates: AnswerRates) -> str:
    """Return the line of the table for this kind of search."""
    answers = " / ".join(f"{100 * rate.value:.0f}" for rate in rates.answers.values())
    return row(name, rates.wrong, rates.covered, rates.all_covered, rates.named, rates.shown, answers, rates.control)


def main(arguments: Sequence[str]) -> None:
    """Run the made-up searches and print the table of wrong and right answers."""
    parser = parser_of(__name__, __doc__)
    add_number(parser, "--searches", 1000, "of each kind")
    parser.add_argument("--only", choices=list(KINDS), help="one kind of search")
    parser.add_argument("--schemes", action="store_true", help="what finals of so many trainings show")
    options = parser.parse_args(arguments)
    if options.schemes:
        print(head("finalists x seeds", "trainings", "wrong", "a gain of 1, 2, 3 points is shown"))
        for finalists, seeds in SCHEMES:
            wrong, power = scheme(finalists, seeds, options.searches)
            shown = ", ".join(f"{100 * share:.0f}" for share in power)
            named = f"{finalists} x {seeds}" if finalists else f"the base alone, {seeds}"
            print(row(named, (finalists + 1) * seeds, f"{100 * wrong:.1f}", shown), flush=True)
    else:
        intervals = ("interval of the picked one covers", "all cover at once")
        answers = ("a best one is picked", "it is shown", "use / base / encoder / nothing yet")
        print(head("searches", "wrong", *intervals, *answers, "control"))
        for name in [options.only] if options.only else KINDS:
            print(row_of_table(name, calibrate(KINDS[name], options.searches)), flush=True)
    print(f"\nPercent, with Monte Carlo errors; {options.searches} searches a kind.")
