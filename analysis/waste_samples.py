"""GPU samples of a period -> GPU-seconds by owner, day and state, and the spells of idle and stalled time."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd

from analysis.frames import NAN, Row, records, text
from analysis.madeup import EVERYBODY, Scope
from analysis.result import Assumption
from analysis.waste_owners import NOBODY, Clocks, Owner, place, step_flags
from analysis.waste_shared import NO_TURNS, Entries, Unplaced, joined, most_gpus, share_out, turns, unplaced
from data.queries import waste as queries
from data.queries.filters import Filters
from data.view import View
from models.stalls import Floats, Ints, Segments, Thresholds
from models.waste import IDLE, STALLED, WORKING, Classified, Measured, classify, edges

ROWS_AT_ONCE = 400_000
MOST_EDGES = 20_000
"""Minutes whose single samples are read; beyond, the ends of spells keep the precision of a minute."""
WARM_BYTES = 2 * 2**30
"""More memory in use than drivers and empty contexts take: a model is loaded."""
SLACK_S = 120.0
Key = tuple[Owner, date]


@dataclass(frozen=True)
class Evidence:
    """`gpus` have an owner at some time, `loose` ones never. `measured`: GPU-seconds by owner and UTC day.

    `spells`: a row a spell, owner and day: kind, owner, day, gpu_id, host, start_s, end_s, known_s, signal
    bits and mean measures, share of the GPU. `outside_s`: known seconds outside every window of their run or
    host. `bare_s`:
    busy seconds with GPU-Util alone and no step counter. `coarse`: ends of spells are whole minutes.
    """

    gpus: int
    loose: int
    measured: dict[Key, Measured]
    spells: list[Row]
    outside_s: float
    bare_s: float
    coarse: bool
    assumptions: tuple[Assumption, ...]
    unplaced: tuple[Unplaced, ...] = ()


def read_evidence(
    view: View,
    filters: Filters,
    span: tuple[datetime, datetime],
    limits: Thresholds,
    clocks: Clocks,
    scope: Scope = EVERYBODY,
) -> Evidence:
    """Classify every second of [start, end) that GPUs of `scope` were sampled in."""
    start, end = span
    every = [row for row in records(queries.gpus(view, filters, start, end)) if scope.has_sample(row)]
    gpus = sorted((g for g in every if clocks.windows(g)), key=lambda g: (_machine(g) or "", g["gpu_id"]))
    limits_w, assumptions = _power_limits(view, gpus)
    decoding = queries.decoding(view, filters)
    decodes = np.array([_decodes(gpu, decoding) for gpu in gpus], dtype=bool)
    owners: dict[Owner, int] = {}
    sums: dict[tuple[int, int], Floats] = {}
    spells: list[Row] = []
    open_s: list[Unplaced] = []
    totals = {"outside": 0.0, "bare": 0.0, "coarse": 0.0}
    for chunk in _chunks(gpus):
        ids = [str(gpus[i]["gpu_id"]) for i in chunk]
        frame = _means(queries.minutes(view, ids, start, end))
        part = _Part([gpus[i] for i in chunk], ids, decodes[chunk], limits_w[chunk], clocks, limits)
        fine = part.refined(view, part.columns(frame), totals)
        booked, told = part.entries(fine, owners, totals)
        open_s += told
        part.book(fine, booked, sums, spells, totals)
    named = {number: owner for owner, number in owners.items()}
    measured = {(named[o], _day(d)): Measured(*map(float, got)) for (o, d), got in sorted(sums.items())}
    for row in spells:
        row["owner"] = named[row["owner"]]
    return Evidence(
        len(gpus), len(every) - len(gpus), measured, spells, totals["outside"], totals["bare"],
        totals["coarse"] > 0, assumptions, tuple(open_s),
    )  # fmt: skip


def _means(frame: pd.DataFrame) -> pd.DataFrame:
    """Means of every measure beside its known seconds; NaN and 0 s where it was not recorded."""
    out = frame[["gpu", "start_s", "end_s", "known_s"]].copy()
    for name in queries.READ:
        there = f"k_{name}" in frame
        held = np.nan_to_num(frame[f"k_{name}"].to_numpy(np.float64)) if there else np.zeros(len(frame))
        out[f"k_{name}"], out[name] = held, NAN
        if there:
            out[name] = frame[f"w_{name}"].to_numpy(np.float64) / np.where(held > 0, held, NAN)
    return out


def _day(number: int) -> date:
    return date(1970, 1, 1) + timedelta(days=int(number))


def _chunks(gpus: list[Row]) -> Iterator[list[int]]:
    held: list[int] = []
    rows = 0
    for at, gpu in enumerate(gpus):
        beside = bool(held) and _machine(gpu) is not None and _machine(gpu) == _machine(gpus[held[-1]])
        if held and not beside and rows + gpu["minutes"] > ROWS_AT_ONCE:
            yield held
            held, rows = [], 0
        held.append(at)
        rows += gpu["minutes"]
    if held:
        yield held


def _machine(gpu: Row) -> str | None:
    """Host of a GPU of no named run, whose holders only the machine tells: its GPUs are judged together."""
    return None if text(gpu["run"]) else text(gpu["host"])


def _decodes(gpu: Row, decoding: dict[str, bool]) -> bool:
    """Whether memory traffic alone is work: in every role but training, and there in runs that time rollouts
    on the same GPUs; nobody logs at which second of a step a phase began.
    """
    role, run = text(gpu["role"]), text(gpu["run"])
    return role != "train" and (role != "colocated" or decoding.get(run or "", True))


def _power_limits(view: View, gpus: list[Row]) -> tuple[Floats, tuple[Assumption, ...]]:
    """Published limit of each GPU's platform in W, NaN without one: used where no limit was recorded."""
    out, told = np.full(len(gpus), NAN), {}
    for at, gpu in enumerate(gpus):
        platform = text(gpu["platform"])
        fact = view.catalogue.fact(platform, "gpu_tdp_w") if platform else None
        if platform and fact is not None and fact.number is not None:
            out[at] = fact.number
            name = f"power limit of {platform} where none was recorded"
            told[platform] = Assumption(name, fact.number, "W", fact.status, fact.source, fact.date)
    return out, tuple(told.values())


@dataclass(frozen=True)
class _Fine:
    """Segments with the columns that are no part of the judgement, and the verdict."""

    seg: Segments
    mem: Floats
    found: Classified


@dataclass(frozen=True)
class _Part:
    """Some whole GPUs, read and judged together."""

    gpus: list[Row]
    ids: list[str]
    decodes: np.ndarray
    limits_w: Floats
    clocks: Clocks
    limits: Thresholds

    def columns(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Measures as the judgement takes them: util (any counter of presence), power / limit, known_s of the
        counter that decides.
        """
        gpu = frame["gpu"].to_numpy(np.int64)
        number = {n: frame[n].to_numpy(np.float64) for n in queries.READ}
        util, mig = number["gpu_util"], np.array([bool(g["mig"]) for g in self.gpus])[gpu]
        # 0 of a slice of a partitioned GPU means "not measured"
        util = np.where(mig & (util == 0), NAN, util)
        for name in queries.PRESENCE[1:]:
            util = np.where(np.isnan(util), number[name], util)
        limit = np.where(np.isnan(number["power_limit_w"]), self.limits_w[gpu], number["power_limit_w"])
        out = pd.DataFrame({"gpu": gpu, "start_s": frame["start_s"], "end_s": frame["end_s"]})
        seen = frame["known_s"].to_numpy(np.float64)
        known = self._known(frame, seen)
        out = out.assign(known_s=known, util=util, sm=number["sm_active"])
        out = out.assign(tensor=number["tensor_active"], dram=number["dram_active"])
        return out.assign(power=number["power_w"] / limit, mem=number["mem_bytes"])

    @staticmethod
    def _known(frame: pd.DataFrame, seen: Floats) -> Floats:
        """Seconds of the first of SM activity, presence, tensor or memory activity that has any."""
        if f"k_{queries.READ[0]}" not in frame:
            return seen
        out = np.zeros(len(frame))
        for name in ("sm_active", *queries.PRESENCE, "tensor_active", "dram_active"):
            out = np.where(out > 0, out, frame[f"k_{name}"].to_numpy(np.float64))
        return np.minimum(out, seen)

    def segments(self, frame: pd.DataFrame) -> Segments:
        """What `classify` takes, with the step counter's word on the middle of every row."""
        gpu = frame["gpu"].to_numpy(np.int64)
        middle = (frame["start_s"].to_numpy(np.float64) + frame["end_s"].to_numpy(np.float64)) / 2
        frozen, moves = np.zeros(len(frame), dtype=bool), np.zeros(len(frame), dtype=bool)
        for at, (low, high) in enumerate(self.spans(gpu)):
            rows = slice(low, high)
            frozen[rows], moves[rows] = step_flags(
                self.clocks.windows(self.gpus[at]), middle[rows], self.clocks
            )
        names = ("start_s", "end_s", "known_s", "sm", "util", "tensor", "dram", "power")
        columns = {n: frame[n].to_numpy(np.float64) for n in names}
        return Segments(gpu=gpu, decodes=self.decodes[gpu], frozen=frozen, advancing=moves, **columns)

    def spans(self, gpu: np.ndarray) -> list[tuple[int, int]]:
        """First and last row (exclusive) of each GPU in rows sorted by GPU."""
        places = np.arange(len(self.gpus))
        ends = np.searchsorted(gpu, places, side="left"), np.searchsorted(gpu, places, side="right")
        return list(zip(ends[0].tolist(), ends[1].tolist(), strict=True))

    def refined(self, view: View, frame: pd.DataFrame, totals: dict[str, float]) -> _Fine:
        """The minutes judged; those at the ends of a spell are replaced by their samples and judged again."""
        slack = replace(
            self.limits,
            idle_s=max(0.0, self.limits.idle_s - SLACK_S),
            stall_s=max(0.0, self.limits.stall_s - SLACK_S),
        )
        seg = self.segments(frame)
        rows = np.flatnonzero(edges(seg, classify(seg, slack)) & (seg.known_s > 0))
        if len(rows) > MOST_EDGES:
            totals["coarse"] += 1
            rows = rows[:0]
        if len(rows):
            frame = self._with_samples(view, frame, rows)
            seg = self.segments(frame)
        return _Fine(seg, frame["mem"].to_numpy(np.float64), classify(seg, self.limits))

    def _with_samples(self, view: View, frame: pd.DataFrame, rows: np.ndarray) -> pd.DataFrame:
        minute = (frame["start_s"].to_numpy(np.float64)[rows] // 60).astype(np.int64)
        gpu = frame["gpu"].to_numpy(np.int64)[rows]
        wanted = [(self.ids[g], int(m)) for g, m in zip(gpu, minute, strict=True)]
        fine = queries.samples(view, self.ids, wanted)
        if fine.empty:
            return frame
        pieces = self.columns(fine)
        read = pd.MultiIndex.from_frame(fine[["gpu", "m"]])
        covered = pd.MultiIndex.from_arrays([frame["gpu"], (frame["start_s"] // 60).astype("int64")])
        joined = pd.concat([frame[~covered.isin(read)], pieces], ignore_index=True)
        return joined.sort_values(["gpu", "start_s"], kind="stable").reset_index(drop=True)

    def entries(
        self, fine: _Fine, owners: dict[Owner, int], totals: dict[str, float]
    ) -> tuple[Entries, list[Unplaced]]:
        """Rows booked to owners: whole GPUs of those who hold all of a machine, else what is certain."""
        seg, found, spans = fine.seg, fine.found, self.spans(fine.seg.gpu)
        owner, frac = np.full(len(seg), NOBODY, dtype=np.int64), np.zeros(len(seg))
        shared: list[Entries] = []
        told: list[Unplaced] = []
        together: dict[str, list[int]] = {}
        for at, gpu in enumerate(self.gpus):
            together.setdefault(_machine(gpu) or f"\n{at}", []).append(at)
        for host, places in together.items():
            windows, parts, gpus = self.clocks.windows(self.gpus[places[0]]), NO_TURNS, 0
            rows = np.concatenate([np.arange(*spans[at]) for at in places])
            if _machine(self.gpus[places[0]]) is not None:
                gpus = most_gpus(seg, rows)
                windows, parts = turns(windows, gpus)
            for at in places:
                mine = slice(*spans[at])
                owner[mine], frac[mine] = place(seg.start_s[mine], seg.end_s[mine], windows, owners)
            if parts and gpus:
                shared.append(share_out(seg, found, rows, gpus, parts, owners))
                told.append(unplaced(host, gpus, seg, rows, parts, shared[-1]))
        known = seg.known_s * frac
        totals["outside"] += float((seg.known_s - known)[found.state > 0].sum())
        row = np.flatnonzero(owner >= 0)
        own = Entries(row, owner[row], known[row], np.ones(len(row)), found.unproven[row])
        return joined([own, *shared]), told

    def book(
        self,
        fine: _Fine,
        booked: Entries,
        sums: dict[tuple[int, int], Floats],
        spells: list[Row],
        totals: dict[str, float],
    ) -> None:
        """Add the rows to the sums of their owners and days, and the spells to the list."""
        seg, found, row, known = fine.seg, fine.found, booked.row, booked.known_s
        bare = np.isnan(seg.tensor) & np.isnan(seg.dram) & np.isnan(seg.sm)
        totals["bare"] += float(known[booked.unsure & bare[row]].sum())
        day, state_of = (seg.start_s[row] // 86400).astype(np.int64), found.state[row]
        table = pd.DataFrame({"owner": booked.owner, "day": day})
        for name, state in (("idle", IDLE), ("stalled", STALLED), ("working", WORKING)):
            table[name] = np.where(state_of == state, known, 0.0)
        table["unproven"] = np.where(booked.unsure, known, 0.0)
        table["warm"] = np.where((state_of == IDLE) & (fine.mem[row] >= WARM_BYTES), known, 0.0)
        added = table.groupby(["owner", "day"]).sum().reset_index()
        for number, date_number, *got in added.itertuples(index=False):
            key = int(number), int(date_number)
            sums[key] = sums.get(key, np.zeros(5)) + np.array(got, dtype=np.float64)
        spells.extend(self._spells(fine, booked, day))

    def _spells(self, fine: _Fine, booked: Entries, day: Ints) -> list[Row]:
        seg, found = fine.seg, fine.found
        told = np.flatnonzero((found.spell[booked.row] >= 0) & (booked.known_s > 0))
        if not len(told):
            return []
        rows, known = booked.row[told], booked.known_s[told]
        table = pd.DataFrame({"spell": found.spell[rows], "owner": booked.owner[told], "day": day[told]})
        table = table.assign(gpu=seg.gpu[rows], share=booked.share[told])
        table["kind"] = np.where(found.state[rows] == STALLED, "stalled", "idle")
        table = table.assign(start_s=seg.start_s[rows], end_s=seg.end_s[rows], known_s=known)
        for bit in (1, 2, 4):
            table[f"signal_{bit}"] = np.where(found.signal[rows] & bit, known, 0.0)
        sources = {n: getattr(seg, n) for n in ("util", "sm", "tensor", "dram", "power")}
        for name, values in (sources | {"mem": fine.mem}).items():
            table[f"{name}_k"] = np.where(np.isnan(values[rows]), 0.0, known)
            table[name] = np.nan_to_num(values[rows]) * known
        by = ["spell", "owner", "day", "gpu", "kind"]
        how = {str(c): "sum" for c in table if c not in by} | {
            "start_s": "min",
            "end_s": "max",
            "share": "max",
        }
        out = table.groupby(by, sort=True).agg(how).reset_index()
        out["gpu_id"] = [self.ids[g] for g in out["gpu"]]
        out["host"] = [str(self.gpus[g]["host"]) for g in out["gpu"]]
        return records(out)


def stamp(seconds: float) -> datetime:
    """UTC naive time of seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
