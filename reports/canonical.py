"""One text for one content: canonical JSON and its hash."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def canonical_json(value: Mapping[str, Any]) -> str:
    """Return JSON with sorted keys and no spaces; ValueError for a number that JSON does not know."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def content_hash(value: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON, 64 hex digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def script_json(value: object) -> str:
    """Return JSON that may stand inside an HTML script element: no `<`, `>`, `&` or line separators."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text
