"""Logs of rows of raw metric keys, and text logs: what several readers share."""
