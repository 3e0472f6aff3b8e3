"""The paper's numbers, tables and figures, computed again and compared one by one."""
