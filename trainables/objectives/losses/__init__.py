"""The losses that a recipe can choose, a module for each or for a few alike: `OBJECTIVES` has all that these define."""
