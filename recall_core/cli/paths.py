"""``paths``: where data, bundled data and what the app keeps lie."""

from __future__ import annotations

import argparse

from . import launch


def add_options(command: argparse.ArgumentParser) -> None:
    """There are none."""


def run(parsed: argparse.Namespace) -> None:
    """Print where things lie."""
    from ..diagnosis import state_folder

    app = launch.app_file()
    print(f"data root:    {launch.data_root()}  (RECALL_DATA_ROOT)")
    print(f"state:        {state_folder()}  (RECALL_STATE_DIR)")
    print(f"bundled data: {app.parent / 'data'}")
    print(f"app:          {app}")
