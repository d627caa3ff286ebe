"""Who is compared with whom, and what is relevant.

The files, in the order of the flow; each imports only those above it:

``splits``        ``Split``: which rows are queries, which form the gallery, which train
``choices``       how a choice is checked, and spelled in a link, in JSON and on a command line
``spec``          ``Spec``: the table of choices that determine a number
``findings``      ``Finding``: a kind and its parameters, and the table of what each kind says
``checks``        what is suspicious about the data or the split
``selection``     which rows meet the conditions
``defaults``      every choice that was left open, filled from the data
``sides``         the directions of a split, and the training draw
``rules``         rules of relevance: labels, judged pairs, junk, corrections
``side_vectors``  where vectors come from: an encoder or files, put in the table's order
``given_scores``  where scores come from: a matrix that the user gives
"""

from .checks import (
    look_alikes,
    own_picture_kept,
    queries_without_relevant,
    reasons_without_relevant,
    same_files,
    training_leak,
)
from .choices import (
    Choice,
    Filter,
    check_names,
    make_filter,
    option,
    read_choice,
    read_condition,
    read_filter,
    write_condition,
    write_filter,
)
from .defaults import fill_defaults
from .findings import (
    AND,
    N_EXAMPLES,
    NO_RELEVANT_REASONS,
    PHRASES,
    SENTENCES,
    SEVERITIES,
    Finding,
    Listed,
    Phrase,
    Template,
    Value,
    find,
    name_rows,
    quoted,
    spell,
    spell_value,
)
from .given_scores import score_matrix
from .rules import relate, split_findings
from .selection import select_rows
from .side_vectors import (
    copies,
    encode_dataset,
    encode_unfitted,
    is_fitted,
    leave_out_bad_rows,
    query_pictures,
    resolve,
    same_pictures,
    stop_at_bad_rows,
    table_vectors,
    vectors_of_sides,
    zero_queries,
)
from .sides import directions
from .spec import BAD_ROWS, CHOICES, DEFAULT_KS, FILES, FILTERS, POLICIES, Spec
from .splits import (
    SPLITS,
    Split,
    draw_grouped_train,
    draw_random_train,
    lacking_a_side,
    leave_one_out,
    units,
    view_names,
)

__all__ = [
    "AND",
    "BAD_ROWS",
    "CHOICES",
    "DEFAULT_KS",
    "FILES",
    "FILTERS",
    "NO_RELEVANT_REASONS",
    "N_EXAMPLES",
    "PHRASES",
    "POLICIES",
    "SENTENCES",
    "SEVERITIES",
    "SPLITS",
    "Choice",
    "Filter",
    "Finding",
    "Listed",
    "Phrase",
    "Spec",
    "Split",
    "Template",
    "Value",
    "check_names",
    "copies",
    "directions",
    "draw_grouped_train",
    "draw_random_train",
    "encode_dataset",
    "encode_unfitted",
    "fill_defaults",
    "find",
    "is_fitted",
    "lacking_a_side",
    "leave_one_out",
    "leave_out_bad_rows",
    "look_alikes",
    "make_filter",
    "name_rows",
    "option",
    "own_picture_kept",
    "queries_without_relevant",
    "query_pictures",
    "quoted",
    "read_choice",
    "read_condition",
    "read_filter",
    "reasons_without_relevant",
    "relate",
    "resolve",
    "same_files",
    "same_pictures",
    "score_matrix",
    "select_rows",
    "spell",
    "spell_value",
    "split_findings",
    "stop_at_bad_rows",
    "table_vectors",
    "training_leak",
    "units",
    "vectors_of_sides",
    "view_names",
    "write_condition",
    "write_filter",
    "zero_queries",
]
