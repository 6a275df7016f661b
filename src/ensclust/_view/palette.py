"""The colours of clusters: the same for a number in every display and in the report."""

# Rows of ten. Colour-blind readers tell the first apart too: six hues of Okabe and Ito,
# then what is farthest from all before, as they see it. All are seen on white and on
# the dark page of a report.
PALETTE = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9"),
    *("#d55e00", "#882200", "#224488", "#aacc99", "#885566"),
    *("#005500", "#8877ff", "#eeaaff", "#880077", "#77bb00"),
    *("#aa44bb", "#887700", "#cc3366", "#6633bb", "#ff9999"),
    *("#006666", "#665511", "#227700", "#00dd88", "#dd77ee"),
    *("#7766bb", "#aa99ee", "#ff6666", "#2288ee", "#bb2200"),
)
NEUTRAL = "#8a94a0"  # of what has no cluster
LINE, MARK = PALETTE[0], PALETTE[5]  # a curve, and what is pointed out on it


def colour(cluster: int) -> str:
    """Return the colour of a cluster; after 30 they repeat, a negative one has none."""
    return NEUTRAL if cluster < 0 else PALETTE[cluster % len(PALETTE)]
