"""A run folder → summary, SQL, data frames and figures; nothing here writes into it."""
