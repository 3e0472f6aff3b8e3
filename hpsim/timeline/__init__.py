"""A schedule as a picture: in the terminal, as a figure, and as a trace for a viewer of traces."""
