"""Links from estimators to their pages of the documentation site."""

from functools import cache


@cache
def documentation_url() -> str:
    """Return the address of the site that the installed package names, else ""."""
    from importlib.metadata import PackageNotFoundError, metadata  # noqa: PLC0415

    try:
        urls = metadata("ensclust").get_all("Project-URL") or []
    except PackageNotFoundError:  # a source tree that is not installed
        return ""
    named = dict(url.split(", ", 1) for url in urls)
    return named.get("Documentation", "").rstrip("/")


class LinkedToSite:
    """Mixin for estimators whose HTML representation links to the reference.

    Comes before BaseEstimator, which would link to scikit-learn's site.
    """

    _doc_link_module = "ensclust"

    @property
    def _doc_link_template(self) -> str:
        page = "reference/generated/{estimator_module}.{estimator_name}.html"
        return f"{documentation_url()}/{page}"

    def _get_doc_link(self) -> str:
        return super()._get_doc_link() if documentation_url() else ""  # type: ignore[misc]
