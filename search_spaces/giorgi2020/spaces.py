"""Six spaces: the paper's models, its four grids, and pretrained transformers."""

from __future__ import annotations

from search_spaces.giorgi2020.grids import GRIDS
from search_spaces.giorgi2020.main import MAIN
from search_spaces.giorgi2020.pooling import POOLING

SPACES = (MAIN, *GRIDS, POOLING)
