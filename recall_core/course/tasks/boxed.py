"""What runs in the process of a student's code: limits around it, and an end to all that it started.

``codebox`` sends the source of this module there, where no module of ours can be imported: it needs the standard
library alone. The process parts in two. One half runs the code. The other half watches: on Linux it adopts every
process that the code starts and lets go of (a "child subreaper"), and it ends all of them when the code has ended, or
when its own input is closed, as happens too when the program that opened the box dies.

Cases come on standard input, one line of JSON, without what is expected of them. Answers go to standard output, a line
each; what the code prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

ADOPT, DIE_WITH_PARENT = 36, 1
"""Numbers of Linux's prctl: PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG."""

NAME = "student.py"
"""What the code's file would be called."""


def begin() -> dict[str, Any]:
    """Read what is asked, part in two, and return in the half that runs the code; ``without`` says what is missing."""
    asked: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    asked["without"] = []
    if hasattr(os, "fork"):
        if not control(ADOPT, 1):
            asked["without"].append("children")
        child = os.fork()
        if child:
            watch(child)
        os.setsid()  # so that a signal to its own group does not reach the half that watches
        control(DIE_WITH_PARENT, signal.SIGKILL)
    else:
        asked["without"].append("children")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return asked


def control(what: int, value: int) -> bool:
    """Set an attribute of this process, on Linux; says whether that worked."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(what, value, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def watch(child: int) -> NoReturn:
    """Wait until the code has ended or the input is closed, then end everything, and this process.

    The folder goes too: who opened the box may be dead.
    """
    folder = os.getcwd()
    while not os.waitpid(child, os.WNOHANG)[0]:
        if select.select([0], [], [], 0.01)[0]:
            break
    end(child)
    with suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def end(child: int) -> None:
    """End every process below this one. All are stopped before any is killed, so that none can make others."""
    stopped: set[int] = set()
    while found := descendants() - stopped:
        send(found, signal.SIGSTOP)
        stopped |= found
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    while True:
        send(descendants(), signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return  # none is left, and whatever is orphaned would have come here
        time.sleep(0.002)


def send(pids: set[int], number: int) -> None:
    """Send a signal to processes, some of which may be gone."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def descendants() -> set[int]:
    """Which processes are below this one? None where the system has no ``/proc``."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                pass  # it has just ended
    below = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return below - {os.getpid()}


def limit_resources(memory: int, output: int, seconds: int) -> bool:
    """Set this process's limits, where the system has them; says whether memory is limited."""
    try:
        import resource
    except ImportError:
        return False
    limited = False
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
            limited = limited or what == resource.RLIMIT_AS
        except (ValueError, OSError):
            pass  # macOS refuses some of them
    return limited


def answer(asked: dict[str, Any], answer_of: Callable[[Callable[..., Any], Any], Any]) -> NoReturn:
    """Run the code, call its function with each case, say what came of it, and end this process."""
    answers = os.dup(1)
    os.dup2(2, 1)

    def say(what: Any) -> None:
        line = json.dumps(what).encode() + b"\n"
        while line:
            line = line[os.write(answers, line) :]

    sys.modules["recall_core"] = None  # type: ignore[assignment]  # where it is installed, it holds the solution
    if not limit_resources(asked["memory"], asked["output"], asked["seconds"]):
        asked["without"].append("memory")
    try:
        say({"started": asked["without"]})
        function, stopped, message = defined(asked["source"])
        if function is not None:
            for case in asked["cases"]:
                say(answer_of(function, case))
        say({"stopped": stopped, "message": message})
    except BaseException:  # SystemExit among them: the code wanted to end here
        pass
    finally:
        os._exit(0)  # no thread that the code left behind is waited for


def defined(source: str) -> tuple[Callable[..., Any] | None, str, str]:
    """Run the code; give its ``recall_at_k``, or why there is none with Python's own words for it."""
    names: dict[str, Any] = {"__name__": "student"}
    try:
        code = compile(source, NAME, "exec")
    except SyntaxError as error:
        return None, "syntax", f"line {error.lineno}: {error.msg}"
    except Exception as error:  # too deep, not Unicode, too large
        return None, "syntax", f"{type(error).__name__}: {error}"
    try:
        exec(code, names)
    except Exception as error:
        lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == NAME]
        where = f"line {lines[-1]}: " if lines else ""
        try:
            said = f": {error}"
        except Exception:
            said = ""
        return None, "failed", f"{where}{type(error).__name__}{said}"
    function = names.get("recall_at_k")
    return (function, "", "") if callable(function) else (None, "no_function", "")
