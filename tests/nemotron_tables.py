"""Tables of docs/nemotron-3-ultra.md, worked out: `python -m tests.nemotron_tables` prints them."""

import sys
from collections.abc import Sequence

import numpy as np

from analysis.claimparts import About, Aimed
from analysis.claims import claim_rows
from analysis.words import digits3, percent
from data.recipes import recipe
from models.breakeven import break_even_draws, verdict
from models.claims import Step
from tests.docs_pages import DOCS
from tests.worked_nemotron import (
    BLACKWELL,
    BOOK,
    REFRESH,
    RUBIN,
    STAGES,
    SUPER,
    Floats,
    band,
    carried,
    composed,
    draws_of,
    factor,
    middle,
    projected,
    seconds_of,
    workload_of,
)

Rows = list[tuple[str, ...]]
ONE, TWO = STAGES
GPUS = float(ONE.gpus_total or 0)
PICKS = (("reserved_3y", "neocloud"), ("on_demand", "neocloud"), ("own_tco", "owned"))
CLAIMS = (
    "rubin-quarter-gpus",
    "rubin-token-cost-10x",
    "rubin-max-interactivity",
    "perplexity-1.3s",
    "vera-plus-30",
)


def span(draws: object, unit: str = "") -> str:
    """'14.2 (10.2 to 25.9)': median with p10 and p90, three digits."""
    low, half, high = (digits3(float(v)) for v in np.percentile(np.asarray(draws), [10, 50, 90]))
    return f"{unit}{half} ({low} to {high})"


def step_s(seconds: dict[str, Floats]) -> Floats:
    """Seconds of the whole step."""
    return np.asarray(composed(seconds).total_s, dtype=np.float64)


def stage_h(seconds: Sequence[dict[str, Floats]]) -> Floats:
    """Hours of both phases together."""
    found = (step_s(one) * float(stage.steps or 0) / 3600 for one, stage in zip(seconds, STAGES, strict=True))
    total: Floats = sum(found, np.zeros(1))
    return total


def step_table() -> Rows:
    """Seconds of a step on GB200."""
    both = [draws_of(stage) for stage in STAGES]
    parts: list[tuple[str, list[object]]] = [
        ("a token of one sequence, ms", [1e3 * d["token_s"] for d in both]),
        ("sequences in flight, a replica", [d["in_flight"] for d in both]),
        ("engines, a step", [composed(d).engines_s for d in both]),
        ("training", [d["train"] for d in both]),
        ("log-probs", [d["logprob"] for d in both]),
        ("trainer, a step", [d["train"] + d["logprob"] for d in both]),
        ("weight sync", [d["weight_sync"] for d in both]),
        ("everything else", [d["other"] for d in both]),
    ]
    rows: Rows = [(name, *(span(v) for v in values)) for name, values in parts]
    rows.append(("step, minutes", *(span(step_s(d) / 60) for d in both)))
    return [*rows, ("draws in which the trainer is the longer pool", *(percent(s) for s in trainer_bound()))]


def cost_table() -> Rows:
    """GPU-hours and dollars, compute boundary."""
    step_h = step_s(draws_of(ONE)) / 3600 * GPUS
    stage = stage_h([draws_of(one) for one in STAGES]) * GPUS
    rows: Rows = [("GPU-hours", "", span(step_h), span(stage / 1e3))]
    for kind, tier in PICKS:
        price = BOOK.price(BLACKWELL, kind, tier)
        if price is None:
            raise ValueError(f"no price {kind} {tier}")
        usd = price.usd_per_gpu_h
        rows.append((f"`{price.price_id}`", f"{usd:.2f}", span(step_h * usd), span(stage * usd / 1e3)))
    return rows


def rubin_table() -> Rows:
    """Seconds of a step of phase 1 on both platforms."""
    own, there = draws_of(ONE), carried(ONE, RUBIN)
    engines = tuple(np.asarray(composed(d).engines_s) for d in (own, there))
    rows: Rows = [("engines, a step", *(span(e) for e in engines), span(engines[0] / engines[1]))]
    names = {
        "train": "training",
        "logprob": "log-probs",
        "weight_sync": "weight sync",
        "other": "everything else",
    }
    rows += [(label, span(own[n]), span(there[n]), span(own[n] / there[n])) for n, label in names.items()]
    totals = step_s(own), step_s(there)
    rows.append(("step, minutes", *(span(t / 60) for t in totals), span(totals[0] / totals[1])))
    late = step_s(draws_of(TWO)), step_s(carried(TWO, RUBIN))
    return [*rows, ("step of phase 2, minutes", *(span(t / 60) for t in late), span(late[0] / late[1]))]


def band_table() -> Rows:
    """Bands of the factors from GB200 on."""
    rows: Rows = []
    for phase, label in (("training", "training"), ("decode", "decoding")):
        cells = []
        for platform in (REFRESH, RUBIN):
            found, ends = factor(phase, platform), band(phase, platform)
            pairs = f"{found.pairs} pairs" if found.pairs else found.basis
            cells += [
                f"{ends.factor:.2f} ({ends.low:.2f} to {ends.high:.2f})",
                f"{ends.high / ends.low:.2f}",
                pairs,
            ]
        rows.append((label, *cells))
    return rows


def whole_ratio() -> Floats:
    """Draws of the speed-up of phase 1 by the rule for whole steps."""
    plain = float(composed(seconds_of(workload_of(ONE, middle()), middle(), 1.0)).total_s)
    found: Floats = plain / projected(ONE, RUBIN)[1].whole_step_s[:, 1]
    return found


def even_draws(usd: float, stage_index: int = 0) -> Floats:
    """Break-even price on Vera Rubin for a price on GB200."""
    stage = STAGES[stage_index]
    return break_even_draws(usd, GPUS * step_s(draws_of(stage)), GPUS * step_s(carried(stage, RUBIN)))


def even_table() -> Rows:
    """Break-even prices beside the quotes of the same kind."""
    rows: Rows = []
    for kind, tier in PICKS:
        here, there = BOOK.price(BLACKWELL, kind, tier), BOOK.price(RUBIN, kind, tier)
        if here is None:
            raise ValueError(f"no price {kind} {tier}")
        usd = here.usd_per_gpu_h
        draws = even_draws(usd)
        whole = break_even_draws(usd, GPUS, GPUS / whole_ratio())
        if there is None:
            quote = said = "no price"
        else:
            quote = f"{there.usd_per_gpu_h:.2f}"
            found = verdict(draws, there.usd_per_gpu_h)
            said = f"{found.words}: cheaper in {100 * found.pays_frac:.0f} % of the draws"
        rows.append((f"{kind}.{tier}", f"{usd:.2f}", span(draws), span(whole), quote, said))
    return rows


def claim_table() -> Rows:
    """Claims tried on the projected step of phase 1."""

    def as_step(seconds: dict[str, Floats]) -> Step:
        return Step(seconds, lambda changed: composed(changed).total_s)

    prices = {name: BOOK.price(name, "reserved_3y", "neocloud") for name in (BLACKWELL, REFRESH, RUBIN)}
    engines, trainer = (4 * int(nodes or 0) for nodes in (ONE.nodes_generation, ONE.nodes_train))
    workload = workload_of(ONE, middle())
    aimed = Aimed(RUBIN, RUBIN, RUBIN, engines, trainer, "bf16", "bf16", as_step(carried(ONE, RUBIN)))
    frame, _ = claim_rows(
        BOOK,
        CLAIMS,
        (aimed,),
        lambda _, name: as_step(draws_of(ONE) if name == BLACKWELL else carried(ONE, name)),
        About(workload.llm, "async", BLACKWELL),
        {name: None if price is None else price.usd_per_gpu_h for name, price in prices.items()},
    )
    rows: Rows = []
    for row in frame.to_dict("records"):
        name = f"`{row['claim_id']}`"
        if not row["applies"]:
            rows.append((name, row["badge"], "", "", "", row["why_not"]))
            continue
        minutes = f"{digits3(row['step_s_without'] / 60)} to {digits3(row['step_s_with'] / 60)}"
        speed = "" if np.isnan(row["claimed_speed"]) else digits3(row["claimed_speed"])
        seen = "" if np.isnan(row["model_speed"]) else f"{digits3(row['model_speed'])} ({_ends(row)})"
        rows.append((name, row["badge"], speed, seen, minutes, digits3(row["left_after"])))
    return rows


def _ends(row: dict[str, float]) -> str:
    return f"{digits3(row['model_speed_low'])} to {digits3(row['model_speed_high'])}"


def check_table() -> Rows:
    """Minutes of a step that the same priors give for the RLVR shape of Nemotron 3 Super, beside a print."""
    printed = recipe(BOOK, "gym-non-swe-step").step_minutes
    return [(span(step_s(draws_of(SUPER, 1.0)) / 60), f"about {printed:g}")]


def trainer_bound() -> list[float]:
    """Share of draws in which the trainer and not the engines set the cycle, a phase of the stage each."""
    out = []
    for stage in STAGES:
        seconds = draws_of(stage)
        out.append(float((seconds["train"] + seconds["logprob"] > composed(seconds).engines_s).mean()))
    return out


TABLES = {
    "A step on GB200": step_table,
    "A check from outside": check_table,
    "What it costs": cost_table,
    "On Vera Rubin": rubin_table,
    "How wide": band_table,
    "At which price moving pays": even_table,
    "Claims on this stage": claim_table,
}

PAGE = DOCS / "nemotron-3-ultra.md"


def lines_of(title: str) -> str:
    """Rows of a table as the page holds them."""
    return "".join(f"| {' | '.join(cells)} |\n" for cells in TABLES[title]())


def filled(text: str) -> str:
    """The page with every table worked out anew: head lines stay, the rows below them are new."""
    for title in TABLES:
        before, mark, rest = text.partition(f"\n## {title}\n")
        words, rule, old = rest.partition("|---|\n")
        if not mark or not rule or "\n## " in words:
            raise ValueError(f"the page has no table under {title}")
        after = old[old.index("\n\n") :]
        text = before + mark + words + rule + lines_of(title).rstrip("\n") + after
    return text


if __name__ == "__main__":
    page = filled(PAGE.read_text(encoding="utf-8"))
    if "--write" in sys.argv:
        PAGE.write_text(page, encoding="utf-8")
    else:
        print(page)
