"""Where Streamlit looks for the page of a deep link on a fresh server; the page is ``failures/failures.py``."""

from pages.shared.frame import shell

shell.main()
