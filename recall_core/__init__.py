"""Recall Explorer's engine: from images and labels to a retrieval number that can be trusted.

The modules, in the order in which data flows; imports run the same way:

``version``      the version of the program, in one place
``program``      what printed commands begin with, installed or in a checkout
``errors``       ``DataError`` and ``MissingDependency``
``rights``       what data may prescribe, what a visitor may name, and what the starter of the program alone may
``budget``       how much a file may unpack to, and all that is unpacked at the same time
``images``       one picture decoded safely; ``Pictures``, many of them on demand; thumbnails
``corruption``   pictures made worse on purpose, by kind and severity
``glyphlab``     the lab's pictures and table, from a seed
``samples``      two more data sets that are built in: scanned digits, patches of photographs
``tables``       a text table, every cell as written
``documents``    JSON that somebody else wrote, parsed whole or refused
``sheets``       CSV that a spreadsheet opens without running it, and back
``arrow_sizes``  how much Parquet and Feather files unpack to, by their headers alone
``arrow``        Parquet and Feather: read whole or refused, columns of lists as arrays
``vectors``      embeddings from files, checked, by id or by position
``scores``       matrices of scores from files, with the ids of their rows and columns
``interchange``  judgements and ranked lists in other tools' forms: TREC, ROxford
``places``       where data lie, what a reader makes of them, picture files found safely
``shards``       vectors in many files, read row by row where they are needed
``foreign``      data as other programs write them: Hugging Face, FiftyOne, ROxford, TREC, Omniglot
``readers``      the forms in which people have their data, and one literal table of them
``dataset``      ``load(path) -> Dataset``: table, pictures, embeddings, fingerprint
``export``       a data set in our own folder form, which reads back the same
``uploads``      what a visitor uploads: archives unpacked with care, then read like any folder
``steady``       matrix products and solutions that are the same to the last bit on any BLAS
``encoders``     pictures → vectors
``relevance``    ``Relevance``: which gallery items are right for a query, and which are junk
``splits``       ``Split``: which rows ask, which answer, which train
``similarity``   the canonical similarity of two vectors
``parts``        what a stretch of the gallery adds to a ranking; the plain rule, and how stretches merge
``tiles``        the certified pass: a fast float32 filter, settled by exact similarities
``ranking``      the exact pass: ranks and ties of the relevant items, and the top of each list
``rerank``       rankers that look at the neighbours too
``distributed``  the exact pass beyond one machine: map over queries and stretches of the gallery, and merge
``duplicates``   one picture twice, items near everything, labels that the neighbours contradict
``ties``         best, worst and expected values where items tie
``metrics``      ranks → ``Score``: numerator, denominator, and the range under ties
``lists``        ranked lists that somebody else made, next to the exact ranking
``plain``        the courses' plain functions on matrices and arrays
``typed``        what a person types: a number as precise as it was written, a ranking as its relevance in rank order
``conventions``  the conventions under which a ranking is scored, and what other tools call each number
``definitions``  one ranking under every convention, and which of its numbers somebody has
``uncertainty``  ``Interval``: how far a score can be trusted, by group
``audit``        ``Finding``: what is suspicious about the data or the split
``spec``         ``Spec``: the choices that determine a number, in four spellings
``protocol``     a spec's defaults filled; who asks whom, and what is right
``sources``      where similarities come from: an encoder, files of vectors, a matrix of scores
``inspection``   everything suspicious about a data set, as findings and tables
``evaluation``   the only wiring: ``evaluate(dataset, spec) -> Evaluation``
``indexes``      faiss's approximate indexes: their numbers, how they are built, what they answer
``ann``          index error apart from representation error
``intruders``    on how many queries a wrong answer intrudes, and whether its label can be believed
``failures``     which queries miss, the worst first, and why
``replacing``    a folder or a file written whole, which then stands at its place at once
``triage``       tags, notes and judgements that a person gives, kept in one small database
``slices``       where it fails: each metric by the values of a column
``comparison``   which of several evaluations of the same queries is better, and on which
``curves``       what charts draw beyond the scores: precision over recall, similarities, a map
``draws``        a random half against the split that parts no group, over many seeds
``training``     a fitted encoder that has seen images, or whole groups, over many seeds
``leakage``      what leaks, and what it does to the number: the lesson's three experiments
``lesson``       what the lesson's steps compute that nothing else does
``exercises``    the lab's tasks as questions that can be checked at once
``coding``       task F3, writing ``recall_at_k``: cases and how an answer is judged
``boxed``        what runs in the process of a student's code: limits, and an end to all that it started
``codebox``      a student's code in a process of its own, or its checks in a file
``progress``     what a learner has done, as a dict to save, load and merge
``report``       an evaluation as text, JSON or CSV
``html_report``  an evaluation as one HTML file, with curves and the worst queries
``runs``         an evaluation saved to a folder, and opened again
``roots``        which data sets and saved runs lie at a place
``launch``       the app opened by a command: for one person, or for a class
``cli``          arguments to calls

Examples
--------
>>> import recall_core as rc
>>> data = rc.from_arrays([[1, 0], [1, 0.1], [0, 1], [0.1, 1]], labels=["a", "a", "b", "b"])
>>> rc.evaluate(data, ks=(1,)).scores["recall@1"].value
1.0
"""

from .dataset import Dataset, load
from .errors import DataError, MissingDependency
from .evaluation import Evaluation, evaluate
from .spec import Spec
from .version import VERSION as __version__

from_arrays = Dataset.from_arrays

__all__ = [
    "DataError",
    "Dataset",
    "Evaluation",
    "MissingDependency",
    "Spec",
    "__version__",
    "evaluate",
    "from_arrays",
    "load",
]
