"""Ensembles and scores on disk, so that finished work is never repeated."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ensclust import Ensemble, datasets
from ensclust._files.archives import read_arrays
from ensclust._support.digests import digest
from ensclust._support.json_files import read_json, write_json
from ensclust._support.validation import explaining
from ensclust._support.whole_files import write
from ensclust.paper._clusterings import cluster
from ensclust.paper._protocol import (
    BLOCK,
    Protocol,
    default_steps,
    few_k,
    sweep,
    true_k,
)


@dataclass(frozen=True)
class Key:
    """What one file of scores is about."""

    dataset: str
    run: int
    n_clusterings: int
    method: str
    steps: int | None  # only for methods that propagate
    part: str  # which numbers of clusters: "all", "true", "rest" or "few"

    @property
    def path(self) -> Path:
        """Return the path of the file; remove a method's directory to redo it."""
        steps = "" if self.steps is None else f"-t{self.steps}"
        return Path(
            self.method,
            self.dataset,
            f"m{self.n_clusterings}{steps}/run-{self.run:02d}-{self.part}.json",
        )

    @property
    def is_usual(self) -> bool:
        """Whether the step length is that of the comparison."""
        return self.steps == default_steps(self.method)

    @property
    def clusters(self) -> tuple[int, ...]:
        """Return the numbers of clusters for which the file has scores."""
        k = true_k(self.dataset)
        rest = tuple(other for other in sweep(self.dataset) if other != k)
        return {
            "all": sweep(self.dataset),
            "true": (k,),
            "rest": rest,
            "few": few_k(self.dataset),
        }[self.part]


@dataclass(frozen=True)
class Store:
    """A directory of results and, in ``work``, of intermediate files."""

    root: Path
    protocol: Protocol
    data_home: str | None = None

    def open(self) -> None:
        """Create the directory, or check that it belongs to the same protocol."""
        try:
            self.work.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"{self.root} cannot be written: {error.strerror}. Use another --out."
            raise type(error)(msg) from error
        write(self.work / ".gitignore", "*\n")
        path, rules = self.work / "protocol.json", self.protocol.as_dict()
        if (kept := read_json(path, rules)) != rules:
            msg = (
                f"{self.root} holds results of another protocol, {kept}. Use another "
                "--out, or the same --seed, --init and --standardize."
            )
            raise ValueError(msg)
        write_json(path, rules, indent=1)

    @property
    def work(self) -> Path:
        """Return the directory of intermediate files."""
        return self.root / "work"

    def settle(self, dataset: str) -> None:
        """Record the identity of a dataset, or check that it has not changed."""
        path = self.work / "data" / f"{dataset}.json"
        made = next((self.work / "ensembles" / dataset).glob("run-*.npz"), None)
        has_scores = any((self.work / "scores").glob(f"*/{dataset}"))
        if (kept := read_json(path)) and (made or has_scores):
            self._check_same(
                kept["data"],
                dataset,
                f"results in {self.root} (from {kept['origin']})",
            )
            return
        if made:
            self._read_block(made, dataset)
        origin = datasets.load(dataset, data_home=self.data_home).origin
        if Path(origin).name == f"{dataset}.npz":
            origin = "files in --data-home"
        write_json(
            path, {"data": fingerprint(self, dataset), "origin": origin}, sort_keys=True
        )

    def origins(self) -> dict[str, str]:
        """Return where the data of each dataset came from."""
        paths = sorted((self.work / "data").glob("*.json"))
        return {path.stem: read_json(path)["origin"] for path in paths}

    def has(self, key: Key) -> bool:
        """Whether these scores exist."""
        return (self.work / "scores" / key.path).exists()

    def put(self, key: Key, facts: dict[str, Any]) -> None:
        """Store scores."""
        write_json(
            self.work / "scores" / key.path, {**vars(key), **facts}, sort_keys=True
        )

    def scores(self) -> Iterator[dict[str, Any]]:
        """Return all scores, in the order of their paths."""
        return map(read_json, sorted((self.work / "scores").rglob("run-*.json")))

    def ensemble(self, dataset: str, run: int, n_clusterings: int) -> Ensemble:
        """Return the base clusterings of a run, from disk or newly generated.

        They are generated in blocks of ten, so larger ensembles contain smaller ones.
        """
        n_blocks = -(-n_clusterings // BLOCK)
        labels = [self._block(dataset, run, block) for block in range(n_blocks)]
        return Ensemble(np.hstack(labels)[:, :n_clusterings])

    def _block(self, dataset: str, run: int, block: int) -> np.ndarray:
        path = self.work / "ensembles" / dataset / f"run-{run:02d}-{block}.npz"
        if path.exists():
            return self._read_block(path, dataset)
        X, y = features(self, dataset)
        made = cluster(
            X,
            int(y.max()) + 1,
            BLOCK,
            rules=self.protocol,
            seed=self.protocol.ensemble_seed(dataset, run, block),
        )
        labels = made.labels.astype(np.uint8)  # at most 100 clusters each
        file = io.BytesIO()
        np.savez_compressed(file, labels=labels, data=fingerprint(self, dataset))
        write(path, file.getvalue())
        return labels

    def _read_block(self, path: Path, dataset: str) -> np.ndarray:
        with explaining(
            f"{path} is damaged",
            ValueError,
            advice=" Delete it; it will be generated again.",
        ):
            arrays = read_arrays(path, ("data", "labels"))
        self._check_same(str(arrays["data"]), dataset, str(path))
        return arrays["labels"]

    def _check_same(self, kept: str, dataset: str, what: str) -> None:
        if kept != fingerprint(self, dataset):
            msg = (
                f"{what} came from other data called {dataset}: another source may "
                "order its rows differently. Use the same --data-home or ENSCLUST_DATA "
                "as before (none if there was none), or another --out."
            )
            raise ValueError(msg)


@lru_cache(maxsize=2)
def features(store: Store, dataset: str) -> tuple[np.ndarray, np.ndarray]:
    """Return objects and classes as used by the experiments."""
    data = datasets.load(dataset, data_home=store.data_home)
    if dataset not in store.protocol.standardized:
        return data.X, data.y
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    return StandardScaler().fit_transform(data.X), data.y


@lru_cache(maxsize=2)
def fingerprint(store: Store, dataset: str) -> str:
    """Return a checksum of a dataset that depends on the order of its rows."""
    data = datasets.load(dataset, data_home=store.data_home)
    return digest(data.X, data.y)
