"""The teacher's sheet: tasks, solutions and common misreadings, to be printed; written by the report's renderer."""

import re
from html import escape

from pages.shared import words
from pages.shared.learner import task_page, texts
from pages.shared.words import _
from recall_core import diagnosis
from recall_core.course import TASKS

PARTS = ("task", "solution", "misreadings")
INLINE = (
    (re.compile(r"\*\*(.+?)\*\*"), r"<b>\1</b>"),
    (re.compile(r"\*(?=\S)(.+?)(?<=\S)\*"), r"<em>\1</em>"),
)


def sheet() -> str:
    """Write the sheet in the visitor's language as one HTML document."""
    titles = {"task": _("Task"), "solution": _("Solution"), "misreadings": _("Common misreadings")}
    sections = {}
    for name in TASKS:
        text, values = texts.read(f"task_{name}"), task_page.values(name)
        parts = (f"<h3>{escape(titles[part])}</h3>\n{to_html(text.filled(part, values))}" for part in PARTS)
        sections[text.title] = "\n".join(parts)
    title = _("Recall Explorer: teacher's sheet")
    head = "<p>" + escape(_("The numbers were computed from the lab's data when this sheet was written.")) + "</p>"
    return diagnosis.html_document(title, title, head, sections, language=words.language())


def to_html(markdown: str) -> str:
    """Turn what the texts of the tasks use of Markdown into HTML: paragraphs, lists, tables, code, emphasis."""
    return "\n".join(_block(block) for block in re.split(r"\n\n+", markdown.strip("\n")))


def _block(block: str) -> str:
    lines = block.split("\n")
    if all(line.startswith("    ") for line in lines):
        return f"<pre>{escape(chr(10).join(line[4:] for line in lines))}</pre>"
    if lines[0].startswith("- "):
        items = re.split(r"^- ", block, flags=re.MULTILINE)[1:]
        return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>"
    if lines[0].startswith("|"):
        rows = [line.strip("| ").split(" | ") for line in lines if not line.startswith("| ---")]
        body = ("<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table>{''.join(body)}</table>"
    return f"<p>{_inline(block)}</p>"


def _inline(text: str) -> str:
    """Spell emphasis and code; what stands in code is left alone."""
    parts = re.split(r"`([^`]+)`", text.replace("&ensp;", " "))
    return "".join(f"<code>{escape(part)}</code>" if i % 2 else _emphasised(part) for i, part in enumerate(parts))


def _emphasised(text: str) -> str:
    spelled = escape(text)
    for pattern, spelling in INLINE:
        spelled = pattern.sub(spelling, spelled)
    return spelled
