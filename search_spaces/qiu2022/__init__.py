"""Qiu, Ding and Chen 2022, "Contrastive Learning of Sentence Representations" (CLSR)."""
