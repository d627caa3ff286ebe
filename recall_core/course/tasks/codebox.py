"""A student's ``recall_at_k`` in a process of its own.

The box protects from accidents: an endless loop, a list that eats the memory, a print in it, a process that it starts
and lets go of. It does not protect from attackers: the code runs with the rights of this program, may read files and
open connections. So it is meant for the learner's own machine, and off unless ``RECALL_CODE_BOX=1``. What a system
cannot limit, ``Boxed.without`` names. The code is given the cases without what is expected of them.

Keys of ``Boxed.stopped``: empty (ran through), ``syntax``, ``failed`` (raised before the function was there),
``no_function``, ``time``, ``output`` (printed or answered too much), ``ended`` (the process died: by its memory limit,
or because it said so, or it said what is no answer).
"""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any

from ...errors import DataError
from ...rights import CODE_BOX, code_runs
from . import boxed
from .f3 import Answer, Case, answer_of, f3_cases, mark_f3
from .marking import Marked

SECONDS = 5.0
START_SECONDS = 60.0
STOP_SECONDS = 10.0
MEMORY = 2**30
OUTPUT = 2**16
ANSWERS = 2**20
SHOWN = 2_000
WORDS = 300
"""Bytes and characters at most: of memory, printed, of all answers; shown of what was printed, and of an error."""


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
    without : tuple of str
        What this system does not hold back: ``memory`` (no limit), ``children`` (a process that the code started, and
        that left its group, goes on).
    """

    marked: Marked
    stopped: str
    message: str
    printed: str
    without: tuple[str, ...] = ()


def code_allowed() -> bool:
    """May code of visitors run here? Only where ``RECALL_CODE_BOX`` is 1."""
    return code_runs()


def run_code(
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
        The box is off, or no process can be started.
    """
    if not code_allowed():
        raise DataError(f"the code box is off; set {CODE_BOX}=1 on your own machine, or run the test file instead")
    asked = f3_cases() if cases is None else list(cases)
    inputs = [{"rank_matrix": one["rank_matrix"], "rel_matrix": one["rel_matrix"], "k": one["k"]} for one in asked]
    limits = {"memory": memory, "output": output, "seconds": int(seconds) + 1}
    try:
        with _folder() as folder:
            told = _watch(json.dumps({"source": source, "cases": inputs, **limits}), folder, seconds, output)
    except OSError as error:
        raise DataError(f"the code box cannot be opened ({error.strerror or error}); try again later") from error
    stopped, said, printed = told
    answers, without, ended, message = _read_answers(said)
    return Boxed(mark_f3(asked, answers), stopped or ended, message, _text(printed, SHOWN), without)


@contextmanager
def _folder() -> Iterator[str]:
    """Make an empty folder for the code; it goes again, however deep the code made it."""
    made = tempfile.TemporaryDirectory(prefix="recall-box-", ignore_cleanup_errors=True)
    try:
        yield made.name
    finally:
        with suppress(RecursionError):
            made.cleanup()
        if os.name == "posix" and os.path.lexists(made.name):
            subprocess.run(["rm", "-rf", "--", made.name], stderr=subprocess.DEVNULL, check=False)


def _watch(asked: str, folder: str, seconds: float, output: int) -> tuple[str, bytes, bytes]:
    """Run the box until it ends, or stop it and all that it started; returns why, its answers, and what was printed."""
    command = [sys.executable, "-I", "-B", "-u", "-X", "utf8", "-c", _child_source()]
    own = {name: os.environ[name] for name in ("SYSTEMROOT", "PATH", "TMPDIR", "TEMP") if name in os.environ}
    environment = own | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    )
    streams = ((process.stdout, ANSWERS), (process.stderr, output))
    kept = [bytearray(), bytearray()]
    full = threading.Event()
    readers = [
        threading.Thread(target=_collect, args=(stream, limit, bytes_, full), daemon=True)
        for (stream, limit), bytes_ in zip(streams, kept, strict=True)
    ]
    for reader in readers:
        reader.start()
    try:
        stopped = _wait(process, asked, seconds, kept[0], full)
    finally:
        _stop(process)
        for reader in readers:
            reader.join(STOP_SECONDS)
    return "output" if full.is_set() else stopped, bytes(kept[0]), bytes(kept[1])


def _wait(
    process: subprocess.Popen[bytes], asked: str, seconds: float, answers: bytearray, full: threading.Event
) -> str:
    """Wait for the box to end; returns ``time`` where it takes too long."""
    deadline = time.monotonic() + START_SECONDS
    running = False
    with suppress(BrokenPipeError):
        if process.stdin is not None:
            process.stdin.write(asked.encode() + b"\n")
            process.stdin.flush()
    while not full.is_set():
        if not running and answers:
            running, deadline = True, time.monotonic() + seconds
        try:
            process.wait(timeout=0.02)
        except subprocess.TimeoutExpired:
            if time.monotonic() > deadline:
                return "time"
        else:
            break
    return ""


def _collect(stream: IO[bytes], limit: int, into: bytearray, full: threading.Event) -> None:
    """Take what comes until there is no more, or too much."""
    with stream:
        while piece := os.read(stream.fileno(), 2**16):
            into += piece[: limit - len(into)]
            if len(into) >= limit:
                full.set()
                return


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Let the box end all that runs in it; where it does not, end the box."""
    with suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    if os.name == "posix":
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=STOP_SECONDS)
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(ProcessLookupError, PermissionError):
        process.kill()
    process.wait()


def _read_answers(said: bytes) -> tuple[list[Answer], tuple[str, ...], str, str]:
    """Answers as far as they go, what the box lacks, why there are no more answers, and Python's words for it.

    The code can write where the answers go, so a line may hold anything.
    """
    answers: list[Answer] = []
    without: tuple[str, ...] = ()
    for number, line in enumerate(said.split(b"\n")):
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            break
        if number == 0:
            lacks = told.get("started") if isinstance(told, dict) else None
            without = tuple(name for name in ("children", "memory") if isinstance(lacks, list) and name in lacks)
        elif isinstance(told, dict) and told.get("stopped") in ("", "syntax", "failed", "no_function"):
            message = told.get("message")
            return answers, without, told["stopped"], _text(message if isinstance(message, str) else "", WORDS)
        elif (answered := _answer(told)) is not None:
            answers.append(answered)
        else:
            break
    return answers, without, "ended", ""


def _answer(told: Any) -> Answer | None:
    """One answer as the box spells it; None for anything else."""
    if not isinstance(told, dict) or set(told) != set(Answer.__annotations__):
        return None
    value, error, texts = told["value"], told["error"], (told["kind"], told["message"])
    if not isinstance(value, int | float | None) or not isinstance(error, list):
        return None
    if not all(isinstance(one, str) for one in (*texts, *error)):
        return None
    try:
        number = None if value is None else float(value)
    except OverflowError:
        return None
    kind, message = (_text(one, WORDS) for one in texts)
    names = [_text(one, WORDS) for one in error]
    return Answer(value=number, kind=kind, error=names, message=message, changed=told["changed"] is True)


def _text(said: str | bytes, most: int) -> str:
    """Text that can be shown: valid Unicode, and not too long."""
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    return text[:most].encode(errors="replace").decode()


def _child_source() -> str:
    return "\n\n".join(
        [
            inspect.getsource(boxed),
            "asked = begin()",
            "import numpy as np",
            inspect.getsource(answer_of),
            "answer(asked, answer_of)",
        ]
    )
