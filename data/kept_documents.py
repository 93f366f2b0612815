"""What documents that a person keeps have in common: an append-only history, and names of their copies.

Each change is a row of `<kind>_history` in the workspace; the last row of a document is what it is now, and
a deleted one comes back by one more row.
"""

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, cast, get_args

from data.errors import UserError

Change = Literal["saved", "renamed", "deleted", "restored"]


@dataclass(frozen=True)
class Kept:
    """One kind of document: its word, the word for its name, and the letters that a name may have.

    `select` begins every SELECT of its rows, with `h` for the table; `last` holds for the last row of each.
    """

    kind: str
    naming: str
    longest: int
    select: str
    last: str

    def rows(self, con: sqlite3.Connection, *, deleted: bool) -> list[sqlite3.Row]:
        """Return the last row of each live document, or of each deleted one, newest change first."""
        return con.execute(
            f"{self.select} WHERE {self.last} AND (h.change = 'deleted') = ? ORDER BY h.id DESC", (deleted,)
        ).fetchall()

    def last_row(self, con: sqlite3.Connection, number: int) -> sqlite3.Row:
        """Return what a document is now; raises UserError when there never was one of this number."""
        found: sqlite3.Row | None = con.execute(
            f"{self.select} WHERE h.id = (SELECT max(id) FROM {self.kind}_history WHERE {self.kind} = ?)",
            (number,),  # sorting the rows would read every document of the history
        ).fetchone()
        if found is None:
            raise self.unknown(number)
        return found

    def next_number(self, con: sqlite3.Connection) -> int:
        """Return the number of the next new document."""
        row = con.execute(f"SELECT coalesce(max({self.kind}), 0) + 1 FROM {self.kind}_history").fetchone()
        return int(row[0])

    def names(self, con: sqlite3.Connection, but: int | None = None) -> set[str]:
        """Return names of live ones but one, folded: two that differ by case alone would be mistaken."""
        rows = con.execute(
            f"SELECT h.{self.naming} FROM {self.kind}_history h WHERE {self.last} AND h.change <> 'deleted' "
            f"AND h.{self.kind} IS NOT ?",
            (but,),
        ).fetchall()
        return {str(row[0]).casefold() for row in rows}

    def clean(self, name: str) -> str:
        """Return a name with single spaces; raises UserError for an empty or overlong one."""
        found = " ".join(name.split())
        if not found:
            raise UserError(f"A {self.kind} needs a {self.naming}", self.naming, "Type one.")
        if len(found) > self.longest:
            raise UserError(
                f"The {self.naming} has {len(found)} letters",
                self.naming,
                f"Use one of at most {self.longest} letters.",
            )
        return found

    def copy_name(self, name: str, taken: Collection[str]) -> str:
        """Return '… (copy)', or with the next number that is not among the folded names `taken`."""
        number = 1
        while True:
            tail = " (copy)" if number == 1 else f" (copy {number})"
            found = f"{name[: self.longest - len(tail)]}{tail}"
            if found.casefold() not in taken:
                return found
            number += 1

    def change(self, text: str) -> Change:
        """Return what a row says was done; raises UserError for a word of a newer app."""
        if text not in get_args(Change):
            raise UserError(
                f"Unknown change '{text}' of a {self.kind}", f"{self.kind}_history", "Update the app."
            )
        return cast("Change", text)

    def unknown(self, number: int) -> UserError:
        """Return the error for a number that no document ever had."""
        return UserError(f"There is no {self.kind} {number}", self.kind, "Pick one of the list.")

    def is_deleted(self, name: str) -> UserError:
        """Return the error for a change to a deleted document."""
        return UserError(f"{self.kind.capitalize()} '{name}' is deleted", self.kind, "Bring it back first.")
