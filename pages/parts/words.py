"""Text on its way into Streamlit: names are data, so nothing in them may act as markdown."""

from pages.parts.state import escape as md_escape

__all__ = ["column_label", "md_escape", "status_label"]

STATUS_LABELS = {
    "measured": "measured",
    "vendor_spec": "vendor",
    "vendor": "vendor",
    "analyst": "analyst",
    "derived": "derived",
    "seed_article_only": "one article",
    "user": "yours",
    "assumed": "assumed",
    "inferred": "inferred",
}
_UNITS = {
    "usd": "USD",
    "s": "s",
    "h": "h",
    "frac": "%",
    "bytes": "bytes",
    "w": "W",
    "points": "points",
    "pct": "%",
}
_WORDS = {
    "gpu": "GPU",
    "gpus": "GPUs",
    "llm": "LLM",
    "tok": "tokens",
    "len": "length",
    "mfu": "MFU",
    "id": "id",
    "ci": "interval",
    "cum": "cumulative",
    "mem": "memory",
    "util": "utilisation",
    "p50": "p50",
    "p95": "p95",
}


def status_label(status: str) -> str:
    """Return the badge text of a fact's status."""
    return STATUS_LABELS.get(status, status.replace("_", " "))


def column_label(name: str) -> str:
    """Return a heading with its unit made from a column name.

    >>> column_label("step_s"), column_label("gpu_h"), column_label("usd")
    ('Step (s)', 'GPU-hours', 'USD')
    """
    fixed = {"gpu_h": "GPU-hours", "usd": "USD", "llm": "LLM", "x": "x", "n": "n"}
    if name in fixed:
        return fixed[name]
    parts = name.split("_")
    unit = ""
    if "per" not in parts and len(parts) > 1 and parts[-1] in _UNITS:
        unit = f" ({_UNITS[parts.pop()]})"
    words = ["USD" if p == "usd" else _WORDS.get(p, p) for p in parts]
    text = " ".join(words)
    return text[:1].upper() + text[1:] + unit
