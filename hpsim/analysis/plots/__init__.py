"""One small file a kind of figure: a run → axes."""
