"""`cli.py prices`: an import with its reconciliation, a dry run, and the list with every version."""

import json
from pathlib import Path

import pytest

import cli
from data.store import get_store

LIST = """InstanceType,AcceleratorName,AcceleratorCount,Price,SpotPrice,Region
b200.8x,B200,8,40.0,,north
b200.8x,B200,8,40.0,,south
odd.1x,L40S,1,1.0,,north
cpu.1x,,,0.2,,north
"""


@pytest.fixture
def home(tmp_path: Path):
    yield str(tmp_path / "home")
    get_store(tmp_path / "home").close()


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "vms.csv"
    path.write_text(LIST, encoding="utf-8")
    return str(path)


def asked(capsys, *arguments: str) -> tuple[int, dict]:
    code = cli.main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_import_and_list(home: str, file: str, capsys) -> None:
    told = ["prices", "import", file, "--source", "page", "--date", "2026-05-01", "--provider", "acme"]
    code = cli.main([*told, "--dry-run", "--home", home])
    lines = capsys.readouterr().out
    assert code == 0
    assert "4 rows = 2 priced + 1 set aside + 1 ignored; they would become 1 prices" in lines
    assert "GPU name without a platform: L40S (1 rows). The catalogue has no platform" in lines
    code, found = asked(capsys, *told, "--home", home)
    assert (code, found["decision"], [p["value"] for p in found["prices"]]) == (0, 1, [5.0])
    code, again = asked(capsys, *told, "--home", home)
    assert code == 1 and "was imported" in again["error"]["what"]
    code, listed = asked(capsys, "prices", "list", "--platform", "b200-hgx", "--home", home)
    mine = [p for p in listed["prices"] if p["badge"] == "yours"]
    assert code == 0 and [(p["price_value"], p["state"], p["price_source"]) for p in mine] == [
        (5.0, "in force", "page")
    ]


def test_a_name_without_its_form_factor_offers_both(home: str, tmp_path: Path, capsys) -> None:
    path = tmp_path / "vms.csv"
    path.write_text(f"{LIST.splitlines()[0]}\nx8,H200,8,16.0,,north\n", encoding="utf-8")
    told = ["prices", "import", str(path), "--source", "page", "--date", "2026-05-01", "--home", home]
    assert cli.main([*told, "--dry-run"]) == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if "H200 (1 rows)" in one]
    assert "form factor of H200 (SXM or NVL)" in line and "unknown" not in line
    for platform in ("h200-sxm", "h200-nvl"):
        assert f"--gpu H200={platform}" in line
        _, found = asked(capsys, *told, "--dry-run", "--gpu", f"H200={platform}")
        assert [p["platform_id"] for p in found["prices"]] == [platform]


@pytest.mark.parametrize("left_out", ["--source", "--date"])
def test_source_and_date_are_required(home: str, file: str, left_out: str) -> None:
    told = {"--source": "page", "--date": "2026-05-01"}
    del told[left_out]
    with pytest.raises(SystemExit):
        cli.main(["prices", "import", file, *(w for pair in told.items() for w in pair), "--home", home])


def test_a_list_without_a_usable_price_says_why(home: str, tmp_path: Path, capsys) -> None:
    path = tmp_path / "pricing.csv"
    path.write_text("AcceleratorName,PricePerAccelerator\nH100,2.5\nH100,3.1\nB200,0\n", encoding="utf-8")
    code = cli.main(
        ["prices", "import", str(path), "--source", "our hall", "--date", "2026-05-01", "--home", home]
    )
    words = capsys.readouterr().err
    assert code == 1 and "2 rows: The row does not say which form factor of the GPU it is." in words
    assert "1 row: A price of 0 is not a price." in words and "--dry-run" in words
