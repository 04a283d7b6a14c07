"""Direct connected-component labelling (Playne and Hawick 2018) as a method of equilabel.

This module is loaded to list methods, so it imports nothing but the row. Recipe and passes are
loaded when an image is labeled.
"""

from equilabel.domains.contract import Method

METHOD = Method(
    name="playne",
    summary="Point at the lowest neighbor, then unite only what is not connected anyway.",
    paper=(
        "D. P. Playne, K. Hawick, A new algorithm for parallel connected-component labelling on "
        "GPUs, IEEE Trans. Parallel Distrib. Syst. 29 (2018) 1217-1230"
    ),
    domains=("grid",),
    ranks=(0, 1, 2, 3, 4),  # the earlier neighbors of an element are bits of 64
    package="equilabel_playne",
    recipe="recipe:recipe",
    passes="{}",
)
