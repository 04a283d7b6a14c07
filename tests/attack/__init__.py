"""Long attacks: many broken inputs, random and seeded. Run by `make attack`, not by `make test`.

Each module has a function ``attack(seconds, seed)`` that returns `Counts`. What is submitted has to
come out correct or refused with a reason; nothing may be wrong, nothing lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module


@dataclass
class Counts:
    """What became of the inputs of one attack.

    Attributes
    ----------
    name : str
        Of the attack.
    submitted, correct, refused : int
        Inputs tried, those with the right result, and those refused with a reason.
    wrong : int
        Wrong results given as right ones.
    lost : int
        Inputs without an answer: a crash, a hang, memory or time beyond the limit, an error
        that is no refusal.
    notes : list of str
        How to reproduce each that was wrong or lost.
    """

    name: str
    submitted: int = 0
    correct: int = 0
    refused: int = 0
    wrong: int = 0
    lost: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether every input came out correct or refused."""
        return self.wrong == self.lost == 0 and self.submitted == self.correct + self.refused


def attack_by_name(name: str, seconds: float, seed: int) -> Counts:
    """Run the attack of a module, in whatever process this is called."""
    return import_module(f"attack.{name}").attack(seconds, seed)
