"""What the page on leakage works on: the lab or the visitor's data, and one cached call for each part.

The visitor's data may be grouped and labelled by any of their columns: the same as ``--column group=… --column
label=…`` on the command line.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from pages.shared import cached, seeds
from pages.shared.background import Job
from pages.shared.frame import settings
from pages.shared.frame.shell import Here
from pages.shared.seeds import Grown, Seeds
from pages.shared.words import _, plain
from recall_core.arrays import Array
from recall_core.datasets import Dataset
from recall_core.evaluation import Evaluation
from recall_core.experiments import leakage
from recall_core.experiments.leakage import Draw, Halves, Material, TrainingRun
from recall_core.protocol import Spec

PARTS = leakage.LEAKAGE_PARTS
LAB, CHOSEN = "lab", "chosen"


@dataclass(frozen=True, eq=False)
class Chosen:
    """What the page shows.

    Parameters
    ----------
    part : str
        One of ``PARTS``.
    grouped : bool
        Where the toggle stands.
    k : int
    name : str
        Of the data set, as the list of data sets has it.
    dataset : Dataset
        With the columns chosen.
    pictures : Dataset
        The same rows as they were loaded: pictures are cached under its fingerprint.
    spec : Spec
    link : mapping
        The page's own part of the address.
    """

    part: str
    grouped: bool
    k: int
    name: str
    dataset: Dataset
    pictures: Dataset
    spec: Spec
    link: Mapping[str, str]

    @property
    def key(self) -> str:
        """Names what is computed, for caches."""
        return cached.evaluation_key(self.dataset, self.spec)

    @property
    def draw(self) -> str:
        """The draw that the toggle names: ``random`` or ``grouped``."""
        return "grouped" if self.grouped else "random"

    @property
    def group(self) -> str:
        """The column whose equal values belong together; empty where there is none."""
        return self.dataset.columns.get("group", "")

    def picture(self, row: int) -> str:
        """Give the picture of a row."""
        return cached.thumbnail(self.pictures, row)

    def command(self, n_seed: int) -> str:
        """Spell the command that prints the same numbers; the lab needs no files there."""
        spelled = settings.to_command(self.spec).replace(" evaluate ", " leakage ", 1)
        if self.name == cached.LAB:
            spelled = spelled.replace(f" leakage data/{cached.LAB}", " leakage", 1)
        return spelled + f" --part {self.part}" + ("" if self.part == "same-picture" else f" --seeds {n_seed}")


def _chosen_digest(chosen: Chosen) -> str:
    """Spell what is computed, wherever the toggle stands."""
    return cached.digest(chosen.key)


def choose(here: Here) -> Chosen:
    """Ask for the toggle, the part and the data, and make ready what they mean."""
    parts = dict(zip(PARTS, (_("Query and gallery"), _("The same picture twice"), _("Training")), strict=True))
    sides = {"random": _("random"), "grouped": _("grouped")}
    own = {LAB: _("the lab"), CHOSEN: plain(here.name)}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        first = st.container(width="content")
        part = one_of("part", _("What may leak"), parts)
        # Nothing is drawn where the same picture stands on both sides.
        draw = one_of("draw", _("Drawn at random, or whole groups"), sides, first, disabled=part == "same-picture")
        rule = _("The choices at the left hold for your data, the lab has its own.")
        on = LAB if here.name == cached.LAB else one_of("on", _("On which data"), own, help=rule)
    chosen = _own(here) if on == CHOSEN else _lab(here, part)
    name, dataset, pictures, spec, link = chosen
    link = {"part": part, "draw": draw, "on": on} | link
    return Chosen(part, draw == "grouped", here.k, name, dataset, pictures, spec, link)


@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs={Chosen: _chosen_digest})
def halves(chosen: Chosen) -> Halves:
    """Make the data ready for drawing halves."""
    return leakage.halves(chosen.dataset, chosen.spec, encoded=_encoded(chosen))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={Chosen: _chosen_digest})
def draw(chosen: Chosen, grouped: bool, seed: int) -> Draw:
    """Draw with one seed, in the way that the toggle says."""
    return (leakage.paired_draw if grouped else leakage.random_draw)(halves(chosen), seed)


@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs={Chosen: _chosen_digest})
def material(chosen: Chosen) -> Material:
    """Make the data ready for training."""
    return leakage.material(chosen.dataset, chosen.spec)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={Chosen: _chosen_digest})
def run(chosen: Chosen, seed: int) -> TrainingRun:
    """Train with one seed."""
    return leakage.train_and_compare(material(chosen), seed)


@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs={Chosen: _chosen_digest})
def same_picture(chosen: Chosen) -> dict[str, Evaluation]:
    """Evaluate the cases in which the same picture is on both sides."""
    return leakage.same_picture(chosen.dataset, chosen.spec, encoded=_encoded(chosen))


def many_draws(chosen: Chosen) -> Seeds:
    """Draw with many seeds: those that are there, and how to make more."""
    return Seeds(_seeds(f"draws {chosen.key}"), partial(leakage.all_draws, halves(chosen)))


def many_runs(chosen: Chosen) -> Seeds:
    """Train with many seeds: those that are there, and how to make more."""
    return Seeds(_seeds(f"training {chosen.key}"), partial(leakage.trainings, material(chosen)))


def _encoded(chosen: Chosen) -> Array | None:
    return cached.encoded(chosen.dataset, leakage.shared_choices(chosen.dataset, chosen.spec))


def _lab(here: Here, part: str) -> tuple[str, Dataset, Dataset, Spec, dict[str, str]]:
    """Take the lab; only its textured pictures can show what a leaking training draw does."""
    standard = cached.dataset(cached.LAB)
    dataset = _textured(standard.fingerprint) if part == "training" else standard
    spec = here.spec if here.name == cached.LAB else Spec(cached.data_sets()[cached.LAB], ks=here.spec.ks)
    return cached.LAB, dataset, dataset, _bare(spec), {}


def _own(here: Here) -> tuple[str, Dataset, Dataset, Spec, dict[str, str]]:
    """Take the visitor's data, with the columns that say what belongs together and what is learned."""
    columns = [name for name in settings.offered(here.dataset, here.folder)["relevant"] if name != settings.JUDGED]
    with st.container(horizontal=True, gap="medium"):
        asked = {
            "group": _column("group", _("Belongs together: same …"), columns, here.dataset),
            "label": _column("label", _("Is to be learned: same …"), columns, here.dataset),
        }
    link = {f"{role}_column": name for role, name in asked.items()}
    new = {role: name for role, name in asked.items() if name not in (settings.NONE, here.dataset.columns.get(role))}
    key = f"{cached.pictures_key(here.dataset)} {new}"
    dataset = here.dataset if not new else _with_columns(key, here.dataset, new)
    spec = _bare(here.spec).replace(columns=tuple(new.items()))
    return here.name, dataset, here.dataset, spec, link


def _bare(spec: Spec) -> Spec:
    """Leave out what no experiment takes: who asks and answers is drawn, and both stories of a lost query are told."""
    return spec.replace(split=None, query_images=None, no_relevant="miss", junk_same=None, seed=None)


def one_of(key: str, label: str, options: Mapping[str, str], place: Any = st, **more: Any) -> str:
    """Ask for one of some words; the address names the choice the same in every language.

    A bound widget would write the words themselves into the address, and lose them when the language changes.
    """
    usual, seen = next(iter(options)), f"{key}_in_address"
    asked = st.query_params.get(key, usual)
    asked = asked if asked in options else usual
    if key not in st.session_state or st.session_state.get(seen) != asked:  # by a link, or by Back
        st.session_state[key] = st.session_state[seen] = asked

    def tell() -> None:
        picked = st.session_state[seen] = st.session_state[key]
        if picked == usual:
            st.query_params.pop(key, None)
        else:
            st.query_params[key] = picked

    picked: str = place.segmented_control(
        label,
        list(options),
        required=True,
        format_func=lambda option: options.get(option, option),
        key=key,
        on_change=tell,
        **more,
    )
    return picked


def _column(role: str, label: str, columns: list[str], dataset: Dataset) -> str:
    usual = dataset.columns.get(role, settings.NONE)
    options = list(dict.fromkeys([usual, *columns]))
    picked: str = st.selectbox(label, options, key=f"{role}_column", bind="query-params", width=190)
    return picked


@st.cache_resource(max_entries=64, show_spinner=False)
def _seeds(key: str) -> Job[Grown]:
    return seeds.job()


@st.cache_resource(max_entries=1, show_spinner=False)
def _textured(key: str) -> Dataset:
    return leakage.lab("textured")


@st.cache_resource(max_entries=4, show_spinner=False)
def _with_columns(key: str, _dataset: Dataset, _columns: Mapping[str, str]) -> Dataset:
    return dataclasses.replace(_dataset, columns={**_dataset.columns, **_columns})
