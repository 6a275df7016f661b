"""The table of measurements: sizes, sides, and targets."""

from __future__ import annotations

from dataclasses import dataclass, field

SIZES = {
    "full": {
        "without": (),  # prefixes of names
        "k": 26,
        "base": {"m": 20, "lo": 26, "hi": 100},  # base clusterings and their clusters
        "graph": {"n": 3_000, "m": 20, "lo": 60, "hi": 60},  # Nc = 1200
        "objects": 20_000,
        "many": 1_000_000,
        "few": 2_000,
        "sweep_n": (10_000, 100_000, 1_000_000),
        "sweep_f": (2_500, 5_000, 10_000),
        "sweep_m": (5, 10, 20, 40),
        "sweep_t": (2, 8, 32, 128),
        "crowds": (1_000_000, 10_000_000),
        "linked": (20_000, 100_000),
        # N, d, how much faster than scikit-learn's loop, how much wider at most
        "generated": (
            (20_000, 16, 4, 1.005),
            (20_000, 50, 2.5, 1.005),
            (5_000, 784, 2, 1.005),
            (100_000, 16, 15, 1.01),
            (100_000, 50, 8, 1.01),
            (1_000_000, 16, 25, 1.01),
        ),
        "assigned": 100_000,
        "mapped": 20_000_000,
        "wide_m": 100,
        "peers": 5_000,
    },
    "quick": {
        "without": (
            *("against", "propagate-64", "srs-wine", "kmeans", "assign"),
            *("wide", "leaves", "resampling"),
        ),
        "k": 26,
        "base": {"m": 20, "lo": 26, "hi": 54},
        "graph": {"n": 2_000, "m": 20, "lo": 25, "hi": 25},
        "objects": 3_000,
        "many": 20_000,
        "few": 500,
        "sweep_n": (),
        "sweep_f": (),
        "sweep_m": (),
        "sweep_t": (),
        "crowds": (50_000, 500_000),
        "linked": (1_000, 5_000),
        "generated": ((3_000, 16, 3, 1.01), (20_000, 16, 4, 1.005)),
        "assigned": 20_000,
        "mapped": 200_000,
        "wide_m": 40,
        "peers": 1_000,
    },
    "tiny": {
        "without": (),
        "k": 3,
        "base": {"m": 4, "lo": 3, "hi": 9},
        "graph": {"n": 200, "m": 4, "lo": 4, "hi": 4},
        "objects": 200,
        "many": 300,
        "few": 100,
        "sweep_n": (100, 200),
        "sweep_f": (50,),
        "sweep_m": (3, 4),
        "sweep_t": (2, 4),
        "crowds": (300, 3_000),
        "linked": (100, 200),
        "generated": ((200, 4, 0, 2), (300, 16, 0, 2)),
        "assigned": 300,
        "mapped": 1_000,
        "wide_m": 6,
        "peers": 100,
    },
}

PRODUCT, FASTCLUSTER = "product 1250", "fastcluster linkage"  # the yardsticks

CUTS = ("usenc", "lwgp", "lce-bg", "ecpcs-bg", "gp-mgla")
VOTES = ("voting", "cvote", "kmodes", "em")
GRAPHS = ("lwmc", "communities")
# Methods linear in N, and their targets in seconds and megabytes at 20,000.
LINEAR = ("ecpcs-mc", "mcla", "kcc", "ecc", "sec", *CUTS, *GRAPHS, *VOTES)
_MANY = 20_000
GROWTH = 60  # most that the time at 1e6 may be, as a multiple of that at 20,000
ROWS_GROWTH = 55  # the same for methods that were added later
METHOD_REACH = {
    "eac": (15, 2000),
    "wct": (15, 2000),
    "srs": (15, 2000),
    "ecpcs-hc": (15, 2000),
    "kcc": (10, None),
    "ecc": (10, None),
    "sec": (10, None),
    "mcla": (4, None),
    "ptgp": (600, 4000),
    "voting": (3, None),
    "cvote": (3, None),
    "kmodes": (3, None),
    "em": (15, None),  # ten starts
}
# Methods with a limit relative to the time of another one.
BESIDE = dict.fromkeys((*CUTS, *GRAPHS), ("ecpcs-mc", 1.5))
BESIDE |= {"lwea": ("eac", 1.2), "weac": ("eac", 1.2)}
MANY_SECONDS = 8  # for 1e6 objects, if only base clusters are partitioned
MANY_MEGABYTES = 400  # beyond the labels


@dataclass(frozen=True)
class Side:
    """One work with its parameters; ``x`` is its position in a plot."""

    name: str
    work: str
    params: dict = field(default_factory=dict)
    series: str | None = None
    x: float | None = None


@dataclass(frozen=True)
class Bar:
    """A target.

    ``kind`` is "faster" (theirs / ours at least ``limit``), "share" (ours / theirs at
    most ``limit``) or "under" (ours at most ``limit``, in ``unit``). ``quantity`` is a
    field of a result: "seconds", "peak_mb" (above the warmed-up process, the call's own
    input counted), "work_mb" (above that input) or "digest", which ``unit`` then names.
    """

    side: str
    limit: float
    kind: str = "faster"
    against: str | None = None  # a side, or "measurement:side"
    quantity: str = "seconds"
    unit: str = "s"
    note: str = ""


@dataclass(frozen=True)
class Measurement:
    """Sides that run in turn, and the bars over them.

    ``same`` names the sides whose results must be equal; ``axis`` is what ``x`` of the
    sides means in a plot.
    """

    name: str
    title: str
    sides: tuple[Side, ...]
    bars: tuple[Bar, ...] = ()
    same: tuple[str, ...] = ()
    axis: str | None = None

    def __str__(self) -> str:
        return self.name

    def side(self, name: str) -> Side:
        """Return a side by its name."""
        return next(side for side in self.sides if side.name == name)


def measurements(size: str = "full") -> list[Measurement]:
    """Return the table at a size of SIZES."""
    from benchmarks.large import large  # circular

    sizes = SIZES[size]
    whole = [*engines(sizes), *end_to_end(sizes), *methods(sizes), *sweeps(sizes)]
    whole += large(sizes)
    return [m for m in whole if not m.name.startswith(sizes["without"])]


def engines(sizes: dict) -> list[Measurement]:
    base, objects, many = sizes["base"], sizes["objects"], sizes["many"]
    graph = labelled("nearest", **sizes["graph"])
    n_base_clusters = sizes["graph"]["m"] * sizes["graph"]["hi"]
    rows = labelled("distinct", **base, n=objects)
    crowd = labelled("nearest", **base, n=many)
    label_mb = base["m"] * many / 1e6
    return [
        *(
            Measurement(
                f"propagate-{steps}",
                f"propagate, Nc = {n_base_clusters:,}, t = {steps}",
                (
                    Side("ensclust", "propagate", {**graph, "steps": steps}),
                    Side("literal loop", "literal loop", {**graph, "steps": steps}),
                ),
                (Bar("ensclust", limit, against="literal loop"),),
                same=("ensclust", "literal loop"),
            )
            for steps, limit in ((20, 2.5), (64, 7))
        ),
        Measurement(
            "intersections",
            f"overlaps of base clusters, N = {many:,}, M = {base['m']}",
            (
                Side("ensclust", "intersections", crowd),
                Side("scipy.sparse H^T H", "sparse H^T H", crowd),
            ),
            (
                Bar("ensclust", 40, against="scipy.sparse H^T H"),
                Bar(
                    "ensclust",
                    1.5 * label_mb,
                    "under",
                    quantity="work_mb",
                    unit="MB",
                    note=f"1.5x the label matrix of {label_mb:g} MB",
                ),
            ),
            same=("ensclust", "scipy.sparse H^T H"),
        ),
        Measurement(
            "linkage",
            f"average linkage of {objects:,} objects that all differ in their labels",
            (
                Side("ensclust", "link", rows),
                Side("label space", "link", {**rows, "max_memory": 1}),
                Side("SciPy linkage", "scipy linkage", rows),
            ),
            (
                Bar("ensclust", 5, against="SciPy linkage"),
                Bar("ensclust", 0.5, "share", "SciPy linkage", "peak_mb", "MB"),
                Bar("label space", 1, against="SciPy linkage"),
                Bar("label space", 300, "under", quantity="peak_mb", unit="MB"),
            ),
            same=("ensclust", "label space", "SciPy linkage"),
        ),
    ]


def end_to_end(sizes: dict) -> list[Measurement]:
    k, base = sizes["k"], sizes["base"]
    objects = labelled("kmeans", **base, n=sizes["objects"])
    size = f"N = {sizes['objects']:,}, M = {base['m']}"
    ks = list(range(2, 2 * k))
    return [
        Measurement(
            "ecpcs-hc",
            f"ECPCS-HC from labels, {size}",
            (
                Side("ensclust", "consensus", consensus("ecpcs-hc", objects, k)),
                Side("fastcluster linkage alone", "fastcluster linkage", objects),
            ),
            (Bar("ensclust", 1.9, against="fastcluster linkage alone"),),
        ),
        Measurement(
            "ecpcs-mc",
            f"ECPCS-MC from labels, {size}, k = {k}",
            (
                Side("ensclust", "consensus", consensus("ecpcs-mc", objects, k)),
                Side("literal NumPy", "literal ecpcs-mc", {**objects, "k": k}),
            ),
            (Bar("ensclust", 6, against="literal NumPy"),),
        ),
        Measurement(
            "sweep",
            f"ECPCS-MC from labels, {size}, {len(ks)} numbers of clusters",
            (Side("ensclust", "consensus", consensus("ecpcs-mc", objects, ks)),),
        ),
        Measurement(
            "ptgp",
            f"PTGP from labels, {size}, k = {k}",
            (Side("ensclust", "consensus", consensus("ptgp", objects, k)),),
        ),
        Measurement(
            "import",
            "from ensclust import ECPCSMC",
            (
                importing("ensclust", "from ensclust import ECPCSMC"),
                importing("import sklearn.cluster", "import sklearn.cluster"),
            ),
            (
                Bar("ensclust", 1.3, "share", "import sklearn.cluster"),
                Bar(
                    "ensclust",
                    0,
                    "under",
                    quantity="digest",
                    unit="times",
                    note="numba imported",
                ),
            ),
        ),
    ]


def methods(sizes: dict) -> list[Measurement]:
    """All methods of METHODS from one label matrix, at three sizes, and SRS on Wine."""
    from ensclust._methods import METHODS

    k, base = sizes["k"], sizes["base"]
    few, objects, many = sizes["few"], sizes["objects"], sizes["many"]
    linear = [method for method in METHODS if method in LINEAR]
    fewer = {**base, "hi": max(base["lo"], min(base["hi"], int(few**0.5)))}
    bars = tuple(bar for method in METHODS for bar in method_bars(method))
    growth = tuple(bar for method in linear for bar in growth_bars(method))
    return [
        family("methods-few", labelled("kmeans", **fewer, n=few), METHODS, k),
        family("methods", labelled("kmeans", **base, n=objects), METHODS, k, bars),
        family("methods-many", labelled("kmeans", **base, n=many), linear, k, growth),
        Measurement(
            "srs-wine",
            "SRS on Wine, 178 objects, M = 20",
            (Side("srs", "consensus", consensus("srs", labelled("wine"), 3)),),
            (Bar("srs", 0.1, "under"),),
        ),
    ]


def family(name, labels, names, k, bars=()) -> Measurement:
    """Methods by name at one size, with a product and fastcluster's linkage."""
    n = labels["spec"]["n"]
    yardsticks = [Side(PRODUCT, "product", {"size": 1250})]
    if n <= _MANY:  # few enough objects for a matrix of pairs
        yardsticks.append(Side(FASTCLUSTER, "fastcluster linkage", labels))
    sides = [
        Side(method, "consensus", consensus(method, labels, k), method, n)
        for method in names
    ]
    title = f"from labels, N = {n:,}, M = {labels['spec']['m']}, k = {k}"
    return Measurement(name, title, (*yardsticks, *sides), bars, axis="N")


def method_bars(method: str) -> list[Bar]:
    seconds, megabytes = METHOD_REACH.get(method, (None, None))
    bars = [] if seconds is None else [Bar(method, seconds, "under")]
    if megabytes is not None:
        bars.append(Bar(method, megabytes, "under", quantity="peak_mb", unit="MB"))
    if method in BESIDE:
        other, limit = BESIDE[method]
        bars.append(Bar(method, limit, "share", other))
    return bars


def growth_bars(method: str) -> list[Bar]:
    most = ROWS_GROWTH if method in VOTES else GROWTH
    bars = [Bar(method, most, "share", f"methods:{method}")]
    if method in (*CUTS, *GRAPHS):
        bars = [Bar(method, MANY_SECONDS, "under")]
    if method in (*CUTS, *GRAPHS, *VOTES):
        memory = {"quantity": "work_mb", "unit": "MB"}
        bars.append(Bar(method, MANY_MEGABYTES, "under", **memory))
    return bars


def sweeps(sizes: dict) -> list[Measurement]:
    """One method against N, M and t, for plots."""
    return [
        Measurement("against-n", "against N", tuple(against_n(sizes)), axis="objects"),
        Measurement("against-m", "against M", tuple(against_m(sizes)), axis="M"),
        Measurement("against-t", "against t", tuple(against_t(sizes)), axis="t"),
    ]


def against_n(sizes: dict):
    k, base = sizes["k"], sizes["base"]
    for n in sizes["sweep_n"]:
        mc = consensus("ecpcs-mc", labelled("nearest", **base, n=n), k)
        yield Side(f"ecpcs-mc N={n}", "consensus", mc, "ecpcs-mc", n)
    for n in sizes["sweep_f"]:
        rows = labelled("distinct", **base, n=n)
        hc = consensus("ecpcs-hc", rows, k)
        yield Side(f"ecpcs-hc N={n}", "consensus", hc, "ecpcs-hc", n)
        for rival in ("scipy linkage", "fastcluster linkage"):
            yield Side(f"{rival} N={n}", rival, rows, rival, n)


def against_m(sizes: dict):
    k = sizes["k"]
    for m in sizes["sweep_m"]:
        labels = labelled("nearest", **{**sizes["base"], "m": m}, n=sizes["objects"])
        mc, literal = consensus("ecpcs-mc", labels, k), {**labels, "k": k}
        yield Side(f"ecpcs-mc M={m}", "consensus", mc, "ecpcs-mc", m)
        yield Side(f"literal M={m}", "literal ecpcs-mc", literal, "literal NumPy", m)


def against_t(sizes: dict):
    graph = labelled("nearest", **sizes["graph"])
    for t in sizes["sweep_t"]:
        for work in ("propagate", "literal loop"):
            yield Side(f"{work} t={t}", work, {**graph, "steps": t}, work, t)


def labelled(kind: str, **spec) -> dict:
    """Return the parameters that select a label matrix."""
    return {"kind": kind, "spec": spec}


def consensus(method: str, labels: dict, k: int | list[int]) -> dict:
    return {**labels, "method": method, "n_clusters": k}


def importing(name: str, statement: str) -> Side:
    return Side(name, "import", {"statement": statement})
