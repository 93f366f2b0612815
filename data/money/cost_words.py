"""What a line of an invoice is for, by the words that providers use."""

import re
from functools import lru_cache

from data.readers.template_rows import Row

_MACHINES = re.compile(
    r"(?<![\w-])(?:"
    r"(?:p[2-6]|p3dn|p4de?|p5en?|p6e?-(?:b\d00|gb\d00)|g4dn|g4ad|g5g?|g6[ef]?|gr6f?|g7e?)"
    r"\.(?:\d*xl(?:arge)?|large|metal(?:-\d+xl)?)"
    r"|(?:Standard_)?N[CDV]\w*\d+\w*_\w*(?:[AHV]\d00|GB\d00|MI\d00|T4|A10|P100|P40|K80)\w*"
    r"|Standard_N[CDV]\w+"
    r"|(?:a2|a3|a4x?|g2|g4)-(?:high|mega|ultra|edge|standard)\w*-\w+"
    r")(?![\w-])",
    re.IGNORECASE,
)
_AZURE_SIZE = r"\bN[CDVG]\d{1,3}[adilmprst]{0,6}"
_AZURE_CARD = r"(?:H[12]00|A100|A10|T4|V620|MI300X|GB[23]00)"
_FAMILIES = re.compile(
    rf"{_AZURE_SIZE}[_ ]?(?:{_AZURE_CARD}[_ ]?(?:v\d)?|v\d)\b"
    rf"|\bN[CDVG][adilmprst]{{0,6}}[_ ]?(?:{_AZURE_CARD}[_ ]?(?:v\d)?|v\d)\b"
    r"|\bN[CDV](?:6|12|24|48)(?:[adilmprst]{0,6})\b|\bN[CDVG][adilmprst]{0,6}[- ]series\b"
    r"|(?<![\w-])(?:EC2\s+)?(?:p[2-6]|p3dn|p4de?|p5en?|p6e?|g4dn|g4ad|g5g?|g6[ef]?|gr6f?|g7e?|a2|a3|a4x?|g2|g4)"
    r"\s+(?:(?:on[- ]demand|spot|reserved|linux|predefined|mega|ultra)\s+)*(?:instances?|capacity blocks?)\b"
    r"|\bEC2\s+(?:p[2-6]|p3dn|p4de?|p5en?|p6e?|g4dn|g4ad|g5g?|g6[ef]?|gr6f?|g7e?)\b(?!\.)",
    re.IGNORECASE,
)
"""Families of GPU machines as invoices write them, beside the machine types themselves."""
_WORDS = re.compile(
    r"\bGPUs?\b|\bNVIDIA\b|\bTesla\b|\bInstinct\b|\bGeForce\b|\bRTX\b"
    r"|(?:\b|\b\d+x)(?:[AHV]100|[AH]200|H20|[AH]800|GH200|B[123]00|GB[23]00|A10G|L40S?|MI[23]\d\dX?)(?:x\d+)?\b",
    re.IGNORECASE,
)
_STORAGE = re.compile(
    r"\bstorage\b|\bS3\b|\bEBS\b|\bdisks?\b|\bsnapshots?\b|\bfilestore\b|\blustre\b", re.IGNORECASE
)


def bucket_of(row: Row) -> str:
    """`gpu`, `storage` or `other` from instance type, description and service; ids are never searched."""
    return _bucket(*(row.get(name) for name in ("instance_type", "description", "sku", "service")))


@lru_cache(maxsize=1 << 14)
def _bucket(instance_type: object, description: object, sku: object, service: object) -> str:
    named = " ".join(str(text) for text in (instance_type, description, sku) if _spoken(text))
    if any(sign.search(named) for sign in (_MACHINES, _FAMILIES, _WORDS)):
        return "gpu"
    where = " ".join(str(text) for text in (service, description) if _spoken(text))
    return "storage" if _STORAGE.search(where) else "other"


def _spoken(value: object) -> bool:
    """Whether a text holds words: random ids of resources and SKUs may hold any three letters."""
    text = str(value) if value is not None else ""
    return bool(text) and not re.fullmatch(r"[A-Z0-9.]{10,}|[0-9a-f-]{20,}", text)


@lru_cache(maxsize=1 << 14)
def instance_type_in(*texts: object) -> str | None:
    """The first GPU machine type that one of the texts names, such as `p5.48xlarge`."""
    for text in texts:
        if text is not None and (match := _MACHINES.search(str(text))):
            return match[0]
    return None
