"""The parts of a sweep file: strict YAML, numbers, distributions, pipelines and grids, each checked with its line."""
