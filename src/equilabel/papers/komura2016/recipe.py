"""The generalized labeler: point at the lowest neighbor, then unite with the others, once.

Y. Komura, A generalized GPU-based connected component labeling algorithm, arXiv:1603.08357 (2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from equilabel.domains.contract import Domain, Roots

if TYPE_CHECKING:
    from equilabel.array_types import Array


class Passes(Protocol):
    """The passes of one device; `labels` is an array on that device."""

    def initialize(self, domain: Domain) -> Array:
        """Label every foreground element with its lowest neighbor, or itself."""
        ...

    def analyze(self, labels: Array) -> None:
        """Point every element at the root of its chain of labels."""
        ...

    def reduce_labels(self, domain: Domain, labels: Array) -> None:
        """Unite every element with its other neighbors (Algorithm 1)."""
        ...


def recipe(passes: Passes, domain: Domain) -> Roots:
    """Find the root of every element.

    Four passes without iteration on the host: initialization, analysis, label reduction, analysis.
    Labels are indices of elements, so they are roots after the last analysis.
    """
    labels = passes.initialize(domain)
    passes.analyze(labels)
    passes.reduce_labels(domain, labels)
    passes.analyze(labels)
    return Roots(labels)
