"""The losses that a recipe can choose, one or a few related ones per module. `OBJECTIVES` collects them."""
