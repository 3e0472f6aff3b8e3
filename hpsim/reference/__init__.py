"""Plain-Python twins of the kernels: exact numbers allowed, no code shared with what they check."""
