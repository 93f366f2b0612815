"""Names in a SQL cell: which tables and parameters its text uses, and the same text with other names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import Token, exp

_DIALECT = "duckdb"


@dataclass(frozen=True)
class SqlNames:
    """Tables that a text reads, without its own parts (WITH), and parameters `$name`; in small letters.

    `read`: the text could be read; else every word in it counts as a table.
    """

    tables: frozenset[str]
    parameters: frozenset[str]
    read: bool = True


@dataclass(frozen=True)
class _Piece:
    """A piece of the text from `start` to `end` (exclusive) and what stands there instead."""

    start: int
    end: int
    text: str


@lru_cache(maxsize=512)
def names_in(sql: str) -> SqlNames:
    """Return the names that a text uses."""
    tokens = _tokens(sql)
    parameters = frozenset(token.text.casefold() for token in _parameters(tokens))
    tree = _tree(sql)
    if tree is None:
        words = frozenset(t.text.casefold() for t in _words(tokens))
        return SqlNames(words, parameters, read=False)
    found = frozenset(t.name.casefold() for t in _tables(tree) if _is_outside(t))
    return SqlNames(found, parameters)


def with_names(sql: str, tables: Mapping[str, str], parameters: Mapping[str, str]) -> str:
    """Return the text with other names of tables and parameters; nothing else in it changes.

    Where the text gives an old table name to a part of its own as well, the new table keeps the old name
    inside the text (`FROM new AS old`).
    """
    tokens = _tokens(sql)
    pieces = [
        _Piece(t.start, t.end + 1, parameters[t.text.casefold()])
        for t in _parameters(tokens)
        if t.text.casefold() in parameters
    ]
    tree = _tree(sql)
    if tree is None:
        pieces += [
            _Piece(t.start, t.end + 1, tables[t.text.casefold()])
            for t in _words(tokens)
            if t.text.casefold() in tables
        ]
    else:
        pieces += _table_pieces(tree, tables)
    out = sql
    for piece in sorted(pieces, key=lambda one: -one.start):
        out = f"{out[: piece.start]}{piece.text}{out[piece.end :]}"
    return out


def _table_pieces(tree: "exp.Expr", tables: Mapping[str, str]) -> Iterator[_Piece]:
    from sqlglot import exp

    own = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
    own |= {t.alias.casefold() for t in tree.find_all(exp.Table, exp.Subquery) if t.alias}
    for table in tree.find_all(exp.Table):
        old = table.name.casefold()
        if old in tables and _is_outside(table) and isinstance(table.this, exp.Identifier):
            tail = f" AS {old}" if old in own and not table.alias else ""
            yield _piece(table.this, tables[old] + tail)
    for column in tree.find_all(exp.Column):
        head = column.parts[0]
        old = head.name.casefold()
        if len(column.parts) > 1 and old in tables and old not in own and isinstance(head, exp.Identifier):
            yield _piece(head, tables[old])


def _piece(name: "exp.Identifier", text: str) -> _Piece:
    return _Piece(name.meta["start"], name.meta["end"] + 1, text)


def _is_outside(table: "exp.Table") -> bool:
    """Whether a name in FROM means a table: it names no part of the text that is in sight there."""
    from sqlglot import exp

    name = table.name.casefold()
    if not name or table.catalog or table.db.casefold() not in ("", "main"):
        return False
    if table.db:
        return True
    node: exp.Expr = table
    while node.parent is not None:
        parent = node.parent
        if isinstance(parent, exp.With):
            place = parent.expressions.index(node)
            seen = parent.expressions[: place + bool(parent.args.get("recursive"))]
        else:
            parts = parent.args.get("with_") or parent.args.get("with")
            seen = parts.expressions if parts is not None and parts is not node else []
        if any(cte.alias.casefold() == name for cte in seen):
            return False
        node = parent
    return True


def _tables(tree: "exp.Expr") -> "Iterator[exp.Table]":
    from sqlglot import exp

    return tree.find_all(exp.Table)


def _tree(sql: str) -> "exp.Expr | None":
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        return sqlglot.parse_one(sql, read=_DIALECT)
    except (SqlglotError, RecursionError):
        return None


def _tokens(sql: str) -> "list[Token]":
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        return sqlglot.tokenize(sql, read=_DIALECT)
    except SqlglotError:
        return []


def _parameters(tokens: "list[Token]") -> "Iterator[Token]":
    """Tokens of the words that stand directly after a `$`."""
    from sqlglot import TokenType

    for sign, word in pairwise(tokens):
        if sign.token_type == TokenType.PARAMETER and sign.text == "$" and word.start == sign.end + 1:
            yield word


def _words(tokens: "list[Token]") -> "Iterator[Token]":
    from sqlglot import TokenType

    after = {word.start for word in _parameters(tokens)}
    for token in tokens:
        if token.token_type in (TokenType.VAR, TokenType.IDENTIFIER) and token.start not in after:
            yield token
