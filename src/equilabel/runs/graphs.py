"""Recipe for components of graphs by union-find, the same for all devices.

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


FEW = 4  # average number of neighbors up to which all edges are united


class Passes(Protocol):
    """The passes of one device; `parents` is an array on that device."""

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
        """Return the root that half of a sample of vertices have, of their type; -1 if none."""
        ...

    def unite_rest(self, domain: Domain, parents: Array, largest: Any) -> None:
        """Unite the vertices outside the component of `largest` with all but their first neighbors.

        If `largest` is -1, unite all vertices with their smaller neighbors.
        """
        ...

    def finish(self, parents: Array) -> Array:
        """Return the root of every vertex."""
        ...


def recipe(passes: Passes, domain: Any) -> Roots:
    """Find the root of every vertex of a graph.

    Where vertices have few neighbors, all edges are united, as in ECL-CC. Otherwise two edges of
    each vertex come first, as in Afforest: if most vertices then belong to one component, the other
    edges of its vertices are skipped, because an edge that leaves it is also seen from outside.
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
