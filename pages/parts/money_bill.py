"""The bill on the Money page: what explains it, what became of it, and how the two agree."""

from typing import Any

import streamlit as st

from analysis.frames import records
from analysis.result import Result
from charts import reconciliation as bill_charts
from charts import waste as waste_charts
from charts.named_bars import dollars
from pages.parts.download import show_chart
from pages.parts.money_behind import open_bar, open_rung, show_behind
from pages.parts.money_lines import CENTS, LABELS, named, show_lines
from pages.parts.money_open import open_bill_bar
from pages.parts.pictures import picture
from pages.parts.state import current
from pages.parts.tables import show_table
from pages.parts.words import md_escape

MOST_UNKNOWN = 0.2
FOREIGN = "Lines without a rate into US dollars: outside every sum"


def show_charts(month: Result, bill: Result, waste: Result) -> None:
    """Invoice on the left, what became of the dollars on the right; a click on a bar opens what is behind."""
    theme = current().theme
    left, right = st.columns(2, gap="medium")
    with left:
        if bill.tables["by_how"].empty:
            _offer_bill(bill)
        else:
            show_chart(
                picture(bill_charts.explained, bill, theme),
                "money-explained",
                lambda at: _open_group(bill, at),
            )
        show_chart(
            picture(waste_charts.ladder, waste, theme), "money-ladder", lambda at: open_rung(waste, at)
        )
    with right:
        show_chart(
            picture(waste_charts.waterfall, waste, theme),
            "money-waterfall",
            lambda at: open_bar(waste, bill, at),
        )
        _why_unknown(waste)
        show_behind(waste, bill)
    _how_idle_agrees(month)


def _how_idle_agrees(month: Result) -> None:
    """One line from the idle total of the bill to that of the waterfall."""
    rows = records(month.tables["idle"])
    if not rows:
        return
    first, *steps, last = rows
    if not steps:
        st.caption(
            f"Held by nobody in the bill and not allocated in the waterfall are the same "
            f"{md_escape(dollars(first['usd']))}: bought, held by no run or job and borne by none."
        )
        return
    told = [f"{dollars(first['usd'])} {first['label']}"]
    told += [f"{'−' if r['usd'] < 0 else '+'} {dollars(abs(r['usd']))} {r['label']}" for r in steps]
    st.caption(md_escape(f"{' '.join(told)} = {dollars(last['usd'])} {last['label']}."))


def _offer_bill(bill: Result) -> None:
    with st.container(border=True, gap="small", key="money_no_bill"):
        foreign = not bill.tables["foreign"].empty
        st.markdown("**A bill without a rate into US dollars**" if foreign else "**No bill in this period**")
        st.caption(
            f"{md_escape(bill.answer)} Until then every dollar here is GPU-hours that runs and jobs held x "
            "the price chosen in the sidebar: an estimate of rent, and no invoice."
        )
        if foreign:
            st.page_link("prices.py", label="Enter a rate", icon=":material/currency_exchange:")
        else:
            st.page_link("telemetry.py", label="Upload a bill", icon=":material/upload_file:")


def _open_group(bill: Result, at: dict[str, Any]) -> None:
    rows = list(bill_charts.bars_of(bill.tables["by_how"]).itertuples())
    open_bill_bar(bill_charts.bar_name(rows[round(float(at["y"]))]))


def _why_unknown(waste: Result) -> None:
    """What would make a large unknown part known."""
    rows = {row["part"]: row for row in records(waste.tables["identity"])}
    paid = sum(row["usd"] for row in rows.values())
    unknown = rows["unknown"]["usd"] if rows else 0.0
    if paid > 0 and unknown / paid > MOST_UNKNOWN:
        st.caption(
            f"Unknown: {md_escape(dollars(unknown))} of GPU time has no usable GPU sample. It becomes known "
            "when the samples of all GPUs (nvidia-smi, DCGM or Prometheus) are loaded for all the time they "
            "were held."
        )


def show_invoice(bill: Result) -> None:
    """Lines by what explains them, who bears them, by day, and the way from the invoice to the cost."""
    if bill.tables["lines"].empty:
        st.caption(f"No line in US dollars to show. {md_escape(bill.answer)}")
        show_table(bill, "foreign", title=FOREIGN, labels=LABELS)
        return
    show_lines(bill)
    show_table(
        named(bill, "by_run"), "by_run", title="Dollars by who bears them", labels=LABELS, cents=CENTS,
        columns=("who", "campaign", "team", "usd", "gpu_hours", "lines", "days"),
        optional=("campaign", "team", "gpu_hours"),
    )  # fmt: skip
    show_chart(picture(bill_charts.by_day, bill, current().theme), "money-by-day")
    if (bill.tables["totals"]["kind"] == "change").any():
        show_chart(picture(bill_charts.bridge, bill, current().theme), "money-bridge")
    show_table(bill, "other_side", title="Held by runs and jobs, and paid by no line", labels=LABELS)
    show_table(bill, "foreign", title=FOREIGN, labels=LABELS)
