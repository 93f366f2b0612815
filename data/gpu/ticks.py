"""Readings of one GPU that were taken a moment apart for each measure -> one sample a tick.

Panels and exports join series by exact time. Where the power of a GPU is stamped a second after its
utilisation, no row holds both, and each would seem unknown for most of the time.
"""

import duckdb

from data.sql import number

SHARE_OF_STEP = 0.25
"""Readings closer than this share of the measure's own step belong to one tick."""


def join_ticks(con: duckdb.DuckDBPyConnection) -> int:
    """Make `ticks` (gpu, stamp, tick) from tables `long` and `placed`; returns how many stamps were moved.

    A stamp moves to the first one of its tick. Nothing moves for a GPU where a tick would then hold two
    readings of one measure.
    """
    con.execute(
        "create table readings as select distinct gpu, measure, stamp from long join placed using (series) "
        "where stamp is not null and raw is not null"
    )
    con.execute(
        f"""create table ticks as
        with steps as (
            select gpu, epoch_us(stamp) - epoch_us(lag(stamp) over (partition by gpu, measure order by stamp))
                as gap, measure from readings
        ),
        reach as (
            select gpu, min(step) * {SHARE_OF_STEP} as us
            from (select gpu, median(gap) as step from steps group by gpu, measure) group by gpu
        ),
        stamps as (select distinct gpu, stamp from readings),
        starts as (
            select gpu, stamp, coalesce(epoch_us(stamp) - epoch_us(lag(stamp) over w) > r.us, true) as first
            from stamps join reach r using (gpu) window w as (partition by gpu order by stamp)
        )
        select gpu, stamp, max(case when first then stamp end) over (partition by gpu order by stamp) as tick
        from starts"""
    )
    con.execute(
        "delete from ticks where gpu in (select gpu from readings join ticks using (gpu, stamp) "
        "group by gpu, measure, tick having count(*) > 1)"
    )
    con.execute("drop table readings")
    return number(con, "select count(*) from ticks where tick <> stamp")
