"""Vectors or scores + ``Relevance`` → ``Ranking``, exactly.

The files, in the order of the flow; each imports only those above it:

``relevance``    ``Relevance``: which gallery items are relevant for a query, and which are junk
``arithmetic``   sums in one fixed order, and the gallery's side of a float32 filter
``cosine``       the canonical cosine: the same bits on every machine
``dot``          the dot product
``euclidean``    the negative Euclidean distance
``similarity``   the canonical similarity of two vectors, and one literal table of them
``stretch``      what one stretch of the gallery adds to a ranking; the plain rule; how stretches merge
``certified``    the certified pass: a fast float32 filter, settled by exact similarities
``record``       ``Ranking``: ranks and ties of the relevant items, and the top of each list
``exact_pass``   the exact pass over vectors or scores, in this process
``rerank``       rerankers that use the neighbours of an item too
``distributed``  the exact pass in many workers: map over stretches of queries and gallery, then merge
``lists``        ranked lists of other systems, as a ``Ranking``
"""

from .certified import one_blas_thread
from .distributed import EXECUTORS, MEMORY, Side, open_ranker, rank_distributed
from .exact_pass import rank, rank_scores, without_answers
from .lists import rank_lists
from .record import Ranking
from .relevance import Relevance, Sets
from .rerank import RERANKERS
from .similarity import SIMILARITIES, Vectors, exact_block, exact_pairs, prepare

__all__ = [
    "EXECUTORS",
    "MEMORY",
    "RERANKERS",
    "SIMILARITIES",
    "Ranking",
    "Relevance",
    "Sets",
    "Side",
    "Vectors",
    "exact_block",
    "exact_pairs",
    "one_blas_thread",
    "open_ranker",
    "prepare",
    "rank",
    "rank_distributed",
    "rank_lists",
    "rank_scores",
    "without_answers",
]
