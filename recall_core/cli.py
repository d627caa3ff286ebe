"""Arguments to calls: ``recall-explorer evaluate DATA …``, or ``python -m recall_core evaluate DATA …``.

Exit code 0; 2 with one clear line on standard error where the data or a choice cannot be right. Standard output
carries the report alone.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from . import diagnosis, launch, protocol, ranking
from .datasets import COLUMN_NAMES, GLYPHLAB_SEED, GLYPHLAB_VARIANTS, PROTOCOLS, Dataset, export, load, write_glyphlab
from .datasets import whole as whole_number
from .diagnosis import NEAR_COSINE, NEAR_DISTANCE, compare, default_metrics, inspect, run_table, score_of, slices
from .errors import DataError, MissingDependency
from .evaluation import (
    Evaluation,
    check_free,
    evaluate,
    open_run,
    rank_here,
    report_csv,
    report_json,
    report_text,
    save,
    table_csv,
    to_qrels,
    to_run,
)
from .experiments import index, leakage
from .experiments.index import INDEXES, configurations
from .images import CORRUPTIONS, ENCODERS, FITTED
from .protocol import (
    BAD_ROWS,
    DEFAULT_KS,
    POLICIES,
    SPLITS,
    Filter,
    Spec,
    encode_dataset,
    make_filter,
    read_condition,
    resolve,
)
from .ranking import RERANKERS, SIMILARITIES, Ranking
from .version import VERSION


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    if arguments is None and isinstance(sys.stdout, io.TextIOWrapper):
        # Reports, JSON and CSV are UTF-8 wherever they are sent, not what the terminal's language happens to be.
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    given, more = _split_off(sys.argv[1:] if arguments is None else arguments)
    parsed = parser().parse_args(given)
    parsed.more = more
    run: Callable[[argparse.Namespace], None] = parsed.run
    try:
        run(parsed)
        print(end="", flush=True)  # what is printed must have arrived, too
    except (DataError, MissingDependency) as error:
        said = error.spelled(protocol.flag) if isinstance(error, DataError) else str(error)
        print("error:", *said.splitlines(), file=sys.stderr)  # a name may hold a line end
        return 2
    except BrokenPipeError:
        sys.stderr.close()  # the reader has left; a second message about it helps nobody
    except OSError as error:
        print(f"error: {error.filename or 'standard output'}: {error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def parser() -> argparse.ArgumentParser:
    """All commands and options: the help is the reference."""
    top = argparse.ArgumentParser(prog=protocol.command(), description="Evaluate image retrieval.")
    top.add_argument("--version", action="version", version=f"recall-explorer {VERSION}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    _add_evaluate(commands.add_parser("evaluate", help="print how well queries find what is relevant to them"))
    _add_compare(
        commands.add_parser("compare", help="print which of several runs or encoders is better, and on which queries")
    )
    _add_failures(commands.add_parser("failures", help="print the queries that miss, the worst first, as CSV"))
    _add_audit(commands.add_parser("audit", help="print what is suspicious about the data"))
    _add_export(commands.add_parser("export", help="write the data in our own folder form"))
    _add_glyphlab(commands.add_parser("glyphlab", help="write the lab's files to a folder"))
    _add_leakage(commands.add_parser("leakage", help="show what leaks, and what it does to the number, over seeds"))
    _add_ann(commands.add_parser("ann", help="tell the error of an approximate index from the representation's"))
    _add_app(commands.add_parser("app", help="open the app on your data, in the browser of this machine"))
    _add_class(commands.add_parser("class", help="open the app to everybody in the room: an address and a QR code"))
    _add_paths(commands.add_parser("paths", help="print where data, bundled data and what the app keeps lie"))
    return top


def spec_of(parsed: argparse.Namespace) -> Spec:
    """Read the spec out of parsed arguments."""
    return Spec(
        data=parsed.data,
        columns=tuple(_pair(given, "--column ROLE=COLUMN") for given in parsed.column),
        encoding=parsed.encoding,
        where=_filter(parsed.where),
        query=_filter(parsed.query),
        gallery=_filter(parsed.gallery),
        split=parsed.split,
        both=parsed.both,
        train=parsed.train,
        relevant=parsed.relevant,
        relevant_pairs=parsed.relevant_pairs,
        protocol=parsed.protocol,
        corrections=parsed.corrections,
        junk_same=parsed.junk_same,
        embeddings=parsed.embeddings,
        gallery_embeddings=parsed.gallery_embeddings,
        ids=parsed.ids,
        scores=parsed.scores,
        encoder=parsed.encoder,
        query_images=parsed.query_images,
        corrupt=parsed.corrupt,
        similarity=parsed.similarity,
        rerank=parsed.rerank,
        no_relevant=parsed.no_relevant,
        ks=tuple(parsed.k),
        seed=parsed.seed,
        slice=_filter(parsed.slice),
        bad_rows=parsed.bad_rows,
    )


def add_spec_options(command: argparse.ArgumentParser, *, optional: bool = False, several: bool = False) -> None:
    """Give a command the options that spell a spec.

    Parameters
    ----------
    optional : bool
        It can do without data.
    several : bool
        It has an argument of its own for the data, and evaluates several files of vectors.
    """
    option = command.add_argument
    if not several:
        option(
            "data",
            metavar="DATA",
            nargs="?" if optional else None,
            help="a folder, or a built-in data set: digits, photo_patches",
        )
    _add_reading_options(command)
    option(
        "--where",
        metavar="COL=VALUE",
        action="append",
        help="rows that take part; in COL, %%3D is = (default: split=test if there)",
    )
    option("--split", choices=SPLITS, help="who asks and who answers (default: by-role, by-view or leave-one-out)")
    option("--query", metavar="COL=VALUE", action="append", help="rows that ask; with --gallery, instead of --split")
    option("--gallery", metavar="COL=VALUE", action="append", help="rows that answer")
    option("--both", action="store_true", help="evaluate the other direction too")
    option("--train", metavar="random|grouped|COL=VALUE", help="what a fitted encoder sees (default: split=train)")
    option("--relevant", metavar="COLUMN", help="equal values are relevant to each other (default: group, else label)")
    option("--relevant-pairs", metavar="FILE", help="judgements instead: a table, TREC qrels, ROxford's .json")
    option("--protocol", metavar="NAME", help=f"of ROxford's ground truth: {', '.join(PROTOCOLS)} (default: medium)")
    option("--corrections", metavar="FILE", help="judged pairs on top of the rule: above 0 is right, 0 wrong")
    option("--junk-same", metavar="COLUMN", help="relevant items with the same value here are left out")
    option(
        "--embeddings",
        metavar="FILE",
        nargs="+" if several else None,
        help="vectors (.npy, .npz, .parquet, .feather, .csv), by id or by row",
    )
    option("--gallery-embeddings", metavar="FILE", help="the gallery's vectors, where the sides are stored apart")
    option("--ids", metavar="FILE", help="the ids of the vectors' rows, one a line")
    option("--scores", metavar="FILE", help="scores as .npy, .npz or .csv, or a TREC run; nan means not retrieved")
    names = ", ".join([*ENCODERS, *FITTED])
    option("--encoder", metavar="NAME", help=f"{names}, or module:function (default: raw)")
    option("--query-images", metavar="FILE", help="pictures that replace the query side's, as .npy")
    kinds = ", ".join(CORRUPTIONS)
    option("--corrupt", metavar="KIND:SEVERITY", help=f"make the query side's pictures worse: {kinds}, 0 to 1")
    option("--similarity", choices=list(SIMILARITIES), default="cosine", help="of two vectors (default: cosine)")
    option("--rerank", choices=list(RERANKERS), help="make each list anew from its neighbours (default: no)")
    option("--no-relevant", choices=POLICIES, default="miss", help="a query with nothing relevant (default: miss)")
    option("--k", metavar="K", type=int, nargs="+", default=list(DEFAULT_KS), help="cuts (default: 1 3 5 10)")
    option("--seed", metavar="N", type=int, help="of a random split or draw (default: 0)")
    option("--slice", metavar="COL=VALUE", action="append", help="queries that count, chosen after ranking; LOW..HIGH")
    option("--bad-rows", choices=BAD_ROWS, default="stop", help="rows with nan or infinity (default: stop)")


def _add_reading_options(command: argparse.ArgumentParser) -> None:
    """Give a command the options that say how its table is read."""
    roles = ", ".join(COLUMN_NAMES)
    option = command.add_argument
    option("--column", metavar="ROLE=COLUMN", action="append", default=[], help=f"which column is which: {roles}")
    option("--encoding", default="utf-8", help="of the table; utf-8 unless you name another")


def _add_evaluate(command: argparse.ArgumentParser) -> None:
    add_spec_options(command)
    option = command.add_argument
    option("--json", action="store_true", help="print one JSON object instead of text")
    option("--csv", metavar="OUT", help="write one row a query to this file")
    option(
        "--slices", metavar="COLUMN", action="append", default=[], help="a score by the values of a column; repeatable"
    )
    option("--metric", metavar="NAME", help="the score that --slices shows (default: recall@k at the first k)")
    option("--html", metavar="OUT", help="write the report as one HTML file, with curves and the worst queries")
    option("--tags", action="store_true", help="put the tags and notes that the app keeps into the HTML file")
    option("--trec-qrels", metavar="OUT", help="write what is relevant as TREC qrels to this file")
    option("--trec-run", metavar="OUT", help="write the top of each list as a TREC run to this file")
    option("--save", metavar="DIR", help="write the run to this folder, to be opened again or compared")
    option("--force", action="store_true", help="let --save replace a former run")
    option("--save-embeddings", metavar="FILE", help="write the encoder's vectors, by row, as .npy")
    names = ", ".join(ranking.EXECUTORS)
    option("--executor", metavar="NAME", help=f"rank in many workers: {names}; the numbers stay the same")
    option("--workers", metavar="N", type=int, help="of threads or processes (default: one a processor)")
    mebibytes = ranking.MEMORY // 2**20
    option("--task-memory", metavar="MIB", type=int, default=mebibytes, help=f"of each task (default: {mebibytes})")
    command.set_defaults(run=_evaluate)


def _evaluate(parsed: argparse.Namespace) -> None:
    _check_outputs(parsed)
    spec = spec_of(parsed)
    dataset = _load(spec)
    encoded = None
    if parsed.save_embeddings is not None:
        if resolve(dataset, spec).encoder is None:
            raise DataError("--save-embeddings writes what an encoder makes, and here vectors or scores are given")
        encoded = encode_dataset(dataset, spec)
        with _writable(parsed.save_embeddings).open("wb") as stream:
            np.save(stream, encoded)
    with _ranker(parsed, spec) as ranker:
        evaluation = evaluate(dataset, spec, encoded=encoded, ranker=ranker)
    if parsed.csv is not None:
        _writable(parsed.csv).write_text(report_csv(evaluation), encoding="utf-8")
    if parsed.save is not None:
        save(evaluation, Path(parsed.save), force=parsed.force)
    if parsed.trec_qrels is not None:
        _writable(parsed.trec_qrels).write_text(to_qrels(evaluation), encoding="utf-8")
    if parsed.trec_run is not None:
        _writable(parsed.trec_run).write_text(to_run(evaluation), encoding="utf-8")
    metric = score_of(evaluation, parsed.metric).name
    sliced = {column: slices(evaluation, column, metric) for column in parsed.slices}
    if parsed.html is not None:
        known = diagnosis.marks(dataset.name) if parsed.tags else None
        written = diagnosis.html_page(evaluation, columns=parsed.slices, metric=metric, marks=known)
        _writable(parsed.html).write_text(written, encoding="utf-8")
    if parsed.json:
        whole = report_json(evaluation)
        if sliced:
            whole["slices"] = diagnosis.slices_json(sliced, metric)
        _print_json(whole)
    else:
        sections = [diagnosis.slices_text(table, column, metric) for column, table in sliced.items()]
        print(report_text(evaluation), *sections, sep="", end="")


def _check_outputs(parsed: argparse.Namespace) -> None:
    """Find out before hours of ranking, not after, that a result cannot be kept."""
    for name in (parsed.csv, parsed.html, parsed.trec_qrels, parsed.trec_run, parsed.save_embeddings):
        if name is not None:
            _writable(name)
    if parsed.save is not None:
        check_free(Path(parsed.save), force=parsed.force)


@contextmanager
def _ranker(parsed: argparse.Namespace, spec: Spec) -> Iterator[Callable[..., Ranking]]:
    """Open the executor that was asked for, or rank in this process."""
    if parsed.executor is None:
        yield rank_here
        return
    if spec.scores is not None:
        raise DataError("--executor ranks vectors, and --scores has none; leave one of the two out")
    if spec.rerank is not None:
        raise DataError("--rerank ranks in this process; leave --executor out")
    if parsed.task_memory < 1 or (parsed.workers is not None and parsed.workers < 1):
        raise DataError("--task-memory and --workers are at least 1")
    tell, memory = _teller(), parsed.task_memory * 2**20
    with ranking.open_ranker(
        parsed.executor, workers=parsed.workers, memory=memory, progress=lambda done, total: tell("tasks", done, total)
    ) as ranker:
        yield ranker


def _add_compare(command: argparse.ArgumentParser) -> None:
    option = command.add_argument
    option(
        "runs",
        metavar="RUN",
        nargs="+",
        help="folders written by evaluate --save, or one DATA with --embeddings FILE FILE; "
        "the differences are later - earlier",
    )
    add_spec_options(command, several=True)
    option("--metric", metavar="NAME", nargs="+", help="scores to compare (default: recall@k at the first k, and map)")
    option("--common", action="store_true", help="compare the queries that all have, and count the others")
    option("--json", action="store_true", help="print one JSON object instead of text")
    option("--csv", metavar="OUT", help="write one row a run and metric to this file")
    option("--latex", metavar="OUT", help="write the table of runs as a LaTeX tabular to this file")
    command.set_defaults(run=_compare)


def _compare(parsed: argparse.Namespace) -> None:
    opened = _evaluated(parsed) if parsed.embeddings is not None else _opened(parsed)
    compared = compare(opened, common=parsed.common)
    metrics = parsed.metric or default_metrics(opened.values())
    if parsed.csv is not None:
        _writable(parsed.csv).write_text(table_csv(run_table(compared, metrics)), encoding="utf-8")
    if parsed.latex is not None:
        _writable(parsed.latex).write_text(diagnosis.comparison_latex(compared, metrics), encoding="utf-8")
    if parsed.json:
        _print_json(diagnosis.comparison_json(compared, metrics))
    else:
        print(diagnosis.comparison_text(compared, metrics), end="")


def _opened(parsed: argparse.Namespace) -> dict[str, Evaluation]:
    """Open saved runs, whose choices were made when they were saved."""
    chosen = _spec_with(parsed, data="", embeddings=None).to_json()
    idle = [name for name, value in Spec().to_json().items() if chosen[name] != value]
    if idle:
        flag = "--k" if idle[0] == "ks" else "--" + idle[0].replace("_", "-")
        raise DataError(f"{flag} is a choice for DATA with --embeddings FILE FILE; a saved run has made its own")
    return {name: open_run(Path(given)) for name, given in zip(run_names(parsed.runs), parsed.runs, strict=True)}


def _evaluated(parsed: argparse.Namespace) -> dict[str, Evaluation]:
    """Evaluate one data set with each file of vectors, all other choices the same."""
    if len(parsed.runs) > 1 or len(parsed.embeddings) < 2:
        raise DataError(
            f"compare takes one DATA with at least two files of --embeddings, not {len(parsed.runs)} with "
            f"{len(parsed.embeddings)}; or saved runs without --embeddings"
        )
    specs = [_spec_with(parsed, data=parsed.runs[0], embeddings=file) for file in parsed.embeddings]
    dataset = _load(specs[0])
    names = run_names(parsed.embeddings, named=lambda path: path.stem)
    return {name: evaluate(dataset, spec) for name, spec in zip(names, specs, strict=True)}


def _spec_with(parsed: argparse.Namespace, **given: str | None) -> Spec:
    return spec_of(argparse.Namespace(**vars(parsed) | given))


def run_names(folders: Sequence[str], *, named: Callable[[Path], str] = lambda path: path.name) -> list[str]:
    """Name each run by its folder's name, or by the path as given where two share a name."""
    short = [named(Path(folder).resolve()) for folder in folders]
    names = [one if short.count(one) == 1 else folder for one, folder in zip(short, folders, strict=True)]
    there = [Path(folder).resolve() for folder in folders]
    if len(set(there)) < len(there):
        raise DataError(
            f"{folders[there.index(max(there, key=there.count))]} is named twice; a run is compared with another"
        )
    return names


def _add_failures(command: argparse.ArgumentParser) -> None:
    add_spec_options(command)
    option = command.add_argument
    option("--cut", metavar="K", type=int, default=1, help="nothing relevant among the first K is a miss (default: 1)")
    option(
        "--reason", choices=diagnosis.MISS_REASONS, action="append", help="only these; may be repeated (default: all)"
    )
    option("--sort", choices=diagnosis.SORTS, default="rank", help="the worst first, by this (default: rank)")
    option(
        "--tag", metavar="NAME", action="append", default=[], help="only with this tag of the app's, or another named"
    )
    option("--untagged", action="store_true", help="only without a tag, or with one that --tag names")
    command.set_defaults(run=_failures)


def _failures(parsed: argparse.Namespace) -> None:
    spec = spec_of(parsed)
    dataset = _load(spec)
    given = diagnosis.tags_of(diagnosis.marks(dataset.name)) if parsed.tag or parsed.untagged else {}
    tags = _known_tags(parsed.tag, given, dataset.name) + [diagnosis.UNTAGGED] * parsed.untagged
    evaluation = evaluate(dataset, spec)
    alike = diagnosis.comparer(evaluation)
    found = diagnosis.failures(evaluation, parsed.cut, reasons=parsed.reason or (), sort=parsed.sort, alike=alike)
    if tags:
        kept = np.array([diagnosis.meets(given, str(item), tags) for item in found["id"]], dtype=bool)
        found = found[kept].reset_index(drop=True)
    print(table_csv(diagnosis.listing(evaluation, found, alike)), end="")


def _known_tags(asked: list[str], given: Mapping[str, Sequence[str]], dataset: str) -> list[str]:
    """Check that each tag is one that some item has."""
    used = sorted({tag for tags in given.values() for tag in tags})
    for tag in asked:
        if tag not in used:
            there = f"those in use are {', '.join(used)}" if used else "none is in use; check RECALL_STATE_DIR"
            raise DataError(f"no item of {dataset} has the tag {tag!r}; {there}")
    return asked


def _add_audit(command: argparse.ArgumentParser) -> None:
    add_spec_options(command)
    option = command.add_argument
    option(
        "--threshold",
        metavar="COSINE",
        type=float,
        default=NEAR_COSINE,
        help=f"of near-duplicates (default: {NEAR_COSINE})",
    )
    bits = f"bits of 64 that near-duplicates' perceptual hashes may differ in (default: {NEAR_DISTANCE})"
    option("--distance", metavar="BITS", type=int, default=NEAR_DISTANCE, help=bits)
    option("--json", action="store_true", help="print one JSON object instead of text")
    option("--csv", metavar="OUT", help="write one row a pair of duplicates to this file")
    command.set_defaults(run=_audit)


def _audit(parsed: argparse.Namespace) -> None:
    spec = spec_of(parsed)
    dataset = _load(spec)
    found = inspect(dataset, spec, threshold=parsed.threshold, distance=parsed.distance)
    if parsed.csv is not None:
        _writable(parsed.csv).write_text(table_csv(found.pairs), encoding="utf-8")
    if parsed.json:
        _print_json(diagnosis.inspection_json(dataset, found))
    else:
        print(diagnosis.inspection_text(dataset, found), end="")


def _add_export(command: argparse.ArgumentParser) -> None:
    option = command.add_argument
    option("data", metavar="DATA", help="a folder, a table, or a built-in data set: digits, photo_patches")
    option("folder", metavar="FOLDER", help="a new folder; evaluate FOLDER prints the same numbers")
    _add_reading_options(command)
    command.set_defaults(run=_export)


def _export(parsed: argparse.Namespace) -> None:
    columns = dict(_pair(given, "--column ROLE=COLUMN") for given in parsed.column)
    export(load(parsed.data, columns=columns, encoding=parsed.encoding), Path(parsed.folder))


def _add_glyphlab(command: argparse.ArgumentParser) -> None:
    option = command.add_argument
    option("folder", metavar="FOLDER", help="images.npy, metadata.csv and corrupted_test.npy are written here")
    option(
        "--variant",
        choices=list(GLYPHLAB_VARIANTS),
        default="standard",
        help="standard, or textured for the leakage lesson",
    )
    option("--seed", metavar="N", type=int, default=GLYPHLAB_SEED, help=f"(default: {GLYPHLAB_SEED})")
    command.set_defaults(
        run=lambda parsed: write_glyphlab(Path(parsed.folder), seed=parsed.seed, variant=parsed.variant)
    )


def _add_leakage(command: argparse.ArgumentParser) -> None:
    option = command.add_argument
    lab = "the lab, which needs no files: the training part takes its textured pictures"
    option("data", metavar="DATA", nargs="?", help=f"a folder, or a built-in data set (default: {lab})")
    option(
        "--part", choices=leakage.LEAKAGE_PARTS, action="append", help="one part alone; may be repeated (default: all)"
    )
    option("--seeds", metavar="N", type=int, default=leakage.N_SEED, help=f"(default: {leakage.N_SEED})")
    option("--seed", metavar="N", type=int, default=0, help="the first seed, and the one that is shown (default: 0)")
    _add_reading_options(command)
    option("--where", metavar="COL=VALUE", action="append", help="rows that take part")
    option("--relevant", metavar="COLUMN", help="equal values are relevant to each other (default: group, else label)")
    option("--embeddings", metavar="FILE", help="vectors instead of pictures, by id or by row")
    option("--ids", metavar="FILE", help="the ids of the vectors' rows, one a line")
    option("--encoder", metavar="NAME", help=f"{', '.join(ENCODERS)}, or module:function (default: raw)")
    option("--similarity", choices=list(SIMILARITIES), default="cosine", help="of two vectors (default: cosine)")
    option("--k", metavar="K", type=int, nargs="+", default=list(DEFAULT_KS), help="cuts (default: 1 3 5 10)")
    option("--bad-rows", choices=BAD_ROWS, default="stop", help="rows with nan or infinity (default: stop)")
    option("--json", action="store_true", help="print one JSON object, with every seed's values, instead of text")
    command.set_defaults(run=_leakage)


def _leakage(parsed: argparse.Namespace) -> None:
    if parsed.seeds < 1 or parsed.seed < 0:
        raise DataError(f"--seeds {parsed.seeds} --seed {parsed.seed}: at least one seed, the first at least 0")
    spec = Spec(
        data="data/glyphlab" if parsed.data is None else parsed.data,
        columns=tuple(_pair(given, "--column ROLE=COLUMN") for given in parsed.column),
        encoding=parsed.encoding,
        where=_filter(parsed.where),
        relevant=parsed.relevant,
        embeddings=parsed.embeddings,
        ids=parsed.ids,
        encoder=parsed.encoder,
        similarity=parsed.similarity,
        ks=tuple(parsed.k),
        bad_rows=parsed.bad_rows,
    )
    chosen = [part for part in leakage.LEAKAGE_PARTS if part in (parsed.part or leakage.LEAKAGE_PARTS)]
    given = None if parsed.data is None else _load(spec)
    seeds, found = range(parsed.seed, parsed.seed + parsed.seeds), leakage.Experiments()
    for part in chosen:
        dataset = given or leakage.lab("textured" if part == "training" else "standard", dict(spec.columns))
        found = leakage.run_part(found, part, dataset, spec, seeds)
    if len(found.skipped) == len(chosen):
        raise DataError("; ".join(f"{part}: {reason}" for part, reason in found.skipped.items()))
    if parsed.json:
        _print_json(leakage.leakage_json(found))
    else:
        print(leakage.leakage_text(found), end="")


def _add_ann(command: argparse.ArgumentParser) -> None:
    add_spec_options(command, optional=True)
    command.set_defaults(k=list(index.KS))
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
    option(
        "--share", metavar="PART", type=float, default=index.SHARE, help=f"of groups that tune (default: {index.SHARE})"
    )
    option("--latency", metavar="MS", type=float, help="choose among those that take at most so long for a query")
    option("--memory", metavar="MIB", type=float, help="choose among indexes of at most this size")
    option("--threads", metavar="N", type=int, default=1, help="to build with; more make HNSW vary (default: 1)")
    option("--json", action="store_true", help="print one JSON object instead of text")
    option("--csv", metavar="OUT", help="write one row a configuration to this file")
    command.set_defaults(run=_ann)


def _ann(parsed: argparse.Namespace) -> None:
    if (parsed.data is None) == (parsed.synthetic is None):
        raise DataError(
            "name the data, or make some with --synthetic 100000x64"
            if parsed.data is None
            else "--synthetic makes its own data; leave DATA or --synthetic out"
        )
    if parsed.queries < 1 or parsed.threads < 1 or (parsed.seed or 0) < 0:
        raise DataError("--queries and --threads are at least 1, --seed at least 0")
    if not 0 < parsed.share < 1:
        raise DataError(f"--share {parsed.share}: a part of the groups, between 0 and 1")
    choices = {
        "ks": tuple(parsed.k),
        "latency": None if parsed.latency is None else parsed.latency / 1000,
        "memory": None if parsed.memory is None else parsed.memory * 2**20,
        "share": parsed.share,
        "seed": parsed.seed or 0,
        "threads": parsed.threads,
        "progress": _teller(),
    }
    spelled: dict[str, object] = {}
    if parsed.synthetic is not None:
        items, _, dimensions = parsed.synthetic.partition("x")
        n, n_dim = whole_number(items, 2**31 - 1) or 0, whole_number(dimensions, 2**31 - 1) or 0
        if n < 2 or n_dim < 1:
            raise DataError(f"--synthetic {parsed.synthetic!r} is not of the form ITEMSxDIMENSIONS, as in 100000x64")
        made = index.synthetic(n, n_dim, parsed.queries, seed=parsed.seed or 0)
        tried = configurations(n, n_dim, parsed.index or ())
        whole = index.run_experiment(*made, tried=tried, no_relevant=parsed.no_relevant, **choices)
    else:
        spec = spec_of(parsed)
        dataset = _load(spec)
        resolved, direction, whole = index.experiment_of(dataset, spec, index=parsed.index, runs=parsed.runs, **choices)
        spelled = {"spec": resolved.to_json(), "direction": direction}
    if parsed.csv is not None:
        _writable(parsed.csv).write_text(index.ann_csv(whole), encoding="utf-8")
    if parsed.json:
        _print_json(spelled | index.ann_json(whole))
    else:
        print(index.ann_text(whole), end="")


def _add_app(command: argparse.ArgumentParser) -> None:
    _add_served(command)
    command.add_argument("--no-browser", action="store_true", help="print the address, and leave the browser alone")
    command.set_defaults(run=_app)


def _add_class(command: argparse.ArgumentParser) -> None:
    _add_served(command)
    help = "listen there alone, where the machine has several (default: all of them)"
    command.add_argument("--address", metavar="ADDRESS", help=help)
    command.set_defaults(run=_class)


def _add_served(command: argparse.ArgumentParser) -> None:
    option = command.add_argument
    kinds = "a data set, a table, a saved run, or a folder of data sets (default: the data sets that come along)"
    option("data", metavar="FOLDER|TABLE|RUN", nargs="?", help=kinds)
    option("--embeddings", metavar="FILE", nargs="+", default=[], help="further vectors of the data set")
    option("--port", metavar="N", type=int, help=f"(default: the first free one from {launch.PORT})")
    command.epilog = "What follows -- is passed on to Streamlit, as in: -- --server.maxUploadSize=200"


def _app(parsed: argparse.Namespace) -> None:
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


def _class(parsed: argparse.Namespace) -> None:
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

    data, tell = dict(parse_qsl(urlsplit(opened).query)).get("data"), _teller()
    launch.serve(
        port,
        listens,
        environment=environment | launch.CLOSED,
        more=parsed.more,
        prepare=lambda app: launch.warm(app, [data] if data else [], tell),
        ready=ready,
    )


def _add_paths(command: argparse.ArgumentParser) -> None:
    command.set_defaults(run=_paths)


def _paths(parsed: argparse.Namespace) -> None:
    app = launch.app_file()
    print(f"data root:    {launch.data_root()}  (RECALL_DATA_ROOT)")
    print(f"state:        {diagnosis.state_folder()}  (RECALL_STATE_DIR)")
    print(f"bundled data: {app.parent / 'data'}")
    print(f"app:          {app}")


def _split_off(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split off what follows ``--`` for the commands that pass it on to Streamlit."""
    words = list(arguments)
    if words[:1] in (["app"], ["class"]) and "--" in words:
        at = words.index("--")
        return words[:at], words[at + 1 :]
    return words, []


def _teller() -> Callable[[str, int, int], None]:
    """Tell on standard error what is done now, and about how long the rest takes; at most once a second."""
    start = told = time.monotonic()
    former = 0

    def tell(words: str, done: int, total: int) -> None:
        nonlocal start, told, former
        now = time.monotonic()
        if done < former:  # another pass
            start = now
        if done in (0, total) or done < former or now - told > 1:
            rest = f", about {(now - start) / done * (total - done):.0f} s left" if 0 < done < total else ""
            print(f"{done}/{total} {words}{rest}", file=sys.stderr, flush=True)
            told = now
        former = done

    return tell


def _load(spec: Spec) -> Dataset:
    return load(spec.data, columns=dict(spec.columns), encoding=spec.encoding)


def _print_json(whole: object) -> None:
    print(json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False))


def _filter(given: list[str] | None) -> Filter | None:
    """Repeated COL=VALUE options as a filter; one empty option takes every row."""
    if given is None:
        return None
    return make_filter(read_condition(one) for one in given if one)


def _pair(given: str, form: str) -> tuple[str, str]:
    left, equals, right = given.partition("=")
    if not equals or not left:
        raise DataError(f"{given!r} is not of the form {form}")
    return left, right


def _writable(name: str) -> Path:
    path = Path(name)
    if not path.absolute().parent.is_dir():
        raise DataError(f"{name} cannot be written: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise DataError(f"{name} cannot be written: it is a folder; name a file")
    return path
