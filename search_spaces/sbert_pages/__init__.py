"""Two pages of sentence-transformers that print figures: distillation into fewer layers, and a search by Optuna.

`figures.csv` gives the address of each figure. Settings are those of the scripts beside the pages, as
far as these have them.
"""
