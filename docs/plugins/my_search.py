from search_spaces import Domain, Row, Space
from trainables.recipe import Recipe

SPACE = Space(
    name="my_search",
    title="Which power, and how even?",
    paper="nobody's yet",
    base=Recipe().override({"objective.name": "alignment", "corpus.layout": "pairs"}),
    laptop={"encoder.name": "scenes-small", "corpus.nli": "scenes", "evaluation.senteval": "scenes"},
    rows=(Row("as the keys say", {}),),
    domains=(Domain("objective.power"), Domain("objective.evenness")),
)
