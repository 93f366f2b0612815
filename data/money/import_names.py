"""From the GPU name of a price list to a platform of the catalogue: by its names, never by a guess."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from data.money.import_rows import Offer

if TYPE_CHECKING:
    from data.catalogue import Catalogue
    from data.catalogue_types import Platform

VARIANTS = {
    "a100": ("SXM", "PCIe"), "h100": ("SXM", "PCIe", "NVL"), "h200": ("SXM", "NVL"), "h800": ("SXM", "PCIe"),
}  # fmt: skip
"""Models that are rented in several form factors under one name, and which."""
_VENDOR = re.compile(r"\b(?:nvidia|amd|instinct|tesla|google|aws)\b", re.IGNORECASE)
_SXM_MACHINES = re.compile(
    r"^p4de\.|^p5(?:e|en)?\.(?!4xlarge)|^(?:standard_)?nd96\w*[ah][12]00_v[45]|^a3-(?:high|mega|ultra|edge)gpu-"
    r"|^a2-ultragpu-",
    re.IGNORECASE,
)
"""Machine types of the three large clouds that their makers sell with SXM boards only."""
_FORMS = (("pcie", r"pcie?"), ("nvl", r"nvl(?!\d|ink)"), ("sxm", r"sxm|hgx|mega"))


@dataclass(frozen=True)
class Named:
    """Either a platform, or the code and sentence that say why there is none."""

    platform_id: str | None
    code: str = ""
    why: str = ""


def platform_of(offer: Offer, book: "Catalogue", names: Mapping[str, str]) -> Named:
    """The platform of an offer; `names` are a person's own answers, GPU name -> platform id."""
    model, form = model_of(offer.gpu), form_of(offer)
    if offer.gpu in names:
        return _as_said(offer, names[offer.gpu], book)
    exact = book.platform_of_gpu(offer.gpu)
    if exact is not None and form in (None, "sxm"):
        return Named(exact.platform_id)
    same = of_model(offer.gpu, book)
    found = [p.platform_id for p in same]
    if not same:
        return Named(None, "unknown_gpu", f"The catalogue has no platform that is called {offer.gpu}.")
    if same[0].kind == "tpu" and re.search(r"-\d+$", offer.gpu):
        return Named(
            None, "tpu_slice", f"{offer.gpu} is a slice of several chips: its price is not one of a chip."
        )
    if model == "a100" and not _says_80(offer):
        return Named(
            None,
            "a100_40gb",
            f"{offer.gpu} without 80GB is the card with 40 GB; the catalogue has the 80 GB one.",
        )
    if model not in VARIANTS:
        return Named(found[0]) if form != "pcie" and len(found) == 1 else _unsure(offer)
    wanted = [p for p in found if form is not None and p.endswith(f"-{form}")]
    return Named(wanted[0]) if len(wanted) == 1 else _unsure(offer)


def _as_said(offer: Offer, platform: str, book: "Catalogue") -> Named:
    """A person's answer for a name, unless the row itself names another form factor."""
    form = form_of(offer)
    if form is None or model_of(offer.gpu) not in VARIANTS or platform.endswith(f"-{form}"):
        return Named(platform)
    own = [p.platform_id for p in of_model(offer.gpu, book) if p.platform_id.endswith(f"-{form}")]
    if len(own) == 1:
        return Named(own[0])
    return Named(None, "no_such_form", f"The row says {offer.gpu} {form.upper()}, you said {platform}.")


def _unsure(offer: Offer) -> Named:
    form = form_of(offer)
    if form is not None:
        return Named(None, "no_such_form", f"The catalogue has no {offer.gpu} as {form.upper()}.")
    forms = VARIANTS.get(model_of(offer.gpu), ())
    sold = f" ({' or '.join(forms)})" if forms else ""
    return Named(None, "form_factor", f"What is missing is the form factor of {offer.gpu}{sold}.")


def of_model(gpu: str, book: "Catalogue") -> list["Platform"]:
    """Platforms whose name begins with the model inside a GPU name, whatever their form factor."""
    model = model_of(gpu)
    return [p for p in book.platforms() if p.kind != "cpu" and model and model == _first(p.name)]


def model_of(gpu: str) -> str:
    """The model inside a GPU name.

    >>> model_of("NVIDIA H100 80GB HBM3"), model_of("A100-80GB-SXM"), model_of("GB200")
    ('h100', 'a100', 'gb200')
    """
    return _first(_VENDOR.sub(" ", gpu))


def form_of(offer: Offer) -> str | None:
    """The form factor that a row names anywhere: sxm, pcie or nvl; None when it names none or two."""
    text = " ".join((offer.gpu, offer.told, offer.instance)).casefold()
    found = {form for form, pattern in _FORMS if re.search(rf"(?:\b|_|\d){pattern}", text)}
    if _SXM_MACHINES.search(offer.instance):
        found.add("sxm")
    return found.pop() if len(found) == 1 else None


def _first(name: str) -> str:
    parts = re.split(r"[^a-z0-9]+", name.strip().casefold())
    kept = [p for p in parts if p not in ("", "tpu")]
    return kept[0] if kept else ""


def _says_80(offer: Offer) -> bool:
    return re.search(r"80\s*g", f"{offer.gpu} {offer.told}", re.IGNORECASE) is not None or (
        offer.instance.startswith(("p4de.", "a2-ultragpu-"))
    )
