"""``glyphlab``: the lab's files, written to a folder."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_options(command: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    from ..datasets import GLYPHLAB_SEED, GLYPHLAB_VARIANTS

    option = command.add_argument
    option("folder", metavar="FOLDER", help="images.npy, metadata.csv and corrupted_test.npy are written here")
    option(
        "--variant",
        choices=list(GLYPHLAB_VARIANTS),
        default="standard",
        help="standard, or textured for the leakage lesson",
    )
    option("--seed", metavar="N", type=int, default=GLYPHLAB_SEED, help=f"(default: {GLYPHLAB_SEED})")


def run(parsed: argparse.Namespace) -> None:
    """Write the lab's files."""
    from ..datasets import write_glyphlab

    write_glyphlab(Path(parsed.folder), seed=parsed.seed, variant=parsed.variant)
