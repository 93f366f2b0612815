"""DuckDB's own reading of a statement, checked name by name, in the child process."""

import json
from collections.abc import Collection, Iterator
from typing import Any

import duckdb

from reports.sql import policy

_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_SHOWN = ("DESCRIBE", "SUMMARY")


class RefusedError(Exception):
    """A statement does what SQL of people may not do; its words, and where in the text (None: not known)."""

    def __init__(self, what: str, remedy: str, position: int | None = None) -> None:
        """Keep what is wrong, what to do and where it stands."""
        super().__init__(what)
        self.what, self.remedy, self.position = what, remedy, position


def check(con: duckdb.DuckDBPyConnection, sql: str, known: Collection[str]) -> None:
    """Refuse all but one SELECT over `known` tables with harmless functions: RefusedError, duckdb.Error."""
    found = con.execute("SELECT json_serialize_sql($sql::VARCHAR)", {"sql": sql}).fetchone()
    read: dict[str, Any] = json.loads(found[0]) if found else {"error": True}
    if read["error"]:
        if read.get("error_type") == "not implemented":
            raise RefusedError("Only a SELECT can be run here", "Begin it with SELECT, WITH, FROM or VALUES.")
        position = int(read["position"]) if "position" in read else None
        what = str(read.get("error_message", "The SQL cannot be read"))
        raise RefusedError(what[:1].upper() + what[1:], "Correct the SQL there.", position)
    if len(read["statements"]) != 1:
        raise RefusedError("These are several statements", "Write one SELECT a cell.")
    tree = read["statements"][0]["node"]
    parts = set()
    for node in _walk(tree):
        for entry in (node.get("cte_map") or {}).get("map", ()):
            parts.add(str(entry["key"]).casefold())
        if node.get("type") in ("RECURSIVE_CTE_NODE", "CTE_NODE"):
            parts.add(str(node.get("cte_name", "")).casefold())
    for name in parts:
        if policy.refused_name(name):
            raise RefusedError(f"A part of a query cannot be named '{name}'", "Use letters, digits and _.")
    for node in _walk(tree):
        _check_node(node, known, parts)


def _check_node(node: dict[str, Any], known: Collection[str], parts: Collection[str]) -> None:
    kind = node.get("type")
    if "from_table" in node and kind not in _NODES:
        raise RefusedError("Only a SELECT can be run here", "Take out what changes data.")
    if isinstance(kind, str) and kind.endswith("_NODE") and kind not in _NODES:
        raise RefusedError("Only a SELECT can be run here", "Take out what changes data.")
    if kind == "BASE_TABLE":
        _check_table(node, known, parts)
    elif kind == "SHOW_REF" and (node.get("show_type") not in _SHOWN or not node.get("query")):
        raise RefusedError(
            "SHOW lists the machine's names as well", "Use the list of tables beside the editor."
        )
    elif kind == "TABLE_FUNCTION":
        name = str(node["function"].get("function_name", ""))
        if policy.refused_table_function(name):
            raise RefusedError(
                f"No rows can be read from {name}() here", "Read from a table of the list.", _place(node)
            )
    if "function_name" in node:
        _check_function(node)


def _check_table(node: dict[str, Any], known: Collection[str], parts: Collection[str]) -> None:
    path = tuple(map(str, node["qualified_name"]["path"]))
    if policy.refused_table(path, known, parts):
        raise RefusedError(
            f"There is no table '{'.'.join(path)}' here",
            "Use a table of the list, or a cell above.",
            _place(node),
        )


def _check_function(node: dict[str, Any]) -> None:
    name = str(node["function_name"])
    if node.get("catalog") or node.get("schema") not in ("", "main", None) or policy.refused_function(name):
        raise RefusedError(f"The function {name}() is not available here", "Do without it.", _place(node))


def _place(node: dict[str, Any]) -> int | None:
    place = node.get("query_location")
    return int(place) if isinstance(place, int) and place < 1 << 40 else None


def _walk(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
