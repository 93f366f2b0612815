import io
import json
import shutil
import sys
import zipfile
from pathlib import Path

import nbformat
import plotly.graph_objects as go
import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from analysis.api import answer
from data.store import get_store
from reports.freeze import freeze
from reports.notebook.document import (
    AnalysisCell,
    ChartCell,
    Document,
    MetricCell,
    ParameterCell,
    SqlCell,
)
from reports.notebook.frozen import freeze_from_home
from reports.notebook.ipynb import asks_only, bundle
from reports.notebook.redraw import split, unpacked
from reports.notebook.run import run_stale
from reports.redact import Redaction
from tests.reports.notebook_report import DEAR_SQL, GPU_SQL, bars, notebook_report
from tests.reports.samples import HOSTILE

FIGURE = "application/vnd.plotly.v1+json"


class OwnKernel(AsyncKernelManager):
    """This interpreter as a kernel: nothing is registered anywhere."""

    @property
    def kernel_spec(self):
        return KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"])


def run(report, folder: Path, monkeypatch, home: str = "") -> nbformat.NotebookNode:
    """Execute a report's notebook in a folder of its own; any error in a cell fails."""
    with zipfile.ZipFile(io.BytesIO(bundle(report))) as archive:
        archive.extractall(folder)
    (path,) = folder.glob("*.ipynb")
    node = nbformat.read(path, 4)
    for name in ("PYTHONPATH", "IPD_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PLOTLY_RENDERER", "plotly_mimetype")
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    if home:
        monkeypatch.setenv("IPD_HOME", home)
    client = NotebookClient(
        node,
        timeout=120,
        km=OwnKernel(),
        resources={"metadata": {"path": str(folder)}},
        kernel_name="python3",
    )
    return client.execute()


def shown(node, kind):
    """Outputs of a MIME type by the code of their cell."""
    return {
        cell.source: output.data[kind]
        for cell in node.cells if cell.cell_type == "code"
        for output in cell.outputs if kind in output.get("data", {})
    }  # fmt: skip


def said(node):
    return "".join(o.text for c in node.cells for o in c.get("outputs", []) if o.output_type == "stream")


def points(value, path=""):
    """Numbers and texts that a figure draws, by the place where they stand; packed or not."""
    if isinstance(value, dict):
        if {"bdata", "dtype"} <= set(value):
            return {path: unpacked(value)[0]}
        return {k: v for key, item in value.items() for k, v in points(item, f"{path}.{key}").items()}
    if isinstance(value, list) and value and not any(isinstance(v, dict) for v in value):
        return {path: [v for row in value for v in (row if isinstance(row, list) else [row])]}
    if isinstance(value, list):
        return {k: v for i, item in enumerate(value) for k, v in points(item, f"{path}.{i}").items()}
    return {}


def assert_redrawn(report, node):
    drawn = list(shown(node, FIGURE).values())
    frozen = [f["light"] for s in report.sections for f in s["figures"]]
    assert len(drawn) == len(frozen)
    for one, figure in zip(drawn, frozen, strict=True):
        assert points(one["data"]) == points(figure["data"])


def test_the_notebook_runs_without_this_project_and_redraws_the_report(tmp_path, monkeypatch):
    report = notebook_report()
    node = run(report, tmp_path, monkeypatch)
    assert_redrawn(report, node)
    assert "Run again on the frozen tables: the same rows." in said(node)
    assert "Skipped: no checkout" in said(node)
    headline = shown(node, "text/plain")["table('spend-headline')"]
    spend = next(line for line in headline.splitlines() if "Spend" in line)
    assert "41234.5" in spend
    assert report.sections[2]["headline"][0]["value"] == 41234.5
    code = [c.source for c in node.cells if c.cell_type == "code"]
    assert not any(GPU_SQL in source for source in code)
    assert any(source.startswith("rerun('dear-dear'") and DEAR_SQL in source for source in code)
    assert "least = parameters['least'] = 5.0" in code


@pytest.mark.full
def test_beside_a_checkout_frozen_and_recomputed_numbers_stand_side_by_side(
    example_home, tmp_path, monkeypatch
):
    store = get_store(copied(example_home, tmp_path / "home"))
    with store.view() as view:
        report = freeze([answer(view, q, {}) for q in ("ledger", "bottleneck", "utilisation")], "Three")
    store.close()
    (tmp_path / "work").mkdir()
    root = Path(__file__).resolve().parents[2]
    for name in ("analysis", "data", "models"):
        (tmp_path / name).symlink_to(root / name)
    node = run(report, tmp_path / "work", monkeypatch, home=str(tmp_path / "home"))
    assert_redrawn(report, node)
    (table,) = [v for k, v in shown(node, "text/plain").items() if k.startswith("ASKED")]
    numbers = [f for s in report.sections for f in s["headline"]]
    assert len(table.splitlines()) >= 1 + len(numbers)
    assert "not computed" not in said(node)
    last = next(cell for cell in node.cells if cell.source.startswith("ASKED"))
    changes = last.outputs[-1].data["text/html"]
    assert changes.count("<tr") == 1 + len(numbers)


def copied(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target


@pytest.mark.full
def test_a_notebook_of_six_cells_runs_again_on_what_was_frozen(example_home, tmp_path, monkeypatch):
    store = get_store(copied(example_home, tmp_path / "home"))
    cells = (
        ParameterCell(name="least", label="Least", unit="USD", value=100.0, low=0, high=5_000),
        AnalysisCell(name="spend", question="ledger", tables=True),
        SqlCell(name="dear", sql="SELECT run, usd FROM spend_ledger WHERE usd > $least ORDER BY usd"),
        SqlCell(name="by_run", sql="SELECT run, avg(step_s) AS step_s FROM steps GROUP BY run"),
        ChartCell(name="bars", source="by_run", chart="bar", x="run", y=("step_s",), title="Step"),
        MetricCell(name="most", source="dear", column="usd", summary="max", label="Most", unit="USD"),
    )
    document = Document(title="Six cells", cells=cells)
    report = freeze_from_home(store, document, run_stale(store, document, {}), Redaction())
    store.close()
    (tmp_path / "work").mkdir()
    node = run(report, tmp_path / "work", monkeypatch)
    assert_redrawn(report, node)
    assert said(node).count("Run again on the frozen tables: the same rows.") == 1
    assert "NOT the rows" not in said(node)
    (asked,) = [text for code, text in shown(node, "text/plain").items() if code.startswith("rerun(")]
    frozen = report.sections[2]["tables"]["dear"]
    assert [line.split()[1] for line in asked.splitlines()[1:]] == [row["run"] for row in frozen]
    assert "table('by_run-by_run')" in shown(node, "text/plain")


def test_a_figure_comes_back_from_its_two_parts():
    figure = bars()["light"]
    rest, table = split(figure)
    assert table.num_rows == 50
    assert "bdata" not in json.dumps(rest)
    assert table.column("1_y").to_pylist() == [n / 7 for n in range(50)]
    assert go.Figure(figure).data[2].z[1][1] == 5.5
    assert table.column("2_z").to_pylist()[:6] == [1.0, 2.0, None, 4.0, 5.5, 6.0]


@pytest.mark.parametrize(
    ("sql", "used"),
    [
        ("SELECT * FROM a", []),
        ("FROM a WHERE x > $p", ["p"]),
        ("WITH t AS (FROM A) SELECT count(*) FROM t JOIN a USING (x)", []),
        ("SELECT 1", []),
        ("SELECT * FROM other", None),
        ("SELECT * FROM main.a", None),
        ("SELECT * FROM read_csv('/etc/passwd')", None),
        ("SELECT * FROM 'a.csv'", None),
        ("SELECT * FROM a WHERE x > $unknown", None),
        ("SELECT * FROM a; DROP TABLE a", None),
        ("DELETE FROM a", None),
        ("COPY a TO 'x.csv'", None),
        ("SELECT (", None),
        ("", None),
    ],
)
def test_only_what_reads_earlier_results_runs_again(sql, used):
    assert asks_only(sql, {"a"}, ["p"]) == used


def test_names_are_data_and_never_code():
    report = notebook_report()
    with zipfile.ZipFile(io.BytesIO(bundle(report))) as archive:
        node = json.loads(archive.read("A-plan.ipynb"))
    nbformat.validate(node)
    for cell in node["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            compile(source, "cell", "exec")
        else:
            assert HOSTILE not in source
            assert "<script>window" not in source
