"""Direct labelling: no iteration, and few reductions.

D. P. Playne, K. Hawick, A new algorithm for parallel connected-component labelling on GPUs, IEEE
Trans. Parallel Distrib. Syst. 29 (2018) 1217-1230.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equilabel.domains.contract import Domain, Roots

if TYPE_CHECKING:
    from types import ModuleType


def recipe(passes: ModuleType, domain: Domain) -> Roots:
    """Find the root of every element.

    `initialize` points each element at its lowest neighbor, `resolve` at the root of its tree.
    `reduce_labels` unites trees that touch, and `resolve` points at their common roots.
    """
    labels = passes.initialize(domain)
    passes.resolve(labels)
    passes.reduce_labels(domain, labels)
    passes.resolve(labels)
    return Roots(labels)
