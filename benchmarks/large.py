"""Measurements at sizes that published codes do not reach, and of the way there."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.table import Bar, Measurement, Side, consensus, labelled

STAGES_GROWTH = 11  # most times that counts and votes may take for ten times the rows
GEMM = "matrix product alone"
DISTANCE = "mean squared distance to centres"
LOOKING = 10  # seconds that looking at a result may take
WITHIN = 2_800  # megabytes: the matrix of max_memory, 2,147, and the rest
LINKAGE_GROWTH = 30  # most times that linkage of five times the objects may take


def large(sizes: dict) -> list[Measurement]:
    """Return the measurements of many objects, many clusterings and first use."""
    return [
        *many_objects(sizes),
        many_clusterings(sizes),
        *many_leaves(sizes),
        looking_at(sizes),
        *generating(sizes),
        first_use(sizes),
        second_use(sizes),
        *peers(sizes),
    ]


def many_objects(sizes: dict) -> list[Measurement]:
    """ECPCS-MC from a matrix of bytes: the part that depends on N, and the whole."""
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
        (Bar("ensclust", 1000, "under", quantity="peak_mb", unit="MB"),),
    )


def many_leaves(sizes: dict) -> list[Measurement]:
    """Exact linkage at two sizes: in label space alone, and within max_memory."""
    found: list[Measurement] = []
    for n in sizes["linked"]:
        labels = labelled("kmeans", **sizes["base"], n=n)
        sides, bars = [], []
        for method in ("ecpcs-hc", "eac"):
            options = {**consensus(method, labels, sizes["k"]), "max_memory": 1}
            sides.append(Side(method, "consensus", options))
            if found:
                for side in (method, f"{method}, matrix"):
                    against = f"{found[-1].name}:{side}"
                    bars.append(Bar(side, LINKAGE_GROWTH, "share", against))
                bars.append(Bar(method, 1000, "under", None, "peak_mb", "MB"))
            within = {**consensus(method, labels, sizes["k"])}
            sides.append(Side(f"{method}, matrix", "consensus", within))
            bars.append(
                Bar(f"{method}, matrix", WITHIN, "under", None, "peak_mb", "MB")
            )
        title = f"exact trees, N = {n:,}, M = {sizes['base']['m']}"
        found.append(Measurement(f"leaves-{n}", title, tuple(sides), tuple(bars)))
    return found


def looking_at(sizes: dict) -> Measurement:
    """Ask of a fitted model what its users look at, for many objects."""
    labels = labelled("kmeans", **sizes["base"], n=sizes["many"])
    fitted = {**labels, "k": sizes["k"]}
    sides = [Side(w, w, fitted) for w in ("certainty", "memberships", "report")]
    sides.append(Side("select_k", "select_k", labels))
    return Measurement(
        "looking",
        f"looking at a result, N = {sizes['many']:,}, M = {sizes['base']['m']}",
        tuple(sides),
        tuple(Bar(side.name, LOOKING, "under") for side in sides),
    )


def generating(sizes: dict) -> list[Measurement]:
    """Generate base clusterings, compared with loops by a skilled user."""
    loop, mini = "scikit-learn loop", "MiniBatchKMeans loop"
    found = []
    for n, d, faster, wider in sizes["generated"]:
        rivals = {loop: (loop, {"kind": "KMeans"})}
        if n == sizes["many"]:
            rivals[mini] = (loop, {"kind": "MiniBatchKMeans"})
        one = made(n, d, sizes["base"], rivals)
        bars = [
            Bar("ensclust", faster, against=loop),
            Bar("ensclust", wider, "share", loop, "digest", DISTANCE),
        ]
        if n == sizes["many"]:
            bars += [
                Bar("ensclust", 1, against=mini),
                Bar("ensclust", 1, "share", mini, "digest", DISTANCE),
            ]
            x_mb, label_mb = n * d * 4 / 1e6, n * sizes["base"]["m"] / 1e6
            note = f"X in float32, {x_mb:g} MB, labels, {label_mb:g} MB, and 250 MB"
            reach = x_mb + label_mb + 250
            bars.append(Bar("ensclust", reach, "under", None, "peak_mb", "MB", note))
        found.append(replace(one, bars=tuple(bars)))
    n = sizes["objects"]
    found.append(other_kmeans(n, sizes["base"]))
    return [*found, *spectral(sizes), *fitting(sizes), *assigning(sizes)]


def made(n: int, d: int, base: dict, rivals: dict) -> Measurement:
    """Return a comparison of ways to generate base clusterings, by name and work."""
    options = {"n": n, "d": d, **base}
    return Measurement(
        f"generate-{n}-{d}",
        f"generate, N = {n:,}, d = {d}, M = {base['m']}",
        (
            Side("ensclust", "generate", options),
            *(
                Side(name, work, {**options, **more})
                for name, (work, more) in rivals.items()
            ),
        ),
    )


def other_kmeans(n: int, base: dict) -> Measurement:
    """Return the k-means of other libraries, with defaults and with more effort."""
    names = {
        "faiss": ("faiss", {}),
        "faiss, all objects, 100 iterations": ("faiss", {"most": n, "niter": 100}),
        "scikit-learn-intelex": ("intelex", {}),
        "fastkmeans": ("fastkmeans", {}),
    }
    one = made(n, 16, base, names)
    bars = [
        bar
        for name in names
        for bar in (
            Bar("ensclust", 1, against=name),
            Bar("ensclust", 1, "share", name, "digest", DISTANCE),
        )
    ]
    size = f"N = {n:,}, d = 16, M = {base['m']}"
    title = f"generate beside other k-means packages (a separate measurement), {size}"
    return replace(one, name=f"kmeans-{n}", title=title, bars=tuple(bars))


def spectral(sizes: dict) -> list[Measurement]:
    """Generate spectral base clusterings, against a k-means loop and at scale."""
    loop, m = "scikit-learn loop", sizes["base"]["m"]
    found = []
    for n in (sizes["objects"], sizes["many"]):
        options = {"n": n, "d": 16, **sizes["base"]}
        sides = [Side("ensclust", "generate", {**options, "base": "spectral"})]
        bars = [Bar("ensclust", 1, against=loop)]
        if n == sizes["many"]:
            x_mb, label_mb = n * 16 * 4 / 1e6, n * m / 1e6
            note = f"X in float32, {x_mb:g} MB, labels, {label_mb:g} MB, and 300 MB"
            reach = x_mb + label_mb + 300
            bars = [
                Bar("ensclust", 25, "under"),
                Bar("ensclust", reach, "under", None, "peak_mb", "MB", note),
            ]
        else:
            sides.append(Side(loop, loop, {**options, "kind": "KMeans"}))
        title = f"spectral base clusterings, N = {n:,}, d = 16, M = {m}"
        found.append(Measurement(f"spectral-{n}", title, tuple(sides), tuple(bars)))
    return found


def fitting(sizes: dict) -> list[Measurement]:
    """Return fits from features to labels, to compare with another checkout."""
    return [
        Measurement(
            f"fit-{n}",
            f"ECPCSMC({sizes['k']}).fit(X), N = {n:,}, d = 16",
            (Side("ensclust", "fit", {"n": n, "k": sizes["k"]}),),
        )
        for n in (sizes["objects"], sizes["many"])
    ]


def assigning(sizes: dict) -> list[Measurement]:
    """Return passes of k-means, compared with the matrix products that they need."""
    base, found = sizes["base"], []
    for d in (8, 16, 32):
        options = {"n": sizes["assigned"], "d": d, **base}
        sides = Side("ensclust", "assign", options), Side(GEMM, "products", options)
        bars = (Bar("ensclust", 1.4, "share", GEMM),)
        title = f"one assignment, N = {sizes['assigned']:,}, d = {d}, M = {base['m']}"
        found.append(Measurement(f"assign-{d}", title, sides, bars))
    options = {"n": sizes["mapped"], **base}
    sides = (
        Side("ensclust", "block pass", options),
        Side(GEMM, "mapped products", options),
    )
    bars = (
        Bar("ensclust", 3, "share", GEMM),
        Bar("ensclust", 1500, "under", None, "peak_mb", "MB"),
    )
    title = f"one pass over a memory map in blocks, N = {sizes['mapped']:,}, d = 16"
    return [*found, Measurement("assign-mapped", title, sides, bars)]


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


def second_use(sizes: dict) -> Measurement:
    """Labels are combined without scikit-learn, so in less time than its import."""
    command = {"rows": sizes["few"], "is_compiled": True, "name": "consensus"}
    rival = "import sklearn.cluster"
    return Measurement(
        "second-use",
        f"ensclust consensus, second use, {sizes['few']:,} rows of CSV",
        (
            Side("ensclust", "command", command),
            Side(rival, "program", {"statement": rival}),
        ),
        (Bar("ensclust", 1, against=rival),),
    )


def peers(sizes: dict) -> list[Measurement]:
    """Compare with other packages for co-association and its linkage."""
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
            f"{base['m']} k-means runs, each on a random 80% of the objects, and the "
            f"consensus of the runs, N = {n:,}, k = {k}",
            (
                Side("ensclust", "resampling", resampled),
                *(Side(other, other, resampled) for other in others),
            ),
            tuple(
                Bar(
                    "ensclust",
                    1,
                    against=other,
                    note="but kemlglearn clusters all objects"
                    * (other == "kemlglearn"),
                )
                for other in others
            ),
        ),
    ]
