"""Text on its way into Streamlit: names are data, so nothing in them may act as markdown."""

from charts.columns import ALGORITHMS, MODES, column_label, has_value_labels, status_label, value_label
from pages.parts.state import escape as md_escape

__all__ = [
    "ALGORITHMS",
    "MODES",
    "column_label",
    "counted",
    "file_size",
    "has_value_labels",
    "md_escape",
    "status_label",
    "value_label",
]


def counted(n: int, noun: str) -> str:
    """`1 load`, `2 loads`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def file_size(size_bytes: int) -> str:
    """Size of a file in the largest decimal unit that leaves a whole digit."""
    if size_bytes < 1_000:
        return counted(size_bytes, "byte")
    return f"{size_bytes / 1e3:,.1f} kB" if size_bytes < 1_000_000 else f"{size_bytes / 1e6:,.2f} MB"
