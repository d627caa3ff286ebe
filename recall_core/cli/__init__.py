"""Arguments to calls: ``recall-explorer evaluate DATA …``, or ``python -m recall_core evaluate DATA …``.

Exit code 0; 2 with one clear line on standard error where the data or a choice cannot be right. Standard output
carries the report alone. A command is one file: ``add_options`` gives its options, ``run`` runs it; both import the
engine inside, so that the list of commands is there at once.

The files, in the order of the flow; each imports only those above it:

``common``        what commands share: reading, checking, printing, telling of progress
``spec_options``  the options that spell a spec
``launch``        the app opened by a command: for one person, or for a class
``evaluate``      how well do queries find what is relevant to them?
``compare``       which of several runs or encoders is better, and on which queries?
``failures``      which queries miss, the worst first?
``audit``         what is suspicious about the data?
``export``        writes the data in our own folder form
``glyphlab``      writes the lab's files
``leakage``       what leaks, and what does it do to the number?
``ann``           the error of an approximate index, apart from that of the representation
``app``           opens the app on your data, in the browser of this machine
``classroom``     ``class``: opens the app to everybody in the room
``paths``         prints where data, bundled data and what the app keeps lie
``entry``         ``main``: all commands, and the exit code
"""

from .entry import main, parser

__all__ = ["main", "parser"]
