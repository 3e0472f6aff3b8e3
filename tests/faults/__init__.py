"""Faults that a run must survive, each tried on real sweeps in processes of their own."""
