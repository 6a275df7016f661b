"""Models that version 0.1 pickled: a sentence in place of a missing module."""

import sys

# Modules of 0.1 whose classes its pickles name, and that are elsewhere now or gone.
_MOVED = frozenset(
    {
        "agreement",
        "base",
        "certainty",
        "coassociation",
        "comparison",
        "dendrogram",
        "ensemble",
        "generation",
        "label_streams",
        "selection",
        "tally",
        "_base_clusterers",
        "_methods.best",
    }
)


class OldModules:
    """A finder that is asked last: it finds nothing, but says why."""

    def find_spec(self, name: str, path=None, target=None) -> None:
        """Raise for a module that pickles of 0.1 ask for."""
        package, _, module = name.partition(".")
        if package == "ensclust" and module in _MOVED:
            msg = (
                f"No module named {name!r}. If a model was being loaded: it was "
                "pickled by ensclust 0.1, which this version does not read. Fit it "
                "again, or load it with ensclust 0.1."
            )
            raise ModuleNotFoundError(msg, name=name)


def refuse_old_pickles() -> None:
    """Let models that 0.1 pickled fail with a sentence."""
    if not any(isinstance(finder, OldModules) for finder in sys.meta_path):
        sys.meta_path.append(OldModules())
