"""The entry: arguments to the call of one command, and its exit code."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Collection, Sequence

from .. import program
from ..errors import DataError, MissingDependency
from ..version import VERSION
from . import ann, app, audit, classroom, compare, evaluate, export, failures, glyphlab, leakage, paths

COMMANDS = {
    "evaluate": (evaluate, "print how well queries find what is relevant to them"),
    "compare": (compare, "print which of several runs or encoders is better, and on which queries"),
    "failures": (failures, "print the queries that miss, the worst first, as CSV"),
    "audit": (audit, "print what is suspicious about the data"),
    "export": (export, "write the data in our own folder form"),
    "glyphlab": (glyphlab, "write the lab's files to a folder"),
    "leakage": (leakage, "show what leaks, and what it does to the number, over seeds"),
    "ann": (ann, "tell the error of an approximate index from the representation's"),
    "app": (app, "open the app on your data, in the browser of this machine"),
    "class": (classroom, "open the app to everybody in the room: an address and a QR code"),
    "paths": (paths, "print where data, bundled data and what the app keeps lie"),
}
"""How a command is called → its file, and what it does."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    if arguments is None and isinstance(sys.stdout, io.TextIOWrapper):
        # Reports, JSON and CSV are UTF-8 wherever they are sent, not what the terminal's language happens to be.
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    given, more = _split_off(sys.argv[1:] if arguments is None else arguments)
    parsed = parser(given).parse_args(given)
    parsed.more = more
    run: Callable[[argparse.Namespace], None] = parsed.run
    try:
        run(parsed)
        print(end="", flush=True)  # what is printed must have arrived, too
    except (DataError, MissingDependency) as error:
        said = error.spelled(program.flag) if isinstance(error, DataError) else str(error)
        print("error:", *said.splitlines(), file=sys.stderr)  # a name may hold a line end
        return 2
    except BrokenPipeError:
        sys.stderr.close()  # the reader has left; a second message about it helps nobody
    except OSError as error:
        print(f"error: {error.filename or 'standard output'}: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def parser(words: Collection[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """All commands, and the options of those that are among the words: the help is the reference.

    Options name what the engine offers, which is slow to import; the list of commands does without.
    """
    top = argparse.ArgumentParser(prog=program.command(), description="Evaluate image retrieval.")
    top.add_argument("--version", action="version", version=f"recall-explorer {VERSION}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for name, (file, help) in COMMANDS.items():
        command = commands.add_parser(name, help=help)
        command.set_defaults(run=file.run)
        if name in words:
            file.add_options(command)
    return top


def _split_off(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split off what follows ``--`` for the commands that pass it on to Streamlit."""
    words = list(arguments)
    if words[:1] in (["app"], ["class"]) and "--" in words:
        at = words.index("--")
        return words[:at], words[at + 1 :]
    return words, []
