"""Measurements at sizes that published codes do not reach, and of the way there."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.table import Bar, Measurement, Side, consensus, labelled

STAGES_GROWTH = 11  # most times that counts and votes may take for ten times the rows
SCATTER = 1.02  # most that clusters may be wider than a rival's
DISTANCE = "mean squared distance to centres"
LINKAGE_GROWTH = 30  # most times that linkage of five times the objects may take


def large(sizes: dict) -> list[Measurement]:
    """Return the measurements of many objects, many clusterings and first use."""
    return [*many_objects(sizes), many_clusterings(sizes), *many_leaves(sizes),
            *generating(sizes), first_use(sizes), *peers(sizes)]  # fmt: skip


def many_objects(sizes: dict) -> list[Measurement]:
    """ECPCS-MC from a matrix of bytes; what depends on N alone beside the whole."""
    found: list[Measurement] = []
    for n in sizes["crowds"]:
        labels = labelled("bytes", **sizes["base"], n=n)
        label_mb = sizes["base"]["m"] * n / 1e6
        reach = 1.3 * label_mb + 300
        note = f"1.3x the labels that come in, {label_mb:g} MB, + 300 MB"
        bars = [Bar("ecpcs-mc", reach, "under", None, "peak_mb", "MB", note)]
        if found:
            against = f"{found[-1].name}:counts and votes"
            bars.append(Bar("counts and votes", STAGES_GROWTH, "share", against))
        found.append(
            Measurement(
                f"crowd-{n}",
                f"ECPCS-MC from bytes, N = {n:,}, M = {sizes['base']['m']}",
                (
                    Side("counts and votes", "counts and votes", labels),
                    Side(
                        "ecpcs-mc",
                        "consensus",
                        consensus("ecpcs-mc", labels, sizes["k"]),
                    ),
                ),
                tuple(bars),
            )
        )
    return found


def many_clusterings(sizes: dict) -> Measurement:
    base = {**sizes["base"], "m": sizes["wide_m"]}
    labels = labelled("nearest", **base, n=sizes["objects"])
    return Measurement(
        "wide",
        f"ECPCS-MC from labels, N = {sizes['objects']:,}, M = {sizes['wide_m']}",
        (Side("ensclust", "consensus", consensus("ecpcs-mc", labels, sizes["k"])),),
    )


def many_leaves(sizes: dict) -> list[Measurement]:
    """Exact linkage in label space, at two sizes."""
    found: list[Measurement] = []
    for n in sizes["linked"]:
        labels = labelled("kmeans", **sizes["base"], n=n)
        sides, bars = [], []
        for method in ("ecpcs-hc", "eac"):
            options = {**consensus(method, labels, sizes["k"]), "max_memory": 1}
            sides.append(Side(method, "consensus", options))
            if found:
                against = f"{found[-1].name}:{method}"
                bars.append(Bar(method, LINKAGE_GROWTH, "share", against))
                bars.append(Bar(method, 1000, "under", None, "peak_mb", "MB"))
        title = f"in label space, N = {n:,}, M = {sizes['base']['m']}"
        found.append(Measurement(f"leaves-{n}", title, tuple(sides), tuple(bars)))
    return found


def generating(sizes: dict) -> list[Measurement]:
    """Make base clusterings beside the loops that a skilled user would write."""
    n, base = sizes["many"], sizes["base"]
    x_mb, label_mb = n * 16 * 4 / 1e6, n * base["m"] / 1e6
    reach = 1.5 * x_mb + label_mb
    note = f"1.5x X in float32, {x_mb:g} MB, and labels, {label_mb:g} MB"
    rival, plain = "scikit-learn loop", "default threads"
    found = [
        made(sizes["objects"], base, "KMeans", {rival: rival, plain: "plain loop"})
    ]
    for kind in ("KMeans", "MiniBatchKMeans"):
        one = made(n, base, kind, {rival: rival})
        frugal = Bar("ensclust", reach, "under", None, "work_mb", "MB", note)
        found.append(replace(one, bars=(*one.bars, frugal)))
    return found


def made(n: int, base: dict, kind: str, rivals: dict[str, str]) -> Measurement:
    """Return one way to make base clusterings beside others, by name and work."""
    options = {"n": n, **base, "kind": kind}
    sides = {"ensclust": "generate", **rivals}
    return Measurement(
        f"generate-{kind}-{n}",
        f"generate, {kind}, N = {n:,}, d = 16, M = {base['m']}",
        tuple(Side(name, work, options) for name, work in sides.items()),
        tuple(
            bar
            for name in rivals
            for bar in (
                Bar("ensclust", 1, "share", name),
                Bar("ensclust", SCATTER, "share", name, "digest", DISTANCE),
            )
        ),
    )


def first_use(sizes: dict) -> Measurement:
    command = {"rows": sizes["few"]}
    return Measurement(
        "first-use",
        f"ensclust cluster, {sizes['few']:,} rows of CSV",
        (
            Side("first", "command", {**command, "is_compiled": False}),
            Side("second", "command", {**command, "is_compiled": True}),
        ),
        (Bar("first", 20, "under"), Bar("second", 2.5, "under")),
    )


def peers(sizes: dict) -> list[Measurement]:
    """Compare with what else people use for a co-association and its linkage."""
    n, k, base = sizes["peers"], sizes["k"], sizes["base"]
    labels = labelled("kmeans", **{**base, "hi": max(base["lo"], int(n**0.5))}, n=n)
    resampled = {"n": n, "m": base["m"], "k": k}
    others = ("consensusclustering", "pyckmeans", "kemlglearn")
    return [
        Measurement(
            "eac",
            f"EAC from labels, N = {n:,}",
            (
                Side("ensclust", "consensus", consensus("eac", labels, k)),
                Side("AgglomerativeClustering", "agglomerative", {**labels, "k": k}),
            ),
            (Bar("ensclust", 1, against="AgglomerativeClustering"),),
        ),
        Measurement(
            "resampling",
            f"consensus of {base['m']} k-means runs on 80 % of the objects "
            f"(kemlglearn: on all), N = {n:,}, k = {k}",
            (
                Side("ensclust", "resampling", resampled),
                *(Side(other, other, resampled) for other in others),
            ),
            tuple(Bar("ensclust", 1, against=other) for other in others),
        ),
    ]
