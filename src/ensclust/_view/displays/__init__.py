"""Display classes for notebooks, as scikit-learn has them: data first, then a picture.

Each has ``from_...`` class methods that compute and draw, ``plot(ax=None)`` that draws
(again), the numbers that are drawn as attributes, and after drawing ``ax_`` and
``figure_``. Matplotlib is imported when something is drawn.
"""
