"""What a notebook is: an ordered list of cells, each with what it was told, never with what it answered."""

import re
import secrets
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from data.errors import UserError

SCHEMA = 1
MOST_CELLS, LONGEST_TEXT, LONGEST_SQL, LONGEST_TITLE = 200, 100_000, 20_000, 120
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
REFERENCE = "$parameter"
ChartType = Literal["line", "area", "bar", "scatter", "histogram", "box", "heat_map"]
Summary = Literal["first", "last", "sum", "mean", "min", "max", "count"]


class DocumentError(UserError):
    """A notebook document cannot be read as one, or asks for what no notebook has."""


def new_id() -> str:
    """Return the id of a new cell, 8 hex digits; it stays with the cell through moves and renames."""
    return secrets.token_hex(4)


class _Cell(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str = Field(default_factory=new_id, pattern=r"^[0-9a-f]{8}$")


class _Named(_Cell):
    """A cell that later cells can use by `name`."""

    name: str

    @field_validator("name")
    @classmethod
    def _is_name(cls, value: str) -> str:
        if not NAME.fullmatch(value):
            raise ValueError("a name is a small letter, then small letters, digits and _, 40 at most")
        return value


class TextCell(_Cell):
    """Words in Markdown; no HTML in it is ever rendered."""

    kind: Literal["text"] = "text"
    markdown: str = Field(default="", max_length=LONGEST_TEXT)


class AnalysisCell(_Named):
    """A question of `analysis/` with saved parameters.

    A value `{"$parameter": "name"}` in `params` stands for the parameter cell of that name. `params_version`
    is the version of the parameters' meaning when they were saved. `figures` are names of `charts.figures`;
    None shows all that the question draws, () none. `tables` says whether its tables are shown.
    """

    kind: Literal["analysis"] = "analysis"
    question: str
    params: dict[str, JsonValue] = Field(default_factory=dict)
    params_version: int = 1
    figures: tuple[str, ...] | None = None
    tables: bool = False


class SqlCell(_Named):
    """One SELECT over the snapshot and over results of earlier cells.

    The rows of an SQL cell `top` are the table `top`; a table `runs` of an analysis cell `spend` is
    `spend_runs`, its headline `spend_headline`. A parameter cell `budget` is bound as `$budget`.
    """

    kind: Literal["sql"] = "sql"
    sql: str = Field(default="", max_length=LONGEST_SQL)


class ChartCell(_Named):
    """A chart of the rows of an earlier SQL cell (`source`); y may be several columns, but for a heat map."""

    kind: Literal["chart"] = "chart"
    source: str = ""
    chart: ChartType = "line"
    x: str = ""
    y: tuple[str, ...] = ()
    colour: str = ""
    facet: str = ""
    title: str = Field(default="", max_length=LONGEST_TITLE)
    unit: str = ""


class MetricCell(_Named):
    """One number: a headline `figure` of an earlier analysis cell, or a `column` of an SQL cell."""

    kind: Literal["metric"] = "metric"
    source: str = ""
    figure: str = ""
    column: str = ""
    summary: Summary = "first"
    label: str = Field(default="", max_length=LONGEST_TITLE)
    unit: str = ""


class ParameterCell(_Named):
    """A value that later cells use: a number on a slider, one of `choices`, or a date (ISO text)."""

    kind: Literal["parameter"] = "parameter"
    input: Literal["slider", "choice", "date"] = "slider"
    label: str = Field(default="", max_length=LONGEST_TITLE)
    unit: str = ""
    value: float | str = 0.0
    low: float = 0.0
    high: float = 100.0
    step: float = 1.0
    choices: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _value_fits(self) -> "ParameterCell":
        if self.input == "slider":
            if not self.low < self.high or self.step <= 0:
                raise ValueError("a slider goes from a lower to a higher number by steps above 0")
            if not isinstance(self.value, float) or not self.low <= self.value <= self.high:
                raise ValueError("the value lies between the slider's ends")
        elif self.input == "choice" and self.value not in self.choices:
            raise ValueError("the value is one of the choices")
        elif self.input == "date" and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", str(self.value)):
            raise ValueError("a date is written 2026-12-31")
        return self


Cell = Annotated[
    TextCell | AnalysisCell | SqlCell | ChartCell | MetricCell | ParameterCell, Field(discriminator="kind")
]
AnyCell = TextCell | AnalysisCell | SqlCell | ChartCell | MetricCell | ParameterCell


class Document(BaseModel):
    """A notebook: its title and its cells in order. Names and ids of cells differ."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    schema_version: int = SCHEMA
    title: str = Field(default="Untitled", min_length=1, max_length=LONGEST_TITLE)
    cells: tuple[Cell, ...] = Field(default=(), max_length=MOST_CELLS)

    @model_validator(mode="after")
    def _differ(self) -> "Document":
        ids = [cell.id for cell in self.cells]
        if len(set(ids)) < len(ids):
            raise ValueError("two cells have one id")
        names = [name for cell in self.cells if (name := name_of(cell))]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two cells are named '{twice[0]}'")
        return self

    def cell(self, cell_id: str) -> AnyCell:
        """Return the cell of an id; KeyError when there is none."""
        for cell in self.cells:
            if cell.id == cell_id:
                return cell
        raise KeyError(cell_id)

    def to_json(self) -> str:
        """Return the stored form."""
        return self.model_dump_json()


def name_of(cell: AnyCell) -> str:
    """Return the name by which later cells use this one, '' for words."""
    return "" if isinstance(cell, TextCell) else cell.name


def parse_document(raw: str | Mapping[str, Any]) -> Document:
    """Read a stored document; DocumentError names cell and field, or says that a newer app wrote it."""
    try:
        return (
            Document.model_validate_json(raw) if isinstance(raw, str) else Document.model_validate(dict(raw))
        )
    except ValidationError as error:
        first = error.errors()[0]
        place = " · ".join(str(part) for part in first["loc"]) or "notebook"
        raise DocumentError(
            f"This is no notebook: {first['msg']}", place, "Undo the last change, or open an earlier version."
        ) from error
