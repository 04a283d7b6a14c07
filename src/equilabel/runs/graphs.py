"""Union-find on graphs: all edges of few, or two of every vertex and then what they did not join.

After J. Jaiganesh, M. Burtscher, A high-performance connected components implementation for GPUs,
HPDC '18 (2018) 92-104, doi:10.1145/3208040.3208041 (ECL-CC), and M. Sutton, T. Ben-Nun, A. Barak,
Optimizing parallel graph connectivity computation via subgraph sampling, IPDPS (2018) 12-21,
doi:10.1109/IPDPS.2018.00012 (Afforest).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from equilabel.domains.contract import Domain, Roots

if TYPE_CHECKING:
    from equilabel.array_types import Array


FEW = 4  # neighbors of a vertex on average, up to which all edges are looked at


class Passes(Protocol):
    """The passes of a device; `parents` is an array of that device."""

    def initialize(self, domain: Domain) -> Array:
        """Point every vertex at a smaller neighbor among its first ones, or at itself."""
        ...

    def compress(self, parents: Array) -> None:
        """Point every vertex at its root."""
        ...

    def unite_all(self, domain: Domain, parents: Array) -> None:
        """Unite every vertex with its smaller neighbors."""
        ...

    def unite_first(self, domain: Domain, parents: Array) -> None:
        """Unite every vertex with its first neighbors."""
        ...

    def find_largest(self, parents: Array) -> Any:
        """Return the root that half of a sample of vertices have; -1 in its type if none."""
        ...

    def unite_rest(self, domain: Domain, parents: Array, largest: Any) -> None:
        """Unite vertices of other roots with other neighbors; all with smaller ones for -1."""
        ...

    def finish(self, parents: Array) -> Array:
        """Return the root of every vertex."""
        ...


def recipe(passes: Passes, domain: Any) -> Roots:
    """Find the root of every vertex.

    Where vertices have few neighbors, each is united with the smaller ones among them, as in
    ECL-CC. Else two neighbors of each come first, as in Afforest: where most vertices belong to one
    component, these have mostly joined it, and the other edges of its vertices need not be looked
    at. An edge that leads out of it is also one of a vertex outside.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.union_find`.
    domain : Domain
        A graph.

    Returns
    -------
    Roots
    """
    parents = passes.initialize(domain)
    passes.compress(parents)
    if domain.neighbors.size <= FEW * domain.size:
        passes.unite_all(domain, parents)
        return Roots(passes.finish(parents))
    passes.unite_first(domain, parents)
    passes.compress(parents)
    largest = passes.find_largest(parents)
    passes.unite_rest(domain, parents, largest)
    return Roots(passes.finish(parents))
