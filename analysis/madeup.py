"""The example never mixes with a person's own data: one rule for pages, bills and the command line."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from analysis.frames import Row, records, text
from analysis.moneyparams import WITH, MoneyParams
from analysis.result import Notice
from analysis.words import plural
from data.queries import bills as queries
from data.queries.known import own_telemetry_end, runs_by_arrival
from data.queries.months import months
from data.view import View
from models.cents import cents, total

OWN, EXAMPLE, BOTH = "own", "example", "both"
LEFT_OUT = "example_left_out"


@dataclass(frozen=True)
class Scope:
    """Whose rows count: `own` ones, those of the `example`, or `both` because a person asked for it.

    `runs` and `uploads` are those of the example.
    """

    whose: str = BOTH
    runs: frozenset[str] = frozenset()
    uploads: frozenset[str] = frozenset()

    def has_upload(self, upload: object) -> bool:
        """Whether rows of this upload count."""
        return self.whose == BOTH or (str(upload) in self.uploads) == (self.whose == EXAMPLE)

    def has_run(self, run: object) -> bool:
        """Whether this run counts; None, no run, does."""
        return self.whose == BOTH or text(run) is None or (run in self.runs) == (self.whose == EXAMPLE)

    def has_sample(self, gpu: Row) -> bool:
        """Whether samples of a GPU count: by the run that it names, else by the file that brought them."""
        return self.has_upload(gpu["upload_id"]) if text(gpu["run"]) is None else self.has_run(gpu["run"])


EVERYBODY = Scope()


def scope_of(view: View, params: MoneyParams) -> Scope:
    """Own rows alone where the home holds a bill or a run of one's own, in every period, else the example's
    alone; both where no example is loaded or `params.example` asks for it.
    """
    uploads = queries.synthetic_uploads(view)
    if not uploads or params.example == WITH:
        return Scope()
    return Scope(OWN if has_own(view) else EXAMPLE, queries.synthetic(view), uploads)


def has_own(view: View) -> bool:
    """Whether the home holds a run or a bill that is not the example's: then the example is left out."""
    made_up = queries.synthetic(view)
    if any(run not in made_up for run in runs_by_arrival(view)):
        return True
    return any(row["has_own"] for row in records(months(view)))


def data_end(view: View, example: bool) -> datetime | None:
    """Newest stamp of what counts: without the `example` that of one's own telemetry, where both are held.

    Days up to it hold what was spent, also nothing: days that only the example reaches hold nothing known.
    """
    return view.data_cutoff if example or not lies_beside(view) else own_telemetry_end(view)


def examples_in(view: View, runs: Collection[str]) -> bool:
    """Whether one of these picked runs is made up; picking none asks for no example."""
    return not queries.synthetic(view).isdisjoint(runs)


def lies_beside(view: View) -> bool:
    """Whether the example and data of one's own are both in the home, so that one of them is left out."""
    return bool(queries.synthetic_uploads(view) or queries.synthetic(view)) and has_own(view)


def default_runs(view: View) -> tuple[str, ...]:
    """Runs that an answer is about where none is picked, by the rule of `scope_of`: one's own, as they came,
    where a made-up run is held beside them; else empty, which means all.
    """
    made_up = queries.synthetic(view)
    own = tuple(run for run in runs_by_arrival(view) if run not in made_up)
    return own if made_up else ()


def left_out(
    view: View, scope: Scope, amounts: Collection[Decimal], span: tuple[datetime, datetime] | None
) -> list[Notice]:
    """What of the example lies in the period and counts nowhere: `amounts` are the dollars of its lines."""
    if scope.whose != OWN:
        return []
    runs = {row["run"] for row in records(queries.held(view)) if not scope.has_run(row["run"])}
    runs &= _runs_in(view, span)
    if not amounts and not runs:
        return []
    parts = [f"{_usd(amounts)} of its made-up bill"] if amounts else []
    parts += [f"{len(runs)} made-up {plural('run', len(runs))}"] if runs else []
    words = f"Example left out: {' and '.join(parts)} are in no total here."
    return [Notice(LEFT_OUT, words, "costs")]


def counted(amounts: Collection[Decimal], lines: int) -> list[Notice]:
    """How much of a bill of `lines` lines, effective cost, is the example's."""
    if not amounts:
        return []
    words = "This bill is synthetic example data."
    if len(amounts) < lines:
        words = (
            f"{_usd(amounts)} of this bill is synthetic example data, counted because that was asked for: "
            "leave the example out to see yours alone."
        )
    return [Notice("synthetic", words, "costs")]


def _runs_in(view: View, span: tuple[datetime, datetime] | None) -> set[str]:
    if span is None:
        return set(queries.synthetic(view))
    return {run for run, start, end in queries.held_spans(view) if start < span[1] and end > span[0]}


def _usd(amounts: Collection[Decimal]) -> str:
    value = cents(total(list(amounts)))
    return f"{'-' if value < 0 else ''}${abs(value):,}"


def own_rows(rows: list[Row], scope: Scope) -> list[Row]:
    """Rows with a `run`, of which those of the other side are left out."""
    return [row for row in rows if scope.has_run(row["run"])]
