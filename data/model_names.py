"""Names of models as people spell them: case, separators and a maker's prefix do not matter."""

import re

from data.catalogue import Catalogue

_BETWEEN = re.compile(r"[\s_\-/]+")


def spelled(name: str) -> str:
    """A name without its maker, case and separators: 'Qwen/Qwen3-32B' and 'qwen3 32b' are 'qwen332b'."""
    return _BETWEEN.sub("", name.strip().rpartition("/")[2].casefold())


def models_like(catalogue: Catalogue, typed: str) -> tuple[str, ...]:
    """Ids of models whose id, name or alias is spelled like `typed`, else those that start so."""
    wanted = spelled(typed)
    if not wanted:
        return ()
    spellings = {
        model_id: {spelled(model_id), spelled(name), *(spelled(a) for a in _aliases(catalogue, model_id))}
        for model_id, name in catalogue.llm_names().items()
    }
    same = tuple(m for m, names in spellings.items() if wanted in names)
    return same or tuple(m for m, names in spellings.items() if any(n.startswith(wanted) for n in names))


def _aliases(catalogue: Catalogue, model_id: str) -> tuple[str, ...]:
    row = catalogue.llm(model_id)
    return () if row is None else row.aliases


def model_labels(catalogue: Catalogue, *, shaped_only: bool = False) -> dict[str, str]:
    """Model id -> what a list shows: its name, its id where that is spelled otherwise, and whether the
    catalogue lacks its shape, without which no projection by phase is possible.
    """
    out = {}
    for model_id, name in catalogue.llm_names().items():
        shaped = catalogue.llm(model_id) is not None
        if shaped or not shaped_only:
            label = name if name.casefold() == model_id else f"{name} ({model_id})"
            out[model_id] = label if shaped else f"{label}, no shape"
    return out
