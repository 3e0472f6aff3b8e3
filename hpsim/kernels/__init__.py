"""Numba kernels: plain arrays in, ``out`` filled; they never raise and never validate."""
