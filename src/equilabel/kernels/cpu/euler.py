"""Passes from planes of bits to planes of configurations, whose bits add up to Euler numbers.

The Euler number of an object with full connectivity is that of the union of its closed pixels:
vertices - edges + pixels in 2D, vertices - edges + faces - voxels in 3D. Each of these cells is
counted where a pixel is the first of its label, in raster order, to touch it. With face
connectivity it is that of the graph of pixels with its cells filled: pixels - pairs + squares -
cubes, each counted at its last pixel. Both sums are reduced here so that inside an object almost
no bit is left; touching objects come out as if alone, since only equal labels are neighbors.

A letter stands for the bits of a step: ``w`` left, ``n`` above, ``u`` the plane before.
"""

from .caching import njit

FULL_2D = 3  # planes that `euler_full` fills, of which the first counts +1, the others -1
FACE_2D = 2
FULL_3D = 5  # the first two +1, the others -1
FACE_3D = 4


@njit(nogil=True, cache=True)
def euler_full_2d(planes, first, last, to):
    """Set the bits that count for connectivity through corners.

    Parameters
    ----------
    planes : (rows, words, >= to + 3) array of uint64
        The first five as of `neighbor_bits.compare` with all steps.
    first, last : int
        Rows of the planes.
    to : int
        Planes from here on are overwritten.
    """
    for row in range(first, last):
        for word in range(planes.shape[1]):
            nw = planes[row, word, 1]
            n = planes[row, word, 2]
            ne = planes[row, word, 3]
            w = planes[row, word, 4]
            planes[row, word, to] = planes[row, word, 0] & ~w
            planes[row, word, to + 1] = ne & ~n
            planes[row, word, to + 2] = (nw | n) & ~w


@njit(nogil=True, cache=True)
def euler_face_2d(planes, first, last, to):
    """Set the bits that count for connectivity through faces; parameters as `euler_full_2d`."""
    for row in range(first, last):
        for word in range(planes.shape[1]):
            n = planes[row, word, 2]
            w = planes[row, word, 4]
            planes[row, word, to] = planes[row, word, 0] & ~w
            planes[row, word, to + 1] = n & ~(w & planes[row, word, 1])


@njit(nogil=True, cache=True)
def euler_full_3d(planes, first, last, to):
    """Set the bits that count for connectivity through corners; parameters as `euler_full_2d`.

    Summed over the eight windows of 2 x 2 x 2 voxels, the twelve of 2 x 2 and the six of 2 around
    a voxel, most first touches cancel; five words are left.
    """
    for row in range(first, last):
        for word in range(planes.shape[1]):
            some = planes[row, word, 0]
            if some == 0:
                for k in range(FULL_3D):
                    planes[row, word, to + k] = some
                continue
            unw = planes[row, word, 1]
            un = planes[row, word, 2]
            une = planes[row, word, 3]
            uw = planes[row, word, 4]
            u = planes[row, word, 5]
            ue = planes[row, word, 6]
            usw = planes[row, word, 7]
            us = planes[row, word, 8]
            use = planes[row, word, 9]
            nw = planes[row, word, 10]
            n = planes[row, word, 11]
            ne = planes[row, word, 12]
            w = planes[row, word, 13]
            planes[row, word, to] = some & ~(unw | un | uw | u | nw | n | w)
            planes[row, word, to + 1] = ue & ~u
            planes[row, word, to + 2] = (ue | use) & ~(u | us)
            planes[row, word, to + 3] = (us | usw) & ~(w | uw | u)
            planes[row, word, to + 4] = (ne | ue | une) & ~(n | un | u)


@njit(nogil=True, cache=True)
def euler_face_3d(planes, first, last, to):
    """Set the bits that count for connectivity through faces; parameters as `euler_full_2d`."""
    for row in range(first, last):
        for word in range(planes.shape[1]):
            some = planes[row, word, 0]
            if some == 0:
                for k in range(FACE_3D):
                    planes[row, word, to + k] = some
                continue
            uw = planes[row, word, 4]
            u = planes[row, word, 5]
            n = planes[row, word, 11]
            w = planes[row, word, 13]
            north = w & planes[row, word, 10]
            planes[row, word, to] = some & ~w
            planes[row, word, to + 1] = (
                n & u & planes[row, word, 2] & ~(north & uw & planes[row, word, 1])
            )
            planes[row, word, to + 2] = n & ~north
            planes[row, word, to + 3] = u & ~(w & uw)
