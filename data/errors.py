"""Errors a person can act on: what happened, where, and what to do."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from data.parse.table_records import TableSample


@dataclass
class UserError(Exception):
    """A refusal with its place and its remedy.

    `where` names file, line, column, URL parameter or catalogue row; `remedy` is one imperative sentence.
    """

    what: str
    where: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        advice = f" {self.remedy}" if self.remedy else ""
        return f"{self.what}{place}.{advice}"


class CatalogueError(UserError):
    """A fact in the catalogue is incomplete or contradicts itself."""


@dataclass
class UnreadableFileError(UserError):
    """A file holds nothing this reader can use; `table` is its first rows when a person may map them.

    `prices`: it is a price list, which belongs into the price book.
    """

    table: "TableSample | None" = None
    prices: bool = False


class HomeBusyError(UserError):
    """Another process holds the home directory."""
