"""What each setting is called on the pages: the sidebar, and messages of the engine that name a setting."""

from collections.abc import Mapping

from recall_core.errors import DataError, MissingDependency, spelled

from . import _


def labels() -> Mapping[str, str]:
    """Field of the spec, or of one page → the label of its widget; what no page asks for is called by its words."""
    return {
        "data": _("Data set"),
        "columns": _("Which column is which"),
        "encoding": _("Encoding of the table"),
        "where": _("Rows"),
        "query": _("Queries"),
        "gallery": _("Gallery"),
        "split": _("Split"),
        "both": _("Both directions"),
        "train": _("Training set"),
        "relevant": _("Right picture: same …"),
        "relevant_pairs": _("Relevant pairs"),
        "protocol": _("Protocol"),
        "corrections": _("Corrections"),
        "junk_same": _("Leave out: same …"),
        "embeddings": _("Vectors"),
        "gallery_embeddings": _("Vectors of the gallery"),
        "ids": _("Ids of the vectors"),
        "scores": _("Similarities from a file"),
        "encoder": _("Encoder"),
        "query_images": _("Pictures that ask"),
        "corrupt": _("Made worse"),
        "similarity": _("Similarity"),
        "rerank": _("Re-ranking"),
        "no_relevant": _("Without right picture"),
        "ks": _("List of k"),
        "seed": _("Seed of random draws"),
        "slice": _("Only where"),
        "bad_rows": _("Rows with nan or infinity"),
        "common": _("Compare the queries that all have, where they differ"),
    }


def in_words(text: str) -> str:
    """A text of the engine, each setting in it by its label, in the visitor's language."""
    return spelled(text, _spelling)


def problem_text(problem: DataError | MissingDependency) -> str:
    """What the engine says is wrong, each setting by its label."""
    return problem.spelled(_spelling) if isinstance(problem, DataError) else str(problem)


def _spelling(field: str, value: str) -> str:
    name = _("“{label}”").format(label=labels().get(field, field.replace("_", " ")))
    return f"{name}: {value}" if value and value != "True" else name
