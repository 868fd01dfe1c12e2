"""Models of today's losses that others trained and score in print, beside ours.

`figures.csv` gives the address of each figure. AnglE's authors print theirs with the code of arXiv 2309.12871. Those of
GISTEmbed (arXiv 2402.16829), with the model that it started from, are in MTEB's results, here to two decimals; MTEB's
SICK-R has other pairs than SentEval's test part, and is left out. No table is comparable in two of the papers that our
spaces follow: NV-Retriever (arXiv 2407.15831, Tables 1 to 5) prints retrieval alone, Matryoshka representation learning
(arXiv 2205.13147) images. What sentence-transformers prints of embeddings that are cut is in words, in
`search_spaces/matryoshka_dims.py`.
"""
