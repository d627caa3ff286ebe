"""Buttons that copy: the link to what is on the screen, and the command that prints the same numbers."""

from collections.abc import Mapping
from urllib.parse import urlencode

import streamlit as st

from pages.shared.frame import own_data
from pages.shared.words import _

_component = st.components.v2.component(
    "recall_copy",
    html="<div class='copies'></div>",
    css="""
.copies { display: flex; gap: 0.6rem; flex-wrap: wrap; font-family: var(--st-font); }
button {
  font: inherit; font-size: 0.9rem; padding: 0.35rem 0.9rem; cursor: pointer; color: var(--st-text-color);
  background: transparent; border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius);
}
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 3px solid var(--st-primary-color); outline-offset: 2px; }
""",
    js="""
const write = async (text) => {
  if (navigator.clipboard) {
    try {
      return await navigator.clipboard.writeText(text);
    } catch {} // the browser may forbid it
  }
  // Pages that are served over plain http from elsewhere, as to a class, have no clipboard of the new kind.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) window.prompt("", text); // selected, to be copied by hand
};

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".copies");
  data.forEach(({ label, done, text, query }, i) => {
    const button = root.children[i] ?? root.appendChild(document.createElement("button"));
    button.type = "button";
    button.textContent = label;
    button.onclick = async () => {
      await write(query === null ? text : `${location.origin}${location.pathname}?${query}`);
      button.focus(); // the text that was selected had it
      button.textContent = done;
      setTimeout(() => (button.textContent = label), 1500);
    };
  });
}
""",
)


def buttons(query: Mapping[str, str], command: str) -> None:
    """Offer the link to this page with everything spelled out, and the command, which is shown too."""
    done = _("Copied")
    _component(
        key="copy",
        data=[
            {"label": _("Copy link"), "done": done, "text": None, "query": urlencode(query)},
            {"label": _("Copy command"), "done": done, "text": command, "query": None},
        ],
    )
    if query.get("data") in own_data.sets():
        needs = _(
            "The link needs this upload, which goes when you close or reload the page. Whoever opens it later uploads "
            "the same files on Start first: they get the same name again."
        )
        st.markdown(f":small[:gray[{needs}]]")
    st.code(command, language=None, wrap_lines=True)  # the colours of a language are too pale to be read well
