"""From bytes that arrive to files that a reader can judge: spool, archives, folders, names."""
