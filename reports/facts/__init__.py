"""Facts that follow from a study's records: figures, comparisons, flags, the answer. `reports/words` makes sentences.

from reports.facts.results import Results      # the contents of a results folder
from reports.facts.answer import Answer        # the answer that follows from them
"""
