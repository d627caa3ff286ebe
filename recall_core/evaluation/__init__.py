"""``Dataset`` + ``Spec`` → ``Evaluation``, its report, saved and opened.

The files, in the order of the flow; each imports only those above it:

``spelling``    how reports spell numbers, intervals, rows and findings
``report``      an evaluation as text, JSON or CSV
``replacing``   a folder or a file written whole beside its place, then put there in one step
``saving``      an evaluation saved to a folder
``record``      ``Evaluation``, ``Direction`` and ``Estimate``
``query_rows``  one row a query: its matches, and at which rank the first one stands
``wiring``      the whole pipeline in one place: ``evaluate(dataset, spec) -> Evaluation``
``opening``     a saved evaluation, opened again
"""

from .opening import open_run
from .query_rows import best_wrong, wrong_places
from .record import Direction, Estimate, Evaluation, query_groups, split_units
from .replacing import write_file
from .report import made_by, report_csv, report_json, report_text, to_qrels, to_run
from .saving import check_free, save
from .spelling import (
    FORMAT,
    LEVELS,
    NO_RELEVANT_WORDS,
    SPLIT_WORDS,
    aligned,
    base_name,
    defined,
    describe,
    finding_json,
    range_text,
    records,
    signed,
    spell_number,
    table_csv,
    without_zeros,
)
from .wiring import evaluate, rank_here, select_queries

__all__ = [
    "FORMAT",
    "LEVELS",
    "NO_RELEVANT_WORDS",
    "SPLIT_WORDS",
    "Direction",
    "Estimate",
    "Evaluation",
    "aligned",
    "base_name",
    "best_wrong",
    "check_free",
    "defined",
    "describe",
    "evaluate",
    "finding_json",
    "made_by",
    "open_run",
    "query_groups",
    "range_text",
    "rank_here",
    "records",
    "report_csv",
    "report_json",
    "report_text",
    "save",
    "select_queries",
    "signed",
    "spell_number",
    "split_units",
    "table_csv",
    "to_qrels",
    "to_run",
    "without_zeros",
    "write_file",
    "wrong_places",
]
