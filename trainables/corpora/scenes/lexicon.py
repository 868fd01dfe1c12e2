"""The words of the scenes corpus: concepts in trees, each with its synonyms.

Indentation is generalisation: a line lies under the concept that it is a kind of. Words after the colon are
synonyms, the first of them names the concept. Concepts of which neither is a kind of the other exclude each
other, unless they stand on different axes: `[job] doctor` says nothing against `woman`.
No word form belongs to two concepts of one part of speech (a test holds this).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

_NOUNS = """
person: person/people, human, individual
  adult: adult, grownup
    man: man/men, guy, gentleman/gentlemen
    woman: woman/women, lady
  child: child/children, kid, youngster
    boy: boy, lad
    girl: girl, lass
    baby: baby, infant
  [job] worker: worker, employee
    doctor: doctor, physician
    nurse: nurse
    teacher: teacher, instructor
    soldier: soldier, trooper
    cook: chef, caterer
    farmer: farmer, grower
    singer: singer, vocalist
    officer: officer, cop
    builder: builder, carpenter
    driver: driver, chauffeur
    tailor: tailor
    painter: painter, artist
    lawyer: lawyer, attorney
    clerk: clerk, cashier
  [sport] athlete: athlete
    runner: runner, sprinter
    swimmer: swimmer
    boxer: boxer, fighter
    skater: skater
animal: animal, creature, beast
  dog: dog, hound
    puppy: puppy, pup
    poodle: poodle
    terrier: terrier
  cat: cat, feline
    kitten: kitten
  horse: horse
    pony: pony
    stallion: stallion
  bird: bird
    duck: duck
    parrot: parrot
    eagle: eagle
    pigeon: pigeon, dove
    crow: crow, raven
  cow: cow
    calf: calf/calves
  goat: goat
  pig: pig, hog
    piglet: piglet
  rabbit: rabbit, bunny
  monkey: monkey, ape
  elephant: elephant
  bear: bear
    cub: cub
  lion: lion
  tiger: tiger
  mouse: mouse/mice
  snake: snake, serpent
  frog: frog, toad
  wolf: wolf/wolves
  fox: fox
instrument: instrument
  guitar: guitar
  violin: violin, fiddle
  piano: piano
  drum: drum
  flute: flute
  trumpet: trumpet, bugle
vehicle: vehicle
  car: car, automobile
    taxi: taxi, cab
  truck: truck, lorry
  bus: bus, coach
  bicycle: bicycle, bike
  motorcycle: motorcycle, motorbike
  boat: boat, vessel
    canoe: canoe, kayak
  tractor: tractor
food: food
  fruit: fruit
    apple: apple
    orange: orange
    banana: banana
    cherry: cherry
    peach: peach
    pear: pear
  vegetable: vegetable, veggie
    carrot: carrot
    onion: onion
    potato: potato
    tomato: tomato
    cabbage: cabbage
  dish: dish, meal
    pizza: pizza
    burger: burger, hamburger
    sandwich: sandwich
    soup: soup, broth
    steak: steak
    pasta: pasta
  dessert: dessert
    cake: cake
    pie: pie, tart
    cookie: cookie, biscuit
beverage: beverage
  coffee: coffee, espresso
  tea: tea
  juice: juice
  beer: beer, ale
  lemonade: lemonade
text: text
  book: book, novel
  newspaper: newspaper, gazette
  magazine: magazine, journal
  letter: letter
  map: map, chart
toy: toy, plaything
  ball: ball
  doll: doll
  kite: kite
  puppet: puppet
  balloon: balloon
tool: tool
  hammer: hammer, mallet
  knife: knife/knives
  shovel: shovel, spade
  ladder: ladder
  rope: rope, cord
  broom: broom
container: container
  box: box, crate
  bag: bag, sack
  basket: basket
  bottle: bottle, flask
  cup: cup, mug
  bucket: bucket, pail
garment: garment
  shirt: shirt, blouse
  jacket: jacket, coat
  dress: dress, gown
  hat: hat, cap
  shoe: shoe
  scarf: scarf/scarves, shawl
furniture: furnishing
  chair: chair, seat
  table: table
  sofa: sofa, couch
  bed: bed
  desk: desk
  lamp: lamp
device: device, gadget
  phone: phone, telephone
  camera: camera
  computer: computer, laptop
  radio: radio
  clock: clock
  printer: printer
plant: plant
  tree: tree
    oak: oak
    pine: pine
  flower: flower, blossom
    rose: rose
    tulip: tulip
  bush: bush, shrub
structure: structure
  house: house, cottage
  barn: barn
  wall: wall
  fence: fence
  door: door
  window: window
  bridge: bridge
picture: picture, image
  portrait: portrait
  photo: photo, photograph
  sketch: sketch, drawing
"""

# (who -> what); `?` marks an object that may be left out. Lines below a frame inherit it.
_VERBS = """
move (person animal): move
  walk: walk, stroll
  run: run ran run, sprint, jog
  jump: jump, leap, hop
  swim: swim swam swum, paddle
  crawl: crawl, creep crept crept
  dance (person): dance, waltz
  fly (bird): fly flew flown, soar
rest (person animal): rest, relax
  sleep: sleep slept slept, nap, doze
  sit: sit sat sat
  kneel (person): kneel knelt knelt
  recline: recline, lounge
express (person): gesture
  smile: smile, grin
  laugh: laugh, giggle, chuckle
  cry: cry, weep wept wept, sob
  shout: shout, yell, scream
  whisper: whisper, murmur
  sing: sing sang sung, chant
  talk: talk, speak spoke spoken, chat
  pray: pray
consume (person animal -> food ?): consume
  eat: eat ate eaten, devour
  chew: chew, munch, nibble
  taste: taste, sample
drink (person -> beverage ?): drink drank drunk
  sip: sip
  gulp: gulp, guzzle
prepare (person -> food): prepare, make made made
  cook: cook
    fry: fry
    bake: bake
    grill: grill, barbecue
    boil: boil, simmer
  slice: slice, chop, carve
  peel: peel
clean (person -> vehicle garment furniture container structure): clean
  wash: wash, rinse
  wipe: wipe, mop
  scrub: scrub
  polish: polish, buff
repair (person -> vehicle furniture device tool structure): repair, fix, mend
break (person -> device furniture toy container): break broke broken, damage
  smash: smash, shatter
  crush: crush, flatten
trade (person -> food beverage vehicle text toy tool container garment furniture device picture plant): trade
  buy: buy bought bought, purchase
  sell: sell sold sold, vend
  rent: rent, lease
handle (person -> toy tool container furniture text instrument picture device): handle
  carry: carry, haul
  push: push, shove
  pull: pull, drag, tug
  lift: lift, raise, hoist
  drop: drop
  throw: throw threw thrown, toss, hurl
  catch: catch caught caught
  kick: kick, punt
  hold: hold held held, grip, clutch
  hide: hide hid hidden, conceal
use (person -> instrument): use
  play: play, perform
  tune: tune
operate (person -> vehicle): operate
  drive (person -> car truck bus tractor): drive drove driven
  ride (person -> bicycle motorcycle horse): ride rode ridden
  park (person -> car truck bus tractor): park
study (person -> text ?): study
  browse: browse, skim
  copy: copy, duplicate
create (person -> text picture): create
  write (person -> text): write wrote written, compose
  draw (person -> picture map): draw drew drawn
  paint (person -> picture): paint
wear (person -> garment): wear wore worn
sew (person -> garment toy ?): stitch
fold (person -> garment text): fold
build (person -> structure furniture): build built built, construct
destroy (person -> structure furniture vehicle): destroy, demolish, wreck
open (person -> container structure): open, unlock
close (person -> container structure): close, seal
tend (person -> plant): tend
  plant: plant
  trim: trim, prune
  sprinkle: sprinkle
perceive (person animal -> person animal vehicle plant picture): perceive
  watch: watch, observe
  notice: notice, spot
  find: find found found, discover
  ignore: ignore, overlook
interact (person animal -> person animal): approach
  chase: chase, pursue
  follow: follow, trail
  attack: attack, assault
    bite (animal -> person animal): bite bit bitten, nip
    scratch: scratch, claw
  comfort: comfort, soothe
    hug (person -> person animal): hug, embrace, cuddle
    kiss (person -> person animal): kiss
    pat (person -> animal child): pat, stroke
  help: help, assist, aid
  feed (person -> animal child): feed fed fed, nourish
  greet (person -> person animal): greet, welcome
  frighten: frighten, scare, startle
  tease: tease, taunt
"""

# One line a dimension: which kinds it fits, then values that exclude each other.
_TRAITS = """
size (animal toy tool container furniture structure plant device vehicle): big large huge | small little tiny
age (person animal): old elderly aged | young youthful
mood (person animal): happy cheerful glad joyful | sad unhappy gloomy | angry furious mad
height (person): tall towering | short
wealth (person): rich wealthy | poor needy
strength (person animal): strong muscular | weak feeble
colour (vehicle toy container garment furniture device structure tool): \
red crimson scarlet | blue azure | green | yellow golden | black | white | purple violet
state (garment vehicle furniture container structure): clean spotless | dirty filthy muddy
moisture (garment text toy): wet soaked damp | dry
weather (food beverage): hot warm | cold chilly
weight (tool container furniture instrument): heavy hefty | light lightweight
newness (device vehicle instrument text garment): new modern | antique ancient outdated
beauty (plant picture garment): beautiful pretty lovely | ugly hideous
flavour (food beverage): sweet sugary | sour tart | spicy peppery | bland
"""

_PLACES = """
outdoors: outdoors, outside
  park: in park
  street: on street, on road
  beach: on beach, on shore
  garden: in garden, in yard
  forest: in forest, in woodland
  field: in field, in meadow
  market: at market, at bazaar
  river: by river, by stream
  hill: on hill, on mountain
  square: on square, on plaza
  lake: by lake, by pond
  farm: on farm, on ranch
indoors: indoors, inside
  kitchen: in kitchen
  office: in office, in workplace
  library: in library
  museum: in museum, in gallery
  hospital: in hospital, in clinic
  school: at school, at academy
  restaurant: in restaurant, in diner
  garage: in garage, in workshop
  bedroom: in bedroom
  church: in church, in chapel
  theater: at theater, at playhouse
  basement: in basement, in cellar
  shop: in shop, in store
"""

_TIMES = """
morning: in the morning, at dawn
noon: at noon, at midday
afternoon: in the afternoon
evening: in the evening, at dusk
night: at night, at midnight
"""

_MANNERS = """
speed: quickly rapidly swiftly | slowly leisurely
volume: quietly silently | loudly noisily
care: carefully cautiously | carelessly recklessly
feeling: happily cheerfully | sadly gloomily | angrily furiously
"""

NUMBERS = ("one", "two", "three", "four", "five")
"""Words of the counts 1 to 5."""


@dataclass(frozen=True)
class Noun:
    singular: str
    plural: str


@dataclass(frozen=True)
class Verb:
    base: str
    third: str
    past: str
    participle: str
    ing: str


@dataclass(frozen=True)
class Frame:
    """Which kinds may act, which may be acted on (none: intransitive), and whether the object may be left out."""

    agents: tuple[str, ...]
    patients: tuple[str, ...] = ()
    optional: bool = False


@dataclass(frozen=True, eq=False)
class Tree:
    """Concepts of one part of speech: parents, axes and words."""

    parent: dict[str, str | None] = field(default_factory=dict)
    axis: dict[str, str] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def ancestors(self, concept: str) -> tuple[str, ...]:
        """The concept itself, then what it is a kind of, up to the root."""
        return _ancestors(self, concept)

    def is_a(self, concept: str, general: str) -> bool:
        return general in _ancestors(self, concept)

    def children(self, concept: str | None) -> list[str]:
        return [name for name, parent in self.parent.items() if parent == concept]

    def excludes(self, a: str, b: str) -> bool:
        """Whether nothing can be both: below their common ancestor they part on the same axis."""
        return b in self.excluded(a)

    def excluded(self, concept: str) -> tuple[str, ...]:
        """All concepts that exclude this one, in the lexicon's order."""
        return _excluded(self, concept)


@cache
def _ancestors(tree: Tree, concept: str) -> tuple[str, ...]:
    parent = tree.parent[concept]
    return (concept, *(_ancestors(tree, parent) if parent else ()))


@cache
def _excluded(tree: Tree, concept: str) -> tuple[str, ...]:
    return tuple(other for other in tree.parent if _part(tree, concept, other))


def _part(tree: Tree, a: str, b: str) -> bool:
    for x, y in zip(tree.ancestors(a)[::-1], tree.ancestors(b)[::-1], strict=False):
        if x != y:
            return tree.axis[x] == tree.axis[y]
    return False


def _tree(text: str) -> tuple[Tree, dict[str, str]]:
    tree = Tree()
    frames: dict[str, str] = {}
    path: list[str] = []
    for line in text.strip("\n").splitlines():
        level = (len(line) - len(line.lstrip())) // 2
        match = re.fullmatch(r"(?:\[(\w+)\] )?(\w+)(?: \((.*)\))?: (.*)", line.strip())
        assert match, line
        axis, name, frame, words = match.groups()
        assert name not in tree.parent, name
        path[level:] = [name]
        tree.parent[name] = path[level - 1] if level else None
        tree.axis[name] = axis or ""
        tree.words[name] = tuple(word.strip() for word in words.split(","))
        frames[name] = frame or (frames[path[level - 1]] if level else "")
    return tree, frames


def _noun(text: str) -> Noun:
    singular, _, plural = text.partition("/")
    return Noun(singular, plural or _with_s(singular))


def _verb(text: str) -> Verb:
    base, *irregular = text.split()
    stem = base + base[-1] if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", base) else base  # run, running
    soft = stem.removesuffix("e")
    ed = base[:-1] + "ied" if re.search(r"[^aeiou]y$", base) else soft + "ed"
    past, participle = irregular or (ed, ed)
    return Verb(base, _with_s(base), past, participle, soft + "ing")


def _with_s(word: str) -> str:
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    if re.search(r"(s|x|z|ch|sh)$", word) or word in ("potato", "tomato"):
        return word + "es"
    return word + "s"


def _frame(text: str) -> Frame:
    agents, _, patients = text.partition("->")
    return Frame(tuple(agents.split()), tuple(patients.replace("?", "").split()), "?" in patients)


NOUN_TREE, _ = _tree(_NOUNS)
VERB_TREE, _frames = _tree(_VERBS)
PLACE_TREE, _ = _tree(_PLACES)
TIME_TREE, _ = _tree(_TIMES)

NOUNS = {name: tuple(map(_noun, words)) for name, words in NOUN_TREE.words.items()}
VERBS = {name: tuple(map(_verb, words)) for name, words in VERB_TREE.words.items()}
FRAMES = {name: _frame(text) for name, text in _frames.items()}

for _name, _own in FRAMES.items():  # what is done in one way is not done in the other: transitive and not
    VERB_TREE.axis[_name] = "deed" if _own.patients else "act"


def _dimensions(text: str) -> tuple[dict[str, str], dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Value to dimension, value to words, dimension to the kinds that it fits."""
    dimension_of: dict[str, str] = {}
    words: dict[str, tuple[str, ...]] = {}
    fits: dict[str, tuple[str, ...]] = {}
    for line in text.strip().splitlines():
        head, _, values = line.partition(": ")
        dimension, _, kinds = head.partition(" (")
        fits[dimension] = tuple(kinds.rstrip(")").split())
        for value in values.split("|"):
            synonyms = tuple(value.split())
            dimension_of[synonyms[0]], words[synonyms[0]] = dimension, synonyms
    return dimension_of, words, fits


TRAIT_DIMENSION, TRAIT_WORDS, TRAIT_FITS = _dimensions(_TRAITS)
MANNER_DIMENSION, MANNER_WORDS, _no_kinds = _dimensions(_MANNERS)


def listed(text: str) -> tuple[str, ...]:
    """The words of a text, for word lists that are read rather than quoted one by one."""
    return tuple(text.split())


@cache
def kinds_of(roots: tuple[str, ...]) -> tuple[str, ...]:
    """All noun concepts that are one of `roots` or below, in the lexicon's order."""
    return tuple(name for name in NOUN_TREE.parent if any(NOUN_TREE.is_a(name, root) for root in roots))


@cache
def traits_for(kind: str) -> tuple[str, ...]:
    """The trait values that fit a noun concept."""
    return tuple(
        value
        for value, dimension in TRAIT_DIMENSION.items()
        if any(NOUN_TREE.is_a(kind, root) for root in TRAIT_FITS[dimension])
    )


def lexicon_words() -> set[str]:
    """Every word form that a scene can be told with, but for function words."""
    forms = {form for nouns in NOUNS.values() for noun in nouns for form in (noun.singular, noun.plural)}
    forms |= {f for verbs in VERBS.values() for v in verbs for f in (v.base, v.third, v.past, v.participle, v.ing)}
    phrases = [p for tree in (PLACE_TREE, TIME_TREE) for words in tree.words.values() for p in words]
    forms |= {word for phrase in phrases for word in phrase.split()}
    forms |= {word for words in (*TRAIT_WORDS.values(), *MANNER_WORDS.values()) for word in words}
    return forms | set(NUMBERS)
