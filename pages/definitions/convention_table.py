"""One ranking under every convention: the words for its rows, and the table that shows them."""

from collections.abc import Iterable, Mapping, Sequence

import streamlit as st

from pages.shared.components.score_tables import score
from pages.shared.frame.shell import quiet
from pages.shared.words import _, number, plain, plural
from recall_core import diagnosis
from recall_core.course import Figure, Unreadable, read_figure, read_ranking
from recall_core.diagnosis import Match, Row
from recall_core.evaluation import Evaluation
from recall_core.metrics import Name
from recall_core.ranking import Ranking

NOTE_SIGNS = "abcdefghijklmnopqrstuvwxyz"


def rows(key: str, rankings: Sequence[Ranking], k: int) -> tuple[Row, ...]:
    """Give the rows of some rankings at k; ``key`` names the rankings."""
    return _rows(f"{key} {k}", rankings, k)


@st.cache_resource(max_entries=256, show_spinner=False)
def _rows(key: str, _rankings: Sequence[Ranking], _k: int) -> tuple[Row, ...]:
    return diagnosis.definition_rows(_rankings, _k)


def show(found: Iterable[Row], k: int, lit: Mapping[str, Match]) -> None:
    """Show all rows in three tables, by what they count; those that are lit stand out."""
    given = list(found)
    notes: list[str] = []
    for level, title in _levels().items():
        st.markdown(f"##### {title}")
        body = [_line(row, k, lit.get(row.key), notes) for row in given if row.level == level]
        heads = (_("Number"), _("Formula"), _("With these numbers"), _("Value"), _("Called elsewhere"))
        st.markdown("\n".join([_cells(heads), _cells(["---"] * len(heads)), *body]))
    words = note_words()
    quiet("\n".join(f"{sign}: {words[note]}" for sign, note in zip(NOTE_SIGNS, notes, strict=False)))


def explain(key: str, rankings: Sequence[Ranking], typed: str, found: Sequence[Row], k: int) -> dict[str, Match]:
    """Say which rows give a figure that somebody has, at the chosen k and at every other; give those to be lit."""
    figure = read_figure(typed)
    if figure is None:
        st.warning(_("That is no number. Write 0.583, 0,583, 7/12 or 58.3 %."))
        return {}
    matches = diagnosis.matching(found, figure.value, figure.digits)
    if matches:
        listed = "; ".join(_match_words(match, str(k)) for match in matches)
        st.success(plural("{n} row gives this number:", "{n} rows give this number:", len(matches)) + " " + listed)
    most = diagnosis.most_k(rankings)
    with st.spinner(_("Looking at every k …")):
        at = _elsewhere(f"{key} {most} {figure}", rankings, most, figure)
    others = {other: hits for other, hits in at.items() if other != k}
    if others:
        told = _("At other k too:") if matches else _("No row gives this number at k = {k}, but others do:").format(k=k)
        st.info(f"{told} {_listed(others)}")
    elif not matches:
        st.warning(
            _(
                "No row gives this number, up to k = {k} either. Is it the same data, the same queries, the same "
                "gallery? Is the query itself taken out?"
            ).format(k=most)
        )
    return {match.row.key: match for match in matches}


@st.cache_resource(max_entries=64, show_spinner=False)
def _elsewhere(key: str, _rankings: Sequence[Ranking], _most: int, _figure: Figure) -> dict[int, list[Match]]:
    return diagnosis.matching_at(_rankings, range(1, _most + 1), _figure.value, _figure.digits)


def _listed(at: Mapping[int, Sequence[Match]]) -> str:
    """List what gives a number, each with all its k: ``R@k by query (k = 1–3, 7)``."""
    ks: dict[str, list[int]] = {}
    for k, matches in sorted(at.items()):
        for match in matches:
            ks.setdefault(_match_words(match, "k"), []).append(k)
    return "; ".join(f"{words}: k = {_ranges(some)}" for words, some in ks.items())


def _ranges(ks: Sequence[int]) -> str:
    """Spell ascending numbers, those that follow each other as a range."""
    first = [k for k in ks if k - 1 not in ks]
    last = [k for k in ks if k + 1 not in ks]
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in zip(first, last, strict=True))


def typed(text: str) -> Ranking | None:
    """Read a ranking that was typed; what cannot be read is said in place."""
    try:
        return read_ranking(text)
    except Unreadable as problem:
        st.warning(plain(_unreadable_words(problem.key).format(**problem.parameters)))
        return None


def how_to_type() -> str:
    """Say how a ranking is typed."""
    return _(
        "1 is right, 0 is wrong. (01)1: the items in parentheses are tied. 101+2: two more right items were not found. "
        "A slash parts the lists of several queries."
    )


def of_evaluation(evaluation: Evaluation) -> list[Ranking]:
    """Give the rankings of both directions."""
    return [direction.ranking for direction in evaluation.directions]


def row_words(key: str, k: int | str) -> str:
    """Name a row, at one k or at any."""
    return {
        "recall_miss": _("R@{k} by query, nothing right counts as missed"),
        "recall_exclude": _("R@{k} by query, nothing right is left out"),
        "item_recall": _("Item recall@{k}, all items together (micro)"),
        "item_recall_macro": _("Item recall@{k}, query by query (macro)"),
        "capped_recall": _("Capped recall@{k}, out of as many as fit"),
        "precision": _("Precision@{k}"),
        "precision_to_last": _("Precision@{k}, at most to the last right one"),
        "r_precision": _("R-precision"),
        "map_min": _("AP@{k} by min(|Rel|, k): this program's"),
        "map_relevant": _("AP@{k} by |Rel|"),
        "map_hits": _("AP@{k} by the hits found"),
        "map": _("AP of the whole list"),
        "map_trapezoid": _("AP by trapezoids"),
        "map_at_r": _("AP cut at |Rel| (MAP@R)"),
        "mrr_at_k": _("Reciprocal rank, cut at {k}"),
        "mrr": _("Reciprocal rank"),
        "ndcg_at_k": _("nDCG@{k}"),
        "ndcg": _("nDCG of the whole list"),
        "minp": _("|Rel| over the last right rank (mINP)"),
    }[key].format(k=k)


def note_words() -> Mapping[str, str]:
    """Say what to know about a tool's name."""
    return {
        "empty_as_0": _("counts queries with nothing right as 0; here they are left out"),
        "judged_empty": _("so does a query that was judged, with nothing right; one without any judgement is left out"),
        "empty_skip": _("only with empty_target_action=“skip”"),
        "ties_mean": _("with ties the tool gives our expected value"),
        "ties_last": _("tied items all take the last place of their group"),
        "positive_scores": _("hits with a score of 0 or less are dropped"),
        "true_neighbours": _("right are the exact k nearest, so |Rel| = k"),
        "k_is_1": _("only at k = 1"),
        "until_1_6_0": _("up to version 1.6.0"),
        "from_1_6_1": _("from version 1.6.1 on"),
        "all_retrieved": _("equal where every right item was retrieved"),
    }


def _levels() -> Mapping[str, str]:
    return {
        "query": _("Does a query hit? Counts queries"),
        "item": _("How many right items are there? Counts items"),
        "list": _("How early do they come? Weighs ranks"),
    }


def _line(row: Row, k: int, match: Match | None, notes: list[str]) -> str:
    name = row_words(row.key, k)
    value = score(row.value)
    if match:
        name, value = f"▶ **{name}**", f":green-background[**{value}**]"
    details = []
    if row.tied:
        expected = "" if row.expected is None else _("expected {value}, ").format(value=score(row.expected))
        details.append(
            _("ties: {expected}{worst} to {best}").format(
                expected=expected, worst=score(row.worst), best=score(row.best)
            )
        )
    if row.n_left_out:
        details.append(
            _("{n} of {all} left out").format(n=number(row.n_left_out), all=number(row.n_left_out + row.n_counted))
        )
    small = "".join(f" :small[· {detail}]" for detail in details)
    named = " · ".join(_name_words(name, notes) for name in row.names)
    formulas = (rf"$\displaystyle {formula}$" for formula in (row.formula, row.filled))
    return _cells([name, *formulas, value + small, f":small[{named or '–'}]"])


def _name_words(name: Name, notes: list[str]) -> str:
    signs = []
    for note in name.notes:
        if note not in notes:
            notes.append(note)
        signs.append(NOTE_SIGNS[notes.index(note)])
    marks = f" ({', '.join(signs)})" if signs else ""
    return f"{name.tool} `{name.name}`{marks}"


def _match_words(match: Match, k: str) -> str:
    which = {
        "value": "",
        "expected": _("expected under ties"),
        "worst": _("ties at worst"),
        "best": _("ties at best"),
    }[match.which]
    return row_words(match.row.key, k) + (f" ({which})" if which else "")


def _cells(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _unreadable_words(key: str) -> str:
    return {
        "nothing": _("Write the relevance in rank order, best first: 10101"),
        "character": _("Place {place}: “{character}” is neither 0 nor 1. Write 10101, ties as (01)1."),
        "nested": _("Place {place}: a group of ties inside another one."),
        "unclosed": _("Place {place}: ( without )."),
        "unopened": _("Place {place}: ) without (."),
        "too_few_relevant": _("{shown} right items are shown, so |Rel| cannot be {n_relevant}."),
        "several_lists": _("|Rel| can be given for one list only; write 101+2 / 01 instead."),
        "too_many": _("{n} items; at most {most} can be typed."),
    }[key]
