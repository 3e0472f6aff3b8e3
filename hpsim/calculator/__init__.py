"""The browser calculator: one template and one string table make a self-contained page in each language."""
