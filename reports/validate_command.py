"""`cli.py validate`: how wrong the models are on published pairs they have never seen. Needs no home."""

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.backtest_run import ClassReport, SetReport
    from models.backtest import Error

FAILED = 1
MARKS = ("<!-- made by cli.py validate --markdown -->", "<!-- end -->")


def add_parser(commands: Any) -> None:
    """The grammar of the command."""
    told = commands.add_parser("validate", help="test the models on published measurements")
    told.add_argument("--dir", metavar="DIR", help="folder with pairs.csv and the tables it names")
    shape = told.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print JSON")
    shape.add_argument("--markdown", action="store_true", help="print the tables of docs/validation.md")
    told.set_defaults(work=work, command="validate")


def work(options: argparse.Namespace) -> int:
    """Print the report; 0, or 1 when a whole set fails. UserError for a folder that cannot be read."""
    found, version = _reports(options.dir)
    if options.json:
        print(json.dumps(as_json(found, version), indent=2, ensure_ascii=False))
    elif options.markdown:
        print(markdown(found))
    else:
        print("\n".join(_lines(found)))
    return FAILED if any(r.why and not r.wanted.part_of for r in found) else 0


def _reports(folder: str | None) -> "tuple[list[SetReport], str]":
    from analysis.backtest import reports_of
    from data.catalogue import load_catalogue
    from data.published import read_tables

    catalogue = load_catalogue()
    tables = read_tables(Path(folder).expanduser()) if folder else None
    return reports_of(catalogue, tables)[1], catalogue.version


def as_json(found: "Sequence[SetReport]", version: str) -> dict[str, Any]:
    """`{"sets": [...]}`; ratios and shares are 0..1, a figure that cannot be told is null."""
    return {"sets": [_set(r) for r in found], "versions": {"catalogue": version}}


def _set(found: "SetReport") -> dict[str, Any]:
    from analysis.backtest import set_row

    row = set_row(found)
    same = ("set", "part_of", "n_total", "n_predicted", "models", "median_abs_error", "bias", "p10", "p90")
    return {
        **{name: row[name] for name in same},
        "n": found.error.n,
        "skipped": dict(found.skipped),
        "bootstrap": list(found.bootstrap) if found.bootstrap else None,
        "coverage": found.coverage.share,
        "coverage_k": found.coverage.hits,
        "coverage_n": found.coverage.n,
        "coverage_low": found.coverage.low,
        "coverage_high": found.coverage.high,
        "baselines": {
            name: {**_error(rule), "model_median_abs_error": own.median_abs_error}
            for name, (rule, own) in found.rules.items()
        },
        "best_baseline": row["best_rule"] or None,
        "platform_out": _away(found),
        "target": found.wanted.most,
        "failed": list(found.why),
        "by_pair": list(found.by_pair),
        "by_class": [_class(one) for one in found.by_class],
    }


def _class(found: "ClassReport") -> dict[str, Any]:
    from analysis.backtest import class_row

    row = class_row(found)
    names = ("class", "models", "n_total", "n_predicted", "median_abs_error", "bias", "p10", "p90")
    return {
        **{name: row[name] for name in names},
        "n": found.error.n,
        "coverage": found.coverage.share,
        "coverage_k": found.coverage.hits,
        "coverage_n": found.coverage.n,
        "coverage_low": found.coverage.low,
        "coverage_high": found.coverage.high,
        "platform_out": _away(found),
    }


def _away(found: "SetReport | ClassReport") -> dict[str, Any]:
    return {
        **_error(found.platform_out),
        "p10": found.platform_out_ends[0],
        "p90": found.platform_out_ends[1],
    }


def _error(found: "Error") -> dict[str, Any]:
    return {"n": found.n, "median_abs_error": found.median_abs_error, "bias": found.bias}


def percent(share: float | None) -> str:
    """0.0834 as `8.3 %`; `–` for None."""
    return "–" if share is None else f"{share * 100:.1f} %"


def ratio(value: float | None) -> str:
    """Two decimals; `–` for None."""
    return "–" if value is None else f"{value:.2f}"


def _span(found: "SetReport") -> str:
    return "–" if found.bootstrap is None else " .. ".join(percent(end) for end in found.bootstrap)


def _covered(found: "SetReport | ClassReport") -> str:
    share = found.coverage
    return f"{share.hits} of {share.n} ({share.low:.0%} .. {share.high:.0%})" if share.n else "–"


def _lines(found: "Sequence[SetReport]") -> list[str]:
    from analysis.backtest import CLASS_WORDS

    out = []
    for r in found:
        best = _best(r)
        out.append(f"{r.wanted.name}: {'FAILS' if r.why else 'holds'}")
        out.append(
            f"  {r.error.n} of {r.n_total} pairs predicted, {r.models} models; median error "
            f"{percent(r.error.median_abs_error)}, bias {ratio(r.error.bias)}, p10..p90 "
            f"{ratio(r.p10)} .. {ratio(r.p90)}"
        )
        out.append(f"  inside the band {_covered(r)}; best simple rule {best}")
        out.append(f"  without the target platform as well {percent(r.platform_out.median_abs_error)}")
        out += [
            f"  {CLASS_WORDS[c.name]}: {c.error.n} of {c.n_total} pairs, {c.models} models; median error "
            f"{percent(c.error.median_abs_error)}, inside the band {_covered(c)}, without the target "
            f"platform as well {percent(c.platform_out.median_abs_error)}"
            for c in r.by_class
        ]
        out += [f"  {n} not predicted: {reason}" for reason, n in r.skipped.items()]
        out += [f"  ! {why}" for why in r.why]
    return out


def _best(found: "SetReport") -> str:
    from analysis.backtest import RULE_WORDS
    from analysis.backtest_run import best_rule

    best = best_rule(found)
    return f"{RULE_WORDS[best[0]]} {percent(best[1].median_abs_error)}" if best else "–"


_COLUMNS: "dict[str, Callable[[SetReport], str]]" = {
    "set": lambda r: r.wanted.name,
    "predicted": lambda r: f"{r.error.n} of {r.n_total}",
    "models": lambda r: str(r.models),
    "median error": lambda r: percent(r.error.median_abs_error),
    "95 % bootstrap": _span,
    "bias": lambda r: ratio(r.error.bias),
    "p10 .. p90": lambda r: f"{ratio(r.p10)} .. {ratio(r.p90)}",
    "inside the band": _covered,
    "platform left out too": lambda r: percent(r.platform_out.median_abs_error),
    "fails": lambda r: "; ".join(r.why) or "nothing",
}


_CLASS_COLUMNS: "dict[str, Callable[[ClassReport], str]]" = {
    "class": lambda c: c.name,
    "predicted": lambda c: f"{c.error.n} of {c.n_total}",
    "models": lambda c: str(c.models),
    "median error": lambda c: percent(c.error.median_abs_error),
    "bias": lambda c: ratio(c.error.bias),
    "p10 .. p90": lambda c: f"{ratio(c.p10)} .. {ratio(c.p90)}",
    "inside the band": _covered,
    "platform left out too": lambda c: percent(c.platform_out.median_abs_error),
}


def markdown(found: "Sequence[SetReport]") -> str:
    """Four tables: errors by set, by class, naive rules by set, and the parts of the main sets."""
    from analysis.backtest import MAIN, RULE_WORDS

    errors = _table(list(_COLUMNS), ([cell(r) for cell in _COLUMNS.values()] for r in found))
    classes = _table(["set", *_CLASS_COLUMNS], (row for r in found if _whole(r) for row in _classes(r)))
    head = ["set", "model", *RULE_WORDS.values()]
    rules = _table(head, ([r.wanted.name, percent(r.error.median_abs_error), *_rules(r)] for r in found))
    where = _table(
        ["set", "platforms", "inside", "model: median error (bias, pairs)"],
        (row for r in found if r.wanted.name in MAIN for row in _parts(r)),
    )
    titled = {
        "Dense models and mixtures of experts": classes,
        "Simple rules on the same pairs": rules,
        "By platforms and model": where,
    }
    return "\n\n".join([errors, *(f"### {title}\n\n{body}" for title, body in titled.items())])


def _whole(found: "SetReport") -> bool:
    """True for a set that is a target or no part of another; classes of the others are in the JSON."""
    from analysis.backtest import MAIN

    return not found.wanted.part_of or found.wanted.name in MAIN


def _classes(found: "SetReport") -> list[list[str]]:
    from analysis.backtest import CLASS_WORDS

    return [
        [found.wanted.name, CLASS_WORDS[c.name], *(cell(c) for cell in list(_CLASS_COLUMNS.values())[1:])]
        for c in found.by_class
    ]


def _parts(found: "SetReport") -> list[list[str]]:
    """A row a platform pair, its models in one cell."""
    by_pair: dict[str, list[dict[str, Any]]] = {}
    for row in found.by_pair:
        by_pair.setdefault(row["platforms"], []).append(row)
    return [
        [found.wanted.name, platforms, _inside(rows), "; ".join(_part(m) for m in rows)]
        for platforms, rows in by_pair.items()
    ]


def _inside(rows: list[dict[str, Any]]) -> str:
    return f"{sum(m['inside'] for m in rows)} of {sum(m['n_predicted'] for m in rows)}"


def _part(row: dict[str, Any]) -> str:
    wrong = percent(row["median_abs_error"])
    return f"{row['model']}: {wrong} ({ratio(row['bias'])}, {row['n']})"


def _rules(found: "SetReport") -> list[str]:
    from analysis.backtest import RULE_WORDS

    return [_rule(found, name) for name in RULE_WORDS]


def _rule(found: "SetReport", name: str) -> str:
    if name not in found.rules:
        return ""
    rule = found.rules[name][0]
    some = f", n {rule.n}" if rule.n < found.n_total else ""
    return f"{percent(rule.median_abs_error)} ({ratio(rule.bias)}{some})"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
