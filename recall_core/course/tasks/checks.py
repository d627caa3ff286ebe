"""The checks of task F3 as a file of their own, for a learner's own machine.

``main`` and what it calls travel in that file as their source: they need numpy alone, and run on old Pythons too.
"""

import inspect
import json
import runpy
import sys
from collections.abc import Mapping, Sequence

from .f3 import Answer, Case, answer_of, f3_cases, misreading, verdict

ENGLISH = {
    "usage": "usage: python {file} [recall.py]   (the file with your recall_at_k)",
    "no_function": "there is no function recall_at_k in {file}",
    "passed": "passed",
    "failed": "FAILED",
    "all_passed": "all {n} cases passed",
    "some_failed": "{n_failed} of {n} cases failed; the first one:",
    "expected": "expected",
    "expected_error": "a ValueError",
    "got": "got",
    "wrong_value": "the value is wrong",
    "left_out": "a query with nothing relevant counts as missed; it is not left out",
    "item_level": "count queries with at least one hit, not relevant items",
    "precision": "divide by the number of queries, not by k",
    "by_place": "rel_matrix is indexed by gallery item, not by place in the list",
    "is_nan": "nan; nothing relevant gives 0",
    "no_number": "that is not a number",
    "raised": "it raised an error",
    "not_raised": "the input is wrong, so it must raise a ValueError",
    "wrong_error": "it failed by accident; check the input and raise a ValueError",
    "changed_input": "the value is right, but the function changed its input",
    "memory": "it ran out of memory",
}
"""Words of the test file, by key; a page gives them in its reader's language."""

CASES, WORDS = f3_cases(), ENGLISH
"""What ``main`` checks and says here; the file has lines of its own for them."""


def checks_file(words: Mapping[str, str] = ENGLISH, cases: Sequence[Case] | None = None) -> str:
    """Write the checks of task F3 as a file of its own: ``python test_recall.py recall.py``; needs numpy alone.

    Exit code 0 if all pass, 1 if one fails, 2 if there is nothing to test.

    Parameters
    ----------
    words : mapping
        The keys of ``ENGLISH``, in another language; a missing one stays English.
    cases : sequence of Case, optional
        ``f3_cases()`` by default.
    """
    asked = f3_cases() if cases is None else list(cases)
    parts = [
        '"""Recall Explorer, task F3: checks of recall_at_k."""\n\nfrom __future__ import annotations\n\n'
        "import json\nimport runpy\nimport sys\n\nimport numpy as np",
        f"WORDS = {dict(ENGLISH) | dict(words)!r}",
        f"CASES = json.loads({json.dumps(asked)!r})",
        inspect.getsource(answer_of),
        inspect.getsource(verdict),
        inspect.getsource(misreading),
        inspect.getsource(main),
        'if __name__ == "__main__":\n    sys.exit(main(sys.argv[1:]))',
    ]
    return "\n\n\n".join(part.rstrip() for part in parts) + "\n"


def main(arguments: list[str]) -> int:
    """Check the function in a file; says what failed, and the first failure at length."""
    path = arguments[0] if arguments else "recall.py"
    try:
        function = runpy.run_path(path, run_name="student").get("recall_at_k")
    except FileNotFoundError:
        print(WORDS["usage"].format(file=sys.argv[0]))
        return 2
    if not callable(function):
        print(WORDS["no_function"].format(file=path))
        return 2
    answers = [answer_of(function, case) for case in CASES]
    failed: list[tuple[Case, Answer, str]] = []
    for case, answer in zip(CASES, answers):  # noqa: B905
        hint = verdict(case, answer)
        hint = misreading(CASES, answers) if hint == "wrong_value" else hint
        print(f"{case['name']:20} {WORDS['failed' if hint else 'passed']}")
        if hint:
            failed.append((case, answer, hint))
    if not failed:
        print(WORDS["all_passed"].format(n=len(CASES)))
        return 0
    case, answer, hint = failed[0]
    print(WORDS["some_failed"].format(n_failed=len(failed), n=len(CASES)))
    for name in ("rank_matrix", "rel_matrix", "k"):
        print(f"  {name} = {case[name]}")
    expected = WORDS["expected_error"] if case["expected"] is None else case["expected"]
    got = f"{answer['error'][0]}: {answer['message']}" if answer["error"] else answer["value"]
    print(f"  {WORDS['expected']}: {expected}")
    print(f"  {WORDS['got']}: {answer['kind'] if got is None else got}")
    print(f"  {WORDS[hint]}")
    return 1
