"""Why does it miss, which run is better, what is suspicious?

The files, in the order of the flow; each imports only those above it:

``duplicates``    near-duplicates, hubs, and labels that the nearest neighbours contradict
``audit``         everything suspicious about a data set, as findings and tables
``neighbours``    of a wrong match: how many queries it misleads, and whether its label can be believed
``failure_list``  which queries miss, the worst first, and why
``triage``        tags, notes and judgements of a person, kept in one small database
``triage_files``  tags, notes and judgements as files, written and read
``slicing``       where it fails: a metric by the values of a column
``comparison``    which of several evaluations of the same queries is better, and on which
``chart_data``    what charts show beyond the scores: precision over recall, similarities, a map of the vectors
``definitions``   one ranking under every convention, and which convention gives a number from elsewhere
``report``        slices, comparison and audit as text, JSON or LaTeX
``html``          an evaluation as one HTML file, with curves and the worst queries
"""

from .audit import Inspection, inspect
from .chart_data import Map, Similarities, bin_ranks, pca_map, precision_recall, similarities
from .comparison import (
    OUTCOMES,
    Comparison,
    before_after,
    compare,
    count_moves,
    count_outcomes,
    count_unfound,
    default_metrics,
    paired_tests,
    query_moves,
    run_table,
    single,
)
from .definitions import Match, Row, definition_rows, matching, matching_at, most_k
from .duplicates import HUB_TIMES, N_LABEL, NEAR_COSINE, NEAR_DISTANCE
from .failure_list import (
    MISS_REASONS,
    SORTS,
    Alike,
    best,
    compare_misses,
    comparer,
    count_reasons,
    count_values,
    failure_table,
    failures,
    position,
    precision_terms,
    range_under_ties,
    right_answers,
)
from .html import html_document, html_page
from .neighbours import FIRST, Intrusions, Neighbourhood, intrusions, neighbourhood
from .report import (
    comparison_json,
    comparison_latex,
    comparison_text,
    inspection_json,
    inspection_text,
    slices_json,
    slices_text,
)
from .slicing import LEVEL, SMALL, score_of, sliceable, slices
from .triage import (
    UNTAGGED,
    count_judged,
    edit_tag_list,
    judge,
    marks,
    meets,
    set_note,
    set_tag,
    state_folder,
    tag_list,
    tags_of,
    undo,
)
from .triage_files import triage_csv, triage_fiftyone, triage_patch, write_patch

__all__ = [
    "FIRST",
    "HUB_TIMES",
    "LEVEL",
    "MISS_REASONS",
    "NEAR_COSINE",
    "NEAR_DISTANCE",
    "N_LABEL",
    "OUTCOMES",
    "SMALL",
    "SORTS",
    "UNTAGGED",
    "Alike",
    "Comparison",
    "Inspection",
    "Intrusions",
    "Map",
    "Match",
    "Neighbourhood",
    "Row",
    "Similarities",
    "before_after",
    "best",
    "bin_ranks",
    "compare",
    "compare_misses",
    "comparer",
    "comparison_json",
    "comparison_latex",
    "comparison_text",
    "count_judged",
    "count_moves",
    "count_outcomes",
    "count_reasons",
    "count_unfound",
    "count_values",
    "default_metrics",
    "definition_rows",
    "edit_tag_list",
    "failure_table",
    "failures",
    "html_document",
    "html_page",
    "inspect",
    "inspection_json",
    "inspection_text",
    "intrusions",
    "judge",
    "marks",
    "matching",
    "matching_at",
    "meets",
    "most_k",
    "neighbourhood",
    "paired_tests",
    "pca_map",
    "position",
    "precision_recall",
    "precision_terms",
    "query_moves",
    "range_under_ties",
    "right_answers",
    "run_table",
    "score_of",
    "set_note",
    "set_tag",
    "similarities",
    "single",
    "sliceable",
    "slices",
    "slices_json",
    "slices_text",
    "state_folder",
    "tag_list",
    "tags_of",
    "triage_csv",
    "triage_fiftyone",
    "triage_patch",
    "undo",
    "write_patch",
]
