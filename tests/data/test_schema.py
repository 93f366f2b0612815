"""data/schema/*.csv, the migrations and the database say the same."""

import hashlib

import duckdb
import pytest

from data.gpu.parts import empty_samples_sql
from data.migrations import FOLDER, migrate
from data.tables import FILES_ONLY, ddl, tables


@pytest.fixture
def con():
    with duckdb.connect() as con:
        migrate(con)
        yield con


def test_migrations_make_exactly_the_described_tables(con):
    rows = con.execute(
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns "
        "ORDER BY table_name, ordinal_position"
    ).fetchall()
    made: dict[str, list[tuple[str, str, bool]]] = {}
    for table, column, kind, nullable in rows:
        made.setdefault(table, []).append((column, kind, nullable == "NO"))
    described = {
        name: [(c.name, c.type, c.required) for c in cols]
        for name, cols in tables().items()
        if name not in FILES_ONLY
    }
    assert made == described


def test_an_applied_migration_is_never_edited():
    """Homes hold what the first one made; a change of a table is a migration of its own."""
    text = (FOLDER / "0001_tables.sql").read_bytes()
    assert hashlib.sha256(text).hexdigest().startswith("eaf762c7d13aecb4")


def test_a_home_of_the_first_version_is_brought_up_to_date():
    with duckdb.connect() as con:
        con.execute((FOLDER / "0001_tables.sql").read_text(encoding="utf-8"))
        con.execute("INSERT INTO schema_migrations VALUES (1, '0001_tables.sql', now()::TIMESTAMP)")
        con.execute("INSERT INTO costs (day, billed_cost, upload_id) VALUES ('2026-01-01', 2.5, 'u')")
        migrate(con)
        row = con.execute("SELECT billed_cost, commitment_status, upload_id FROM costs").fetchone()
    assert row == (2.5, None, "u")


def test_the_generated_ddl_makes_every_described_table():
    with duckdb.connect() as con:
        con.execute(ddl())
        made = {name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    assert made == set(tables()) - FILES_ONLY


def test_migrating_twice_changes_nothing(con):
    before = con.execute("FROM schema_migrations").fetchall()
    assert migrate(con) == before[-1][0]
    assert con.execute("FROM schema_migrations").fetchall() == before


def test_every_column_is_described_and_quantities_have_a_unit():
    for name, cols in tables().items():
        assert len({c.name for c in cols}) == len(cols), name
        for column in cols:
            assert column.description, (name, column.name)
            if column.name.endswith(("_s", "_w", "_bytes", "_frac", "_mhz", "_j")):
                assert column.unit, (name, column.name)
            if column.type in ("TIMESTAMP", "DATE"):
                assert column.unit == "UTC", (name, column.name)


def test_keys_are_required_unless_a_file_may_leave_them_open():
    may_be_open = {
        ("metric_raw", "step"),
        ("metric_raw", "x_name"),
        ("metric_raw", "x"),
        ("step_phases", "pool"),
    }
    may_be_open |= {("allocations", "started_at"), ("allocation_sources", "started_at")}
    may_be_open |= {("length_hist", "bucket_high"), ("eval_tasks", "repeat"), ("scheduler_jobs", "cluster")}
    for name, cols in tables().items():
        for column in cols:
            if column.key and (name, column.name) not in may_be_open:
                assert column.required, (name, column.name)


def test_no_alias_means_two_columns_of_a_table():
    for name, cols in tables().items():
        seen: dict[str, str] = {}
        for column in cols:
            for alias in (column.name, *column.aliases):
                assert seen.setdefault(alias.lower(), column.name) == column.name, (name, alias)


def test_empty_samples_have_the_described_columns(con):
    described = [(c.name, c.type) for c in tables()["gpu_samples"]]
    got = con.execute(f"DESCRIBE SELECT * FROM {empty_samples_sql()}").fetchall()
    assert [(row[0], row[1]) for row in got] == described
