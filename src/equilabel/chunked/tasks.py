"""Stages of a run: label blocks, compare them, number components, write labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from equilabel.devices import (
    fetch,
    fetch_block,
    fetch_renumbered,
    is_on_cuda,
    own_gpu,
    send_block,
    stage_block,
)
from equilabel.domains import grid
from equilabel.labeling import solve
from equilabel.measuring import Request
from equilabel.measuring.properties import make_plan

from .blocks import cut_faces, number_components, pairs_across, split_sizes
from .checkpoints import Faces, Part, checksum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.labeling.problem import Problem

    from .blocks import Blocks
    from .checkpoints import Saved
    from .engine import Run
    from .outputs import HeldLabels, Output
    from .sources import Gray, GrayPart, Load, Loader
    from .tables import Counted, CountsOfBlock


@dataclass(frozen=True)
class Setup:
    """What the tasks of all blocks of an image share: their first argument."""

    blocks: Blocks
    saved: Saved
    problem: Callable[[Array], Problem] | None = None
    """Makes the problem for `solve` from pixels; None: these are written as they are."""
    device: str = "cpu"  # as for `label`
    connectivity: int = 1
    by_blocks: bool = False  # labels are numbered block by block, not in raster order
    turned: bool = False  # numbered column by column, as scikit-image numbers shape (M, N, 1)
    depth: int = 1  # layers of labels that are stored at the ends of blocks
    select: Callable[..., NDArray[np.bool_]] | None = None
    """Returns which components are kept by size or position, as for `number_components`."""
    counted: Counted | None = None
    kept: Output | None = None  # keeps the labels of blocks from labeling to writing
    held: HeldLabels | None = None  # keeps them on GPUs, if there is room
    marked: Callable[[HostArray], HostArray] | None = None
    """Returns which pixels are counted for selecting components, instead of all."""
    weights: tuple[int, int] = (1, 0)  # of a marked pixel, and of any pixel, in that count
    painted: Callable[[HostArray, HostArray], HostArray] | None = None
    """Returns what is written, from the pixels and the final labels of a block."""
    attributes: Mapping[str, Any] = field(default_factory=dict)  # stored with the labels, as JSON


class ChangedInputError(RuntimeError):
    """The image changed while it was labeled."""


def label_group(
    setup: Setup, group: int, loads: Sequence[tuple[int, Load]]
) -> list[tuple[int, int]]:
    """Label the blocks of a group; return how many components of each take part in the merge."""
    found = {block: label_block(setup, block, load) for block, load in loads}
    setup.saved.save_parts(group, found)
    return [(block, part.listed) for block, (part, _) in found.items()]


def label_block(setup: Setup, block: int, load: Load) -> tuple[Part, Faces]:
    """Label a block alone."""
    from equilabel.devices.cpu.renumbering import place_in_image

    pixels, _ = _parted(load())
    part = setup.blocks.slices(block)
    origin = np.array([one.start for one in part], np.int64)
    values = np.empty(0, pixels.dtype)
    known = checksum(pixels) if setup.kept is None else 0  # for a second reading
    staged = stage_block(pixels, setup.device)
    with own_gpu(setup.device):
        problem = _problem(setup, staged)
        labels, flat, sizes = _components(setup, problem, pixels, origin)
        if problem.foreground.values:
            at = send_block(flat) if is_on_cuda(problem.image) else flat
            values = fetch_block(problem.image.reshape(-1)[at]).copy()
        stays = setup.held is not None and setup.held.keep(block, labels, len(flat))
        ends = cut_faces(labels, setup.blocks, block, setup.depth, len(flat))
        if setup.kept is not None and not stays:
            setup.kept.write(part, fetch_block(labels))
    faces, none = Faces(*ends, values), np.empty(0, np.int64)
    if not setup.by_blocks:
        shape, firsts = setup.blocks.shape, np.empty(len(flat), np.int64)
        sides = np.array(problem.image.shape, np.int64)
        place_in_image(flat, sides, origin, grid.strides(shape), firsts)
        firsts = _swapped(firsts, shape) if setup.turned else firsts
        return Part(known, len(flat), none, none, firsts, sizes), faces
    merged, dropped = faces.touched(), none
    if setup.select is not None:
        kept = setup.select(*split_sizes(sizes))
        kept[merged - 1] = True
        dropped = np.flatnonzero(~kept) + 1
        sizes = sizes[merged - 1]
    return Part(known, len(flat), merged, dropped, none, sizes), faces


def _parted(read: HostArray | Gray) -> tuple[HostArray, HostArray | None]:
    """Return pixels to label, and intensities to measure if they were read."""
    return read if isinstance(read, tuple) else (read, None)


def _problem(setup: Setup, staged: Any) -> Problem:
    """Return the problem for `solve`, on the GPU of this worker if the setup is for GPUs."""
    make = cast("Callable[[Array], Problem]", setup.problem)
    return make(send_block(staged) if setup.device.startswith("cuda") else staged)


def _components(
    setup: Setup, problem: Problem, pixels: HostArray, origin: NDArray[np.int64]
) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """Label a block alone; return labels, their first elements (N,), and `Part.sizes`."""
    none = np.empty((0, 0), np.int64)
    if setup.turned:
        labels = fetch(solve(problem).labels)
        turned = labels.swapaxes(-3, -2)
        known, firsts = np.unique(turned, return_index=True)
        return labels, _swapped(firsts[known > 0], turned.shape), none
    if not (setup.select or problem.numbered_by_columns):
        labels, count, *_ = solve(problem, counted=True)
        return labels, _list_firsts(labels, count), none
    axes, stacked = problem.image.ndim, setup.blocks.stacked
    plan = make_plan(("num_pixels",), (), axes, stacked, True, first=True)
    found = solve(problem, Request(plan, None, (1.0,) * (axes - stacked)), counted=True)
    labels, counts = found.labels, found.counts
    if setup.select is None:
        return labels, counts.first_pixels, none
    numbers = counts.pixels
    if setup.marked is not None:
        inside = labels[np.asarray(setup.marked(pixels), like=labels)]
        marked, each = setup.weights
        counted = fetch(np.bincount(inside, minlength=len(numbers) + 1))[1:]
        numbers = marked * counted + each * numbers
    spans = (numbers[:, None], counts.begins + origin, counts.ends + origin)
    return labels, counts.first_pixels, np.concatenate(spans, axis=1)


def _swapped(flat: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Convert flat indices in an image to those in the image whose columns are rows."""
    places, sides = list(np.unravel_index(flat, shape)), list(shape)
    places[-3:-1], sides[-3:-1] = places[-2:-4:-1], sides[-2:-4:-1]
    return np.ravel_multi_index(tuple(places), sides)


def _list_firsts(labels: Array, count: int) -> NDArray[np.int64]:
    """Return the first element of each label; labels are 1 to `count` in raster order."""
    from equilabel.devices.cpu.renumbering import list_firsts

    if is_on_cuda(labels):
        from equilabel.devices.cuda import blocks

        found = fetch_block(blocks.list_firsts(labels, count))
        return found.copy()  # its memory is reused
    flat = np.empty(count, np.int64)
    list_firsts(labels.reshape(-1), flat)
    return flat


def compare_group(setup: Setup, group: range) -> list[tuple[int, int, NDArray[np.int64]]]:
    """Return components that touch, from 0, between blocks and those that follow them."""
    saved, found = setup.saved, []
    for block in group:
        for other, pairs in pairs_across(block, setup.blocks, saved.faces, setup.connectivity):
            both = pairs - 1
            if setup.by_blocks:
                for column, one in enumerate((block, other)):
                    both[:, column] = np.searchsorted(saved.part(one).merged, pairs[:, column])
            found.append((block, other, both))
    return found


def write_group(
    setup: Setup, group: int, loads: Sequence[tuple[int, Load]], output: Output
) -> list[int]:
    """Write the final labels of the blocks of a group, and count them if something is measured."""
    records: dict[str, Sequence[HostArray]] = {}
    for block, load in loads:
        labels, counts = write_block(setup, block, load, output)
        records[f"{block}"] = [labels]
        for stretch, arrays in counts.items():
            records[f"{block} {stretch}"] = arrays
    output.flush([setup.blocks.slices(block) for block, _ in loads])
    setup.saved.save("write", group, records)
    return [block for block, _ in loads]


def write_block(
    setup: Setup, block: int, load: Load, output: Output
) -> tuple[HostArray, CountsOfBlock]:
    """Write the final labels of a block; return their checksum, and what was counted."""
    if setup.problem is None:
        return _written(setup, block, output, _parted(load())[0]), {}
    part = setup.blocks.slices(block)
    numbers = setup.saved.numbers(block)
    numbers = np.append(numbers.dtype.type(0), numbers)
    counts: CountsOfBlock = {}
    held = None if setup.held is None else setup.held.take(block)
    if held is not None:
        with own_gpu(setup.device, held):
            counts = _count(setup, block, held, None, load)
            final = _renumbered(held, numbers, output, part)
        return _written(setup, block, output, final), counts
    if setup.kept is not None:
        labels = setup.kept.read(part)
        counts = _count(setup, block, labels, None, load)
        return _written(setup, block, output, _renumbered(labels, numbers, output, part)), counts
    pixels, values = _parted(load())
    if checksum(pixels) != setup.saved.part(block).checksum:
        message = (
            "label_image must stay as it is until its labels are written; got other pixels in "
            f"{part} than before. Remove what was begun, and run again."
        )
        raise ChangedInputError(message)
    staged = stage_block(pixels, setup.device)
    with own_gpu(setup.device):
        labels = solve(_problem(setup, staged)).labels
        counts = _count(setup, block, labels, values, load)
        final = _renumbered(labels, numbers, output, part)
    if setup.painted is not None:
        final = setup.painted(pixels, final)
    return _written(setup, block, output, final), counts


def _written(setup: Setup, block: int, output: Output, final: HostArray) -> HostArray:
    """Write the final labels of a block; return their checksum, (1,)."""
    if final is not None:
        if final.dtype != output.dtype:
            final = final.view(output.dtype)  # an unsigned type of the same size
        output.write(setup.blocks.slices(block), final)
    return np.array([checksum(final) if setup.saved.folder is not None else 0])


def _count(
    setup: Setup, block: int, labels: Array, values: HostArray | None, load: Load
) -> CountsOfBlock:
    """Count a block if something is measured; intensities are read if they were not."""
    if setup.counted is None:
        return {}
    if values is None and setup.counted.plan.intensity:
        values = cast("GrayPart", load).values()
    labels = fetch(labels)
    if labels.itemsize < 4:
        labels = labels.astype(np.int32)
    return setup.counted.count(setup.saved, block, labels, values)


def _renumbered(
    labels: Array, numbers: HostArray, output: Output, part: tuple[slice, ...]
) -> HostArray:
    """Return final labels on the host, in place of `labels`; None if a GPU has written them."""
    from equilabel.devices.cpu.renumbering import renumber

    signed = np.int64 if output.dtype.itemsize == 8 else np.int32
    if is_on_cuda(labels):
        there = output.view(part)
        moved = fetch_renumbered(labels, numbers.astype(signed, copy=False), there)
        return moved.copy() if there is None else moved  # pinned memory is reused, a store keeps it
    final: HostArray = np.ascontiguousarray(labels, signed)
    renumber(final.reshape(-1), numbers)
    return final


def check_group(saved: Saved, blocks: Blocks, group: range, output: Output) -> range:
    """Return the blocks of a group if their labels exist as they were written; otherwise none."""
    number = saved.group(group.start)
    try:
        if not saved.has("write", number):
            return range(0)
        for block in group:
            known = saved.load("write", number, f"{block}")[0]
            if checksum(output.read(blocks.slices(block))) != int(known[0]):
                return range(0)
    except Exception:  # a store or a codec raises its own errors
        return range(0)
    return group


# ---- All blocks of an image


TOGETHER = 32  # most blocks that are compared in one task
TASKS = 12  # of comparing, if there are enough blocks: more would wait for Python's lock


def number_blocks(setup: Setup, loader: Loader, run: Run) -> int:
    """Label all blocks that are not labeled yet; return the number of labels of the whole image."""
    blocks, saved = setup.blocks, setup.saved
    groups = saved.groups(blocks.number)
    counts = np.zeros(blocks.number, np.int64)
    rest = []
    for group in groups:
        if saved.has("label", saved.group(group.start)):
            for block in group:
                counts[block] = saved.part(block).listed
        else:
            rest.append(group)
    tasks = ((setup, *some) for some in _loads(saved, blocks, rest, loader))
    done = blocks.number - sum(map(len, rest))
    results = run.each("label", label_group, tasks, blocks.number, done, lists=True)
    for block, count in results:
        counts[block] = count
    offsets = np.zeros(blocks.number + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    pairs = _compare(setup, groups, run)
    device = "cpu" if setup.held is None else setup.device
    numbers, count = number_components(
        saved, offsets, pairs, setup.select, device, by_blocks=setup.by_blocks
    )
    saved.save_numbers(*numbers)
    return count


def _loads(
    saved: Saved, blocks: Blocks, groups: Iterable[range], loader: Loader
) -> Iterator[tuple[int, list[tuple[int, Load]]]]:
    """Yield the number of each group, its blocks and the functions that read them."""
    for group in groups:
        loads = [(block, loader(blocks.slices(block))) for block in group]
        yield saved.group(group.start), loads


def _compare(
    setup: Setup, groups: Sequence[range], run: Run
) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Yield the pairs of components of all blocks that touch, in any order."""
    if setup.blocks.number == 1 and not any(setup.blocks.periodic):
        return
    some = max(1, min(-(-len(groups) // TASKS), TOGETHER // setup.saved.together))
    spans = [
        range(part[0].start, part[-1].stop)
        for part in (groups[first : first + some] for first in range(0, len(groups), some))
    ]
    tasks = ((setup, span) for span in spans)
    for found in run.each("merge", compare_group, tasks, len(spans)):
        yield from found


def write_blocks(
    setup: Setup,
    loader: Loader,
    output: Output,
    run: Run,
    *,
    fresh: bool = False,
    stage: str = "write",
) -> None:
    """Write the final labels of all blocks that are not written yet; if `fresh`, of all blocks."""
    blocks, saved = setup.blocks, setup.saved
    groups = saved.groups(blocks.number)
    if not fresh:
        checks = ((saved, blocks, group, output) for group in groups)
        intact = set(chain.from_iterable(run.map_tasks(check_group, checks)))
        groups = [group for group in groups if group.start not in intact]
    tasks = ((setup, *some, output) for some in _loads(saved, blocks, groups, loader))
    done = blocks.number - sum(map(len, groups))
    for _ in run.each(stage, write_group, tasks, blocks.number, done, lists=True):
        pass
    saved.forget()
