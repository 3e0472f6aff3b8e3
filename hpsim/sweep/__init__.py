"""A YAML sweep, from its file to a finished run folder."""
