"""GPU samples -> seconds each sample stands for, minutes, coverage, and the time facts of a file. All in SQL.

Left hold: a sample stands for the time to the next one of the same GPU, at most 3 x the median gap of that
GPU; the last one stands for 0 s; the rest of a longer gap is unknown time, never idle time.
"""

from collections.abc import Collection, Sequence
from pathlib import Path

import duckdb

from data.sql import number

MEASURES = (
    "gpu_util", "mem_util", "sm_active", "tensor_active", "dram_active", "gr_engine_active",
    "gfx_activity", "umc_activity", "mem_bytes", "mem_total_bytes", "power_w", "power_limit_w",
    "energy_j", "sm_clock_mhz", "temp_c",
)  # fmt: skip
"""Measure columns of gpu_samples in their order."""
NOT_ROLLED_UP = frozenset({"mem_total_bytes", "energy_j"})
"""A constant and a running counter: a mean by minute says nothing about them."""
HOLD_MEDIANS = 3
FAR_GAP_S = 7 * 86400
"""The unknown time of a longer gap is booked to the minute in which it begins."""
MINUTE_US = 60_000_000


def connect(scratch: Path, memory: str = "600MB") -> duckdb.DuckDBPyConnection:
    """An in-memory database for one reader: UTC, keeps file order, spills into `scratch`."""
    con = duckdb.connect()
    con.execute("set TimeZone = 'UTC'")
    con.execute(f"set memory_limit = '{memory}'")
    con.execute("set temp_directory = '" + str(scratch / "spill").replace("'", "''") + "'")
    con.execute("set enable_progress_bar = false")
    return con


def hold(con: duckdb.DuckDBPyConnection, relation: str, measures: Sequence[str], key: str = "gpu_id") -> int:
    """Build `held` from a relation (key, ts, ord, measures); returns how many duplicates were left out.

    `held` has key, ts, the measures, gap_us (to the next sample, NULL for the last) and dt_s. Of samples with
    equal (key, ts) the one with the lowest `ord` is kept.
    """
    names = "".join(f", {name}" for name in measures)
    spaced = (
        f"create or replace table spaced as select {key}, ts{names}, "
        f"epoch_us(lead(ts) over w) - epoch_us(ts) as gap_us from {{}} "
        f"window w as (partition by {key} order by ts)"
    )
    con.execute(spaced.format(relation))
    before = number(con, "select count(*) from spaced")
    if number(con, "select count(*) from spaced where gap_us = 0"):
        once = (
            f"(select * from {relation} qualify row_number() over (partition by {key}, ts order by ord) = 1)"
        )
        con.execute(spaced.format(once))
    con.execute(
        f"create or replace table caps as select {key}, {HOLD_MEDIANS} * median(gap_us) as cap_us "
        f"from spaced group by {key}"
    )
    con.execute(
        "create or replace view held as select s.*, "
        "case when s.gap_us is null then 0 else least(s.gap_us, c.cap_us) / 1e6 end as dt_s "
        f"from spaced s join caps c on s.{key} = c.{key}"
    )
    return before - number(con, "select count(*) from spaced")


def wide_sql(relation: str, measures: Sequence[str], key: str = "gpu_id", full: Collection[str] = ()) -> str:
    """One row a key and minute `m` (minutes since 1970): `k` seconds of samples, and for each measure `name`
    k_name (seconds with a value), w_name (sum of value x seconds), lo_name, hi_name, n_name.

    A sample that reaches past its minute is cut at the minute's end, so no minute knows more than 60 s; n
    counts samples that begin in the minute. Minutes are whole numbers: four times as fast as timestamps.
    `full`: measures that have a value in every row, which saves their own sums.
    """
    rolled = _rolled(measures)
    values = "".join(f", {name}" for name in rolled)
    until = "(epoch_us(ts) + (dt_s * 1e6)::bigint)"
    inside = f"(epoch_us(ts) % {MINUTE_US} + (dt_s * 1e6)::bigint <= {MINUTE_US} or dt_s > {FAR_GAP_S})"
    return f"""
        select {key}, m, sum(s) as k{"".join(_sums(name, name in full) for name in rolled)} from (
            select {key}, epoch_us(ts) // {MINUTE_US} as m, 1 as own{values},
                case when {inside} then dt_s
                    else ({MINUTE_US} - epoch_us(ts) % {MINUTE_US}) / 1e6 end as s
            from {relation}
            union all
            select {key}, m, 0{values}, least({MINUTE_US}, {until} - m * {MINUTE_US}) / 1e6
            from (select *, unnest(generate_series(epoch_us(ts) // {MINUTE_US} + 1,
                         ({until} - 1) // {MINUTE_US})) as m
                  from {relation} where not {inside})
        ) group by all"""


def minutes_of_wide_sql(wide: str, measures: Sequence[str], key: str = "gpu_id") -> str:
    """Rows of gpu_minutes from a table made by `wide_sql`; a minute without a value has no row."""
    return " union all ".join(
        f"select {key}, make_timestamp(m * {MINUTE_US}) as minute, '{n}' as measure, k_{n} as known_s, "
        f"w_{n} as weighted_sum, lo_{n} as v_min, hi_{n} as v_max, n_{n} as n "
        f"from {wide} where k_{n} is not null"
        for n in _rolled(measures)
    )


def minutes_sql(relation: str, measures: Sequence[str], key: str = "gpu_id") -> str:
    """Rows of gpu_minutes from a relation with key, ts, dt_s and measures; see `wide_sql`."""
    wide = f"with wide as materialized ({wide_sql(relation, measures, key)})"
    return f"{wide} {minutes_of_wide_sql('wide', measures, key)}"


def _rolled(measures: Sequence[str]) -> list[str]:
    return [name for name in measures if name not in NOT_ROLLED_UP]


def _sums(name: str, is_full: bool) -> str:
    seconds = "sum(s)" if is_full else f"sum(case when {name} is not null then s end)"
    count = "sum(own)" if is_full else f"sum(case when {name} is not null then own else 0 end)"
    return (
        f", {seconds} as k_{name}, sum(s * {name}) as w_{name}, min({name}) as lo_{name}, "
        f"max({name}) as hi_{name}, {count}::bigint as n_{name}"
    )


def coverage_sql(relation: str, key: str = "gpu_id") -> str:
    """Rows of gpu_coverage from a relation with key, ts, dt_s, gap_us: known and unknown seconds by minute.

    Sums are exact; the unknown rest of a gap beyond FAR_GAP_S is booked to the minute in which it begins.
    """
    spans = f"""
        select {key}, epoch(ts) as a, epoch(ts) + dt_s as b, true as known from {relation}
        union all
        select {key}, epoch(ts) + dt_s, epoch(ts) + gap_us / 1e6, false
        from {relation} where gap_us / 1e6 > dt_s"""
    return f"""
        with spans as ({spans}),
        pieces as (
            select {key}, floor(a / 60) * 60 as m, b - a as s, known from spans
            where b <= floor(a / 60) * 60 + 60 or b - a > {FAR_GAP_S}
            union all
            select {key}, m, least(m + 60, b) - greatest(m, a), known
            from (select *, unnest(generate_series((floor(a / 60) * 60)::bigint,
                         (ceil(b / 60) * 60 - 60)::bigint, 60)) as m
                  from spans where b > floor(a / 60) * 60 + 60 and b - a <= {FAR_GAP_S})
        )
        select {key}, make_timestamp((m * 1e6)::bigint) as minute,
               coalesce(sum(s) filter (known), 0) as known_s,
               coalesce(sum(s) filter (not known), 0) as unknown_s
        from pieces group by all"""


def with_gaps_sql(relation: str, key: str = "gpu_id") -> str:
    """A relation that has dt_s (a Parquet part) with gap_us added, for `coverage_sql`."""
    return (
        f"(select *, epoch_us(lead(ts) over (partition by {key} order by ts)) - epoch_us(ts) as gap_us "
        f"from {relation})"
    )


def time_facts(
    con: duckdb.DuckDBPyConnection, measures: Sequence[str], has_gaps: bool = True
) -> dict[str, object]:
    """What time fixes about table `held`; None where it fixes nothing. Gaps only when it has gap_us.

    `first`, `last` (datetimes); `gap_max_s`, `gap_median_s`, `gap_s` (sum) between samples of one GPU;
    `mean_<measure>`: left-hold mean over the known seconds of all GPUs; `known_<measure>`: those seconds.
    """
    weighted = "".join(
        f", sum(dt_s * {m}) / nullif(sum(dt_s) filter ({m} is not null), 0) as mean_{m}"
        f", sum(dt_s) filter ({m} is not null) as known_{m}"
        for m in measures
        if m not in NOT_ROLLED_UP
    )
    gaps = (
        ", max(gap_us) / 1e6 as gap_max_s, median(gap_us) / 1e6 as gap_median_s, sum(gap_us) / 1e6 as gap_s"
        if has_gaps
        else ""
    )
    cursor = con.execute(f"select min(ts) as first, max(ts) as last{gaps}{weighted} from held")
    names = [column[0] for column in cursor.description or ()]
    return dict(zip(names, cursor.fetchall()[0], strict=True))
