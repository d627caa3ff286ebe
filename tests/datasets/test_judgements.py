"""Judgements and ranked lists in other tools' forms, checked against what these tools say."""

import json
from pathlib import Path

import numpy as np
import pytest

from recall_core import from_arrays
from recall_core.datasets.dataset import load
from recall_core.datasets.judgements import PROTOCOLS, qrels_text, read_judgements, run_text
from recall_core.datasets.score_files import read_scores
from recall_core.errors import DataError
from recall_core.evaluation import report
from recall_core.evaluation.wiring import evaluate
from tests.conftest import SHARED, needs_shared


def written(folder: Path, name: str, content: str) -> str:
    (folder / name).write_text(content, encoding="utf-8")
    return str(folder / name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("j.csv", "query_id;gallery_id;grade\nq;a;1\nq;b;0\nr;a;0,5\n"),
        ("j.txt", "query_id,gallery_id,grade\nq,a,1\nq,b,0\nr,a,0.5\n"),
        ("j.qrels", "q 0 a 1\nq 0 b 0\nr\t0\ta\t0.5\n"),
    ],
)
def test_judgements_read_the_same_from_a_table_and_from_qrels(tmp_path: Path, name: str, content: str) -> None:
    judged = read_judgements(Path(written(tmp_path, name, content)))
    assert (judged.query, judged.gallery, judged.grade.tolist()) == (["q", "q", "r"], ["a", "b", "a"], [1, 0, 0.5])
    assert not judged.junk.any()


def test_pairs_without_grade_are_relevant(tmp_path: Path) -> None:
    for name, content in (("p.csv", "query_id,gallery_id\nq,a\n"), ("class_labels.txt", "q a\n")):
        assert read_judgements(Path(written(tmp_path, name, content))).grade.tolist() == [1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("j.csv", "query_id,item\nq,a\n", "no column gallery_id; judgements are query_id, gallery_id and grade"),
        ("j.csv", "query_id,gallery_id,grade\nq,a,\n", "j.csv line 2: grade is empty; write a number"),
        ("j.csv", "query_id,gallery_id,grade\nq,a,inf\n", "j.csv line 2: grade is 'inf'"),
        ("j.csv", "query_id,gallery_id\n,a\n", "j.csv line 2: an id is empty"),
        ("j.qrels", "q 0 a\n", "j.qrels line 1: 3 words; judgements are a table"),
        ("j.qrels", "q 0 a 1\nq 0 a\n", "j.qrels line 2: 3 words where the first line has 4"),
        ("j.qrels", "q 0 a 1\nq 0 a 0\n", "line 2: the pair 'q', 'a' is judged 0, before 1; keep one"),
        ("j.qrels", "", "j.qrels line 1: 0 words"),
        ("g.json", '{"qimlist": ["q"], "imlist": ["a"], "gnd": []}', "gnd must be a list with an entry for each"),
        ("g.json", '{"qimlist": ["q"], "imlist": [1], "gnd": [{}]}', "imlist must be a list of names"),
        ("g.json", '{"qimlist": ["q"], "imlist": ["a"], "gnd": [{"easy": [1]}]}', "easy must be a list of positions"),
    ],
)
def test_judgements_that_cannot_be_right_are_refused_with_their_line(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_judgements(Path(written(tmp_path, name, content)))


def test_a_protocol_belongs_to_the_ground_truth_that_has_protocols(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="protocol='easy' belongs to ROxford's ground truth"):
        read_judgements(Path(written(tmp_path, "j.qrels", "q 0 a 1\n")), "easy")
    with pytest.raises(DataError, match="no such protocol; choose one of easy, medium, hard"):
        read_judgements(Path(written(tmp_path, "g.json", "{}")), "middle")


def test_names_with_blanks_cannot_be_written_to_trec_files() -> None:
    with pytest.raises(DataError, match="'a b' cannot stand in a TREC file"):
        qrels_text([("a b", "c", 1)])
    with pytest.raises(DataError, match="'' cannot stand in a TREC file"):
        run_text(["q"], [""], [[0]], [[1.0]], "t")


def four_queries() -> object:
    return from_arrays(np.eye(4), list("abcd"), np.eye(4), list("abcd"))


def test_a_query_that_the_run_leaves_out_counts_as_missed_and_is_counted(tmp_path: Path) -> None:
    run = written(tmp_path, "run.txt", "".join(f"{q} Q0 {q + 4} 1 0.9 t\n" for q in (0, 1, 3)))
    result = evaluate(four_queries(), scores=run)
    assert (result.scores["recall@1"].numerator, result.scores["recall@1"].denominator) == (3, 4)
    found = next(finding for finding in result.findings if finding.kind == "without_result")
    assert (found.count, found.examples) == (1, ("2",))
    assert found.message.startswith("1 query without result, of 4 in query->gallery")


def test_tied_scores_follow_the_gallery_and_are_counted_whatever_the_items_are_called(tmp_path: Path) -> None:
    run = written(tmp_path, "run.txt", "0 Q0 5 1 0.5 t\n0 Q0 4 2 0.5 t\n1 Q0 5 1 1 t\n2 Q0 6 1 1 t\n3 Q0 7 1 1 t\n")
    estimate = evaluate(four_queries(), scores=run).scores["recall@1"]
    assert (estimate.value, estimate.score.n_tied, estimate.score.bounds[0]) == (1.0, 1, 0.75)


def test_ids_that_nobody_asks_for_are_counted_and_none_at_all_is_an_error(tmp_path: Path) -> None:
    run = written(tmp_path, "run.txt", "0 Q0 4 1 1 t\n0 Q0 other 2 0.5 t\n")
    messages = [finding.message for finding in evaluate(four_queries(), scores=run).findings]
    said = "run.txt: gallery ids: 1 of 2 is no item of arrays: 'other'; what it was given is not used"
    assert [message for message in messages if message.startswith(said)]
    run = written(tmp_path, "run.txt", "q Q0 d 1 1 t\n")
    with pytest.raises(DataError, match=r"run.txt: query ids: none is an id of arrays, such as '0'"):
        evaluate(four_queries(), scores=run)


def test_scores_with_ids_may_stand_in_any_order(tmp_path: Path) -> None:
    matrix = np.arange(16.0).reshape(4, 4) ** 2 % 7
    np.save(tmp_path / "plain.npy", matrix)
    order = np.array([2, 0, 3, 1])
    np.savez(
        tmp_path / "named.npz",
        scores=matrix[np.ix_(order, order)].astype(">f8"),
        query_ids=order.astype(str),
        gallery_ids=(order + 4).astype(str),
    )
    plain, named = (evaluate(four_queries(), scores=str(tmp_path / name)) for name in ("plain.npy", "named.npz"))
    assert plain.table.equals(named.table)
    assert [f.severity for f in plain.findings if f.kind == "matching"] == ["warning"]
    assert not [f for f in named.findings if f.kind == "matching"]


def test_the_two_directions_cannot_be_confused(tmp_path: Path) -> None:
    data = from_arrays(np.eye(3)[:2], list("ab"), np.eye(3), list("abc"))
    np.save(tmp_path / "s.npy", np.ones((3, 2)))
    with pytest.raises(DataError, match=r"s.npy has shape \(3, 2\); expected \(2, 3\)"):
        evaluate(data, scores=str(tmp_path / "s.npy"))
    pairs = written(tmp_path, "j.csv", "query_id,gallery_id\n2,0\n3,1\n")
    with pytest.raises(DataError, match=r"none of its 2 pairs has its query among the queries .* columns swapped"):
        evaluate(data, relevant_pairs=pairs)


def test_what_is_written_as_trec_reads_back_as_the_same_numbers(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    vectors = rng.integers(-2, 3, (30, 4)).astype(float)
    labels = [f"c{i % 4}" for i in range(30)]
    data = from_arrays(vectors[:12], labels[:12], vectors[12:], labels[12:])
    result = evaluate(data)
    qrels = written(tmp_path, "qrels.txt", report.to_qrels(result))
    run = written(tmp_path, "run.txt", report.to_run(result))
    again = evaluate(data, scores=run, relevant_pairs=qrels)
    assert {name: again.scores[name].value for name in result.scores} == pytest.approx(
        {name: estimate.value for name, estimate in result.scores.items()}, nan_ok=True
    )
    # Alone, the files do not say in which order the gallery stood; only ties can tell.
    alone = evaluate(load(tmp_path))
    for name, estimate in result.scores.items():
        worst, _, best = alone.scores[name].score.bounds
        assert (worst, best) == pytest.approx((estimate.score.bounds[0], estimate.score.bounds[2]), nan_ok=True)


@needs_shared
@pytest.mark.parametrize("place", [0, 1])
def test_trec_evals_own_numbers(tmp_path: Path, place: int) -> None:
    peer = json.loads((SHARED / "cases/peers/trec_eval.json").read_text())["sets"][place]
    qrels, run = [], []
    for topic in peer["topics"]:
        qrels += [f"{topic['topic']} 0 {name} 1" for name in topic["relevant"]]
        ranking = topic["ranking"]
        run += [f"{topic['topic']} Q0 {name} {i} {len(ranking) - i} t" for i, name in enumerate(ranking, 1)]
    written(tmp_path, "qrels.txt", "\n".join(qrels))
    written(tmp_path, "run.txt", "\n".join(run))
    result = evaluate(load(tmp_path), ks=(5, 10))
    theirs = {"map": "map", "mrr": "recip_rank", "recall@5": "success_5", "recall@10": "success_10"}
    theirs |= {"precision@5": "P_5", "r_precision": "Rprec"}
    for ours, name in theirs.items():
        assert result.scores[ours].value == pytest.approx(peer["expected_all"][name], abs=6e-5), ours


@needs_shared
@pytest.mark.parametrize("protocol", list(PROTOCOLS))
def test_revisitops_own_numbers_junk_removed(tmp_path: Path, protocol: str) -> None:
    peers = SHARED / "cases/peers"
    written(tmp_path, "gnd_roxford5k.json", (peers / "gnd_roxford5k.json").read_text())
    expected = json.loads((peers / "revisitop.json").read_text())["sets"][0]["expected"][protocol[0].upper()]
    wanted = expected["ours_junk_removed"]
    scores = str(peers / "revisitop_scores_roxford5k.npz")
    result = evaluate(load(tmp_path), scores=scores, protocol=protocol)
    assert (result.counts["n_evaluable"], result.counts["n_without_relevant"]) == (
        wanted["n_answerable"],
        wanted["n_no_relevant"],
    )
    for ours, theirs in {
        "recall@1": "R@1_all",
        "recall_evaluable@5": "R@5_answerable",
        "recall@10": "R@10_all",
        "map@5": "mAP@5",
        "map@10": "mAP@10",
        "map": "mAP",
        "mrr": "MRR",
    }.items():
        assert result.scores[ours].value == pytest.approx(wanted[theirs], abs=1e-12), ours


def test_the_ground_truths_form_prescribes_itself_and_medium(tmp_path: Path) -> None:
    truth = {"qimlist": ["q"], "imlist": ["a", "b", "c"], "gnd": [{"easy": [0], "hard": [1], "junk": [2]}]}
    written(tmp_path, "gnd_tiny.json", json.dumps(truth))
    scores = str(tmp_path / "scores.npy")
    np.save(scores, np.array([[1.0, 2.0, 3.0]]))
    results = {name: evaluate(load(tmp_path), scores=scores, protocol=name) for name in (*PROTOCOLS, None)}
    assert {name: result.counts["n_junk"] for name, result in results.items()} == {
        "easy": 2,
        "medium": 1,
        "hard": 2,
        None: 1,
    }
    assert results["medium"].table["n_relevant"].tolist() == [2]
    assert results[None].spec.protocol == "medium"


def test_a_written_run_keeps_every_bit_of_a_score(tmp_path: Path) -> None:
    score = np.nextafter(0.1, 1)
    path = Path(written(tmp_path, "s.run", run_text(["q"], ["a", "b"], [[1, 0, -1]], [[score, 0.1, np.nan]], "t")))
    assert read_scores(path).values.tolist() == [[score, 0.1]]
