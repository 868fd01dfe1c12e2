"""Liao 2021, "Sentence Embeddings using Supervised Contrastive Learning" (SCL)."""
