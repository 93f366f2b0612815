"""`make bench`: every benchmark in turn, each beside a baseline of its run; 1 when one is over its limit."""

import sys

from tests.bench import first_paint, fleets, ingest, ingest_large, phase_models, report_page


def main() -> int:
    outcomes = [
        bench.main() for bench in (first_paint, report_page, ingest, ingest_large, phase_models, fleets)
    ]
    return max(outcomes)


if __name__ == "__main__":
    sys.exit(main())
