"""The worked example of docs/reconciliation.md is what the analysis says, number by number."""

import re
from pathlib import Path

from analysis.parts import WHY
from analysis.paying import TOLERANCE
from tests.analysis.bills import DAY, charge, hold, load, reconciled
from tests.analysis.conftest import Home
from tests.docs_pages import DOCS

PAGE = (DOCS / "reconciliation.md").read_text(encoding="utf-8")
ROWS = [
    charge(480, gpu_h=192, node="node-a"),
    charge(432, gpu_h=192),
    charge(-48, gpu_h=-19.2, node="node-a", ChargeClass="Correction"),
    charge(82, CommitmentDiscountId="r", CommitmentDiscountStatus="Unused", BilledCost="0"),
    charge(14, ServiceName="Storage", ChargeDescription="Disk storage", Tags='{"run": "alpha"}'),
]


def money(text: str) -> float:
    return float(text.replace("$", "").replace(",", ""))


def test_the_worked_example(tmp_path: Path) -> None:
    home = Home()
    hold(home, "alpha", DAY, 18, hosts={"node-a": 8})
    hold(home, "beta", DAY, 24)
    load(home, tmp_path, ROWS)
    result = reconciled(home)
    told = {row["effective_usd"]: row for row in result.tables["lines"].to_dict("records")}
    table = PAGE.split("## Worked example")[1]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in table.splitlines()
        if re.match(r"\|.*\$", line)
    ]
    lines, together = rows[:-1], rows[-1]
    assert len(lines) == len(told) == len(ROWS)
    for _, kind, effective, bought, _, matched, rest, how in lines:
        line = told[money(effective)]
        assert (line["kind"], line["matched_usd"], line["unmatched_usd"], line["how"]) == (
            kind, money(matched), money(rest), how,
        )  # fmt: skip
        assert not bought or line["gpu_hours"] == float(bought)
    figures = [result.figure(f"bill_{n}").value for n in ("effective", "matched")]
    assert figures == [money(together[n]) for n in (2, 5)]
    unmatched = result.figure("bill_open").value + result.figure("bill_unused").value
    assert unmatched == money(together[6])
    share = re.search(r"= ([\d.]+) %\.", table)
    assert share
    assert f"{share[1]} %" in result.answer
    quoted = re.search(r"\*(Explains .*?)\*", PAGE, re.DOTALL)
    assert quoted
    assert result.answer.startswith(" ".join(quoted[1].split()))
    home.con.close()


def test_limits_and_reasons_that_the_page_names() -> None:
    assert f"Up to {TOLERANCE:.0%}".replace("%", " %") in PAGE
    assert "paid, not allocated" in WHY["idle"]
