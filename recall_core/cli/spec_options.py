"""The options that spell a spec, and the spec that they spell."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .common import read_conditions, read_pair

if TYPE_CHECKING:
    from ..protocol import Spec


def spec_of(parsed: argparse.Namespace) -> Spec:
    """Read the spec out of parsed arguments."""
    from ..protocol import Spec

    return Spec(
        data=parsed.data,
        columns=tuple(read_pair(given, "--column ROLE=COLUMN") for given in parsed.column),
        encoding=parsed.encoding,
        where=read_conditions(parsed.where),
        query=read_conditions(parsed.query),
        gallery=read_conditions(parsed.gallery),
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
        slice=read_conditions(parsed.slice),
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
    from ..datasets import PROTOCOLS
    from ..images import CORRUPTIONS, ENCODERS, FITTED
    from ..protocol import BAD_ROWS, DEFAULT_KS, POLICIES, SPLITS
    from ..ranking import RERANKERS, SIMILARITIES

    option = command.add_argument
    if not several:
        option(
            "data",
            metavar="DATA",
            nargs="?" if optional else None,
            help="a folder, or a built-in data set: digits, photo_patches",
        )
    add_reading_options(command)
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


def add_reading_options(command: argparse.ArgumentParser) -> None:
    """Give a command the options that say how its table is read."""
    from ..datasets import COLUMN_NAMES

    roles = ", ".join(COLUMN_NAMES)
    option = command.add_argument
    option("--column", metavar="ROLE=COLUMN", action="append", default=[], help=f"which column is which: {roles}")
    option("--encoding", default="utf-8", help="of the table; utf-8 unless you name another")
