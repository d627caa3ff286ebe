"""Start the explorer: ``streamlit run app.py``."""

from pages.shared.frame import shell

shell.main()
