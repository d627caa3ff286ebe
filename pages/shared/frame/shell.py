"""The frame of every page: page config, navigation, and a sidebar whose choices are bound to the URL.

``app.py`` calls ``main``, which reads the sidebar and runs the page. Each page starts with ``here = shell.here()``.
"""

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from pages.shared import cached, words
from pages.shared.words import _
from pages.shared.words.labels import labels, problem_text
from recall_core.datasets import Dataset, whole
from recall_core.errors import DataError, MissingDependency
from recall_core.evaluation import Direction, Evaluation
from recall_core.protocol import DEFAULT_KS, Spec

from . import collector, settings, table_reading

log = logging.getLogger("recall_explorer")


class NotHere(DataError):
    """The data set that was asked for is not here: an upload that is gone, or a folder of another machine."""


@dataclass(frozen=True, eq=False)
class Here:
    """What the sidebar says.

    Parameters
    ----------
    name : str
        Of the data set.
    dataset : Dataset
    spec : Spec
    k : int
        Where the charts cut.
    query : mapping
        All of it as a link spells it, defaults too.
    missing : str
        The data set that was asked for, where it is not here and the page can do without; ``name`` is another one.
    """

    name: str
    dataset: Dataset
    spec: Spec
    k: int
    query: Mapping[str, str]
    missing: str = ""

    @property
    def folder(self) -> Path:
        """Where the data set lies; no folder for a built-in one."""
        return Path(self.spec.data)

    @property
    def evaluation(self) -> Evaluation:
        """The evaluation of the spec; computed at most once for everybody."""
        with st.spinner(_("Comparing the pictures …")):
            return cached.evaluation(self.dataset, self.spec)


_here: ContextVar[Here] = ContextVar("here")


def main() -> None:
    """Build the frame, then run the page in it; no failure ever shows as a traceback."""
    st.set_page_config(page_title="Recall Explorer", page_icon="🔎", layout="wide")
    controls, foot = st.sidebar.container(), st.sidebar.container()
    words.speak(_one_of("lang", words.LANGUAGES, "Language · Nyelv", foot))
    page = st.navigation({section: [_page(*one) for one in pages.items()] for section, pages in _sections().items()})
    _follow_wish()
    here = None
    with calmly(page.title, titled=False), controls:
        here = _sidebar(folded=page.url_path in ("", "start", "lesson", "exercises"))
    if here is not None:
        _here.set(here)
        with calmly(page.title):
            page.run()
        collector.set_apart(page.url_path)


def here() -> Here:
    """What the sidebar says in this run of the script: ``main`` reads it before it runs the page."""
    return _here.get()


def _page(name: str, title: str) -> Any:
    """A page is a folder with a script of the same name."""
    return st.Page(f"pages/{name}/{name}.py", title=title, default=name == "start")


def header(title: str, question: str, here: Here, evaluation: Evaluation) -> None:
    """Show the title, the question that the page answers, and the data set with its split and counts in one line."""
    st.title(title, anchor=False)
    st.markdown(f"{question}  \n:small[:gray[{words.plain(settings.counts_line(here.name, evaluation))}]]")


def ask_direction(evaluation: Evaluation) -> Direction:
    """Ask which direction the page shows; bound to the URL as ``direction``."""
    names = [direction.name for direction in evaluation.directions]
    chosen = st.selectbox(
        _("Direction"), names, key="direction", bind="query-params", width=190, label_visibility="collapsed"
    )
    return evaluation.direction(chosen)


def ask_query(n_query: int) -> int:
    """Ask which query the page shows, 1-based; bound to the URL as ``q``."""
    asked = ask_whole(_("Query"), 1, n_query, 1, key="q", width=130, label_visibility="collapsed")
    return max(1, min(asked, n_query))


def ask_whole(label: str, low: int, high: int, usual: int, *, key: str, **more: Any) -> int:
    """Ask for a whole number; bound to the URL, unless the URL came with what is none.

    Streamlit reads a number of the URL as a float first, and fails at infinity.
    """
    refused, written = f"{key}_unbound", st.query_params.get(key)
    if written is not None and whole(written, 2**53) is None:
        st.session_state[refused] = True
    bind: Any = None if refused in st.session_state else "query-params"
    return int(st.number_input(label, low, high, usual, key=key, bind=bind, **more))


@contextmanager
def calmly(page: str, *, titled: bool = True) -> Iterator[None]:
    """Show the user's mistakes in place, and our own calmly with what to report; the log has the traceback.

    ``titled`` says that the page's own title stands there already.
    """
    try:
        yield
    except Exception as problem:
        if not titled:
            st.title(page, anchor=False)
        _explain(problem, page)


def _explain(problem: Exception, page: str) -> None:
    if isinstance(problem, NotHere):
        _say_missing(str(problem))
        quiet(_("Or choose another data set at the left."))
        st.button(_("Go to the upload"), key="to_upload", on_click=go, args=("start",))
        return
    if isinstance(problem, DataError | MissingDependency):
        st.error(words.plain(problem_text(problem)))
        if isinstance(problem, DataError):
            table_reading.offer(problem, reread)
        quiet(_("Choose something else at the left, or mend the file and reload the page."))
        return
    number = uuid.uuid4().hex[:8]
    log.error("failure %s on page %s", number, page, exc_info=problem)
    st.error(_("Something went wrong inside the explorer. Your files were not changed."))
    st.markdown(_("Please report these lines; the server's log has the details under the same number."))
    report = {"failure": number, "page": page, "kind": type(problem).__name__} | st.query_params.to_dict()
    st.code("\n".join(f"{name}: {value}" for name, value in report.items()), language=None)


def say_missing(here: Here) -> bool:
    """Say that the data set that was asked for is not here, where that is so; is it?"""
    if here.missing:
        _say_missing(here.missing)
    return bool(here.missing)


def _say_missing(name: str) -> None:
    st.error(_("The data set {name} is not here, so there is no number to show.").format(name=words.plain(name)))
    st.markdown(
        _(
            "An upload belongs to one visitor and goes when they close or reload the page; a folder belongs to one "
            "machine. Upload the same files: they get the same name again."
        )
    )


def choose(name: str) -> None:
    """Choose a data set, with everything else at its defaults; for callbacks."""
    st.session_state["data"] = name
    _reset()


def change(changes: Mapping[str, str]) -> None:
    """Change some of the sidebar's choices; for callbacks."""
    st.session_state.update(changes)


def quiet(text: str) -> None:
    """Say something aside, small but with full contrast, which a caption lacks."""
    st.markdown("  \n".join(f":small[:gray[{line}]]" for line in text.splitlines()))


def go(name: str, **query: str) -> None:
    """Ask for another page, with the page's own keys of the URL; for callbacks."""
    st.session_state["wish"] = (name, query)


def _follow_wish() -> None:
    """Change the page as a callback asked. A callback itself cannot, and a button's own answer can be overtaken."""
    if "wish" in st.session_state:
        name, query = st.session_state.pop("wish")
        st.switch_page(f"pages/{name}/{name}.py", query_params=query)


def _sections() -> dict[str, dict[str, str]]:
    """Say which pages there are: section → file name → title. Sections without a page are left out."""
    return {
        "": {"start": _("Start")},
        _("Explore"): {
            "overview": _("Overview"),
            "failures": _("Failures"),
            "query": _("Query"),
            "compare": _("Compare"),
        },
        _("Learn"): {
            "lesson": _("Lesson"),
            "exercises": _("Exercises"),
            "leakage": _("Leakage"),
            "definitions": _("Definitions"),
            "index": _("Index"),
        },
    }


def _sidebar(*, folded: bool) -> Here:
    """Ask for everything that the number depends on; folded away but for the data set, where words shall be few."""
    sets, called = cached.data_sets(), labels()
    name = _select("data", [*sets, *_not_here(sets)], called["data"], on_change=_reset)
    missing = "" if name in sets else name
    if missing and not folded:
        raise NotHere(missing)
    name = next(iter(sets)) if missing else name
    front, more_choices = st.container(), st.expander(_("More choices"))
    back, last = more_choices.container(), more_choices.container()
    with last:
        columns, encoding = _how_to_read()
    dataset = cached.dataset(name, columns, encoding)
    offered = settings.offered(dataset, Path(sets[name]))
    chosen: dict[str, str] = {}

    def ask(field: str, help: str) -> None:
        if offered[field] == (settings.NONE,):
            chosen[field] = settings.NONE  # nothing to choose on this data set
        else:
            typed = {"accept_new_options": True} if field in settings.TYPED else {}
            chosen[field] = _select(field, offered[field], called[field], help=help, **typed)

    with back if folded else front:
        for field, help in settings.asked().items():
            ask(field, help)
        k_place = st.container()
    with back:
        for field, help in settings.asked_further().items():
            ask(field, help)
        ks = settings.read_ks(st.text_input(called["ks"], _spell(DEFAULT_KS), key="ks", bind="query-params"))
        seed = ask_whole(called["seed"], 0, 2**31 - 1, 0, key="seed")
    k = _one_of("k", tuple(map(str, ks)), "k", k_place, help=_("How many of the first pictures count."))
    for field, read in settings.TYPED.items():
        chosen[field] = _readable(chosen[field], offered[field][0], read)
    more = {"ks": _spell(ks), "seed": str(seed), "k": k, "lang": words.language(), "encoding": encoding}
    more |= {"columns": settings.write_columns(dict(columns))} if columns else {}
    spec = settings.make_spec(sets[name], chosen, offered, columns=columns, encoding=encoding, ks=ks, seed=seed)
    return Here(name, dataset, spec, int(k), settings.to_query(name, chosen, **more), missing)


def _not_here(sets: Mapping[str, str]) -> list[str]:
    """Which data set is asked for and not here? It is offered still, so that the address stays as it is."""
    asked = st.session_state["data"] if "data" in st.session_state else st.query_params.get("data")
    return [asked] if asked and asked not in sets else []


def _how_to_read() -> tuple[tuple[tuple[str, str], ...], str]:
    """Ask which column plays which role, and for the table's encoding."""
    form = "ROLE=COLUMN;ROLE=COLUMN"
    help = _("Where the columns have unusual names; by hand on the start page.")
    spelled = st.text_input(labels()["columns"], "", key="columns", bind="query-params", placeholder=form, help=help)
    encoding = _select("encoding", settings.ENCODINGS, labels()["encoding"], accept_new_options=True)
    columns = settings.read_columns(_readable(spelled, "", settings.read_columns))
    return columns, _readable(encoding, settings.UTF8, settings.read_encoding)


def _spell(ks: Sequence[int]) -> str:
    return ",".join(map(str, ks))


def _select(key: str, options: Sequence[str], label: str, **more: Any) -> str:
    # The options are shown as the spec spells them: a bound widget writes what it shows into the URL.
    chosen: str = st.selectbox(label, options, key=key, bind="query-params", **more)
    return chosen


def _one_of(key: str, options: Sequence[str], label: str, place: Any, **more: Any) -> str:
    chosen: str | None = place.segmented_control(
        label, options, default=options[0], required=True, key=key, bind="query-params", **more
    )
    return chosen or options[0]  # an address that says nothing after the = chooses none


def _readable(spelled: str, default: str, read: Callable[[str], object]) -> str:
    """Keep what can be read; anything else is said to be wrong, and the default holds."""
    if spelled == default:
        return default
    try:
        read(spelled)
    except DataError as problem:
        quiet(f"⚠️ {words.plain(problem_text(problem))}")
        return default
    return spelled


def reread() -> None:
    """Put what depends on the columns back to its defaults; for callbacks that name other columns."""
    name, spelled = st.session_state["data"], st.session_state.get("columns", "")
    if name not in cached.data_sets():
        return  # the page says so
    try:
        columns = settings.read_columns(spelled)
        dataset = cached.dataset(name, columns, st.session_state.get("encoding", settings.UTF8))
        offered = settings.offered(dataset, Path(cached.data_sets()[name]))
    except DataError:
        return  # the page says so when it loads the data set itself
    st.session_state.update({key: options[0] for key, options in offered.items()})


def _reset() -> None:
    """Put what depends on the data set back to its defaults."""
    st.session_state.update(columns="", encoding=settings.UTF8)
    reread()
