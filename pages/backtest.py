"""How wrong have the projections been: errors on published pairs, set by set."""

import streamlit as st

from charts import backtest as charts
from pages.parts.answer import show_answer
from pages.parts.assumptions import show_how
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.frame import show_title
from pages.parts.notices import show_warnings
from pages.parts.pictures import picture
from pages.parts.state import current
from pages.parts.tables import show_table

SETS = [
    "label",
    "n_predicted",
    "n_total",
    "models",
    "median_abs_error",
    "boot_low",
    "boot_high",
    "bias",
    "p10",
    "p90",
    "inside",
    "judged",
    "coverage_low",
    "coverage_high",
    "platform_out_error",
    "fails",
]
CLASSES = [
    "label",
    "class_label",
    "n_predicted",
    "models",
    "median_abs_error",
    "bias",
    "inside",
    "judged",
    "coverage_low",
    "coverage_high",
    "platform_out_error",
]
LABELS = {
    "label": "Pairs",
    "class_label": "Models are",
    "n_predicted": "Predicted",
    "n_total": "Published",
    "models": "Models",
    "n": "Pairs",
    "median_abs_error": "Median error",
    "boot_low": "95 % from",
    "boot_high": "to",
    "bias": "Bias (1 = none)",
    "p10": "p10",
    "p90": "p90",
    "inside": "Inside the band",
    "judged": "of",
    "coverage_low": "Share, 95 % from",
    "coverage_high": "to ",
    "platform_out_error": "Platform left out too",
    "own_error_there": "Projection there",
    "fails": "Fails",
    "set": "Set",
    "rule": "Rule",
    "published": "Published b / a",
    "predicted": "Predicted b / a",
    "row_a": "Row a",
    "row_b": "Row b",
    "low": "p10",
    "high": "p90",
}
PERCENT = ["median_abs_error", "boot_low", "boot_high", "coverage_low", "coverage_high", "platform_out_error",
           "own_error_there"]  # fmt: skip
PARTS = {
    "rules": "Simple rules on the same pairs",
    "pairs": "By platforms and model",
    "predictions": "Every pair, with its band",
    "skipped": "Pairs that are not predicted",
}

state = current()
result = compute_or_stop("backtest")
show_title("How wrong are the projections?", [result], synthetic=False)
show_answer(result)
show_chart(picture(charts.errors, result, state.theme), key="backtest_errors")
show_warnings(result)
show_table(result, "sets", title="Sets of published pairs", columns=SETS, labels=LABELS, percent=PERCENT)
show_table(
    result,
    "classes",
    title="Dense models and mixtures of experts apart",
    columns=CLASSES,
    labels=LABELS,
    percent=PERCENT,
)
with st.expander("Rules, parts and pairs", icon=":material/table_rows:", key="backtest_parts"):
    for name, title in PARTS.items():
        show_table(result, name, title=title, labels=LABELS, percent=PERCENT)
show_how([result], key="backtest")
