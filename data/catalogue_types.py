"""Typed rows of the catalogue. A value of None means: not published."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

FACT_STATUSES = frozenset({"measured", "vendor_spec", "analyst", "derived", "user"})
UNPUBLISHED = "unsourced"
CLAIM_STATUSES = frozenset(
    {
        "confirmed_by_vendor",
        "confirmed_by_operator",
        "measured_by_vendor",
        "measured_by_third_party",
        "vendor_statement_second_hand",
        "seed_article_only",
        "derived",
    }
)
STATUS_WORDS = {
    "measured": "measured",
    "vendor_spec": "vendor",
    "analyst": "analyst",
    "derived": "derived",
    "user": "yours",
    "unsourced": "not published",
    "confirmed_by_vendor": "vendor claim",
    "confirmed_by_operator": "operator claim",
    "measured_by_vendor": "measured by vendor",
    "measured_by_third_party": "measured by third party",
    "vendor_statement_second_hand": "vendor claim, second-hand",
    "seed_article_only": "article only",
}

RENT_KINDS = ("reserved_3y", "contract_1y", "on_demand", "spot")
HELD_KINDS = (*RENT_KINDS, "own_tco")
"""Prices a GPU-hour that a run can be costed at: rents, and the cost of owning."""
OTHER_KINDS = ("own_tco", "purchase_gpu", "purchase_rack", "api_tokens")
TIERS = ("neocloud", "hyperscaler", "marketplace", "owned")
RENT_UNITS = ("USD per GPU-hour", "USD per chip-hour")
CORE_UNIT = "USD per vCPU-hour"
RENT_PER = ("GPU-hour", "chip-hour")
CORE_PER = "vCPU-hour"
USD = "USD"
KIND_WORDS = {
    "reserved_3y": "3-year reservation",
    "contract_1y": "1-year contract",
    "on_demand": "on demand",
    "spot": "spot",
    "own_tco": "cost of owning",
    "purchase_gpu": "purchase, one GPU",
    "purchase_rack": "purchase, one rack",
    "api_tokens": "API tokens",
}


def price_words(kind: str, tier: str) -> str:
    """Return a kind and tier of price as people say them.

    >>> price_words("reserved_3y", "neocloud")
    '3-year reservation · neocloud'
    """
    return f"{KIND_WORDS.get(kind, kind.replace('_', ' '))} · {tier.replace('_', ' ')}"


PlatformKind = Literal["gpu", "tpu", "cpu", "service"]


@dataclass(frozen=True)
class Platform:
    """A machine (or, kind `service`, an API) the catalogue knows. `gpu_names` as drivers report them."""

    platform_id: str
    name: str
    vendor: str
    generation: str
    family: str
    kind: PlatformKind
    gpu_names: tuple[str, ...]


@dataclass(frozen=True)
class Fact:
    """One specification value in `unit` under `condition`; value None: not published."""

    platform_id: str
    field: str
    value: float | str | None
    unit: str
    condition: str
    status: str
    source: str
    date: str
    note: str
    preferred: bool

    @property
    def number(self) -> float | None:
        """The value as a number, None when it is a text or not published."""
        return self.value if isinstance(self.value, float) else None


@dataclass(frozen=True)
class PriceRow:
    """One price as a file holds it: `value` in `unit`, which begins with its `currency`.

    `as_of` is the day (or month, or year) from which it counts; empty: the source has no date. `tier` is
    empty for a quote that no picker entry uses.
    """

    price_id: str
    platform_id: str
    kind: str
    tier: str
    provider: str
    region: str
    value: float | None
    unit: str
    currency: str
    as_of: str
    status: str
    source: str
    note: str


@dataclass(frozen=True)
class Price(PriceRow):
    """One version of a price. `decision` is 0 for a shipped row, else the id of what a person entered.

    `who` and `at` (UTC) say who entered it and when. `retired`: from `as_of` on the price counts no more.
    """

    version: int = 1
    decision: int = 0
    at: datetime | None = None
    who: str = ""
    retired: bool = False

    @property
    def per(self) -> str:
        """What the price is paid for: GPU-hour, chip-hour, vCPU-hour, rack …"""
        return self.unit.partition(" per ")[2]

    @property
    def key(self) -> str:
        """Id and version, as a result stores it."""
        return f"{self.price_id}@{self.version}"

    @property
    def from_day(self) -> str:
        """First day (YYYY-MM-DD) on which it counts; of a month or a year the first one; empty: no date."""
        return self.as_of + {4: "-01-01", 7: "-01"}.get(len(self.as_of), "")


@dataclass(frozen=True)
class PriceChoice:
    """The price a picker entry (kind and tier) stands for on one platform.

    `low` and `high` span the `n_quotes` published quotes of the same platform, kind and unit, dated
    `first_as_of` to `last_as_of`. `usd_per_gpu_h` is per chip-hour where `unit` says so, and per vCPU-hour
    when it comes from `Catalogue.core_price`. A price in another `currency` was converted: `own_value` is
    what was asked and `rate_note` names the rate.
    """

    price_id: str
    platform_id: str
    kind: str
    tier: str
    usd_per_gpu_h: float
    unit: str
    provider: str
    status: str
    source: str
    as_of: str
    note: str
    low: float
    high: float
    n_quotes: int
    first_as_of: str
    last_as_of: str
    version: int = 1
    currency: str = USD
    own_value: float | None = None
    rate_note: str = ""

    @property
    def key(self) -> str:
        """Id and version, as a result stores it."""
        return f"{self.price_id}@{self.version}"


@dataclass(frozen=True)
class Llm:
    """Shape of one model; parameters in billions, KV cache in bytes a token at BF16."""

    model_id: str
    name: str
    aliases: tuple[str, ...]
    params_total_b: float
    params_active_b: float
    layers: int
    hidden: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    attention: str
    kv_bytes_per_token_bf16: float
    experts: int | None
    experts_active: int | None
    shared_experts: int | None
    expert_ffn_hidden: int | None
    vocab: int
    max_context: int
    attn_layers: int
    dense_layers: int | None
    dense_ffn_hidden: int | None
    kv_lora_rank: int | None
    qk_rope_head_dim: int | None
    moe_latent_size: int | None
    state_bytes_per_seq: float | None
    params_basis: str
    status: str
    source: str
    note: str


@dataclass(frozen=True)
class Benchmark:
    """One benchmark; `chance_floor` is a fraction, None where it is not known."""

    benchmark_id: str
    name: str
    aliases: tuple[str, ...]
    n_tasks: int
    cluster_unit: str
    n_clusters: int
    score_kind: str
    chance_floor: float | None
    status: str
    source: str
    note: str


@dataclass(frozen=True)
class Claim:
    """A statement somebody made: for scenarios only, never a measurement."""

    claim_id: str
    statement: str
    quantity: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    baseline_platform_id: str
    target_platform_id: str
    applies_to_phase: str
    conditions: str
    status: str
    source: str
    source_date: str
    note: str


@dataclass(frozen=True)
class TcoDefault:
    """One cost parameter; value None: nobody published it, the user must say."""

    parameter: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    status: str
    source: str
    source_date: str
    note: str


@dataclass(frozen=True)
class RlRun:
    """One published RL measurement: seconds a step, tokens a second a GPU (prompt and response tokens)."""

    row_id: str
    model: str
    model_id: str
    platform_id: str
    system: str
    n_gpus: int
    framework: str
    framework_version: str
    algo: str
    policy_lag: str
    sync_mode: str
    train_precision: str
    gen_precision: str
    rollouts_per_step: float | None
    train_batch: float | None
    seq_len_max: float | None
    avg_seq_len: float | None
    avg_seq_len_counts: str
    gen_parallel: str
    train_parallel: str
    tokens_per_s_per_gpu: float | None
    step_time_s: float | None
    gen_s: float | None
    exposed_gen_s: float | None
    train_s: float | None
    logprob_s: float | None
    refit_s: float | None
    other_s: float | None
    run_time_min: float | None
    measured_by: str
    source_repo: str
    source_path: str
    source_commit: str
    status: str
    note: str

    @property
    def source(self) -> str:
        """Repository, path and commit in one line."""
        commit = self.source_commit
        at = f" @{commit[:7]}" if len(commit) == 40 else ""
        return f"{self.source_repo} {self.source_path}{at}"
