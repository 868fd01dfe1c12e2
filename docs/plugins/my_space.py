from search_spaces import Domain, Row, Space
from trainables.recipe import Recipe

SPACE = Space(
    name="my_margins",
    title="Which margin?",
    paper="nobody's yet",
    base=Recipe().override({"objective.name": "triplet", "corpus.layout": "groups", "objective.negatives": 1}),
    laptop={"encoder.name": "scenes-small", "corpus.nli": "scenes", "evaluation.senteval": "scenes"},
    rows=(Row("margin 5", {}), Row("margin 1", {"objective.margin": 1.0})),
    domains=(Domain("objective.margin"),),  # over the range that the key names, or: low=0.1, high=10.0, log=True
)
