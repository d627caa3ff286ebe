"""What several pages show: the gallery, triage, tables, findings, downloads, copy buttons."""
