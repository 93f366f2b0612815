"""What may reach the child process: one SELECT over known tables and without a forbidden function."""

import functools
import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from reports.notebook.document import LONGEST_SQL
from reports.sql import policy
from reports.sql.errors import SqlError, at

if TYPE_CHECKING:
    import sqlglot.expressions as exp

LONGEST = LONGEST_SQL
DEEPEST = 100
"""Brackets in brackets."""
_FORBIDDEN = [
    "Alter",
    "Analyze",
    "Attach",
    "Cache",
    "Command",
    "Comment",
    "Commit",
    "Copy",
    "Create",
    "Delete",
    "Detach",
    "Drop",
    "Execute",
    "Export",
    "Fetch",
    "Grant",
    "Heredoc",
    "Insert",
    "Install",
    "Into",
    "Kill",
    "LoadData",
    "Lock",
    "Merge",
    "Pragma",
    "Prepare",
    "Put",
    "Refresh",
    "Revoke",
    "Rollback",
    "Set",
    "Show",
    "Transaction",
    "TruncateTable",
    "Uncache",
    "Update",
    "Use",
]


def check(sql: str, known: Collection[str]) -> str:
    """Refuse what is no single SELECT over `known` tables. Raises SqlError.

    Returns '' or, when the SQL cannot be read here, why: the child then tells the place of the mistake, and
    refuses it in any case.
    """
    if not sql.strip():
        raise SqlError("There is no SQL", "SQL", "Write a SELECT.")
    if len(sql) > LONGEST:
        raise SqlError(f"The SQL has {len(sql):,} characters", "SQL", f"Write at most {LONGEST:,}.")
    if "\0" in sql:
        raise at(sql, "The SQL holds a null byte", "Take it out.", sql.index("\0"))
    _check_depth(sql)
    statements = _parsed(sql)
    if statements is None:
        return "The SQL cannot be read here"
    if len(statements) != 1:
        raise SqlError(
            "These are several statements" if statements else "There is no SQL", "SQL", "Write one SELECT."
        )
    _check_tree(sql, statements[0], known)
    return ""


def _check_depth(sql: str) -> None:
    depth = 0
    for place, sign in enumerate(sql):
        depth += (sign in "([{") - (sign in ")]}")
        if depth > DEEPEST:
            raise at(
                sql, "The SQL is nested too deeply", f"Use at most {DEEPEST} brackets in brackets.", place
            )


def _parsed(sql: str) -> "list[exp.Expr] | None":
    import sqlglot
    from sqlglot.errors import SqlglotError

    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of what is refused here anyway
    try:
        return [one for one in sqlglot.parse(sql, read="duckdb") if one is not None]
    except SqlglotError:
        return None
    except RecursionError:
        raise SqlError("The SQL is nested too deeply", "SQL", "Split it into cells.") from None


@functools.cache
def _forbidden() -> "tuple[type[exp.Expr], ...]":
    import sqlglot.expressions as exp

    return tuple(getattr(exp, name) for name in _FORBIDDEN if hasattr(exp, name))


def _check_tree(sql: str, tree: "exp.Expr", known: Collection[str]) -> None:
    import sqlglot.expressions as exp

    if not isinstance(tree, exp.Query | exp.Values | exp.Describe | exp.Summarize | exp.Pivot):
        raise SqlError("Only a SELECT can be run here", "SQL", "Begin it with SELECT, WITH, FROM or VALUES.")
    parts = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
    for name in filter(policy.refused_name, parts):
        raise SqlError(f"A part of a query cannot be named '{name}'", "SQL", "Use letters, digits and _.")
    for node in tree.walk():
        if isinstance(node, _forbidden()):
            raise SqlError("Only a SELECT can be run here", "SQL", "Take out what changes data or settings.")
        if isinstance(node, exp.Func):
            _check_function(sql, node)
        elif isinstance(node, exp.Table):
            _check_table(sql, node, known, parts)


def _check_function(sql: str, node: "exp.Func") -> None:
    import sqlglot.expressions as exp

    name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
    if policy.refused_function(name):
        raise _at_node(sql, node, f"The function {name.lower()}() is not available here", "Do without it.")


def _check_table(sql: str, node: "exp.Table", known: Collection[str], parts: Collection[str]) -> None:
    import sqlglot.expressions as exp

    if isinstance(node.this, exp.Func):
        name = node.this.name if isinstance(node.this, exp.Anonymous) else node.this.sql_name()
        if policy.refused_table_function(name) and not isinstance(node.this, exp.GenerateSeries | exp.Unnest):
            raise _at_node(sql, node, f"No rows can be read from {name.lower()}() here", "Read from a table.")
        return
    path = tuple(part.name for part in node.parts)
    if policy.refused_table(path, known, parts):
        raise _at_node(
            sql,
            node,
            f"There is no table '{'.'.join(path)}' here",
            "Use a table of the list, or a cell above.",
        )


def _at_node(sql: str, node: "exp.Expr", what: str, remedy: str) -> SqlError:
    places = [one.meta["start"] for one in node.walk() if "start" in one.meta]
    return at(sql, what, remedy, min(places, default=None))
