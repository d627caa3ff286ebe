"""Do 30 sessions at once stay usable? Reruns of Leakage and Query, alone and among 30, and the server's memory.

    python -m benchmarks.sessions [--sessions 30] [--rounds 8] [--pause 5]

The script starts a server on loopback and talks to it as a browser does, over its WebSocket: it opens a page, moves
the toggle or steps to another query, and waits until the server says that the script has finished. A rerun's time is
from the click's message to that answer, with everything that is to be shown received. It does not include painting:
30 browsers on one machine would measure each other. Clients and server share the cores, so the server alone is
faster. Between two clicks a visitor pauses; without that, this would measure throughput, not waiting.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

ROOT = Path(__file__).resolve().parent.parent
SECONDS_AT_MOST = 120
PAGES = ("leakage", "query")
DATA = ("photo_patches", "glyphlab")
DONE = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


@dataclass
class Session:
    """One visitor: a connection, the widgets on the page, the clocks of what grows by itself."""

    line: ClientConnection
    page: str
    query: str
    widgets: dict[str, str] = field(default_factory=dict)
    clocks: dict[str, float] = field(default_factory=dict)
    states: dict[str, WidgetState] = field(default_factory=dict)
    received: int = 0

    async def run(self, fragment: str = "") -> float:
        """Have the script run; seconds until all of its answer is there."""
        message = BackMsg()
        asked = message.rerun_script
        asked.page_name, asked.query_string, asked.fragment_id = self.page, self.query, fragment
        asked.is_auto_rerun = bool(fragment)
        asked.widget_states.widgets.extend(self.states.values())
        if not fragment:
            self.clocks.clear()
        begun = time.perf_counter()
        await self.line.send(message.SerializeToString())
        while True:
            answer = ForwardMsg.FromString(await self.line.recv())  # type: ignore[arg-type]
            self.received += answer.ByteSize()
            kind = answer.WhichOneof("type")
            if kind == "auto_rerun":
                self.clocks[answer.auto_rerun.fragment_id] = answer.auto_rerun.interval
            elif kind == "delta":
                self._note(answer)
            elif kind == "script_finished" and answer.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                self.clocks.clear()  # all draws are there: the whole page follows, without a clock
            elif kind == "script_finished" and answer.script_finished in DONE:
                return time.perf_counter() - begun

    async def settle(self) -> None:
        """Follow what grows by itself until it is complete."""
        while self.clocks:
            await asyncio.sleep(max(self.clocks.values()))
            for fragment in list(self.clocks):
                if fragment in self.clocks:
                    await self.run(fragment)

    def choose(self, widget: str, value: str | int) -> None:
        """Set a widget, as a click does."""
        state = WidgetState(id=self.widgets[widget])
        if isinstance(value, str):
            state.string_array_value.data.append(value)
        else:
            state.double_value = value
        self.states[widget] = state

    def _note(self, answer: ForwardMsg) -> None:
        element = answer.delta.new_element
        kind = element.WhichOneof("type")
        if kind in ("button_group", "number_input"):
            found = getattr(element, kind)
            self.widgets[found.label] = found.id


@dataclass(frozen=True)
class Visit:
    """What a session did: seconds of its first run and of each rerun, bytes received."""

    page: str
    first: float
    reruns: list[float]
    received: int


async def visit(port: int, number: int, page: str, rounds: int, pause: float) -> Visit:
    """Open a page, let it settle, then click and wait, again and again."""
    query = {
        "leakage": f"data={DATA[number % 2]}&on=chosen&part={('query-gallery', 'training')[number // 2 % 2]}",
        "query": f"data={DATA[number % 2]}",
    }[page]
    if page == "leakage":
        query += "&label_column=photo" if number % 2 == 0 else ""
    async with (
        asyncio.timeout(SECONDS_AT_MOST),
        connect(f"ws://localhost:{port}/_stcore/stream", max_size=2**26, compression=None) as line,
    ):
        session = Session(line, page, query)
        await asyncio.sleep(number * pause / 15)
        first = await session.run()
        await session.settle()
        reruns = []
        for turn in range(rounds):
            await asyncio.sleep(pause * (0.5 + (number * 7 + turn * 3) % 10 / 10))
            if page == "leakage":
                session.choose("Drawn at random, or whole groups", ("grouped", "random")[turn % 2])
            else:
                session.choose("Query", 2 + (number * 3 + turn) % 28)
            reruns.append(await session.run())
            await session.settle()
    return Visit(page, first, reruns, session.received)


async def crowd(port: int, n: int, rounds: int, pause: float) -> list[Visit]:
    """Visit with half of the sessions on each page, all at once."""
    return await asyncio.gather(*(visit(port, i // 2, PAGES[i % 2], rounds, pause) for i in range(n)))


@contextmanager
def server() -> Iterator[tuple[int, int]]:
    """Start the app on a free port of loopback; gives port and process id."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    options = [f"--server.port={port}", "--server.headless=true", "--server.fileWatcherType=none"]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", *options],
            cwd=ROOT,
            env=os.environ | {"RECALL_STATE_DIR": folder},
            stdout=subprocess.DEVNULL,
        )
        try:
            wait_until_healthy(port)
            yield port, process.pid
        finally:
            process.terminate()
            process.wait(timeout=20)


def wait_until_healthy(port: int) -> None:
    for _attempt in range(600):
        try:
            with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise SystemExit("the server did not start")


def memory(pid: int) -> float:
    """Resident memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


def processor(pid: int) -> float:
    """Seconds of processor time that a process has used: they do not depend on what else the machine does."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def shown(title: str, visits: list[Visit], seconds_used: float) -> None:
    """Print the waiting times of some visits, and what one run cost the server."""
    n_run = sum(1 + len(one.reruns) for one in visits)
    print(f"{title}: {seconds_used / n_run * 1000:.0f} ms of the server's processor a run")
    for page in PAGES:
        mine = [one for one in visits if one.page == page]
        seconds = sorted(second for one in mine for second in one.reruns)
        p50, p95 = (statistics.quantiles(seconds, n=20, method="inclusive")[i] * 1000 for i in (9, 18))
        first, sent = max(one.first for one in mine) * 1000, sum(one.received for one in mine) / len(mine) / 1e6
        counted = f"  {page:<8} {len(mine):>3} sessions {len(seconds):>4} reruns"
        print(f"{counted}   p50 {p50:6.0f} ms   p95 {p95:6.0f} ms   first run {first:6.0f} ms   {sent:.1f} MB each")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=8, help="clicks a session")
    parser.add_argument("--pause", type=float, default=5.0, help="seconds between two clicks of a visitor, on average")
    given = parser.parse_args()
    n, rounds = max(2, min(given.sessions, 60)), max(2, min(given.rounds, 50))
    with server() as (port, pid):
        print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        sizes = {"started": memory(pid)}
        for number, page in (
            (0, "leakage"),
            (1, "leakage"),
            (2, "leakage"),
            (3, "leakage"),
            (0, "query"),
            (1, "query"),
        ):
            asyncio.run(visit(port, number, page, 2, 0.2))
        sizes["caches warm"] = memory(pid)
        used = processor(pid)
        alone = [asyncio.run(visit(port, 0, page, 2 * rounds, 0.2)) for page in PAGES]
        shown("one session alone", alone, processor(pid) - used)
        for again in ("first", "second"):
            used = processor(pid)
            visits = asyncio.run(crowd(port, n, rounds, given.pause))
            shown(f"{n} sessions at once, {again} time", visits, processor(pid) - used)
            sizes[f"after {n} sessions, {again} time"] = memory(pid)
    print("memory of the server")
    for when, size in sizes.items():
        print(f"  {when:<32} {size:7.0f} MB")


if __name__ == "__main__":
    main()
