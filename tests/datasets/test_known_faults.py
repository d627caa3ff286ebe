"""Public bug reports of this kind of program, each as a tiny input with the right behaviour.

The names carry the report's number in the collection of cases, and a last test asks that none is forgotten.
"""

import io
import json
import re
import tempfile
import tracemalloc
import unicodedata
import zipfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from recall_core import from_arrays
from recall_core.datasets.dataset import Dataset, load
from recall_core.datasets.embeddings import read_embeddings
from recall_core.datasets.tables import find_columns
from recall_core.datasets.uploads import load_upload
from recall_core.diagnosis.audit import inspect
from recall_core.errors import DataError
from recall_core.evaluation.wiring import evaluate
from recall_core.images import decoding, thumbnails
from recall_core.protocol.spec import Spec
from recall_core.ranking.exact_pass import rank, rank_scores
from recall_core.ranking.relevance import Relevance, Sets
from recall_core.ranking.similarity import exact_pairs, prepare
from tests.conftest import SHARED, needs_shared
from tests.datasets.test_readers import pictures

FIXTURES = SHARED / "cases/fixtures"


def scored(lists: list[list[int]], n_relevant: int | None = None, **choices: object) -> object:
    """An evaluation of lists of hits by rank; relevant items that no list reaches are not retrieved."""
    n_item = max(max(len(flags), n_relevant or 0) for flags in lists) + (n_relevant or 0)
    scores = np.full((len(lists), n_item), np.nan)
    pairs = []
    for q, flags in enumerate(lists):
        scores[q, : len(flags)] = -np.arange(len(flags))
        pairs += [(f"q{q}", f"g{i}") for i, hit in enumerate(flags) if hit]
        missing = (n_relevant or sum(flags)) - sum(flags)
        pairs += [(f"q{q}", f"g{len(flags) + i}") for i in range(missing)]
    return by_pairs(scores, pairs, **choices)


def by_pairs(scores: np.ndarray, pairs: list[tuple[str, str]], **choices: object) -> object:
    n_query, n_item = scores.shape
    ids = [f"q{i}" for i in range(n_query)] + [f"g{i}" for i in range(n_item)]
    roles = ["query"] * n_query + ["gallery"] * n_item
    table = pd.DataFrame({"id": ids, "role": roles}, dtype="str")
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "s.npy", scores)
        lines = ["query_id,gallery_id", *(f"{q},{g}" for q, g in pairs)]
        (Path(folder) / "p.csv").write_text("\n".join(lines), encoding="utf-8")
        files = {"scores": f"{folder}/s.npy", "relevant_pairs": f"{folder}/p.csv"}
        return evaluate(Dataset("lists", table, find_columns(table)), **files, **choices)  # type: ignore[arg-type]


def test_m01_ap_at_k_counts_hits_between_rank_r_and_k() -> None:
    result = scored([[1, 0, 1, 1, 0]], n_relevant=3, ks=(5,))
    assert result.scores["map@5"].value == pytest.approx(0.805556, abs=1e-6)


def test_m03_a_perfect_list_has_ap_at_k_1_though_more_is_relevant() -> None:
    assert scored([[1] * 8], ks=(3,)).scores["map@3"].value == 1


@pytest.mark.parametrize("names", ["1010", "0101"])
def test_m06_self_is_removed_by_row_not_by_place_in_the_list(names: str) -> None:
    data = from_arrays(np.array([[10.0], [10], [20], [20]]), list(names))
    assert evaluate(data, similarity="euclidean", ks=(1,)).scores["recall@1"].value == 0


def test_m10_renaming_items_changes_neither_a_tie_nor_its_range() -> None:
    seen = []
    for ids in (["q", "a", "z"], ["q", "z", "a"]):
        table = pd.DataFrame(
            {"id": ids, "role": ["query", "gallery", "gallery"], "label": ["x", "y", "x"]}, dtype="str"
        )
        data = Dataset("t", table, find_columns(table), None, {"given": np.ones((3, 2))})
        score = evaluate(data, ks=(1,)).scores["recall@1"].score
        seen.append((score.value, score.bounds, score.n_tied))
    assert seen[0] == seen[1] == (0.0, (0.0, 0.5, 1.0), 1)


def test_m12_what_is_found_at_k_does_not_depend_on_the_other_ks() -> None:
    scores, pairs = -np.array([[1.0, 2, 2, 3]]), [("q0", "g0"), ("q0", "g1"), ("q0", "g3")]
    few, many = by_pairs(scores, pairs, ks=(2,)), by_pairs(scores, pairs, ks=(2, 4))
    for name in ("recall@2", "precision@2", "map@2"):
        assert few.scores[name].value == many.scores[name].value
    relevance = Relevance.of(Sets.empty(1), 4)
    lists = [rank_scores(scores, relevance, top=k).top_position[0].tolist() for k in range(1, 5)]
    assert all(longer[:-1] == shorter for shorter, longer in pairwise(lists))


def test_m14_a_vector_with_nan_is_named_or_set_aside_and_never_first() -> None:
    gallery = np.array([[1, 0], [np.nan, 0], [0, 1]])
    data = from_arrays([[1, 0.2]], ["a"], gallery, ["a", "b", "b"])
    with pytest.raises(DataError, match=r"1 vectors hold nan or infinity: row 3 \(id '2'\)"):
        evaluate(data)
    result = evaluate(data, bad_rows="drop")
    assert result.directions[0].ranking.top_position.tolist() == [[0, 1]]
    assert result.counts["n_gallery"] == 2


@needs_shared
def test_m18_norms_of_large_half_precision_rows_do_not_overflow() -> None:
    given = read_embeddings(FIXTURES / "m18_f16.npy").values
    assert given.dtype == np.float16
    huge = np.full((1, 64), 1e20, np.float32)
    for rows in (given, huge):
        ready = prepare(rows)
        own = np.arange(len(rows))
        assert exact_pairs(ready, ready, own, own).tolist() == [1.0] * len(rows)


def test_m19_no_cosine_exceeds_1() -> None:
    rows = np.random.default_rng(0).normal(size=(200, 37)).astype(np.float32)
    result = evaluate(from_arrays(rows, list(map(str, range(200))), rows, list(map(str, range(200)))))
    top = result.directions[0].ranking.top_similarity
    assert top.max() == 1
    assert not np.isnan(np.arccos(top)).any()


def test_m20_queries_and_gallery_cannot_be_swapped_unseen(tmp_path: Path) -> None:
    data = from_arrays(np.eye(3)[:2], list("ab"), np.eye(3), list("abc"))
    np.save(tmp_path / "s.npy", np.zeros((3, 2)))
    with pytest.raises(DataError, match=r"has shape \(3, 2\); expected \(2, 3\)"):
        evaluate(data, scores=str(tmp_path / "s.npy"))


def test_m21_an_item_that_stands_twice_in_a_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text("q Q0 a 1 3 t\nq Q0 a 2 2 t\nq Q0 b 3 1 t\n", encoding="utf-8")
    (tmp_path / "qrels.txt").write_text("q 0 a 1\nq 0 c 1\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"run.txt line 2: query 'q' retrieves item 'a' a second time"):
        evaluate(load(tmp_path))


def test_m22_k_beyond_the_gallery_is_the_whole_gallery_and_is_noted() -> None:
    data = from_arrays([[1.0, 0]], ["a"], [[1, 0], [0.5, 1], [0, 1]], list("aba"))
    result = evaluate(data, ks=(1, 3, 5, 10))
    assert len({result.scores[f"item_recall@{k}"].value for k in (3, 5, 10)}) == 1
    assert result.scores["map@10"].value == result.scores["map"].value == pytest.approx((1 + 2 / 3) / 2)
    assert "k_beyond_gallery" in {finding.kind for finding in result.findings}


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "5"])
def test_m23_a_k_that_is_no_whole_number_from_1_on_is_refused_by_name(k: object) -> None:
    with pytest.raises(ValueError, match=f"k is {k!r}"):
        evaluate(from_arrays(np.eye(2), ["a", "a"]), ks=(k,))


def test_m24_where_nothing_can_be_answered_nothing_crashes() -> None:
    result = evaluate(from_arrays(np.eye(2), ["x", "x"], np.eye(2), ["y", "y"]))
    recall = result.scores["recall@1"]
    assert (recall.numerator, recall.denominator, recall.value) == (0, 2, 0)
    assert np.isnan(result.scores["map"].value)
    assert result.counts["n_evaluable"] == 0
    assert "evaluable: 0" in str(result)
    assert "nan" not in str(result)
    assert "nan" not in repr(result)


def test_m25_a_query_with_nothing_relevant_is_counted_under_both_policies() -> None:
    lists = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    result = scored(lists, ks=(1, 3))
    excluded = scored(lists, ks=(1, 3), no_relevant="exclude")
    assert [result.scores[f"recall@{k}"].value for k in (1, 3)] == [0.25, 0.75]
    assert [excluded.scores[f"recall@{k}"].value for k in (1, 3)] == [pytest.approx(1 / 3), 1]
    assert result.scores["map"].value == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert result.counts["n_without_relevant"] == 1


def test_m27_average_precision_is_the_step_sum() -> None:
    assert scored([[1, 0, 1]]).scores["map"].value == pytest.approx(0.8333, abs=1e-4)


def test_m29_the_same_picture_in_two_groups_is_listed_before_the_score(tmp_path: Path) -> None:
    pictures(tmp_path, "1.png", "2.png", "3.png", "4.png")
    (tmp_path / "4.png").write_bytes((tmp_path / "1.png").read_bytes())
    rows = "".join(f"{i}.png,{group}\n" for i, group in enumerate("AABB", 1))
    (tmp_path / "metadata.csv").write_text("path,group\n" + rows, encoding="utf-8")
    result = evaluate(load(tmp_path))
    assert "1.png = 4.png" in result.findings[0].message
    assert inspect(load(tmp_path)).pairs.loc[0, ["kind", "first_id", "second_id", "across"]].tolist() == [
        *("content", "1.png", "4.png"),
        "groups",
    ]


def test_m31_the_whole_matrix_is_never_held() -> None:
    rng = np.random.default_rng(0)
    query, gallery = (rng.normal(size=(n, 8)).astype(np.float32) for n in (3000, 4000))
    relevance = Relevance.of(Sets.from_labels(["a"] * 3000, ["a"] + ["b"] * 3999), 4000)
    tracemalloc.start()
    small = rank(query, gallery, relevance, memory=2**22)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * 4000 * 4
    whole = rank(query, gallery, relevance)
    assert (small.rank == whole.rank).all()


def test_m33_a_query_that_the_run_lacks_is_missed_and_counted(tmp_path: Path) -> None:
    data = from_arrays(np.eye(4), list("abcd"), np.eye(4), list("abcd"))
    run = "".join(f"{q} Q0 {q + 4} 1 1 t\n" for q in (0, 1, 3))
    (tmp_path / "run.txt").write_text(run, encoding="utf-8")
    result = evaluate(data, scores=str(tmp_path / "run.txt"))
    assert result.scores["recall@1"].value == 0.75
    assert any("1 query without result" in finding.message for finding in result.findings)


@needs_shared
def test_c01_leading_zeros_make_other_ids() -> None:
    data = load(FIXTURES / "c01_leading_zero.csv")
    assert (data.ids.tolist(), data.role("group").tolist()) == (["0001", "04", "4"], ["007", "007", "7"])


@needs_shared
def test_c04_a_european_table_has_four_columns() -> None:
    data = load(FIXTURES / "c04_semicolon.csv")
    assert data.table.shape[1] == 4
    assert data.values("score").tolist() == ["0,5", "1,25"]


@needs_shared
def test_c05_the_byte_order_mark_is_no_part_of_the_header() -> None:
    assert load(FIXTURES / "c05_bom_crlf.csv").columns == {"id": "image_id", "group": "group_id", "side": "role"}


@needs_shared
def test_c06_another_encoding_is_named_never_guessed() -> None:
    with pytest.raises(DataError, match=r"is not utf-8; .*encoding='cp1250'"):
        load(FIXTURES / "c06_cp1250.csv")
    data = load(FIXTURES / "c06_cp1250.csv", encoding="cp1250")
    assert data.role("group").tolist() == ["Erdő", "Erdő", "Fű"]


@needs_shared
def test_c07_vectors_in_another_order_are_joined_by_id() -> None:
    data = load(FIXTURES / "c07_meta.csv")
    rows, ids = (str(FIXTURES / name) for name in ("c07_emb_listing_order.npy", "c07_ids_listing_order.txt"))
    given = read_embeddings(Path(rows)).values
    result = evaluate(data, embeddings=rows, ids=ids)
    direction = result.directions[0]
    expected = rank(given[[0]], given[[2, 1]], direction.relevance)  # img1 asks; img2, img10 answer
    assert direction.ranking.rank.tolist() == expected.rank.tolist()
    by_position = evaluate(data, embeddings=rows)
    assert [finding.severity for finding in by_position.findings if finding.kind == "matching"] == ["warning"]


def test_c08_fewer_vectors_than_rows_is_an_error_with_both_counts(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.eye(4))
    with pytest.raises(DataError, match=r"v.npy has 4 rows, the table has 5"):
        evaluate(from_arrays(np.eye(5), list("aabbb")), embeddings=str(tmp_path / "v.npy"))


@pytest.mark.parametrize(("in_table", "on_disk"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_c09_an_accented_name_is_found_in_either_form(tmp_path: Path, in_table: str, on_disk: str) -> None:
    name = "árvíztűrő.png"
    pictures(tmp_path, unicodedata.normalize(on_disk, name))
    (tmp_path / "metadata.csv").write_text(f"path,label\n{unicodedata.normalize(in_table, name)},x\n", encoding="utf-8")
    data = load(tmp_path)
    assert data.pictures is not None
    assert (data.ids.tolist(), data.pictures.problems()) == ([name], {})


def test_f01_a_picture_looks_the_same_in_every_exif_orientation(tmp_path: Path) -> None:
    upright = np.add.outer(np.arange(60) * 2, np.arange(40) * 3).astype(np.uint8)[..., None].repeat(3, 2)
    stored = {1: upright, 2: upright[:, ::-1], 3: upright[::-1, ::-1], 4: upright[::-1], 5: upright.swapaxes(0, 1)}
    stored |= {6: np.rot90(upright), 7: np.rot90(upright, 2).swapaxes(0, 1), 8: np.rot90(upright, -1)}
    for tag in [None, *stored]:
        exif = Image.Exif()
        if tag is not None:
            exif[0x0112] = tag
        Image.fromarray(stored[tag or 1]).save(tmp_path / f"{tag}.png", exif=exif)
    data = load(tmp_path)
    assert data.pictures is not None
    assert all(np.array_equal(data.image(row), upright / np.float32(255)) for row in range(9))
    table = data.table.assign(label="x")
    same = Dataset("exif", table, find_columns(table), data.pictures)
    assert evaluate(same, encoder="raw").directions[0].ranking.similarity.min() == 1


@needs_shared
def test_f03_palette_alpha_and_cmyk_are_shown() -> None:
    with zipfile.ZipFile(SHARED / "cases/odd_images.zip") as archive:
        shown = {name: decoding.decode(archive.read(name)) for name in archive.namelist() if "pil" in name}
    for picture in shown.values():
        assert thumbnails.thumbnail(picture)[1] == "image/webp"
    assert np.abs(shown["pil_sample_cmyk.jpg"] - shown["pil_sample_rgb.jpg"]).mean() < 0.05


def odd(tmp_path: Path, *names: str) -> Dataset:
    with zipfile.ZipFile(SHARED / "cases/odd_images.zip") as archive:
        for name in names:
            (tmp_path / name).write_bytes(archive.read(name))
    rows = "".join(f"{name},x\n" for name in names)
    (tmp_path / "metadata.csv").write_text("path,label\n" + rows, encoding="utf-8")
    return load(tmp_path)


@needs_shared
def test_f04_a_bomb_marks_its_row_and_the_rest_is_evaluated(tmp_path: Path) -> None:
    result = evaluate(odd(tmp_path, "syn_bomb_30000x30000_1bit.png", "hopper.gif", "hopper.webp"))
    found = next(finding for finding in result.findings if finding.kind == "unreadable_pictures")
    assert "row 1 (id 'syn_bomb_30000x30000_1bit.png')" in found.message
    assert "refused before decoding: 900000000 pixels" in found.message
    assert result.counts["n_query"] == 2


@needs_shared
def test_f05_broken_files_are_listed_with_row_file_and_reason(tmp_path: Path) -> None:
    names = ("syn_zero_byte.jpg", "hopper.gif", "syn_truncated_half.jpg", "hopper.webp", "avif_hopper.heif")
    found = inspect(odd(tmp_path, *names))
    reasons = dict(zip(found.unreadable["id"], found.unreadable["reason"], strict=True))
    expected = {
        "syn_zero_byte.jpg": "the file is empty",
        "syn_truncated_half.jpg": "truncated",
        "avif_hopper.heif": "pip install pillow-heif",
    }
    assert {name: words in reasons[name] for name, words in expected.items()} == dict.fromkeys(expected, True)
    assert found.unreadable["row"].tolist() == [0, 2, 4]


@needs_shared
def test_f06_flat_pictures_are_not_near_duplicates_and_zero_vectors_are_reported(tmp_path: Path) -> None:
    data = odd(tmp_path, "syn_flat.png", "syn_black.png", "syn_white.png")
    found = inspect(data, Spec(encoder="gradient"))
    assert found.pairs.empty
    kinds = {finding.kind: finding.count for finding in found.findings}
    assert (kinds["flat_pictures"], kinds["zero_vectors"]) == (3, 3)


def test_f07_pairs_are_listed_and_nothing_is_claimed_of_their_ends() -> None:
    angle = np.arccos(0.97)
    vectors = [[np.cos(i * angle), np.sin(i * angle)] for i in range(3)]
    pairs = inspect(from_arrays(vectors, list("xyz")), threshold=0.95).pairs
    assert pairs[["first", "second"]].to_numpy().tolist() == [[0, 1], [1, 2]]
    assert pairs["score"].tolist() == pytest.approx([0.97, 0.97])


@needs_shared
def test_f09_pickled_arrays_are_refused_with_advice() -> None:
    with pytest.raises(DataError, match="Python objects, which are never unpickled; save a plain numeric array"):
        read_embeddings(FIXTURES / "f09_object.npy")


@needs_shared
def test_f10_byte_order_memory_order_and_type_change_nothing() -> None:
    given = [read_embeddings(path).values for path in sorted(FIXTURES.glob("f10_*.npy"))]
    assert len(given) == 4
    labels = [str(i % 2) for i in range(len(given[0]))]
    results = [evaluate(from_arrays(values, labels)) for values in given]
    assert all(result.table.equals(results[0].table) for result in results[1:])


def test_u01_a_query_is_known_by_its_id_after_filtering_and_sorting() -> None:
    result = evaluate(from_arrays(np.random.default_rng(0).normal(size=(12, 3)), list("ab" * 6)))
    chosen = result.table.iloc[7]
    narrowed = result.table[result.table["label"] == chosen["label"]].sort_values("margin")
    found = narrowed[narrowed["id"] == chosen["id"]].iloc[0]
    assert found.equals(chosen)
    assert result.directions[0].split.query[found["query"]] == found["row"] == 7


def test_u02_fifty_pages_of_thumbnails_leave_memory_flat(tmp_path: Path) -> None:
    pictures(tmp_path, *(f"c/{i:03d}.png" for i in range(48)), "d/1.png")
    data = load(tmp_path)

    def turn_a_page() -> None:
        for row in range(48):
            thumbnails.thumbnail(data.image(row))

    turn_a_page()
    tracemalloc.start()
    turn_a_page()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(5):
        turn_a_page()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 2**16


def test_u03_every_ranked_item_has_rank_score_verdict_and_group() -> None:
    result = evaluate(from_arrays(np.random.default_rng(0).normal(size=(9, 3)), list("abc" * 3)))
    direction = result.directions[0]
    ranking = direction.ranking
    assert not np.isnan(ranking.top_similarity[ranking.top_position >= 0]).any()
    for query in range(9):
        right = set(direction.relevance.relevant.of(query).tolist())
        for place, position in enumerate(ranking.top_position[query][:8]):  # the others; a query never finds itself
            row = direction.split.gallery[position]
            same = result.dataset.values("label")[row] == result.dataset.values("label")[query]
            assert (position in right) == same
            if same:
                pair = np.flatnonzero((ranking.query == query) & (ranking.position == position))
                assert ranking.rank[pair].tolist() == [place + 1]


@needs_shared
def test_no_known_fault_is_forgotten() -> None:
    cases = {case["id"].lower() for case in json.loads((SHARED / "cases/known_faults.json").read_text())}
    tested = {name.split("_")[1] for name in globals() if re.match(r"test_[a-z]\d\d_", name)}
    assert tested == cases


def test_the_cases_files_arrive_as_uploads_too(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.save(stream, np.eye(2, dtype=">f4"))
    table = "\ufeffimage_id;group_id\r\n0001;Erdő\r\n1;Erdő\r\n".encode()
    data = load_upload([("c.csv", table), ("e.npy", stream.getvalue())], tmp_path)
    assert evaluate(data).counts["n_query"] == 2
