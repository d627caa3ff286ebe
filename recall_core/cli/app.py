"""``app``: the app on your data, in the browser of this machine."""

from __future__ import annotations

import argparse
import sys

from . import launch


def add_options(command: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    launch.add_options(command)
    command.add_argument("--no-browser", action="store_true", help="print the address, and leave the browser alone")


def run(parsed: argparse.Namespace) -> None:
    """Open the app, and serve it until it is stopped."""
    launch.check_installed()
    environment, opened = launch.opening(parsed.data, parsed.embeddings)
    port = launch.free_port(launch.HERE, parsed.port)
    if port != (parsed.port or launch.PORT):
        print(f"port {launch.PORT} is in use: this is {port}", file=sys.stderr)
    address = f"http://{launch.HERE}:{port}"

    def ready() -> None:
        print(f"Recall Explorer is at {address}{opened}\nCtrl-C ends it", flush=True)
        if not parsed.no_browser:
            launch.open_browser(address + opened)

    launch.serve(port, launch.HERE, environment=environment, more=parsed.more, ready=ready)
