"""Notebooks to begin with: short papers, one for each question that people bring, and one worked example."""

from importlib import import_module

from reports.notebook.document import Document, new_id
from reports.notebook.templates.parts import Template

_KEYS = (
    "bottleneck",
    "sync_or_async",
    "racks",
    "lost",
    "rent_or_own",
    "move",
    "sandboxes",
    "split",
    "gain",
    "stop",
    "chargeback",
    "quarter",
    "nemotron",
)


def _read(key: str) -> Template:
    found: object = import_module(f"reports.notebook.templates.{key}").TEMPLATE
    if not isinstance(found, Template):
        raise TypeError(f"templates.{key}.TEMPLATE is no template")
    return found


TEMPLATES: list[Template] = [_read(key) for key in _KEYS]
_BY_KEY = {template.key: template for template in TEMPLATES}


def make(key: str) -> Document:
    """Return a new notebook from a template; KeyError for an unknown key. Its cells have ids of their own."""
    template = _BY_KEY[key]
    cells = tuple(cell.model_copy(update={"id": new_id()}) for cell in template.cells)
    return Document(title=template.title, cells=cells)
