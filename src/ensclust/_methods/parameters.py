"""Parameters of estimators: each is written once, as a field with constraints."""

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, dataclass_transform

from ensclust._support.documentation import document


def parameter(*constraints: Any, default: Any, kw_only: bool = True) -> Any:
    """Return the field of a parameter: its default, and scikit-learn's constraints.

    Examples
    --------
    >>> from numbers import Integral
    >>> from ensclust._support.constraints import Interval
    >>> steps = parameter(Interval(Integral, 1, None, closed="left"), default=20)
    """
    metadata = {"constraints": list(constraints)} if constraints else {}
    return field(default=default, kw_only=kw_only, metadata=metadata)


@dataclass_transform(
    eq_default=False, kw_only_default=True, field_specifiers=(parameter,)
)
class Parameters:
    """Makes the fields of a class the parameters of its constructor.

    A class that defines its own constructor keeps it, as scikit-learn's estimators do.
    Shared wording fills docstrings, see ``document``.
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" not in vars(cls):
            dataclass(eq=False, repr=False, kw_only=True)(cls)
            cls._parameter_constraints = {
                own.name: own.metadata["constraints"]
                for own in fields(cls)  # type: ignore[arg-type]
                if own.metadata
            }
        if cls.__doc__:
            document(cls, list(getattr(cls, "__dataclass_fields__", ())))
