"""The configuration that a verl trainer prints at its start: a dict over many wrapped lines, or overrides."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from data.readers.base import Proposal

_ALGORITHMS = {"gae": "ppo", "grpo": "grpo", "grpo_passk": "grpo", "grpo_vectorized": "grpo"}
_WANTED = {
    "nnodes": (("trainer", "nnodes"), int),
    "gpus_per_node": (("trainer", "n_gpus_per_node"), int),
    "rollout_nnodes": (("rollout", "nnodes"), int),
    "rollout_gpus_per_node": (("rollout", "n_gpus_per_node"), int),
    "experiment": (("trainer", "experiment_name"), str),
    "project": (("trainer", "project_name"), str),
    "model_path": (("actor_rollout_ref", "model", "path"), str),
    "adv_estimator": (("algorithm", "adv_estimator"), str),
    "train_batch_size": (("data", "train_batch_size"), int),
    "rollout_n": (("actor_rollout_ref", "rollout", "n"), int),
}
_OVERRIDE = re.compile(r"(?<![\w.])\+{0,2}((?:\w+\.)+\w+)=('[^']*'|\"[^\"]*\"|[^\s'\"\\]+)")
_MAX_LINES = 4000


@dataclass
class Config:
    """What of the configuration matters here; a missing key is None."""

    nnodes: int | None = None
    gpus_per_node: int | None = None
    rollout_nnodes: int | None = None
    rollout_gpus_per_node: int | None = None
    experiment: str | None = None
    project: str | None = None
    model_path: str | None = None
    adv_estimator: str | None = None
    train_batch_size: int | None = None
    rollout_n: int | None = None

    @property
    def train_gpus(self) -> int | None:
        """Trainer nodes x GPUs a node."""
        return self.nnodes * self.gpus_per_node if self.nnodes and self.gpus_per_node else None

    @property
    def rollout_gpus(self) -> int | None:
        """GPUs of a separate rollout pool; None when rollouts share the trainer's GPUs."""
        both = self.rollout_nnodes and self.rollout_gpus_per_node
        return self.rollout_nnodes * self.rollout_gpus_per_node if both else None  # type: ignore[operator]

    @property
    def gpus(self) -> int | None:
        """All GPUs that the configuration names."""
        return None if self.train_gpus is None else self.train_gpus + (self.rollout_gpus or 0)

    @property
    def algorithm(self) -> str | None:
        """`runs.algorithm` from the advantage estimator."""
        return None if self.adv_estimator is None else _ALGORITHMS.get(self.adv_estimator, "other")

    @property
    def rollouts_per_step(self) -> int | None:
        """Prompts a step x samples a prompt."""
        both = self.train_batch_size and self.rollout_n
        return self.train_batch_size * self.rollout_n if both else None  # type: ignore[operator]


@dataclass
class ConfigCollector:
    """Feed it the cleaned lines before the first step; it keeps the dump of one process and any overrides."""

    lines: list[str] = field(default_factory=list)
    overrides: dict[str, str] = field(default_factory=dict)
    _owner: str = ""
    _depth: int = 0
    done: bool = False

    def feed(self, owner: str, text: str) -> None:
        """`owner`: the wrapper in front of the line, so that lines of other processes are left out."""
        if "=" in text and "." in text:
            for key, value in _OVERRIDE.findall(text):
                self.overrides.setdefault(key, value.strip("'\""))
        if self.done:
            return
        if not self.lines:
            if not (text.startswith("{'") and "': " in text):
                return
            self._owner = owner
        elif owner != self._owner:
            return
        self.lines.append(text)
        bare = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "", text)
        self._depth += sum(bare.count(c) for c in "{[(") - sum(bare.count(c) for c in "}])")
        if self._depth <= 0 and "trainer" not in "".join(self.lines[:2000]):
            self.lines.clear()
            self._depth = 0
        elif self._depth <= 0 or len(self.lines) > _MAX_LINES:
            self.done = True

    def config(self) -> Config:
        """The configuration; keys of a damaged dump are searched one by one."""
        tree = self._tree()
        found = {}
        for name, (path, kind) in _WANTED.items():
            value = _lookup(tree, path) if tree is not None else self._search(path)
            if value is None:
                value = next((v for k, v in self.overrides.items() if k == ".".join(path)), None)
            found[name] = _as(kind, value)
        return Config(**found)  # type: ignore[arg-type]

    def _tree(self) -> Mapping[str, object] | None:
        if not self.lines:
            return {}
        try:
            tree = ast.literal_eval(" ".join(self.lines))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
        return tree if isinstance(tree, dict) else None

    def _search(self, path: tuple[str, ...]) -> object:
        """Value of a key in a dump that cannot be parsed, if its name is unmistakable and all lines agree."""
        if path[0] not in ("trainer", "algorithm", "data"):
            return None
        hits = set(re.findall(rf"'{re.escape(path[-1])}': ('[^']*'|-?\d+)", " ".join(self.lines)))
        return hits.pop().strip("'") if len(hits) == 1 else None


def _lookup(tree: Mapping[str, object], path: tuple[str, ...]) -> object:
    node: object = tree
    for name in path:
        if not isinstance(node, Mapping):
            return None
        node = node.get(name)
    return node


def _as(kind: type, value: object) -> int | str | None:
    if value is None or isinstance(value, bool):
        return None
    if kind is str:
        return str(value) or None
    try:
        return int(str(value))
    except ValueError:
        return None


def config_proposals(run: str, config: Config) -> list[Proposal]:
    """Run details that the configuration states."""
    out = []
    if config.train_gpus is not None:
        how = f"configuration: trainer.nnodes {config.nnodes} x n_gpus_per_node {config.gpus_per_node}"
        if config.rollout_gpus is not None:
            out.append(Proposal(run, "gpus_train", config.train_gpus, how))
            how_rollout = (
                f"configuration: rollout.nnodes {config.rollout_nnodes} x "
                f"n_gpus_per_node {config.rollout_gpus_per_node}"
            )
            out.append(Proposal(run, "gpus_rollout", config.rollout_gpus, how_rollout))
        else:
            out.append(Proposal(run, "gpus", config.train_gpus, how))
    if config.algorithm is not None:
        how = f"configuration: algorithm.adv_estimator is {config.adv_estimator}"
        out.append(Proposal(run, "algorithm", config.algorithm, how))
    if config.project is not None:
        out.append(Proposal(run, "campaign", config.project, "configuration: trainer.project_name"))
    if config.rollouts_per_step is not None:
        how = (
            f"configuration: data.train_batch_size {config.train_batch_size} x "
            f"rollout.n {config.rollout_n}; not logged per step"
        )
        out.append(Proposal(run, "rollouts_per_step", config.rollouts_per_step, how))
    return out
