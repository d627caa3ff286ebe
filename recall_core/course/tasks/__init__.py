"""The tasks of the lab as questions with checked answers.

The files, in the order of the flow; each imports only those above it:

``marking``  what a checked answer is: right, or wrong with a hint
``opening``  the opening question: ranks with a given mean
``f1``       task F1: a rule of relevance
``f2``       task F2: Recall@k by hand
``f3``       task F3: writing ``recall_at_k``: cases, and how an answer is judged
``boxed``    the process that runs a learner's code: its limits, and how it ends all that it started
``codebox``  a learner's code, run in a process of its own
``checks``   the same checks as a file, for a learner's own computer
``f4``       task F4: a faulty split
``f5``       task F5: a report
"""

from .checks import checks_file
from .codebox import Boxed, code_allowed, run_code
from .f1 import F1_REASONS, F1_RULES, check_f1
from .f2 import F2_KS, F2_LISTS, F2_RELEVANT, check_f2, f2_solution
from .f3 import F3_STUB
from .f4 import F4_CONSEQUENCES, F4_LINES, F4_REPAIRS, check_f4, f4_facts, guarantee
from .f5 import F5_COLUMNS, F5_ENTRIES, F5_PARTS, check_f5_columns, check_f5_order
from .marking import TASKS, Marked
from .opening import OPENING_MEAN, OPENING_N, check_opening, extreme_ranks, propose_ranks

__all__ = [
    "F1_REASONS",
    "F1_RULES",
    "F2_KS",
    "F2_LISTS",
    "F2_RELEVANT",
    "F3_STUB",
    "F4_CONSEQUENCES",
    "F4_LINES",
    "F4_REPAIRS",
    "F5_COLUMNS",
    "F5_ENTRIES",
    "F5_PARTS",
    "OPENING_MEAN",
    "OPENING_N",
    "TASKS",
    "Boxed",
    "Marked",
    "check_f1",
    "check_f2",
    "check_f4",
    "check_f5_columns",
    "check_f5_order",
    "check_opening",
    "checks_file",
    "code_allowed",
    "extreme_ranks",
    "f2_solution",
    "f4_facts",
    "guarantee",
    "propose_ranks",
    "run_code",
]
