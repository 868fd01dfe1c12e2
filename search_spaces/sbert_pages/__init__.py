"""Two pages of sentence-transformers with published numbers: distillation into fewer layers, and a search by Optuna.

`figures.csv` gives the address of each number. Settings that the scripts of the pages set are taken from there.
"""
