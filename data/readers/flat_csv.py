"""CSV of someone's own training log: a step column and the raw keys of a framework that we know."""

from data.logs.flat_rows import ANY_COUNTERS
from data.logs.framework import framework_of
from data.logs.wandb_header import judge_header
from data.parse.csvio import split_line
from data.readers.base import Sniff, Source
from data.readers.wandb_history import WandbHistoryCsvReader, judge_history

SOURCE = "flat_metrics"
_COUNTERS = (*ANY_COUNTERS, "training_step", "rollout/step")
_FEWEST = 2


class FlatCsvReader(WandbHistoryCsvReader):
    """A table that keeps the names of a framework; any other is mapped by a person."""

    format = "flat_metrics_csv"
    title = "training metrics (CSV with a step and the keys of a framework)"
    source_name = SOURCE

    def sniff(self, source: Source) -> Sniff:
        """A step column, and at least two keys by which a framework is known."""
        first = next((line for line in source.head.split("\n") if line.strip()), "")
        delimiter = max(",;\t", key=first.count)
        names = tuple(cell.strip() for cell in split_line(first.rstrip("\r"), delimiter))
        counter = next((name for name in _COUNTERS if name in names), None)
        if counter is None or judge_history(names)[0] >= 0.5 or judge_header(names)[0] >= 0.5:
            return Sniff(0.0, "no step column of its own")
        pathlike = [name for name in names if "/" in name and name != counter]
        framework = framework_of(names)[0]
        if framework is None or len(pathlike) < _FEWEST:
            return Sniff(0.0, "no keys of a framework that is known")
        return Sniff(0.75, f"a column {counter!r} and {len(pathlike)} keys of {framework}")


READERS = (FlatCsvReader(),)
