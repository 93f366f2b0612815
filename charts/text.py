"""Numbers on cards and labels: three significant digits, thousands separated, the unit beside them."""

import math

from analysis.chances import bound
from analysis.result import Figure
from analysis.words import count, digits3, money, plural

_UNIT_WORDS = {
    "points_per_1000_usd": "points per $1k",
    "nats_per_1000_usd": "nats per $1k",
    "points_per_mwh": "points per MWh",
    "gpu_h": "GPU-hours",
    "core_h": "core-hours",
    "gpu-h": "GPU-hours",
    "pp": "points",
    "1/s": "per second",
    "tok/s": "tokens/s",
    "tok/s/gpu": "tokens/s/GPU",
    "count": "",
}
_PER_WORDS = {"pp": "point", "mtok": "million tokens", "gpu_h": "GPU-hour", "gpu-h": "GPU-hour"}
_PER_WORDS |= {"correct": "correct rollout", "informative": "informative rollout"}
COUNTED = {
    "goodput": "attempt",
    "gain": "task",
    "mdd": "task",
    "gain_per_usd": "task",
    "odds_per_usd": "task",
    "gain_weighted": "task",
    "best_frac": "task",
    "score": "task",
    "step_mean_s": "step",
    "measured_step_s": "step",
    "phase_share": "step",
    "rollouts": "step",
    "utilisation": "GPU",
    "coverage": "GPU",
    "working_share": "GPU",
    "waste_share": "GPU",
    "stalled_usd": "GPU",
    "waste_coverage": "GPU",
    "bill_explained": "line",
    "bill_effective": "line",
    "bill_open": "line",
    "sandbox_ok": "call",
    "sandbox_core_h": "call",
    "cadence_cycle_h": "draw",
    "cadence_p_finish": "draw",
    "cadence_slack_h": "draw",
    "cadence_goodput": "draw",
    "forecast_usd": "day",
    "forecast_gpu_h": "day",
    "forecast_usd_next": "day",
    "forecast_gpu_h_next": "day",
    "forecast_over": "draw",
    "forecast_level": "month",
    "forecast_coverage": "month",
    "forecast_pinball": "month",
    "forecast_skill": "month",
    "forecast_bias": "month",
}
"""What the `n` of a headline figure counts."""
_ONE = {"racks": "rack", "updates": "update", "steps": "step", "GPUs": "GPU", "cores": "core"}
_ONE |= {"sandboxes": "sandbox", "GPU-hours": "GPU-hour"}
INTERVAL_WORDS = {
    "ci95": "95 % interval",
    "p10_p90": "p10–p90",
    "p10_p90_mean": "p10–p90 of the mean, not of single steps",
    "two_models": "of two models that disagree",
    "quote_range": "published quotes",
    "quote_range_least": "by price",
    "bounds": "possible range",
    "exact": "",
    "none": "no interval known",
}


def short_number(value: float) -> str:
    """Return a whole number in full below ten thousand, else three significant digits with k, M, B, T."""
    return count(value) if value == int(value) or abs(value) >= 1e4 else digits3(value)


def quantity(value: float | None, unit: str) -> str:
    """Return a number with its unit as on screen; fractions become percent, dollars get their sign.

    `usd_exact` is a bill: it shows every cent, where an estimate in `usd` shows three digits.
    """
    if value is None or not math.isfinite(value):
        return "not known"
    low = unit.strip().lower()
    if low in {"frac", "fraction", "ratio"}:
        return f"{_in_percent(100 * value)} %"
    if low == "usd_exact":
        return f"{'-' if value < 0 else ''}${abs(value):,.2f}"
    if low.startswith(("usd", "$")):
        return money(value)
    word = _UNIT_WORDS.get(low, unit.strip().replace("_", " "))
    return f"{short_number(value)} {_ONE.get(word, word) if value == 1 else word}".strip()


def _in_percent(pct: float) -> str:
    """Three digits; what is not all of it never reads as 100: the first digit of what lacks, rounded down."""
    lacks = 100 - pct
    if not 1e-6 < lacks < 0.05:
        return digits3(pct)
    places = -math.floor(math.log10(lacks))
    return f"{math.floor(pct * 10**places) / 10**places:.{places}f}"


def figure_quantity(figure: Figure) -> str:
    """Return the value of a figure with its unit; a chance of all or no draws as 'above' or 'below'."""
    found = bound(figure.name, figure.value, figure.n)
    if found is None:
        return quantity(figure.value, figure.unit)
    return f"{found[0]} {quantity(found[1], figure.unit)}"


def split_figure(figure: Figure) -> tuple[str, str]:
    """Return the value of a figure and its unit to stand apart, as `split_unit` does."""
    text = figure_quantity(figure)
    return (text, "") if text[:1] in "<>" else split_unit(figure.value, figure.unit)


def split_unit(value: float | None, unit: str, longest: int = 2) -> tuple[str, str]:
    """Return the number and a unit to stand apart; one of at most `longest` letters stays with the number."""
    text = quantity(value, unit)
    number, _, word = text.partition(" ")
    return (text, "") if len(word) <= longest else (number, word)


def unit_tail(unit: str) -> str:
    """Return what follows a dollar figure: 'per point' for USD/pp, '' for plain dollars and other units."""
    low = unit.strip().lower().replace("usd/", "usd per ").replace("usd_per_", "usd per ")
    if not low.startswith("usd per "):
        return ""
    rest = low[len("usd per ") :]
    return f"per {_PER_WORDS.get(rest, rest.replace('_', ' '))}"


def counted(figure: Figure) -> str:
    """Return how many of what a figure rests on, 'n = 257 steps'; '' when it does not say."""
    if figure.n is None:
        return ""
    noun = "pair" if figure.unit == "x" else COUNTED.get(figure.name, "")
    return f"n = {figure.n:,} {plural(noun, figure.n) if noun else ''}".strip()


def interval(figure: Figure) -> str:
    """Return the range of a figure with its kind in brackets; '' when it has none."""
    ends, kind = interval_parts(figure)
    return f"{ends} ({kind})" if ends and kind else ends


ANSWERS = {
    "not reachable": "Not reachable",
    "never": "Never",
    "not paid back": "Never",
    "not distinguishable from zero": "Cannot tell",
    "refused": "Not comparable",
}
"""How the reason of a figure without a number begins, where that it has none is itself the answer."""


def instead_of_value(figure: Figure) -> str:
    """What stands where a figure's number would: an answer such as 'Never', else 'Not known'."""
    reason = figure.missing or ""
    return next((word for start, word in ANSWERS.items() if reason.startswith(start)), "Not known")


def interval_parts(figure: Figure) -> tuple[str, str]:
    """Return the range, as low – high or as ± when symmetric to the digits shown, and what kind it is.

    Both are '' for a count or a bill, and when the ends are the value itself: there is nothing to add.
    """
    if figure.value is None or figure.low is None or figure.interval == "exact":
        return "", ""
    if figure.high is None or math.isinf(figure.high):
        if figure.interval not in ("ci95", "p10_p90"):
            return "", ""
        kind = INTERVAL_WORDS.get(figure.interval, figure.interval.replace("_", " "))
        return f"{quantity(figure.low, figure.unit)} or more, no upper end", kind
    if figure.low == figure.high == figure.value:
        return "", ""
    kind = INTERVAL_WORDS.get(figure.interval, figure.interval.replace("_", " "))
    up, down = figure.high - figure.value, figure.value - figure.low
    if up > 0 and abs(up - down) <= 0.02 * up and not figure.unit.lower().startswith(("usd", "$")):
        return f"± {_as_precise(quantity(up, figure.unit), quantity(figure.value, figure.unit))}", kind
    low, unit = split_unit(figure.low, figure.unit, longest=0)
    high = split_unit(figure.high, figure.unit, longest=0)[0]
    least = "at least " if figure.interval == "quote_range_least" else ""
    return f"{least}{low} – {high} {unit}".strip(), kind


def _as_precise(spread: str, value: str) -> str:
    """Cut the decimals of a spread to those of its value, '4.01 points' beside '20.6 points' to '4.0 points'.

    It stays as it is beside a value without decimals, or in thousands, and where only zeros would be left.
    """
    number, _, unit = spread.partition(" ")
    like = value.partition(" ")[0]
    places = len(like.partition(".")[2])
    if not places or not (number + like).replace(".", "").replace(",", "").isdigit():
        return spread
    cut = f"{float(number.replace(',', '')):,.{places}f}"
    if len(cut) >= len(number) or not float(cut.replace(",", "")):
        return spread
    return f"{cut} {unit}".strip()
