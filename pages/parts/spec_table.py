"""The comparison table: one row a specification, one column a platform, a badge on every number."""

import html

import pandas as pd

from charts.theme import Mode, fade, palette

COLUMN_PX = 124
BADGE_TONES = {
    "measured": "good",
    "vendor_spec": "accent",
    "analyst": "bad",
    "derived": "quiet",
    "user": "accent",
    "unsourced": "axis",
}


def comparison_html(frame: pd.DataFrame, mode: Mode) -> str:
    """Return the table as HTML; hovering or opening a badge names source, date and condition.

    `frame` is the table `comparison` of the question `platforms`.
    """
    names = list(dict.fromkeys(frame["platform"]))
    head = "".join(f'<th scope="col">{html.escape(n)}</th>' for n in names)
    body = []
    for group, part in frame.groupby("group", sort=False):
        body.append(
            f'<tr class="g"><th scope="rowgroup" colspan="{len(names) + 1}">{html.escape(group)}</th></tr>'
        )
        for _, row in part.groupby("field", sort=False):
            cells = row.set_index("platform").loc[names]
            label, unit = cells["label"].iloc[0], _unit(cells)
            body.append(
                f'<tr><th scope="row">{html.escape(label)}<small>{html.escape(unit)}</small></th>'
                f"{''.join(_cell(c, unit) for c in cells.to_dict('records'))}</tr>"
            )
    return (
        f"<style>{_style(mode)}</style>"
        '<div class="hw" tabindex="0" role="region" aria-label="Comparison of platforms">'
        f'<table style="min-width:{COLUMN_PX * (len(names) + 1)}px">'
        f'<thead><tr><th scope="col">Specification</th>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _unit(cells: pd.DataFrame) -> str:
    units = list(dict.fromkeys(cells["unit"]))
    return "" if units == ["date"] else " or ".join(units)


def _cell(row: dict[str, object], unit: str) -> str:
    text, status = html.escape(str(row["text"])), str(row["status"])
    if status == "unsourced" or not status:
        return f'<td class="no">{text}</td>'
    own = str(row["unit"])
    tail = f" {html.escape(own)}" if own not in (unit, "date") else ""
    parts = [row["source"], row["date"] or "date not stated", row["condition"], row["note"], _others(row)]
    tip = html.escape(" · ".join(str(p) for p in parts if p), quote=True)
    badge = html.escape(str(row["badge"]))
    mark = f'<summary class="b {html.escape(status)}" title="{tip}">{badge}</summary>'
    return f"<td><b>{text}</b>{tail} <details>{mark}<p>{tip}</p></details>{_bar(row['best_frac'])}</td>"


def _bar(best_frac: object) -> str:
    frac = float(str(best_frac))
    if frac != frac:
        return ""
    return f'<i aria-hidden="true" style="width:{100 * frac:.0f}%"></i>'


def _others(row: dict[str, object]) -> str:
    count = int(str(row["other_values"]))
    if not count or str(row["field"]).startswith("price:"):
        return ""
    return f"{count} other published value{'s' if count > 1 else ''}, see All facts"


def _style(mode: Mode) -> str:
    c = palette(mode)
    tones = "".join(
        f".hw .{status}{{color:{getattr(c, tone)};background:{fade(getattr(c, tone), 0.13)}}}"
        for status, tone in BADGE_TONES.items()
    )
    line = f"1px solid {c.grid}"
    return (
        f".hw{{overflow-x:auto;border:{line};border-radius:8px}}"
        ".hw table{border-collapse:collapse;width:100%;table-layout:fixed;font-size:.875rem;"
        "font-variant-numeric:tabular-nums}"
        f".hw th,.hw td{{padding:6px 10px;text-align:left;vertical-align:top;border-bottom:{line};"
        "overflow-wrap:break-word}"
        f".hw thead th{{width:{COLUMN_PX}px}}"
        ".hw tbody tr:last-child>*{border-bottom:0}"
        f".hw th:first-child{{position:sticky;left:0;background:{c.surface}}}"
        ".hw th{font-weight:600}.hw tbody th{font-weight:400}"
        f".hw th small{{display:block;color:{c.quiet}}}.hw .no{{color:{c.quiet}}}"
        f".hw .g th{{font-size:.75rem;text-transform:uppercase;letter-spacing:.05em;color:{c.quiet}}}"
        ".hw i{display:block;height:4px;margin-top:5px;border-radius:2px}"
        f".hw i{{background:{fade(c.accent, 0.55)}}}"
        ".hw details{display:inline}.hw summary{display:inline-block;list-style:none}"
        ".hw summary::-webkit-details-marker{display:none}"
        f".hw details p{{font-size:.75rem;margin:6px 0 0;overflow-wrap:anywhere;color:{c.quiet}}}"
        ".hw .b{font-size:.72rem;border-radius:6px;padding:1px 6px;white-space:nowrap;cursor:help}" + tones
    )
