"""``ann``: the error of an approximate index, apart from the representation's."""

from __future__ import annotations

import argparse

from ..errors import DataError
from .common import load_data, print_json, teller, writable
from .spec_options import add_spec_options, spec_of


def add_options(command: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    from ..experiments.index import INDEXES, KS, SHARE

    add_spec_options(command, optional=True)
    command.set_defaults(ks=list(KS))
    option = command.add_argument
    option("--synthetic", metavar="ITEMSxDIMENSIONS", help="made vectors in clusters instead of DATA")
    option("--queries", metavar="N", type=int, default=500, help="of the made vectors (default: 500)")
    names = ", ".join(INDEXES)
    option(
        "--index",
        metavar="NAME[:PARAMETER=VALUE/VALUE,…]",
        action="append",
        help=f"one of {names}, with the values to try; repeatable (default: all, with usual values)",
    )
    option(
        "--run",
        metavar="FILE",
        dest="runs",
        action="append",
        default=[],
        help="another system's scores or TREC run; repeatable",
    )
    option("--share", metavar="PART", type=float, default=SHARE, help=f"of groups that tune (default: {SHARE})")
    option("--latency", metavar="MS", type=float, help="choose among those that take at most so long for a query")
    option("--memory", metavar="MIB", type=float, help="choose among indexes of at most this size")
    option("--threads", metavar="N", type=int, default=1, help="to build with; more make HNSW vary (default: 1)")
    option("--json", action="store_true", help="print one JSON object instead of text")
    option("--csv", metavar="OUT", help="write one row a configuration to this file")


def run(parsed: argparse.Namespace) -> None:
    """Try indexes, and print what each costs and loses."""
    from ..datasets import whole as whole_number
    from ..experiments import index

    if (parsed.data is None) == (parsed.synthetic is None):
        raise DataError(
            "name the data, or make some with --synthetic 100000x64"
            if parsed.data is None
            else "--synthetic makes its own data; leave DATA or --synthetic out"
        )
    if parsed.queries < 1 or parsed.threads < 1 or (parsed.seed or 0) < 0:
        raise DataError("--queries and --threads are at least 1, --seed at least 0")
    for flag, value in (("--latency", parsed.latency), ("--memory", parsed.memory)):
        if value is not None and not 0 < value < float("inf"):
            raise DataError(f"{flag} {value:g}: a budget is a number above 0")
    if not 0 < parsed.share < 1:
        raise DataError(f"--share {parsed.share}: a part of the groups, between 0 and 1")
    plan = index.Plan(
        ks=tuple(parsed.ks),
        latency=None if parsed.latency is None else parsed.latency / 1000,
        memory=None if parsed.memory is None else parsed.memory * 2**20,
        share=parsed.share,
        seed=parsed.seed or 0,
        threads=parsed.threads,
    )
    told = teller()
    spelled: dict[str, object] = {}
    if parsed.synthetic is not None:
        items, _, dimensions = parsed.synthetic.partition("x")
        n, n_dim = whole_number(items, 2**31 - 1) or 0, whole_number(dimensions, 2**31 - 1) or 0
        if n < 2 or n_dim < 1:
            raise DataError(f"--synthetic {parsed.synthetic!r} is not of the form ITEMSxDIMENSIONS, as in 100000x64")
        made = index.synthetic(n, n_dim, parsed.queries, seed=parsed.seed or 0)
        tried = index.configurations(n, n_dim, parsed.index or ())
        whole = index.run_experiment(made, plan, tried=tried, no_relevant=parsed.no_relevant, progress=told)
    else:
        spec = spec_of(parsed)
        dataset = load_data(spec)
        resolved, direction, whole = index.experiment_of(
            dataset, spec, plan, index=parsed.index, runs=parsed.runs, progress=told
        )
        spelled = {"spec": resolved.to_json(), "direction": direction}
    if parsed.csv is not None:
        writable(parsed.csv).write_text(index.ann_csv(whole), encoding="utf-8")
    if parsed.json:
        print_json(spelled | index.ann_json(whole))
    else:
        print(index.ann_text(whole), end="")
