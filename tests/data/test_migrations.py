"""What a migration does to rows that an older version stored."""

import duckdb

from data.migrations import files, migrate

MIGRATION = 3


def test_phases_on_top_of_the_step_timer_get_their_kind() -> None:
    con = duckdb.connect()
    for version, path in files():
        if version < MIGRATION:
            con.execute(path.read_text(encoding="utf-8"))
            con.execute("INSERT INTO schema_migrations VALUES (?, ?, now()::TIMESTAMP)", [version, path.name])
    for key, kind in (
        ("perf/update_weights_time", "wall"),
        ("time/broadcast_weights", "exposed"),
        ("time/save_weights", "busy"),
        ("time/forward_backward", "wall"),
    ):
        con.execute(
            "INSERT INTO step_phases (run, attempt, step, phase, seconds, kind, source_key, upload_id) "
            "VALUES ('r', 1, 1, 'other', 2.0, ?, ?, 'u')",
            [kind, key],
        )
    migrate(con)
    assert dict(con.execute("SELECT source_key, kind FROM step_phases").fetchall()) == {
        "perf/update_weights_time": "outside",
        "time/broadcast_weights": "outside_exposed",
        "time/save_weights": "busy",
        "time/forward_backward": "wall",
    }
