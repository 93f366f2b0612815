"""Rows of the catalogue as the shapes and machines of the phase models: units, not billions or tera."""

from dataclasses import fields

from data.catalogue import Catalogue
from data.errors import UserError
from models.machine import Machine
from models.shapes import Llm

TERA, GIGA = 1e12, 1e9
RATE_FIELDS = {"bf16": "bf16_dense_tflops", "fp8": "fp8_dense_tflops", "fp4": "fp4_dense_tflops"}


def llm_of(catalogue: Catalogue, name: str) -> Llm:
    """Shape of a model by id or alias. Raises UserError when the catalogue has no shape of it."""
    row = catalogue.llm(name)
    if row is None:
        raise UserError(
            f"No shape of the model {name!r} is known",
            "data/catalog/llms.csv",
            "Name a model of the catalogue.",
        )
    apart = {"params_total", "params_active", "tied_embeddings"}
    same = {f.name: getattr(row, f.name) for f in fields(Llm) if f.name not in apart}
    return Llm(
        params_total=row.params_total_b * GIGA,
        params_active=row.params_active_b * GIGA,
        tied_embeddings="tied embeddings" in row.note,
        **same,
    )


def machine_of(catalogue: Catalogue, platform_id: str) -> Machine:
    """Preferred published peaks of a platform; what was not published stays None.

    Capacity: the bytes that the driver reports (`hbm_usable_bytes`), else the label in GB of 10^9 bytes, the
    smaller reading. Raises UserError for a platform the catalogue does not have.
    """
    if catalogue.platform(platform_id) is None:
        raise UserError(
            f"The platform {platform_id!r} is not known",
            "data/catalog/platforms.csv",
            "Name a platform of the catalogue.",
        )

    def fact(field: str, unit: float = 1.0) -> float | None:
        row = catalogue.fact(platform_id, field)
        return None if row is None or row.number is None else row.number * unit

    usable = fact("hbm_usable_bytes")
    return Machine(
        platform_id=platform_id,
        flops={name: fact(field, TERA) for name, field in RATE_FIELDS.items()},
        hbm_bytes_per_s=fact("hbm_tb_s", TERA),
        hbm_bytes=fact("hbm_gb", GIGA) if usable is None else usable,
        link_bytes_per_s=fact("scaleup_gb_s_one_way", GIGA),
        domain_gpus=_count(fact("scaleup_domain_gpus")),
        rack_gpus=_count(fact("gpus_per_rack")),
        node_gpus=_count(fact("gpus_per_node")),
        scaleout_bytes_per_s=fact("scaleout_gb_s_one_way", GIGA),
    )


def _count(value: float | None) -> int | None:
    return None if value is None else int(value)
