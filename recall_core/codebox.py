"""A student's ``recall_at_k`` in a process of its own, or in a file to run at home.

The box protects from accidents: an endless loop, a list that eats the memory, a print in it. It does not protect from
attackers: the code runs with the rights of this program, may read files and open connections. So it is meant for the
learner's own machine, and off unless ``RECALL_CODE_BOX=1``. Where the system has no resource limits (Windows), time and
output are still limited, memory is not.

Keys of ``Boxed.stopped``: empty (ran through), ``syntax``, ``failed`` (raised before the function was there),
``no_function``, ``time``, ``output`` (printed too much), ``ended`` (the process died: by its memory limit, or because
it said so).
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .coding import Answer, Case, answer_of, f3_cases, mark_f3, misreading, verdict
from .errors import DataError
from .exercises import Marked
from .rights import CODE_BOX, code_runs

SECONDS = 5.0
START_SECONDS = 60.0
MEMORY = 2**30
OUTPUT = 2**16
SHOWN = 2_000


@dataclass(frozen=True)
class Boxed:
    """What became of a student's code.

    Parameters
    ----------
    marked : Marked
        One cell a case; cases after a stop are ``no_answer``.
    stopped : str
        Key of the module, empty if all cases were run.
    message : str
        Python's own words, where it has any: the error with its line.
    printed : str
        What the code printed, at most ``SHOWN`` characters.
    """

    marked: Marked
    stopped: str
    message: str
    printed: str


def allowed() -> bool:
    """May code of visitors run here? Only where ``RECALL_CODE_BOX`` is 1."""
    return code_runs()


def run(
    source: str,
    cases: Sequence[Case] | None = None,
    *,
    seconds: float = SECONDS,
    memory: int = MEMORY,
    output: int = OUTPUT,
) -> Boxed:
    """Does a student's ``recall_at_k`` give every case's answer?

    Parameters
    ----------
    source : str
        A Python file that defines ``recall_at_k``.
    cases : sequence of Case, optional
        ``f3_cases()`` by default.
    seconds : float
        For all cases; the start of the process, before the code's first line, does not count.
    memory : int
        Bytes of address space, on systems that can limit it.
    output : int
        Bytes that may be printed, or written to any one file.

    Raises
    ------
    DataError
        The box is off.
    """
    if not allowed():
        raise DataError(f"the code box is off; set {CODE_BOX}=1 on your own machine, or run the test file instead")
    asked = f3_cases() if cases is None else list(cases)
    with tempfile.TemporaryDirectory(prefix="recall-box-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "student.py").write_text(source, encoding="utf-8")
        (folder / "cases.json").write_text(json.dumps(asked), encoding="utf-8")
        (folder / "box.py").write_text(_child_source(), encoding="utf-8")
        stopped = _watch(folder, seconds, memory, output)
        answers, ended, message = _read_answers(folder)
        with (folder / "printed.txt").open(encoding="utf-8", errors="replace") as file:
            printed = file.read(SHOWN)
    return Boxed(mark_f3(asked, answers), stopped or ended, message, printed)


def _watch(folder: Path, seconds: float, memory: int, output: int) -> str:
    """Run the child until it ends, or stop it with all its children; returns why it was stopped, if it was."""
    command = [sys.executable, "-I", "-B", "-X", "utf8", "box.py", str(memory), str(output), str(int(seconds) + 1)]
    own = {name: os.environ[name] for name in ("SYSTEMROOT", "PATH", "TMPDIR", "TEMP") if name in os.environ}
    environment = own | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    printed = folder / "printed.txt"
    started = folder / "answers.jsonl"
    deadline = time.monotonic() + START_SECONDS
    running = False
    with printed.open("wb") as sink:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while True:
                if not running and started.exists():
                    running, deadline = True, time.monotonic() + seconds
                if printed.stat().st_size >= output:
                    return "output"
                try:
                    process.wait(timeout=0.02)
                except subprocess.TimeoutExpired:
                    if time.monotonic() > deadline:
                        return "time"
                else:
                    return "output" if printed.stat().st_size >= output else ""
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the process and all that it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        process.kill()
    process.wait()


def _read_answers(folder: Path) -> tuple[list[Answer], str, str]:
    """Answers as far as they go, why there are no more, and Python's words for it."""
    file = folder / "answers.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    answers: list[Answer] = []
    ended, message = "ended", ""
    for line in lines:
        try:
            said = json.loads(line)
        except json.JSONDecodeError:
            break
        if "stopped" in said:
            ended, message = said["stopped"], said["message"]
        else:
            answers.append(said)
    return answers, ended, message


# ---- what runs in the child ------------------------------------------------------------------------------------------


def limit_resources(memory: int, output: int, seconds: int) -> None:
    """Set this process's limits, where the system has them. Its source runs in the child."""
    try:
        import resource
    except ImportError:
        return
    for what, limit in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, output),
        (resource.RLIMIT_CPU, seconds + int(time.process_time()) + 1),
        (resource.RLIMIT_CORE, 0),
    ):
        try:
            _, most = resource.getrlimit(what)
            new = limit if most == resource.RLIM_INFINITY else min(limit, most)
            resource.setrlimit(what, (new, new))
        except (ValueError, OSError):
            pass  # macOS refuses some of them


def _child_source() -> str:
    return "\n\n".join(
        [
            "from __future__ import annotations\nimport json, sys, time, traceback\nimport numpy as np",
            inspect.getsource(answer_of),
            inspect.getsource(limit_resources),
            CHILD,
        ]
    )


CHILD = """
def main():
    with open("cases.json", encoding="utf-8") as file:
        cases = json.load(file)
    with open("answers.jsonl", "w", encoding="utf-8") as answers:

        def say(what):
            answers.write(json.dumps(what) + "\\n")
            answers.flush()

        limit_resources(*map(int, sys.argv[1:]))
        names = {"__name__": "student"}
        try:
            with open("student.py", encoding="utf-8") as file:
                code = compile(file.read(), "student.py", "exec")
            exec(code, names)
        except SyntaxError as error:
            return say({"stopped": "syntax", "message": f"line {error.lineno}: {error.msg}"})
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == "student.py"]
            where = f"line {lines[-1]}: " if lines else ""
            return say({"stopped": "failed", "message": f"{where}{type(error).__name__}: {error}"[:300]})
        if not callable(names.get("recall_at_k")):
            return say({"stopped": "no_function", "message": ""})
        for case in cases:
            say(answer_of(names["recall_at_k"], case))
        say({"stopped": "", "message": ""})


main()
"""


# ---- the same checks as a file ---------------------------------------------------------------------------------------

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
        TESTER.strip(),
    ]
    return "\n\n\n".join(part.rstrip() for part in parts) + "\n"


TESTER = """
def main(arguments):
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
    failed = []
    for case, answer in zip(CASES, answers):
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""
