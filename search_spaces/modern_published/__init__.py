"""Published models trained with current losses, whose scores are printed, beside ours.

`figures.csv` has these published numbers and the address of each. AnglE's are printed with the code of arXiv
2309.12871. GISTEmbed's (arXiv 2402.16829), and those of the model that it starts from, are in MTEB's results, here to
two decimals. MTEB's SICK-R has other pairs than SentEval's test split, and is left out. Two papers that our spaces
follow have no comparable table: NV-Retriever (arXiv 2407.15831, Tables 1 to 5) prints only retrieval, and Matryoshka
representation learning (arXiv 2205.13147) only images. The numbers of sentence-transformers for shortened embeddings
are quoted in `search_spaces/matryoshka_dims.py`.
"""
