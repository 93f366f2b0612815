"""What a driver calls its GPUs -> the platform of the catalogue, and what that says about a run."""

import pandas as pd

from data.catalogue import Catalogue
from data.readers.base import Batch, Proposal

UNTIED = (
    "The samples name no run: tie them to the run that held these GPUs ('Belongs to another run' on the "
    "page, the run's name with the import) to see them beside its cost."
)


def name_platforms(batch: Batch, catalogue: Catalogue) -> list[str]:
    """Fill `gpus.platform` from the model and propose it for the run; run names are final. Returns warnings.

    A name that no platform or several platforms report stays open: nothing is guessed.
    """
    gpus = batch.tables.get("gpus")
    if gpus is None:
        return []
    if "model" in gpus:
        known = {str(m): catalogue.platform_of_gpu(str(m)) for m in gpus["model"].dropna().unique()}
        ids = {model: platform.platform_id for model, platform in known.items() if platform}
        said = gpus["platform"] if "platform" in gpus else pd.Series(None, index=gpus.index, dtype=object)
        gpus = gpus.assign(platform=said.where(said.notna(), gpus["model"].map(ids)).astype(object))
        batch.tables["gpus"] = gpus
        batch.proposals += _proposals(gpus)
    return [UNTIED] if "run" not in gpus or gpus["run"].isna().all() else []


def _proposals(gpus: pd.DataFrame) -> list[Proposal]:
    found = []
    if "run" not in gpus:
        return []
    for run, rows in gpus[gpus["run"].notna()].groupby("run", sort=True):
        platforms, models = rows["platform"].unique(), rows["model"].dropna().unique()
        if len(platforms) == 1 and isinstance(platforms[0], str) and len(models):
            how = f"the driver calls the {len(rows)} sampled GPUs {', '.join(sorted(map(str, models)))}"
            found.append(Proposal(str(run), "platform", platforms[0], how))
    return found
