"""Keys of widgets and components that stand for a text of the data: hashes of it, never the text.

Streamlit refuses some texts in a key (``__`` in that of a component), reads others in it (a class of the page is made
of it), and an upload's folder may have any name at all.
"""

from hashlib import sha256


def key(kind: str, *texts: str) -> str:
    """Name the widget of a kind that belongs to these texts."""
    content = "\0".join(texts).encode(errors="surrogatepass")
    return f"{kind}_{sha256(content).hexdigest()[:12]}"
