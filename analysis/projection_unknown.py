"""What is not published, in words."""

from collections.abc import Sequence

from analysis.words import digits3, listing
from data.catalogue import Catalogue
from models.gpu_count import GpuCount

FACTS = {
    "hbm_bytes_per_s": "HBM bandwidth",
    "hbm_bytes": "HBM capacity",
    "domain_gpus": "GPUs of a scale-up domain",
    "link_bytes_per_s": "scale-up link rate",
    "scaleout_bytes_per_s": "scale-out link rate",
    "bf16_dense_flops": "dense BF16 peak",
    "fp8_dense_flops": "dense FP8 peak",
    "fp4_dense_flops": "dense FP4 peak",
}
BAND = "band of "


def unknown_words(book: Catalogue, names: Sequence[str]) -> tuple[str, ...]:
    """A sentence for facts named as `platform: fact`; none for none. What follows from a missing peak, a band
    of pairs, is left out beside it.
    """
    parts = [name.partition(": ") for name in names]
    facts = [FACTS[fact] for _, _, fact in parts if fact in FACTS]
    rest = [what for _, _, what in parts if what not in FACTS and not (facts and what.startswith(BAND))]
    out = []
    if facts:
        owners = dict.fromkeys(owner for owner, _, fact in parts if fact in FACTS)
        told = [p.name if (p := book.platform(one)) else one for one in owners]
        out.append(f"not published for {listing(told)}: {listing(list(dict.fromkeys(facts)), 6)}")
    bands = [what.removeprefix(BAND) for what in rest if what.startswith(BAND)]
    if bands:
        out.append(f"no factor of published pairs can be given for {listing(list(dict.fromkeys(bands)))}")
    rest = [what for what in rest if not what.startswith(BAND)]
    if rest:
        out.append(listing(list(dict.fromkeys(rest)), 6))
    return ("; ".join(out),) if out else ()


def no_count_words(found: GpuCount) -> str:
    """Why no count of GPUs gives the wanted step."""
    if found.reachable:
        return "no count up to 16 times the run's GPUs gives this step time"
    return f"not reachable: {digits3(found.floor_s)} s of a step follow no GPU"
