"""``leakage``: what leaks, and what does it do to the number?"""

from __future__ import annotations

import argparse

from ..errors import DataError
from .common import load_data, print_json, read_conditions, read_pair
from .spec_options import add_reading_options


def add_options(command: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    from ..experiments.leakage import LEAKAGE_PARTS, N_SEED
    from ..images import ENCODERS
    from ..protocol import BAD_ROWS, DEFAULT_KS
    from ..ranking import SIMILARITIES

    option = command.add_argument
    lab = "the lab, which needs no files: the training part takes its textured pictures"
    option("data", metavar="DATA", nargs="?", help=f"a folder, or a built-in data set (default: {lab})")
    option("--part", choices=LEAKAGE_PARTS, action="append", help="one part alone; may be repeated (default: all)")
    option("--seeds", metavar="N", type=int, default=N_SEED, help=f"(default: {N_SEED})")
    option("--seed", metavar="N", type=int, default=0, help="the first seed, and the one that is shown (default: 0)")
    add_reading_options(command)
    option("--where", metavar="COL=VALUE", action="append", help="rows that take part")
    option("--relevant", metavar="COLUMN", help="equal values are relevant to each other (default: group, else label)")
    option("--embeddings", metavar="FILE", help="vectors instead of pictures, by id or by row")
    option("--ids", metavar="FILE", help="the ids of the vectors' rows, one a line")
    option("--encoder", metavar="NAME", help=f"{', '.join(ENCODERS)}, or module:function (default: raw)")
    option("--similarity", choices=list(SIMILARITIES), default="cosine", help="of two vectors (default: cosine)")
    option("--k", metavar="K", type=int, nargs="+", default=list(DEFAULT_KS), help="cuts (default: 1 3 5 10)")
    option("--bad-rows", choices=BAD_ROWS, default="stop", help="rows with nan or infinity (default: stop)")
    option("--json", action="store_true", help="print one JSON object, with every seed's values, instead of text")


def run(parsed: argparse.Namespace) -> None:
    """Run the parts that were asked for, and print what leaks."""
    from ..experiments import leakage
    from ..protocol import Spec

    if parsed.seeds < 1 or parsed.seed < 0:
        raise DataError(f"--seeds {parsed.seeds} --seed {parsed.seed}: at least one seed, the first at least 0")
    spec = Spec(
        data="data/glyphlab" if parsed.data is None else parsed.data,
        columns=tuple(read_pair(given, "--column ROLE=COLUMN") for given in parsed.column),
        encoding=parsed.encoding,
        where=read_conditions(parsed.where),
        relevant=parsed.relevant,
        embeddings=parsed.embeddings,
        ids=parsed.ids,
        encoder=parsed.encoder,
        similarity=parsed.similarity,
        ks=tuple(parsed.k),
        bad_rows=parsed.bad_rows,
    )
    chosen = [part for part in leakage.LEAKAGE_PARTS if part in (parsed.part or leakage.LEAKAGE_PARTS)]
    given = None if parsed.data is None else load_data(spec)
    seeds, found = range(parsed.seed, parsed.seed + parsed.seeds), leakage.Experiments()
    for part in chosen:
        dataset = given or leakage.lab("textured" if part == "training" else "standard", dict(spec.columns))
        found = leakage.run_part(found, part, dataset, spec, seeds)
    if len(found.skipped) == len(chosen):
        raise DataError("; ".join(f"{part}: {reason}" for part, reason in found.skipped.items()))
    if parsed.json:
        print_json(leakage.leakage_json(found))
    else:
        print(leakage.leakage_text(found), end="")
