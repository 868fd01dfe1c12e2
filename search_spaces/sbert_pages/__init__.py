"""Two pages of sentence-transformers with figures: distillation into fewer layers, and a search by Optuna.

`figures.csv` gives the address of each figure. Settings are from the scripts of the pages, where these set them.
"""
