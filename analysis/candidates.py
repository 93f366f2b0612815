"""Which run a question about one run may take."""

from analysis.params import CommonParams
from analysis.spend import filters_of
from analysis.words import listing
from data.errors import UserError
from data.queries import projection as queries
from data.queries.known import known_runs, runs_by_arrival
from data.view import View


def candidates(view: View, params: CommonParams, run: str) -> list[str]:
    """Runs to try in the order they came; only `run` when one was asked for. Raises UserError when no run is
    called that.
    """
    if run:
        known = known_runs(view)
        if run not in known:
            shown = listing(known, 12) or "none yet; import data first"
            raise UserError(f"There is no run '{run}'", "parameter run", f"Use one of {shown}.")
        return [run]
    picked = set(queries.runs(view, filters_of(params))["run"])
    return [run for run in params.runs or runs_by_arrival(view) if run in picked]
