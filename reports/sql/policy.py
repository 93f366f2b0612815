"""What people's SQL may name: the one list for the gate in the server and for the child process."""

from collections.abc import Collection

SCHEMAS = ("", "main", "catalogue")
TABLE_FUNCTIONS = frozenset(
    {"range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree", "summary"}
)
PREFIXES = (
    "duckdb_",
    "pragma_",
    "pg_",
    "sqlite_",
    "__internal_",
    "read_",
    "parquet_",
    "has_",
    "icu_calendar_",
)
ALLOWED = frozenset({"pg_typeof", "pg_size_pretty"})
FUNCTIONS = frozenset(
    [
        "current_setting",
        "getenv",
        "getvariable",
        "set_config",
        "current_database",
        "current_schema",
        "current_schemas",
        "current_catalog",
        "current_user",
        "current_role",
        "session_user",
        "user",
        "current_query",
        "current_query_id",
        "current_connection_id",
        "current_transaction_id",
        "txid_current",
        "in_search_path",
        "nextval",
        "currval",
        "setval",
        "sleep_ms",
        "write_log",
        "parse_duckdb_log_message",
        "json_serialize_sql",
        "json_serialize_plan",
        "json_deserialize_sql",
        "json_execute_serialized_sql",
        "query",
        "query_table",
        "which_secret",
        "glob",
        "sniff_csv",
        "arrow_scan",
        "arrow_scan_dumb",
        "pandas_scan",
        "python_arrow_scan",
        "python_map_function",
        "seq_scan",
        "test_all_types",
        "test_vector_types",
        "map_to_pg_oid",
        "map_type_id_to_pg_oid",
        "format_pg_type",
        "version",
        "platform",
        "shell",
    ]
)
"""Functions that read files or settings, tell of the machine, wait, or run text as SQL."""


def refused_function(name: str) -> bool:
    """True when SQL of people may not call this function anywhere."""
    low = name.casefold()
    return low in FUNCTIONS or (low.startswith(PREFIXES) and low not in ALLOWED)


def refused_table_function(name: str) -> bool:
    """True when SQL of people may not read rows from this function."""
    return name.casefold() not in TABLE_FUNCTIONS


def refused_name(name: str) -> bool:
    """True when a part of a query may not be named so: it could stand for a system table or a file."""
    low = name.casefold()
    plain = low.replace("_", "a").isalnum()
    return not plain or low.startswith(("duckdb_", "pragma_", "pg_", "sqlite_"))


def refused_table(path: tuple[str, ...], known: Collection[str], parts: Collection[str]) -> bool:
    """True when `path` (schema before name) is none of the `known` tables ('runs', 'catalogue.prices').

    `parts` are the query's own named parts.
    """
    *schema, name = (part.casefold() for part in path)
    if len(schema) > 1 or (schema and schema[0] not in SCHEMAS):
        return True
    if schema == ["catalogue"]:
        return f"catalogue.{name}" not in known
    return name not in known and (bool(schema) or name not in parts)
