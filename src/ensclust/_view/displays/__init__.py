"""Display classes for notebooks, like those of scikit-learn.

Each has ``from_...`` class methods that compute and draw, a method ``plot(ax=None)``
that draws (again), the numbers drawn as attributes, and after drawing ``ax_`` and
``figure_``. Matplotlib is imported when something is drawn.
"""
