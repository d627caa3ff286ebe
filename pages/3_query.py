"""Where Streamlit looks for the page of a deep link on a fresh server; the page is ``query/query.py``."""

from pages.shared.frame import shell

shell.main()
