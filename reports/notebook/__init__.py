"""Notebooks: documents of cells, what they depend on, running, freezing, taking them away as files."""
