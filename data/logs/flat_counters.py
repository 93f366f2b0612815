"""Running totals (tokens since the start) as amounts of one step."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from data.logs.flat_attempts import FlatAttempt, Step
from data.logs.keymap import KeyRule


@dataclass
class Counters:
    """Differences of running totals; the amount of a step whose predecessor is not known stays unknown.

    `last`: by field the total at the end of the file; `fell`: records where a total is below the one before;
    `unknown_first`: fields whose first amount is not known.
    """

    last: dict[str, float] = field(default_factory=dict)
    fell: int = 0
    unknown_first: set[str] = field(default_factory=set)
    _keys: dict[str, list[str]] = field(default_factory=dict)
    _totals: dict[str, float] = field(default_factory=dict)

    def start(
        self,
        attempt: FlatAttempt,
        before: FlatAttempt | None,
        fields: Sequence[tuple[str, KeyRule]],
        gaps: dict[int, int | None],
    ) -> None:
        """Begin an attempt: from nothing, from the total at the step it resumed from, or from the unknown."""
        stepwise = {rule.field for _, rule in fields if rule.basis != "cumulative"}
        self._keys, self._totals = {}, {}
        for key, rule in fields:
            if rule.basis == "cumulative" and rule.field not in stepwise:
                self._keys.setdefault(rule.field, []).append(key)
        first = min(gaps, default=None)
        resumed = attempt.resumed_from_step
        for name in self._keys:
            base = None
            if resumed is not None and before is not None and resumed in before.by_step:
                base = self._total(name, before.by_step[resumed])
            elif first is not None and gaps[first] is not None:
                base = 0.0
            if base is not None:
                self._totals[name] = base

    def _total(self, name: str, step: Step) -> float | None:
        found = (step.values.get(key) for key in self._keys[name])
        return next((value for value in found if value is not None and value == value), None)

    def differences(self, step: Step) -> dict[str, float]:
        """Amounts of one step by field; steps must come in order."""
        out: dict[str, float] = {}
        for name in self._keys:
            total = self._total(name, step)
            if total is None:
                continue
            before = self._totals.get(name)
            if before is None:
                self.unknown_first.add(name)
            elif total < before:
                self.fell += 1
            else:
                out[name] = total - before
            self._totals[name] = total
            self.last[name] = total
        return out
