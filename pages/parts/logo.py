"""The mark: a rising curve over a coin's edge, drawn for the theme that is shown."""

ACCENT = {"light": "#2f5fd0", "dark": "#7fa6ff"}
INK = {"light": "#1c2330", "dark": "#eef1f6"}

_MARK = (
    '<circle cx="16" cy="16" r="14" fill="none" stroke="{accent}" stroke-width="2.5"/>'
    '<path d="M8 22 C13 22 14 10 24 9" fill="none" stroke="{accent}" stroke-width="3" '
    'stroke-linecap="round"/>'
    '<path d="M8 26 H24" stroke="{ink}" stroke-opacity=".55" stroke-width="2" stroke-linecap="round"/>'
)


def mark(theme: str) -> str:
    """Return the square mark as SVG text."""
    body = _MARK.format(accent=ACCENT[theme], ink=INK[theme])
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" width="32" height="32">{body}</svg>'


def wordmark(theme: str) -> str:
    """Return mark and name as SVG text."""
    body = _MARK.format(accent=ACCENT[theme], ink=INK[theme])
    text = (
        f'<text x="42" y="21.5" textLength="182" lengthAdjust="spacingAndGlyphs" font-weight="650" '
        f'font-family="system-ui, sans-serif" font-size="16" fill="{INK[theme]}">'
        "Intelligence per Dollar</text>"
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 226 32" width="226" height="32" role="img" '
        f'aria-label="Intelligence per Dollar">{body}{text}</svg>'
    )
