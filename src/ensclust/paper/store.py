"""What is done stays done: ensembles and scores on disk, each file written at once."""

from __future__ import annotations

import hashlib
import io
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ensclust import datasets
from ensclust._ensemble.ensemble import Ensemble
from ensclust._files.archives import read_arrays
from ensclust._generate.generation import EnsembleGenerator
from ensclust.paper.protocol import BLOCK, Protocol, base_k

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Key:
    """What one file of scores is about."""

    dataset: str
    run: int
    n_clusterings: int
    method: str
    steps: int | None  # only of methods that propagate
    part: str  # which numbers of clusters: "all", "true" or "rest"

    @property
    def path(self) -> Path:
        """Return the place of the file; remove a method's directory to redo it."""
        setting = f"m{self.n_clusterings}"
        if self.steps is not None:
            setting += f"-t{self.steps}"
        name = f"run-{self.run:02d}-{self.part}.json"
        return Path(self.method, self.dataset, setting, name)


@dataclass(frozen=True)
class Store:
    """A directory of results and, below ``work``, of what they are made from."""

    root: Path
    protocol: Protocol
    data_home: str | None = None

    def open(self) -> None:
        """Create the directory, or check that it belongs to the same protocol."""
        try:
            write(self.work / ".gitignore", "*\n")
        except OSError as error:
            msg = (
                f"{self.root} cannot be written: {error.strerror}. Give another --out."
            )
            raise type(error)(msg) from error
        path = self.work / "protocol.json"
        text = json.dumps(self.protocol.as_dict(), indent=1) + "\n"
        if path.exists() and path.read_text() != text:
            msg = (
                f"{self.root} holds results of another protocol, "
                f"{json.loads(path.read_text())}. Give another --out, or the same "
                "--seed, --init and --standardize."
            )
            raise ValueError(msg)
        write(path, text)

    @property
    def work(self) -> Path:
        """Return the directory of intermediate files."""
        return self.root / "work"

    def settle(self, dataset: str) -> None:
        """Keep which data a dataset is, or check that what was begun is of the same."""
        path = self.work / "data" / f"{dataset}.json"
        data = fingerprint(dataset, self.data_home)
        made = next((self.work / "ensembles" / dataset).glob("run-*.npz"), None)
        has_scores = any((self.work / "scores").glob(f"*/{dataset}"))
        if path.exists() and (made or has_scores):
            kept = json.loads(path.read_text())
            what = f"results in {self.root} (from {kept['origin']})"
            _check_same(kept["data"], data, dataset, what)
            return
        if made:
            self._read_block(made, dataset)
        origin = datasets.load(dataset, data_home=self.data_home).origin
        if Path(origin).name == f"{dataset}.npz":
            origin = "files in --data-home"
        write_json(path, {"data": data, "origin": origin})

    def origins(self) -> dict[str, str]:
        """Return where the data of each dataset came from."""
        paths = sorted((self.work / "data").glob("*.json"))
        return {p.stem: json.loads(p.read_text())["origin"] for p in paths}

    def has(self, key: Key) -> bool:
        """Whether these scores are there."""
        return (self.work / "scores" / key.path).exists()

    def has_scores(self) -> bool:
        """Whether any scores are there."""
        return next(iter((self.work / "scores").rglob("run-*.json")), None) is not None

    def put(self, key: Key, facts: dict[str, Any]) -> None:
        """Keep scores."""
        write_json(self.work / "scores" / key.path, {**vars(key), **facts})

    def scores(self) -> Iterator[dict[str, Any]]:
        """Return all scores, in the order of their paths."""
        for path in sorted((self.work / "scores").rglob("run-*.json")):
            yield json.loads(path.read_text())

    def ensemble(self, dataset: str, run: int, n_clusterings: int) -> Ensemble:
        """Return the base clusterings of a run, from disk or made now.

        They come in blocks of ten, so a larger ensemble contains the smaller ones.
        """
        n_blocks = -(-n_clusterings // BLOCK)
        labels = [self._block(dataset, run, block) for block in range(n_blocks)]
        return Ensemble(np.hstack(labels)[:, :n_clusterings])

    def _block(self, dataset: str, run: int, block: int) -> np.ndarray:
        path = self.work / "ensembles" / dataset / f"run-{run:02d}-{block}.npz"
        if path.exists():
            return self._read_block(path, dataset)
        is_standardized = dataset in self.protocol.standardized
        X, y = features(dataset, self.data_home, is_standardized)
        seed = self.protocol.ensemble_seed(dataset, run, block)
        made = cluster(X, int(y.max()) + 1, BLOCK, rules=self.protocol, seed=seed)
        labels = made.labels.astype(np.uint8)  # at most 100 clusters each
        file = io.BytesIO()
        data = fingerprint(dataset, self.data_home)
        np.savez_compressed(file, labels=labels, data=data)
        write(path, file.getvalue())
        return labels

    def _read_block(self, path: Path, dataset: str) -> np.ndarray:
        try:
            arrays = read_arrays(path, ("data", "labels"))
        except ValueError as error:
            msg = f"{path} is damaged: {error} Delete it; it will be made anew."
            raise ValueError(msg) from error
        data = fingerprint(dataset, self.data_home)
        _check_same(str(arrays["data"]), data, dataset, str(path))
        return arrays["labels"]


@lru_cache(maxsize=2)
def features(
    dataset: str,
    data_home: str | None,
    standardized: bool,  # noqa: FBT001  a cache key
) -> tuple[np.ndarray, np.ndarray]:
    """Return objects and classes as the experiments use them."""
    data = datasets.load(dataset, data_home=data_home)
    if not standardized:
        return data.X, data.y
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    return StandardScaler().fit_transform(data.X), data.y


@lru_cache(maxsize=2)
def fingerprint(dataset: str, data_home: str | None) -> str:
    """Return a checksum of a dataset with its rows in order, to know it again."""
    digest = hashlib.sha256()
    data = datasets.load(dataset, data_home=data_home)
    for array in (data.X, data.y):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _check_same(kept: str, data: str, dataset: str, what: str) -> None:
    if kept != data:
        msg = (
            f"{what} came from other data called {dataset}: another source may have "
            "its rows in another order. Give the --data-home or ENSCLUST_DATA that was "
            "given before, none if there was none, or another --out."
        )
        raise ValueError(msg)


def cluster(
    X: np.ndarray, n_classes: int, n_clusterings: int, *, rules: Protocol, seed: int
) -> Ensemble:
    """Return base clusterings as the protocol makes them."""
    init = {"k-means++": _one_candidate, "greedy-k-means++": "k-means++"}
    generator = EnsembleGenerator(
        n_clusterings,
        base_k=base_k(len(X), n_classes),
        init=init.get(rules.init, rules.init),
        max_iter=rules.max_iter,
        random_state=seed,
        n_jobs=1,
    )
    return generator.fit(X).ensemble_


def _one_candidate(X, n_clusters, random_state):
    """Return starts by k-means++ without scikit-learn's choice among candidates."""
    from sklearn.cluster import kmeans_plusplus  # noqa: PLC0415

    return kmeans_plusplus(X, n_clusters, random_state=random_state, n_local_trials=1)[
        0
    ]


def write(path: Path, content: str | bytes) -> None:
    """Write a file at once: it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    partial.write_bytes(content.encode() if isinstance(content, str) else content)
    partial.replace(path)


def write_json(path: Path, value: Any) -> None:
    """Write JSON at once."""
    write(path, json.dumps(value, sort_keys=True) + "\n")


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")
