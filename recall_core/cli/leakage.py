"""``leakage``: what leaks, and what does it do to the number?"""

from __future__ import annotations

import argparse

from ..errors import DataError
from .common import load_data, print_json
from .spec_options import READING, add_choices, spec_of

CHOSEN = (*READING, "where", "relevant", "embeddings", "ids", "encoder", "similarity", "ks", "bad_rows")
"""The choices of a spec that the experiments leave to the user."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    from ..experiments.leakage import LEAKAGE_PARTS, N_SEED
    from ..images import ENCODERS

    option = command.add_argument
    lab = "the lab, which needs no files: the training part takes its textured pictures"
    option("data", metavar="DATA", nargs="?", help=f"a folder, or a built-in data set (default: {lab})")
    option("--part", choices=LEAKAGE_PARTS, action="append", help="one part alone; may be repeated (default: all)")
    option("--seeds", metavar="N", type=int, default=N_SEED, help=f"(default: {N_SEED})")
    option("--seed", metavar="N", type=int, default=0, help="the first seed, and the one that is shown (default: 0)")
    add_choices(
        command,
        CHOSEN,
        where={"help": "rows that take part"},
        embeddings={"help": "vectors instead of pictures, by id or by row"},
        encoder={"help": f"{', '.join(ENCODERS)}, or module:function (default: raw)"},
    )
    option("--json", action="store_true", help="print one JSON object, with every seed's values, instead of text")


def run(parsed: argparse.Namespace) -> None:
    """Run the parts that were asked for, and print what leaks."""
    from ..experiments import leakage

    if parsed.seeds < 1 or parsed.seed < 0:
        raise DataError(f"--seeds {parsed.seeds} --seed {parsed.seed}: at least one seed, the first at least 0")
    spec = spec_of(parsed, CHOSEN).replace(data="data/glyphlab" if parsed.data is None else parsed.data)
    chosen = [part for part in leakage.LEAKAGE_PARTS if part in (parsed.part or leakage.LEAKAGE_PARTS)]
    given = None if parsed.data is None else load_data(spec)
    seeds, found = range(parsed.seed, parsed.seed + parsed.seeds), leakage.Experiments()
    for part in chosen:
        dataset = given or leakage.lab("textured" if part == "training" else "standard", dict(spec.columns))
        found = leakage.run_part(found, part, dataset, spec, seeds)
    if len(found.skipped) == len(chosen):
        raise DataError("; ".join(f"{part}: {reason.message}" for part, reason in found.skipped.items()))
    if parsed.json:
        print_json(leakage.leakage_json(found))
    else:
        print(leakage.leakage_text(found), end="")
