"""Typed parameters of an analysis: the same values serve the URL, a saved cell and the command line."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict

Boundary = Literal["compute", "campaign", "full"]
DEFAULT_PRICE = "reserved_3y.neocloud"


class Params(BaseModel):
    """Base: frozen, unknown names refused. `question` and `version` travel with saved parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    question: ClassVar[str] = ""
    version: ClassVar[int] = 1

    def to_query(self) -> dict[str, list[str]]:
        """URL form; a value equal to its default is left out."""
        out: dict[str, list[str]] = {}
        for name, info in type(self).model_fields.items():
            value = getattr(self, name)
            if value == info.default or value is None:
                continue
            many = isinstance(value, Sequence) and not isinstance(value, str)
            out[name] = [str(v) for v in value] if many else [str(value)]
        return out

    @classmethod
    def from_query(cls, query: Mapping[str, Sequence[str]]) -> Self:
        """Parse the URL form; raises pydantic.ValidationError naming the bad parameter."""
        raw: dict[str, Any] = {}
        for name, info in cls.model_fields.items():
            if name in query:
                values = list(query[name])
                raw[name] = values if isinstance(info.default, tuple) else values[-1]
        return cls.model_validate(raw)


class CommonParams(Params):
    """What every page shares. `runs` empty means all; `price` is kind.tier; `platforms` empty means all."""

    runs: tuple[str, ...] = ()
    price: str = DEFAULT_PRICE
    boundary: Boundary = "campaign"
    platforms: tuple[str, ...] = ()
