"""Explain why models pickled by version 0.1 cannot be loaded."""

import sys

# Modules that pickles of 0.1 refer to and that have been moved or removed.
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
    """A last-resort finder: it finds nothing, but explains why."""

    def find_spec(self, name: str, path=None, target=None) -> None:
        """Raise for a module that pickles of 0.1 refer to."""
        package, _, module = name.partition(".")
        if package == "ensclust" and module in _MOVED:
            msg = (
                f"No module named {name!r}. If you are loading a model, it was "
                "pickled by ensclust 0.1, which this version cannot read. Fit it "
                "again, or load it with ensclust 0.1."
            )
            raise ModuleNotFoundError(msg, name=name)


def refuse_old_pickles() -> None:
    """Make models pickled by 0.1 fail with an explanation."""
    if not any(isinstance(finder, OldModules) for finder in sys.meta_path):
        sys.meta_path.append(OldModules())
