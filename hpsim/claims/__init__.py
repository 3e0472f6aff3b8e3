"""Statements about pipelines as data: the language, its evaluations, and the catalogue of known claims."""
