"""Recall Explorer's engine: from images and labels to a retrieval number that can be trusted.

The modules, in the order in which data flows; imports run the same way:

``errors``       ``DataError`` and ``MissingDependency``
``images``       one picture decoded safely; ``Pictures``, many of them on demand; thumbnails
``glyphlab``     the lab's pictures and table, from a seed
``samples``      two more data sets that are built in: scanned digits, patches of photographs
``dataset``      ``load(path) -> Dataset``: table, pictures, embeddings, fingerprint
``encoders``     pictures → vectors
``splits``       which rows ask, which answer, which train
``relevance``    which gallery items are right for a query, and which are junk
``similarity``   how alike two vectors are, the same to the last bit on every machine
``ranking``      the exact pass: ranks and ties of the relevant items, and the top of each list
``ties``         what the order of equally similar items can do to a score
``metrics``      ranks → ``Score``: numerator, denominator, and the range under ties
``plain``        the courses' plain functions on matrices and arrays
``uncertainty``  ``Interval``: how far a score can be trusted, by group
``audit``        ``Finding``: what is suspicious about the data or the split
``evaluation``   the only wiring: ``evaluate(dataset, spec) -> Evaluation``
``report``       an evaluation as text, JSON or CSV
``cli``          arguments to calls
"""
