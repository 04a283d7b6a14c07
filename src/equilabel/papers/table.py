"""The table of methods: one row for each, with its paper and what it supports."""

from functools import partial

from equilabel.domains.contract import Method, Option

from .outside import Methods

HAWICK = (
    "K. A. Hawick, A. Leist, D. P. Playne, Parallel graph component labelling with GPUs and CUDA, "
    "Parallel Comput. 36 (2010) 655-678, doi:10.1016/j.parco.2010.07.002"
)
KALENTEV = (
    "O. Kalentev, A. Rai, S. Kemnitz, R. Schneider, Connected component labeling on a 2D grid "
    "using CUDA, J. Parallel Distrib. Comput. 71 (2011) 615-620, doi:10.1016/j.jpdc.2010.10.012"
)
WEIGEL = (
    "M. Weigel, Connected-component identification and cluster update on graphics processing "
    "units, Phys. Rev. E 84 (2011) 036709, doi:10.1103/PhysRevE.84.036709"
)
TILES: dict[str, Option] = {
    "tile": Option(
        int,
        16,
        "Edge of the tiles, in elements. A tile has at most 4096.",
        limits={0: (2, 64), 1: (2, 64), 2: (2, 64), 3: (2, 16)},
    ),
    "local": Option(
        str,
        "self_labeling",
        "How tiles are labeled.",
        choices=("self_labeling", "union_find", "breadth_first"),
    ),
}
# What the methods of one paper have in common.
kalentev = partial(Method, paper=KALENTEV, passes="papers.kalentev2011.{}")
hawick = partial(Method, paper=HAWICK, passes="papers.hawick2010.{}")
weigel = partial(
    Method,
    paper=WEIGEL,
    passes="papers.weigel2011.{}",
    domains=("grid", "bonds"),
    ranks=(0, 1, 2, 3),
    options=TILES,
)
METHODS = Methods(
    (
        Method(
            name="runs",
            summary="Unite maximal runs of equal pixels, 64 at a time, then write each label once.",
            paper="",
            recipe="runs.recipe:recipe",
            passes="runs.{}.passes",
            answer="runs",
            domains=("grid", "bonds"),
        ),
        kalentev(
            name="kalentev",
            summary="Lower every label to the lowest nearby and shorten the chains, until stable.",
            recipe="papers.kalentev2011.recipes:label_equivalence",
            aliases=("label_equivalence",),
            accumulates=True,
        ),
        Method(
            name="komura",
            summary="Point at the lowest neighbor, then unite with the others: no iteration.",
            paper=(
                "Y. Komura, A generalized GPU-based connected component labeling algorithm, "
                "arXiv:1603.08357 (2016), pp. 1-17, doi:10.48550/arXiv.1603.08357"
            ),
            recipe="papers.komura2016.recipe:recipe",
            passes="papers.komura2016.{}",
            aliases=("generalized",),
            domains=("grid", "bonds", "graph"),
        ),
        kalentev(
            name="kalentev_rowcol",
            summary="Unify rows, then columns, by reduction in shared memory, until stable.",
            recipe="papers.kalentev2011.recipes:row_column",
            propagates=True,
            options={
                "segment": Option(
                    int,
                    1024,
                    "Elements of a line that a block of threads unifies at once.",
                    choices=(64, 128, 256, 512, 1024),
                )
            },
        ),
        hawick(
            name="hawick_a",
            summary="Take the lowest label among the neighbors, until stable (Kernel A).",
            recipe="papers.hawick2010.recipes:kernel_a",
            propagates=True,
        ),
        hawick(
            name="hawick_b",
            summary="Take the lowest label nearby and propagate it in tiles (Kernel B).",
            recipe="papers.hawick2010.recipes:kernel_b",
            propagates=True,
            options={
                "tile_size": Option(
                    int,
                    256,
                    "Elements of a tile, which a block of threads labels in shared memory.",
                    choices=(64, 128, 256, 512, 1024),
                )
            },
        ),
        hawick(
            name="hawick_c",
            summary="Carry the lowest label along every line, forth and back (Kernel C).",
            recipe="papers.hawick2010.recipes:kernel_c",
            propagates=True,
        ),
        hawick(
            name="hawick_d",
            summary="Refer each label to the lowest one it touches, resolve, relabel (Kernel D).",
            recipe="papers.hawick2010.recipes:kernel_d",
        ),
        hawick(
            name="hawick_1",
            summary="Compare the colors at both ends of every edge, until none changes.",
            recipe="papers.hawick2010.recipes:kernel_1",
            propagates=True,
            domains=("graph",),
        ),
        hawick(
            name="hawick_2",
            summary="Compare vertices that changed with their neighbors, until none changes.",
            recipe="papers.hawick2010.recipes:kernel_2",
            propagates=True,
            domains=("graph",),
        ),
        hawick(
            name="hawick_3",
            summary="Search breadth-first through one component after the other.",
            recipe="papers.hawick2010.recipes:kernel_3",
            propagates=True,
            domains=("graph",),
        ),
        Method(
            name="union_find",
            summary=(
                "Unite two edges of every vertex, then all others outside the largest component."
            ),
            paper=(
                "After J. Jaiganesh, M. Burtscher, A high-performance connected components "
                "implementation for GPUs, HPDC '18 (2018) 92-104, doi:10.1145/3208040.3208041; "
                "M. Sutton, T. Ben-Nun, A. Barak, Optimizing parallel graph connectivity "
                "computation via subgraph sampling, IPDPS (2018) 12-21, "
                "doi:10.1109/IPDPS.2018.00012"
            ),
            recipe="runs.graphs:recipe",
            passes="runs.{}.graphs",
            domains=("graph",),
        ),
        weigel(
            name="weigel_sewing",
            summary="Label tiles by themselves, then sew pairs of them together, level by level.",
            recipe="papers.weigel2011.recipes:sewing",
        ),
        weigel(
            name="weigel_relaxation",
            summary="Label tiles by themselves, then exchange labels across borders, until stable.",
            recipe="papers.weigel2011.recipes:relaxation",
        ),
        Method(
            name="apostolakis",
            summary="Carry labels along connections at distances 1, 2, 4, ..., until stable.",
            paper=(
                "J. Apostolakis, P. Coddington, E. Marinari, A multi-grid cluster labeling scheme, "
                "Europhys. Lett. 17 (1992) 189-194, doi:10.1209/0295-5075/17/3/001"
            ),
            recipe="papers.apostolakis1992.recipe:recipe",
            passes="papers.apostolakis1992.{}",
            domains=("grid", "bonds"),
            ranks=(0, 1, 2, 3),
        ),
    )
)
