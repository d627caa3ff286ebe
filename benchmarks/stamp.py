"""What does it cost to see that no file of a data set was written? Its stamp, next to asking for every file bare.

    python -m benchmarks.stamp [--files 50000] [--folders 500]

The script makes a folder of small files and looks at it in turn in both ways, a few times; the least times count.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from recall_core.datasets import stamp

N_TRY = 9


def make_files(root: Path, n: int, n_folder: int) -> None:
    """Write files into folders of two levels."""
    for i in range(n):
        folder = root / f"{i % n_folder % 10}" / f"{i % n_folder:04d}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i:06d}.png").write_bytes(b"x")


def bare(root: Path) -> None:
    """Ask for every file, and keep nothing."""
    for parent, _folders, names in os.walk(root):
        for name in names:
            os.stat(os.path.join(parent, name))


def least(look: Callable[[Path], object], root: Path) -> float:
    """Seconds of the quickest of a few looks."""
    taken = []
    for _i in range(N_TRY):
        begun = time.perf_counter()
        look(root)
        taken.append(time.perf_counter() - begun)
    return min(taken)


def main() -> None:
    """Print both times and their ratio."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", type=int, default=50_000)
    options.add_argument("--folders", type=int, default=500)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as made:
        make_files(Path(made), asked.files, asked.folders)
        ours, theirs = least(stamp, Path(made)), least(bare, Path(made))
    print(f"{asked.files} files: stamp {ours:.3f} s, bare {theirs:.3f} s, ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
