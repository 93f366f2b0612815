"""Telemetry = originals + decisions."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from data.store import Store


def catch_up(store: "Store", *, fresh: bool) -> None:
    """Bring the database in step with the decisions after an interruption."""
