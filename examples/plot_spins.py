"""
Spins, and the clusters that turn them
======================================

The Ising model at its transition: its spins, and the clusters of bonds that Swendsen and Wang
(Physical Review Letters 58, 1987) flip at once.
"""

# %%
# Bonds between equal spins are open with a probability that depends on the temperature.
# `label_graph` labels the clusters of a lattice of bonds, on the CPU or on a GPU.

import matplotlib.pyplot as plt
import numpy as np

from equilabel import PottsSimulation, label_graph, swendsen_wang
from equilabel.simulation import critical_beta, fortuin_kasteleyn_bonds

beta = critical_beta(q=2)
spins = PottsSimulation((192, 192), q=2, beta=beta, seed=1, start="hot").advance(200).spins
clusters = label_graph(fortuin_kasteleyn_bonds((192, 192), beta=beta, seed=1, sweeps=200))

# %%
# Below the transition one state wins: the magnetization of a small lattice, over the temperature.

temperatures = np.linspace(0.9, 1.4, 16)
means = []
for temperature in temperatures:
    chain = swendsen_wang((48, 48), temperature=temperature, sweeps=1100, discard=100, device="cpu")
    means.append(np.mean([each.magnetization for each in chain]))

# %%
# Clusters get random colors.

shuffled = np.random.default_rng(0).permutation(clusters.max() + 1)
figure, panels = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
panels[0].imshow(spins, cmap="gray", interpolation="nearest")
panels[0].set_title("spins")
panels[1].imshow(shuffled[clusters], cmap="turbo", interpolation="nearest")
panels[1].set_title(f"{clusters.max():,} clusters")
for axes in panels[:2]:
    axes.set_axis_off()
panels[2].plot(temperatures, means, marker="o", markersize=3)
panels[2].axvline(1 / beta, color="gray", linestyle=":", label="transition")
panels[2].set(xlabel="temperature", ylabel="magnetization")
panels[2].legend(frameon=False)
plt.show()
