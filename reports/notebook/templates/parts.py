"""What templates are made of: short ways to write a cell."""

from dataclasses import dataclass, field
from typing import Any

from reports.notebook.document import (
    REFERENCE,
    AnalysisCell,
    AnyCell,
    ChartCell,
    ChartType,
    MetricCell,
    ParameterCell,
    SqlCell,
    TextCell,
)


@dataclass(frozen=True)
class Template:
    """A notebook to begin with; `question_number`: of the question it answers; 13: the worked example."""

    key: str
    title: str
    question_number: int
    description: str
    cells: tuple[AnyCell, ...] = field(repr=False)


def text(markdown: str) -> TextCell:
    """Words."""
    return TextCell(markdown=markdown.strip())


def slider(
    name: str, label: str, value: float, low: float, high: float, step: float, unit: str = ""
) -> ParameterCell:
    """A number on a slider."""
    return ParameterCell(name=name, label=label, value=value, low=low, high=high, step=step, unit=unit)


def choice(name: str, label: str, *choices: str) -> ParameterCell:
    """One of several texts, the first at the start."""
    return ParameterCell(name=name, label=label, input="choice", value=choices[0], choices=choices)


def ask(name: str, question: str, figures: tuple[str, ...] | None = None, **params: Any) -> AnalysisCell:
    """A question with its parameters."""
    return AnalysisCell(name=name, question=question, params=params, figures=figures)


def of(name: str) -> dict[str, Any]:
    """The value of the parameter cell `name`."""
    return {REFERENCE: name}


def sql(name: str, statement: str) -> SqlCell:
    """One SELECT."""
    return SqlCell(name=name, sql=statement.strip())


def chart(
    name: str,
    source: str,
    kind: ChartType,
    x: str,
    *y: str,
    colour: str = "",
    title: str = "",
    unit: str = "",
) -> ChartCell:
    """A chart of an SQL cell's rows."""
    return ChartCell(name=name, source=source, chart=kind, x=x, y=y, colour=colour, title=title, unit=unit)


def metric(name: str, source: str, figure: str, label: str = "") -> MetricCell:
    """A headline figure of an analysis."""
    return MetricCell(name=name, source=source, figure=figure, label=label)
