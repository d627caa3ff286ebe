"""The app opened by a command: ``app`` for the person at this machine, ``class`` for everybody in the room.

Streamlit is run in this process, as ``python -m streamlit run`` would: nothing of it or of the pages is imported here.
What the command was given reaches the app by the environment, as if it had been set before ``streamlit run``.
"""

from __future__ import annotations

import argparse
import http.client
import importlib
import io
import os
import runpy
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlencode

from .. import rights
from ..errors import DataError, MissingDependency, needs

CLOSED = {rights.TYPED_PATHS: "0", rights.CODE_BOX: "0"}
"""What a class is told: no path that a visitor types is opened, no code of theirs runs."""

NEEDS = {name: name for name in ("streamlit", "plotly", "pyarrow", "segno")} | {"sklearn": "scikit-learn"}
"""What the app imports → how it is called where packages are had from."""

PORT = 8501
N_PORT = 100
"""So many ports are tried, from ``PORT``."""

EVERYWHERE, HERE = "0.0.0.0", "localhost"  # a class is meant to be reached by others
OURS = ("server.port", "server.address", "server.headless")
"""Options of Streamlit's that our own decide."""

SETTINGS = {
    "server.headless": "true",
    "server.showEmailPrompt": "false",
    "server.fileWatcherType": "none",
    "logger.hideWelcomeMessage": "true",
    "logger.level": "warning",
    "browser.gatherUsageStats": "false",
}
"""Headless: no question for an e-mail address, no advertisement; the browser is opened here, on the data."""

_UNROUTED = ("192.0.2.1", "10.255.255.255", "172.31.255.255", "192.168.255.255")
"""Addresses towards which the system is asked for its own; nothing is sent."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Give ``app`` or ``class`` the options that both have."""
    option = command.add_argument
    kinds = "a data set, a table, a saved run, or a folder of data sets (default: the data sets that come along)"
    option("data", metavar="FOLDER|TABLE|RUN", nargs="?", help=kinds)
    option("--embeddings", metavar="FILE", nargs="+", default=[], help="further vectors of the data set")
    option("--port", metavar="N", type=int, help=f"(default: the first free one from {PORT})")
    command.epilog = "What follows -- is passed on to Streamlit, as in: -- --server.maxUploadSize=200"


def app_file() -> Path:
    """Where does the app lie: in the checkout, or in the installed package?

    Raises
    ------
    DataError
        In neither.
    """
    package = Path(__file__).parent.parent
    for folder in (package.parent, package / "_app"):
        if (folder / "app.py").is_file() and (folder / "pages").is_dir():
            return folder / "app.py"
    raise DataError(f"the app is not beside {package} nor in it; install the package again")


def check_installed() -> None:
    """Find out before the browser opens that a package of the app is missing.

    Raises
    ------
    MissingDependency
        With the command that installs it.
    """
    lacking = [name for module, name in NEEDS.items() if find_spec(module) is None]
    if lacking:
        raise MissingDependency(f"the app needs {' and '.join(lacking)}", extra="app")


def data_root() -> Path:
    """Where do the data sets of the person who started the program lie? ``RECALL_DATA_ROOT``, else those of the app."""
    return rights.data_root(app_file().parent / "data")


def opening(data: str | None, embeddings: Sequence[str] = ()) -> tuple[dict[str, str], str]:
    """What is the app told of the data, and which of its addresses shows them?

    Parameters
    ----------
    data : str, optional
        A folder of data sets, a data set, a table, a saved run, or the name of a built-in set.
    embeddings : sequence of str
        Files of further vectors for the data set.

    Returns
    -------
    environment : dict
    address : str
        Path and query, without the server.

    Raises
    ------
    DataError
        Nothing of the kind is there.
    """
    from .. import datasets

    files = [_vectors_file(name) for name in embeddings]
    if data is None or (not Path(data).exists() and data in datasets.SAMPLES):
        if files:
            raise DataError("--embeddings belong to the images of one data set; name its folder or table before them")
        return {}, "/" if data is None else _address("overview", data=data)
    root = Path(data).expanduser()
    environment = {rights.DATA_ROOT: str(root.resolve()), rights.EMBEDDINGS: os.pathsep.join(map(str, files))}
    if files and not datasets.is_one_data_set(root):
        raise DataError(f"--embeddings belong to the images of one data set, and {data} is none; name one")
    if datasets.is_run(root):
        return environment, _address("compare", runs=f"saved:{root.resolve().name}")
    datasets.check(root)
    names = list(datasets.data_sets(root))
    if not datasets.is_one_data_set(root):
        return environment, _address("", data=names[0]) if names else _address("compare")
    vectors = list(rights.vector_names(files))
    if len(vectors) > 1:
        return environment, _address("compare", data=names[0], runs=",".join(f"vectors:{name}" for name in vectors))
    chosen = {"embeddings": vectors[0]} if vectors else {}
    return environment, _address("overview", data=names[0], **chosen)


def free_port(address: str, wanted: int | None) -> int:
    """Which port is free: the wanted one, or the next from ``PORT``?

    Raises
    ------
    DataError
        The wanted one is taken or impossible, or too many are.
    """
    if wanted is not None:
        if not 1 <= wanted <= 65535:
            raise DataError(f"--port {wanted}: a port is a number from 1 to 65535")
        if not _is_free(address, wanted):
            raise DataError(f"port {wanted} is in use, or not yours to use; name another, or leave --port out")
        return wanted
    found = next((port for port in range(PORT, PORT + N_PORT) if _is_free(address, port)), None)
    if found is None:
        raise DataError(f"the ports {PORT} to {PORT + N_PORT - 1} are in use; name a free one with --port")
    return found


def network_addresses() -> list[str]:
    """Under which addresses do others reach this machine? The likeliest first; nobody is asked."""
    found: dict[str, None] = {}
    for target in _UNROUTED:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((target, 9))
                found[probe.getsockname()[0]] = None
            except OSError:
                continue  # no network leads there
    try:
        named = socket.gethostbyname_ex(socket.gethostname())[2]
    except OSError:
        named = []
    return [address for address in dict.fromkeys([*found, *named]) if not address.startswith(("127.", "0."))]


def check_address(address: str) -> str:
    """Check that a server can listen there.

    Raises
    ------
    DataError
        It is no address of this machine; the message lists those that are.
    """
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError as error:
            known = ", ".join([*network_addresses(), "127.0.0.1"])
            raise DataError(f"--address {address} is not an address of this machine; it has {known}") from error
    return address


def qr_code(address: str) -> str:
    """An address as a QR code of block characters, black on white in any terminal that knows colours."""
    with needs("segno", "the QR code", extra="app"):
        import segno

    drawn = io.StringIO()
    segno.make(address, micro=False).terminal(drawn, border=2, compact=True)
    if not sys.stdout.isatty():
        return drawn.getvalue()
    return "".join(f"\033[97;40m{line}\033[0m\n" for line in drawn.getvalue().splitlines())


def flags(settings: Mapping[str, str], more: Sequence[str]) -> list[str]:
    """Spell settings of Streamlit's as its flags, and pass on those that the user gave.

    Raises
    ------
    DataError
        One of them is ours to decide, or is no flag.
    """
    for given in more:
        name = given.removeprefix("--").partition("=")[0]
        if name in OURS:
            raise DataError(f"{given}: say it to this command (--port, --no-browser), not to Streamlit after --")
        if not given.startswith("--"):
            raise DataError(f"{given!r} after -- is no flag of Streamlit's; write --server.maxUploadSize=100")
    return [*(f"--{name}={value}" for name, value in settings.items()), *more]


def serve(
    port: int,
    address: str,
    *,
    environment: Mapping[str, str],
    more: Sequence[str] = (),
    prepare: Callable[[Path], None] = lambda app: None,
    ready: Callable[[], None],
) -> None:
    """Run the app until it is stopped, by Ctrl-C or by a signal; then the process ends.

    Parameters
    ----------
    environment : mapping
        What the app is told.
    more : sequence of str
        Further flags of Streamlit's.
    prepare : callable
        Called with the app's file before the server listens.
    ready : callable
        Called once it does.
    """
    app = app_file()
    spelled = flags(SETTINGS | {"server.port": str(port), "server.address": address}, more)
    os.environ.update(environment)
    try:
        prepare(app)
    except KeyboardInterrupt:
        return
    reached = HERE if address == EVERYWHERE else address
    threading.Thread(target=_tell_when_ready, args=(reached, port, ready), daemon=True).start()
    sys.argv = ["streamlit", "run", str(app), *spelled]
    # Streamlit stops in order once it runs, when it sets its own handlers; a signal while it starts would end in
    # tracebacks, and then there is nothing to stop yet.
    former = {number: signal.signal(number, _leave) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        runpy.run_module("streamlit", run_name="__main__")
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def warm(app: Path, data: Sequence[str], tell: Callable[[str, int, int], None]) -> None:
    """Visit the pages once, so that the first of thirty visitors need not wait for what all of them see."""
    sys.path.insert(0, str(app.parent))
    importlib.import_module("pages.shared.warming").visit(app, data, tell)


def open_browser(address: str) -> None:
    """Open a page where there is a screen; a browser for the terminal would take it over."""
    if sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(address)


def _leave(number: int, frame: object) -> None:
    os._exit(0)


def _tell_when_ready(address: str, port: int, ready: Callable[[], None]) -> None:
    while not _answers(address, port):
        time.sleep(0.05)
    ready()


def _answers(address: str, port: int) -> bool:
    """Does the server answer? It listens before it does."""
    asked = http.client.HTTPConnection(address, port, timeout=5)
    try:
        asked.request("GET", "/_stcore/health")
        asked.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asked.close()
    return True


def _is_free(address: str, port: int) -> bool:
    """Can a server listen there? A port on which something listens is taken, even where the system would share it."""
    if _listens(HERE if address == EVERYWHERE else address, port):
        return False
    with socket.socket() as probe:
        if sys.platform != "win32":  # there it would let us take a port that is in use
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


def _listens(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=1):
            return True
    except OSError:
        return False


def _vectors_file(name: str) -> Path:
    path = Path(name).expanduser().resolve()
    if not path.exists():
        raise DataError(f"--embeddings {name}: there is no such file; check the spelling")
    if not path.is_file():
        raise DataError(f"--embeddings {name} is a folder; name a file of vectors")
    if os.pathsep in str(path):
        raise DataError(f"--embeddings {name}: the path holds {os.pathsep!r}, which separates paths; rename it")
    return path


def _address(page: str, **query: str) -> str:
    return f"/{page}" + (f"?{urlencode(query)}" if query else "")
