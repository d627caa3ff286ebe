"""A folder, a table or an upload → ``Dataset``.

The files, in the order of the flow; each imports only those above it:

``tables``       a text table, every cell as written; columns found by conventional names
``documents``    JSON from other programs, parsed whole or refused
``sheets``       CSV that no spreadsheet runs as a formula, and the way back
``arrow_sizes``  how much Parquet and Feather files unpack to, by their headers alone
``arrow``        Parquet and Feather: read whole or refused, columns of lists as arrays
``containers``   arrays in files: npy and npz, read whole or refused
``embeddings``   vectors from files, checked, by id or by position
``score_files``  matrices of scores from files, with the ids of their rows and columns
``judgements``   judgements and ranked lists in the forms of other tools: TREC, ROxford
``location``     where the data of a path lie, what a reader returns, and image files found safely
``shards``       vectors in many files, read row by row as they are needed
``foreign``      data in the forms of other programs: Hugging Face, FiftyOne, ROxford, TREC, Omniglot
``own_form``     our own folder form: written, and read back unchanged
``readers``      the forms in which people have their data, in one literal table
``digests``      which items have the same content
``glyphlab``     the lab's images and table, made from a seed
``samples``      two more built-in data sets: scanned digits, patches of photographs
``dataset``      ``load(path) -> Dataset``: table, images, embeddings, fingerprint
``uploads``      uploads of a visitor: archives unpacked safely, then read like any folder
``roots``        the data sets and saved runs in a folder
"""

from .containers import read_array, read_npz
from .dataset import Dataset, load
from .digests import MAX_PAIRS, Pairs, row_digests, same_content
from .documents import parse_json, read_json
from .embeddings import (
    MATCHED,
    Embeddings,
    Told,
    bad_rows,
    check_unique,
    match_rows,
    read_embeddings,
    read_ids,
    row_chunks,
    rows_where,
    zero_rows,
)
from .glyphlab import GLYPHLAB_SEED, GLYPHLAB_VARIANTS, generate_glyphlab, write_glyphlab
from .judgements import DEFAULT_PROTOCOL, PROTOCOLS, Judgements, qrels_text, read_judgements, run_text
from .location import stamp
from .own_form import export, export_zip
from .readers import NOBODY, REIDENTIFICATION, header
from .roots import check, data_sets, find, is_one_data_set, is_run, runs
from .samples import SAMPLES
from .score_files import read_scores
from .shards import Shards, one_file, read_shards, write_shards
from .sheets import guarded, guarded_csv, unguard
from .tables import (
    COLUMN_NAMES,
    MISSING,
    exact_csv,
    find_columns,
    name_of,
    numbers_of,
    parse_number,
    parse_table,
    read_text,
    some,
    whole,
)
from .uploads import UPLOADABLE, receive, weight

__all__ = [
    "COLUMN_NAMES",
    "DEFAULT_PROTOCOL",
    "GLYPHLAB_SEED",
    "GLYPHLAB_VARIANTS",
    "MATCHED",
    "MAX_PAIRS",
    "MISSING",
    "NOBODY",
    "PROTOCOLS",
    "REIDENTIFICATION",
    "SAMPLES",
    "UPLOADABLE",
    "Dataset",
    "Embeddings",
    "Judgements",
    "Pairs",
    "Shards",
    "Told",
    "bad_rows",
    "check",
    "check_unique",
    "data_sets",
    "exact_csv",
    "export",
    "export_zip",
    "find",
    "find_columns",
    "generate_glyphlab",
    "guarded",
    "guarded_csv",
    "header",
    "is_one_data_set",
    "is_run",
    "load",
    "match_rows",
    "name_of",
    "numbers_of",
    "one_file",
    "parse_json",
    "parse_number",
    "parse_table",
    "qrels_text",
    "read_array",
    "read_embeddings",
    "read_ids",
    "read_json",
    "read_judgements",
    "read_npz",
    "read_scores",
    "read_shards",
    "read_text",
    "receive",
    "row_chunks",
    "row_digests",
    "rows_where",
    "run_text",
    "runs",
    "same_content",
    "some",
    "stamp",
    "unguard",
    "weight",
    "whole",
    "write_glyphlab",
    "write_shards",
    "zero_rows",
]
