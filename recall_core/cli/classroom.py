"""``class``: the app for everybody in the room."""

from __future__ import annotations

import argparse
import sys
from urllib.parse import parse_qsl, urlsplit

from ..errors import DataError
from . import launch
from .common import teller


def add_options(command: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    launch.add_options(command)
    help = "listen there alone, where the machine has several (default: all of them)"
    command.add_argument("--address", metavar="ADDRESS", help=help)


def run(parsed: argparse.Namespace) -> None:
    """Serve the app to the network, and print its address and a QR code."""
    launch.check_installed()
    environment, opened = launch.opening(parsed.data, parsed.embeddings)
    listens = launch.EVERYWHERE if parsed.address is None else launch.check_address(parsed.address)
    reached = launch.network_addresses() if parsed.address is None else [parsed.address]
    if not reached:
        raise DataError("this machine is in no network; connect it, or name one of its addresses with --address")
    port = launch.free_port(listens, parsed.port)
    if port != (parsed.port or launch.PORT):
        print(f"port {launch.PORT} is in use: this is {port}", file=sys.stderr)
    addresses = [f"http://{name}:{port}{opened}" for name in reached]

    def ready() -> None:
        lines = [f"Recall Explorer is at {addresses[0]}", launch.qr_code(addresses[0])]
        lines += [f"or at {address}" for address in addresses[1:]]
        lines += ["Everybody in this network can open it, without a password. Ctrl-C ends it."]
        print("\n".join(lines), flush=True)

    data, tell = dict(parse_qsl(urlsplit(opened).query)).get("data"), teller()
    launch.serve(
        port,
        listens,
        environment=environment | launch.CLOSED,
        more=parsed.more,
        prepare=lambda app: launch.warm(app, [data] if data else [], tell),
        ready=ready,
    )
