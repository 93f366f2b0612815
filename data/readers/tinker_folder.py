"""Run folder of the Tinker cookbook: `metrics.jsonl` with the `config.json` that names the model."""

import json
from pathlib import Path

from data.arrival.bundle import Members, open_bundle
from data.arrival.kinds import HEAD_BYTES
from data.arrival.names import run_name_of
from data.errors import UnreadableFileError
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.tinker_console import named_llm
from data.readers.tinker_metrics import SIGNS, TinkerRlReader, TinkerSftReader

METRICS, CONFIG = "metrics.jsonl", "config.json"
_MODEL_KEYS = ("model_name", "model", "base_model")


class TinkerFolderReader:
    """Metrics and configuration of one run on Tinker."""

    format = "tinker_folder"
    title = "Tinker run folder (metrics.jsonl and config.json)"
    kinds = ("folder",)

    def sniff(self, source: Source) -> Sniff:
        """Tinker's keys in metrics.jsonl, and a config.json beside it."""
        members = open_bundle(source)
        if not {METRICS, CONFIG} <= set(members.names):
            return Sniff(0.0, f"no folder with {METRICS} and {CONFIG}")
        head = members.read_text(METRICS, HEAD_BYTES)
        found = [sign for sign in SIGNS if f'"{sign}"' in head]
        if len(found) >= 2:
            return Sniff(0.96, f"a folder with {CONFIG} and Tinker's {found[0]}")
        return Sniff(0.0, f"{METRICS} has no keys of Tinker")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read the metrics as if alone, and propose the model; raises UnreadableFileError without a step."""
        members = open_bundle(source)
        if METRICS not in members.names:
            raise UnreadableFileError(f"No {METRICS} in this folder", source.name, "Load the run folder.")
        metrics = members.source(METRICS, scratch)
        rl, sft = TinkerRlReader(), TinkerSftReader()
        reader = rl if rl.sniff(metrics).confidence >= sft.sniff(metrics).confidence else sft
        run = choices.run or run_name_of(source.name)
        batch = reader.read(metrics, choices, scratch, progress, run)
        model, warning = _model(members)
        batch.proposals += named_llm(run, model, f"{CONFIG} names the model ")
        batch.warnings += [warning] if warning else []
        batch.format = self.format
        batch.facts["format"] = self.format
        return batch


def _model(members: Members) -> tuple[str | None, str]:
    """The model that config.json names at its top level, and what was wrong with the file."""
    if CONFIG not in members.names:
        return None, ""
    try:
        value = json.loads(members.read_text(CONFIG))
    except (ValueError, RecursionError):
        return None, f"{CONFIG} is damaged and was left out."
    found = (value.get(key) for key in _MODEL_KEYS) if isinstance(value, dict) else iter(())
    return next((text for text in found if isinstance(text, str) and text), None), ""


READERS = (TinkerFolderReader(),)
