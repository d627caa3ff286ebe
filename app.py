"""Start the explorer: ``streamlit run app.py``."""

from pages.shared import shell

shell.main()
