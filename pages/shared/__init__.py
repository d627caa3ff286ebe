"""What the pages share: frame, words, cached calls of the engine, gallery, charts."""
