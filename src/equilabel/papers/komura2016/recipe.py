"""The generalized labeler: point at the lowest neighbor, then unite with the others, once.

Y. Komura, A generalized GPU-based connected component labeling algorithm, arXiv:1603.08357 (2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equilabel.domains.contract import Domain, Roots

if TYPE_CHECKING:
    from types import ModuleType


def recipe(passes: ModuleType, domain: Domain) -> Roots:
    """Find the root of every element.

    Four passes without iteration on the host: initialization, analysis, label reduction, analysis.
    Labels are indices of elements, so they are roots after the last analysis.
    """
    labels = passes.initialize(domain)
    passes.analyze(labels)
    passes.reduce_labels(domain, labels)
    passes.analyze(labels)
    return Roots(labels)
