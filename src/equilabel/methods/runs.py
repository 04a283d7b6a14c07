"""Runs (this project): unite maximal stretches of equal pixels, and write each label once."""


def recipe(passes, image, background, block, edges, room, visit=None):
    """Label an image through the table of its runs.

    `pack` turns pixels into bits and bits into runs; `unite` joins runs that touch; `number`
    counts their components in raster order of the first pixel; `paint` writes the labels.

    Parameters
    ----------
    passes : module
        The passes of one device.
    image : array of bool or int, 1 to 6 axes, any strides
        Not empty.
    background : scalar or None
        Of the image's type; None if no pixel is background.
    block, edges
        From `equilabel.neighborhood.blocks` and, for images of one and of many values,
        `block_edges`.
    room : callable
        From the number of components to a flat array for the labels, and whether it holds zeros.
    visit : callable, optional
        Is shown the table when its runs have their labels, and tells whether that was all: then
        no label is painted.

    Returns
    -------
    int
        Number of components.
    """
    table = passes.pack(image, background, block)
    passes.unite(table, edges[table.many])
    components = passes.number(table)
    if visit is None or not visit(table):
        passes.paint(table, *room(components))
    return components
