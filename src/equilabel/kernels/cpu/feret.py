"""The pass that finds the greatest distance between the outlines of pixels."""

from .caching import njit


@njit(nogil=True, cache=True)
def add_diameters(corners, starts, span, spacing, squares):
    """Find the squared greatest distance of two middles of faces of the corners of some labels.

    Two middles are as far apart as their pixels and a step along one axis, or as these and half a
    step along two.

    Parameters
    ----------
    corners : (C, 3) array of int64
        Pixels (z, y, x), label by label.
    starts : (L + 1,) array of int64
        Where the corners of each label begin.
    span : (int, int)
        The first label and the one after the last.
    spacing : (3,) array of float64
        Distance of pixels along each axis; along an axis of 0, pixels have no extent.
    squares : (L,) array of float64
        Overwritten.
    """
    sz, sy, sx = spacing[0], spacing[1], spacing[2]
    for label in range(span[0], span[1]):
        best = 0.0
        for one in range(starts[label], starts[label + 1]):
            for other in range(one, starts[label + 1]):
                z = sz * abs(corners[one, 0] - corners[other, 0])
                y = sy * abs(corners[one, 1] - corners[other, 1])
                x = sx * abs(corners[one, 2] - corners[other, 2])
                along_z = (z + sz) * (z + sz) + y * y + x * x
                along_y = z * z + (y + sy) * (y + sy) + x * x
                along_x = z * z + y * y + (x + sx) * (x + sx)
                z_half, y_half, x_half = z + 0.5 * sz, y + 0.5 * sy, x + 0.5 * sx
                not_z = z * z + y_half * y_half + x_half * x_half
                not_y = z_half * z_half + y * y + x_half * x_half
                not_x = z_half * z_half + y_half * y_half + x * x
                best = max(best, along_z, along_y, along_x, not_z, not_y, not_x)
        squares[label] = best
