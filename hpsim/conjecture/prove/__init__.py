"""The prover: statements for every S and M, within bounds, or refuted by exact numbers."""
