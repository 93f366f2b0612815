"""What the command line was told to load: files, folders and patterns, each with a telling name."""

import argparse
import glob
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from data.arrival.names import natural
from data.errors import UserError


def found_files(given: Sequence[str]) -> tuple[list[Path], list[dict[str, Any]]]:
    """The paths that arguments name, patterns expanded (`**` for any depth), and errors for empty patterns.

    Each path comes once. A name with `*` in it that exists is no pattern.
    """
    paths: dict[Path, None] = {}
    errors: list[dict[str, Any]] = []
    for text in given:
        path = Path(text).expanduser()
        if path.exists() or not glob.has_magic(text):
            paths[path] = None
            continue
        found = sorted(glob.glob(str(path), recursive=True), key=natural)  # noqa: PTH207 - absolute ones too
        paths |= dict.fromkeys(Path(name) for name in found)
        if not found:
            errors.append(
                {
                    "file": text,
                    "kind": "UserError",
                    "what": "No file matches this pattern",
                    "where": text,
                    "remedy": "Check the pattern; ** stands for folders of any depth.",
                }
            )
    return _without_inner(list(paths)), errors


def _without_inner(paths: list[Path]) -> list[Path]:
    """Without what lies in a folder that is in the list as well (`runs/**` names both)."""
    folders = {path.resolve() for path in paths if path.is_dir()}
    return [path for path in paths if not any(parent in folders for parent in path.resolve().parents)]


def telling_names(paths: Sequence[Path]) -> list[str]:
    """Names under which files are loaded: those that several share get their folders put in front."""
    full = [path.resolve() for path in paths]
    names = [path.name for path in full]
    for depth in range(2, max((len(path.parts) for path in full), default=0) + 1):
        twice = {name for name, count in Counter(names).items() if count > 1}
        if not twice:
            break
        names = [
            "/".join(path.parts[1:][-depth:]) if name in twice else name
            for path, name in zip(full, names, strict=True)
        ]
    return names


def mapping_choices(path: str) -> dict[str, Any]:
    """Choices out of a JSON file with a column mapping: {"columns": {column: field}, "timezone": zone}.

    The columns alone will do. Raises ArgumentTypeError for a file that holds no mapping.
    """
    from data.mapping.language import FORMAT, make_plan  # it needs the readers, which other commands do not

    try:
        found = json.loads(Path(path).expanduser().read_text(encoding="utf-8"))
        columns = found.get("columns", found)
        make_plan(columns)
    except (OSError, ValueError, AttributeError) as error:
        raise argparse.ArgumentTypeError(f"no column mapping in {path}: {error}") from error
    except UserError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    said = {"timezone": found["timezone"]} if columns is not found and found.get("timezone") else {}
    return {"format": FORMAT, "columns": columns, **said}


def json_object(text: str) -> dict[str, Any]:
    """A JSON object; ArgumentTypeError for anything else."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"no JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("must be a JSON object")
    return value
