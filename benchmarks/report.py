"""Write the tables of README.md and ``docs/`` from stored results and from the package.

Run as ``python benchmarks/report.py``. A table stands between ``<!-- NAME -->`` and
``<!-- end -->``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[1] / "docs"


def load(name: str) -> dict[str, Any]:
    """Read stored results."""
    result: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return result


def table(head: list[str], rows: list[list[str]]) -> str:
    """Format a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def machine(results: dict[str, Any]) -> str:
    """Say where and with what something was measured."""
    about = results["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in about["versions"].items() if v)
    return (
        f"Measured on {about['date']} on {about['cores']} cores of an {about['cpu']} "
        f"({about['system']}, Python {about['python']}, {versions})."
    )


def label_cpu() -> str:
    """Tabulate the labeling benchmark: ratios to peers by all threads and by one."""
    results = load("label_cpu")
    rows = []
    for row in results["rows"]:
        best = {name: value["min"] for name, value in row["seconds"].items()}
        threads = max(int(name.split()[1]) for name in best if name.startswith("equilabel"))
        one, all_of = best["equilabel 1"], best[f"equilabel {threads}"]
        size = 1
        for side in row["shape"]:
            size *= side
        cells = [
            row["image"],
            str(row["neighbors"]),
            f"{all_of * 1e3:.1f}",
            f"{size / all_of / 1e9:.2f}",
            f"{all_of / best['astype']:.2f}",
        ]
        for peer in ("skimage", "scipy", "cc3d", "opencv"):
            shared, alone = f"{peer} {threads}", f"{peer} 1"
            if peer == "opencv":
                cells.append(
                    f"{best[shared] / all_of:.1f} / {best[alone] / one:.1f}"
                    if shared in best
                    else "-"
                )
            else:
                cells.append(
                    f"{best[peer] / all_of:.1f} / {best[peer] / one:.1f}" if peer in best else "-"
                )
        cells.append(f"{best[f'equilabel {threads} out='] * 1e3:.1f}")
        cells.append(f"{row['extra_bytes_per_pixel']:.2f}")
        rows.append(cells)
    head = [
        "image", "neighbors", "ms", "Gpx/s", "x astype",
        "skimage", "SciPy", "cc3d", "OpenCV", "ms, out=", "B/px",
    ]  # fmt: skip
    return machine(results) + "\n\n" + table(head, rows)


def fastest(row: dict[str, Any], threads: str = "_of_one_thread") -> dict[str, float]:
    """Return the best of the rounds of each contender."""
    return {name: value["min"] for name, value in row[f"seconds{threads}"].items()}


def measure() -> str:
    """Tabulate measuring from labels."""
    results = load("measure")
    rows = []
    for row in results["rows"]:
        if row["kind"] != "labels":
            continue
        best = fastest(row)
        ours = best["equilabel"]
        rows.append(
            [
                row["image"],
                f"{row['labels']:,}",
                " ".join(row["columns"]),
                f"{fastest(row, '')['equilabel'] * 1e3:.1f}",
                f"{ours * 1e3:.1f}",
                f"{best['skimage'] / ours:.0f}" if "skimage" in best else "-",
                f"{best['cc3d'] / ours:.1f}" if "cc3d" in best else "-",
                f"{row['extra_bytes_per_pixel']:.2f}",
            ]
        )
    head = [
        "image", "labels", "columns", "ms", "ms, one thread", "skimage", "cc3d.statistics", "B/px",
    ]  # fmt: skip
    return machine(results) + "\n\n" + table(head, rows)


def measure_fused() -> str:
    """Tabulate measuring while labeling, over labeling alone."""
    rows = []
    for row in load("measure")["rows"]:
        if row["kind"] != "masks":
            continue
        best = fastest(row)
        plain = best["label"]
        theirs = best["opencv + stats"] - best["opencv"]
        ours = best["label + places"] - plain
        rows.append(
            [
                row["image"],
                f"{plain * 1e3:.1f}",
                *(
                    f"{best[name] / plain:.2f}"
                    for name in ("label + places", "label + all", "measure places", "measure all")
                ),
                f"{best['opencv + stats'] / best['opencv']:.2f}",
                f"{theirs / max(ours, 1e-4):.0f}",
            ]
        )
    head = [
        "image", "label, ms", "+ places", "+ all", "places alone", "all alone",
        "OpenCV + stats", "its stats / our places",
    ]  # fmt: skip
    return table(head, rows)


def measure_occupation() -> str:
    """Tabulate Kalentev's Table 2: size and perimeter over plain labeling."""
    rows = []
    for row in load("measure")["rows"]:
        if row["kind"] != "occupation":
            continue
        best = fastest(row)
        cells = [row["image"]]
        for method in ("kalentev", "runs"):
            plain, both = best[method], best[f"{method} +"]
            cells += [f"{plain * 1e3:.0f}", f"{both * 1e3:.0f}", f"{both / plain:.2f}"]
        rows.append(cells)
    head = ["occupation"]
    for method in ("kalentev", "runs"):
        head += [f"{method}, ms", "+ size, perimeter", "ratio"]
    return table(head, rows)


def properties() -> str:
    """Tabulate what can be measured."""
    from equilabel import PROPERTIES

    rows = []
    for row in PROPERTIES.values():
        axes = " or ".join(map(str, row.ranks)) or "any"
        own = {"hull": "hulls", "corners": "hulls", "filled": "runs"}
        own |= dict.fromkeys(("median", "percentiles"), "runs")
        made = next((own[need] for need in row.needs if need in own), "counts")
        made = made if row.counted else "host"
        values = "yes" if row.intensity else ""
        source = {"skimage": "scikit-image"}.get(row.source, row.source)
        there = "" if row.step is None else "yes"
        rows.append([f"`{row.name}`", row.summary, source, axes, values, made, there])
    head = ["column", "what it is", "definition", "spatial axes", "intensity image", "made by"]
    return table([*head, "on a GPU"], rows)


def startup() -> str:
    """Tabulate the time to the first label."""
    rows = [[row["what"], f"{row['seconds']:.2f}"] for row in load("startup")["rows"]]
    return table(["what", "s"], rows)


def card(results: dict[str, Any]) -> str:
    """Say on which GPU and with what something was measured."""
    about, machine = results["rows"][0], results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    driver = f"driver for CUDA {about['driver'] // 1000}, " if "driver" in about else ""
    return (
        f"Measured on {machine['date']} on one {about['card']} ({driver}{versions}), "
        f"commit {machine['commit']}."
    )


def label_cuda() -> str:
    """Tabulate `label` on a GPU beside the null kernel and the peers."""
    results = load("label_cuda")
    rows = []
    for row in results["rows"]:
        if "us" not in row:
            continue
        peers = {name: time / row["us"] for name, time in row.get("peers us", {}).items()}
        raw = peers.get("BKE raw", peers.get("BUF raw"))
        others = [peers.get(name) for name in ("CuPy", "cuCIM", "colorcc", "bkeccl dense")]
        rows.append(
            [
                row["image"] if row["type"] == "bool" else f"{row['image']}",
                str(row["connectivity"]),
                f"{row['us']:.0f}",
                f"{row['times null']:.2f}",
                *(f"{ratio:.0f}" if ratio else "-" for ratio in others),
                f"{raw:.1f}" if raw else "-",
                " / ".join(f"{us:.0f}" for us in row["passes us"].values()),
                f"{row['temporary bytes per pixel']:.2f}",
            ]
        )
    head = [
        "image", "hops", "us", "x null", "CuPy", "cuCIM", "colorcc", "bkeccl", "BKE / BUF raw",
        "passes, us", "B/px",
    ]  # fmt: skip
    return card(results) + "\n\n" + table(head, rows)


def wall_cuda() -> str:
    """Tabulate small images from Python, and an image of the host."""
    results = load("label_cuda")["rows"]
    rows = []
    for row in results:
        if "wall of" in row:
            peers = "; ".join(
                f"{k} {us / row['label us']:.1f}" for k, us in row["peers us"].items()
            )
            cells = [row["wall of"], f"{row['label us']:.0f}", f"{row['label out= us']:.0f}", peers]
            rows.append(cells)
    lines = [table(["image", "label, us", "with out=, us", "times longer"], rows)]
    for row in results:
        if "moved" in row:
            copies = row["upload us"] + row["download us"]
            fresh = row["upload us"] + row["download to a new array us"]
            lines.append(
                f"An image of the host ({row['moved']} squared), moved there and its labels back: "
                f"{row['label us'] / 1e3:.1f} ms into an array that exists, "
                f"{row['label us'] / copies:.2f} times the two copies; "
                f"{row['label to a new array us'] / 1e3:.1f} ms into a new one, "
                f"{row['label to a new array us'] / fresh:.2f} times them. "
                f"The CPU of that machine takes {row['label on the CPU us'] / 1e3:.1f} ms."
            )
    return "\n\n".join(lines)


def measure_cuda() -> str:
    """Tabulate measuring on a GPU: fused, alone, and from images of labels."""
    results = load("measure_cuda")
    fused = [
        [
            row["image"],
            f"{row['objects']:,}",
            f"{row['label us']:.0f}",
            f"{row['places fused us'] / row['label us'] - 1:+.0%}",
            f"{row['all fused us'] / row['label us'] - 1:+.0%}",
            f"{row['table only us'] / row['null us']:.2f}",
            " / ".join(f"{row[part]:.0f}" for part in ("places us", "outlines us", "all us")),
            " / ".join(f"{us:.0f}" for us in row["from labels us"][:-1]),
        ]
        for row in results["rows"]
        if "places fused us" in row
    ]
    labels = [
        [
            row["labels of"] + (f" (commit {row['commit']})" if "commit" in row else ""),
            f"{row['objects']:,}",
            " ".join(row["columns"]),
            f"{row['us']:.0f}",
            f"{row['on the host us']:.0f}" if "on the host us" in row else "-",
            f"{row['cuCIM us'] / row['us']:.0f}" if "cuCIM us" in row else "-",
        ]
        for row in results["rows"]
        if "labels of" in row
    ]
    tables = [
        [
            row["image"],
            f"{row['objects']:,}",
            f"{row['wall label us']:.0f}",
            f"{row['wall places us']:.0f}",
            f"{row['wall places on the host us']:.0f}",
            f"{row['wall all us']:.0f}",
            f"{row['wall measure us']:.0f}",
        ]
        for row in results["rows"]
        if "wall places on the host us" in row
    ]
    listing = [
        [
            f"{row['occupation']:.2f}" + (f" (commit {row['commit']})" if "commit" in row else ""),
            f"{row['kalentev us'] / 1e3:.2f}",
            f"{row['kalentev counting us'] / row['kalentev us']:.2f}",
            f"{row['runs wall us'] / 1e3:.2f}",
        ]
        for row in results["rows"]
        if "occupation" in row
    ]
    head = ["image", "objects", "label, us", "+ places", "+ all", "table alone, x null"]
    walls = ["from Python, us", "objects", "label", "+ places", "+ places, on the host", "+ all"]
    parts = [
        card(results),
        table([*head, "from runs, us", "from labels, us"], fused),
        table([*walls, "table alone"], tables),
        table(
            ["labels of", "objects", "columns", "us, from Python", "on the host", "cuCIM"], labels
        ),
        table(["occupation", "kalentev, ms", "x with size, perimeter", "runs, ms"], listing),
    ]
    return "\n\n".join(parts)


def large_cuda() -> str:
    """Tabulate images of 10^8 to 2 x 10^10 pixels on a GPU."""
    results = load("large_cuda")
    rows = [
        [
            " x ".join(f"{side:,}" for side in row["shape"]),
            row["image"],
            f"{row['components']:,}" if "components" in row else "refused: does not fit",
            checked(row),
            f"{row['null s'] * 1e3:.2f}" if "null s" in row else "",
            f"{row['label s'] * 1e3:.2f}" if "label s" in row else "",
            f"{row['label s'] / row['null s']:.1f}" if "label s" in row else "",
            f"{row['label s'] / row['pixels'] * 1e12:.1f}" if "label s" in row else "",
            f"{row['measure s'] * 1e3:.1f}" if "measure s" in row else "does not fit",
        ]
        for row in results["rows"]
        if "pixels" in row
    ]
    head = ["shape", "image", "components", "checked", "null, ms", "label, ms", "x null"]
    return card(results) + "\n\n" + table([*head, "ps a pixel", "table alone, ms"], rows)


def checked(row: dict[str, Any]) -> str:
    """Say how the labels of a large image were checked."""
    if "right" in row:
        return "all labels" if row["right"] else "WRONG"
    if "foretold" in row:
        return "their number" if row["foretold"] == row["components"] else "WRONG"
    return ""


def scale_cuda(name: str = "scale_cuda") -> str:
    """Tabulate images in chunks on GPUs, beside what bounds them."""
    results = load(name)
    kinds = {
        **{"zarr": "Zarr", "raw": "Zarr, not compressed", "numpy": "NumPy, to NumPy"},
        **{"pinned": "pinned memory, to pinned memory", "memory": "Zarr in a memory store"},
        "raw-memory": "Zarr in a memory store, not compressed",
    }
    rows = []
    for row in results["rows"][1:]:
        keys = [f"{step}_seconds" for step in ("label", "merge", "write")]
        took = ", ".join(f"{row[key]:.3f}" for key in keys if key in row)  # or labeled at once
        pixels = row["side"] ** 3
        gpus = max(1, row["gpus"])
        alone, bus, busy = "", "", ""
        if "read_alone_seconds" in row:
            alone = f"{row['read_alone_seconds']:.3f} + {row['write_alone_seconds']:.3f}"
        if "up_gb_s" in row:
            up, down = sum(row["up_gb_s"]), sum(row["down_gb_s"])
            bus = f"{pixels / up / 1e9:.3f} + {4 * pixels / down / 1e9:.3f}"
        if "busy_seconds" in row:
            parts = [
                sum(row["busy_seconds"][k].values()) / gpus for k in ("copies", "kernels", "both")
            ]
            share = parts[2] / row["seconds"]
            busy = f"{parts[0]:.3f}, {parts[1]:.3f}: {share:.0%}"
        who = f"{row['gpus']} GPU" + "s" * (row["gpus"] > 1) if row["gpus"] else "CPU"
        who += f", {row['workers']} threads"
        what = f"{row['side']:,}^3, {kinds[row['image']]}, blocks of {row['block']}^3"
        rows.append([what, who, f"{row['seconds']:.3f}: {took}", alone, bus, busy])
    head = ["voxels", "on", "seconds: label, merge, write", "the store alone: read + write, s"]
    head += ["the bus alone: up + down, s", "copies, kernels at work, s: share of the time"]
    host = f"{results['machine']['cores']} cores"
    return card(results).replace("on one ", f"on {host} and one ") + "\n\n" + table(head, rows)


def scale_cuda_2() -> str:
    """Tabulate the same on a host with two GPUs."""
    return scale_cuda("scale_cuda_2").replace("and one NVIDIA", "and two NVIDIA")


def cores_cpu() -> str:
    """Tabulate labeling on many cores: the share of a parallel copy's bandwidth, new and out=."""
    results = load("cores_cpu")
    numbers = list(dict.fromkeys(row["threads"] for row in results["rows"]))
    lines: dict[tuple[str, int], list[str]] = {}
    for row in results["rows"]:
        best = {name: value["min"] for name, value in row["seconds"].items()}
        cells = lines.setdefault((row["image"], row["neighbors"]), [])
        shares = (best[f"copy{kind}"] / best[f"equilabel{kind}"] for kind in ("", " out="))
        cells.append(" / ".join(f"{share:.0%}"[:-1] for share in shares))
        if row["threads"] == numbers[-1]:
            for name in ("equilabel", "copy"):
                pair = (best[f"{name}{kind}"] * 1e3 for kind in ("", " out="))
                cells.append(" / ".join(f"{value:.1f}" for value in pair))
            ours = best["equilabel"]
            cells.append(f"{best['opencv'] / ours:.1f}" if "opencv" in best else "-")
    head = ["image", "neighbors", *(f"{number}, %" for number in numbers)]
    head += [f"ms with {numbers[-1]}", "copy, ms", "OpenCV"]
    rows = [[image, str(neighbors), *cells] for (image, neighbors), cells in lines.items()]
    return machine(results) + "\n\n" + table(head, rows)


def methods(device: str) -> str:
    """Tabulate all methods on one device: ms, and the side where that is not the one asked for."""
    results = load(f"methods_{device}")
    said = card(results) if "card" in results["rows"][0] else machine(results)
    kinds = dict.fromkeys(row["domain"] for row in results["rows"] if "method" in row)
    return "\n\n".join([said, *(methods_of(kind, results["rows"]) for kind in kinds)])


def methods_of(kind: str, rows: list[dict[str, Any]]) -> str:
    """Tabulate the methods of one kind of domain."""
    rows = [row for row in rows if row.get("domain") == kind]
    names = list(dict.fromkeys(row["method"] for row in rows))
    lines: dict[tuple[str, int], dict[str, str]] = {}
    for row in rows:
        cells = lines.setdefault((row["image"], row["asked"]), {})
        cells["least"] = f"{row['least'] * 1e3:.3f}"
        smaller = "" if row["side"] == row["asked"] else f" at {row['side']}"
        cells[row["method"]] = f"{row['seconds'] * 1e3:.1f} ({row['rounds']}){smaller}"
    head = [kind, "side", "least", *names]
    cells = [
        [image, str(side), *(found.get(name, "-") for name in head[2:])]
        for (image, side), found in lines.items()
    ]
    return table(head, cells)


def methods_cpu() -> str:
    """Tabulate all methods on a CPU."""
    return methods("cpu")


def methods_cuda() -> str:
    """Tabulate all methods on a GPU."""
    return methods("cuda")


def options() -> str:
    """Tabulate the options of the commands, panel by panel, from the fields that declare them."""
    from equilabel.cli.parsing import KINDS, OPTIONS, flags_of
    from equilabel.options import PANELS, options_of

    found: dict[str, list[list[str]]] = {panel: [] for panel in PANELS}
    for name, (default, option) in (each for cls in OPTIONS for each in options_of(cls).items()):
        words = ", ".join(option.words) or option.placeholder or KINDS[option.kind].placeholder
        left_out = default is None or isinstance(default, bool)
        found[option.panel].append(
            [
                ", ".join(f"`{flag}`" for flag in flags_of(name, option)),
                words,
                "" if left_out else f"{default}",
                ", ".join(option.commands),
                option.help,
            ]
        )
    head = ["option", "value", "default", "commands", "what it does"]
    return "\n\n".join(f"{panel}:\n\n{table(head, rows)}" for panel, rows in found.items())


def relations() -> str:
    """Tabulate what follows from labels."""
    results = load("relations")
    rows = []
    for row in results["rows"]:
        least = {name: seconds["min"] * 1e3 for name, seconds in row["seconds"].items()}
        ours = least.pop("equilabel")
        others = ", ".join(f"{name} {value / ours:.1f} x" for name, value in least.items())
        shape = " x ".join(map(str, row["shape"]))
        rows.append([shape, f"{row['objects']:,}", row["work"], f"{ours:.1f}", others or "-"])
    head = ["image", "objects", "function", "ms", "others"]
    return f"{machine(results)}\n\n{table(head, rows)}"


def recipes() -> str:
    """Tabulate how many nuclei recipes for a first try find."""
    rows = load("recipes")["rows"]
    sets, ways = (list(dict.fromkeys(row[key] for row in rows)) for key in ("set", "way"))
    known = {(row["set"], row["way"]): row for row in rows}
    head = ["threshold"]
    for name in sets:
        first = known[name, ways[0]]
        head += [f"{name}, {first['nuclei']} nuclei", "0.7"]
    cells = [
        [{"scikit-image": "scikit-image's example"}.get(way, f"`{way}`")]
        + [f"{known[name, way][share]:.3f}" for name in sets for share in ("0.5", "0.7")]
        for way in ways
    ]
    text = (
        "*Annotated* are 41 images of BBBC038v1 (Data Science Bowl 2018) with corrected "
        "annotations; the others are samples, whose nuclei are known. scikit-image's example is "
        "Otsu's threshold, and a watershed from the peaks of the smoothed distance. The last two "
        'rows split along dark lines, at a smoothing of 2 pixels: `split_by="intensity"`, and a '
        "watershed of scikit-image from the peaks of brightness. "
        "`benchmarks/recipes.py` counts."
    )
    return f"{table(head, cells)}\n\n{text}"


def headline() -> str:
    """Tabulate the three figures that README and the start page begin with."""
    measured = next(
        row
        for row in load("measure")["rows"]
        if (row["kind"], row["image"]) == ("labels", "nuclei") and len(row["columns"]) == 9
    )
    whole = next(
        row for row in load("pipeline_cpu")["rows"] if row["split"] and row["shape"] == [4096, 4096]
    )
    way = whole["seconds"]
    pairs = [
        (
            f"{measured['labels']:,} labels to a table of nine properties: areas, boxes, "
            "perimeters, intensities",
            measured["seconds"]["equilabel"]["min"],
            measured["seconds_of_one_thread"]["skimage"]["min"],
        ),
        (
            f"the image to labels and a table, {whole['objects']:,} nuclei, split where they touch",
            way[f"equilabel {load('pipeline_cpu')['machine']['cores']}"]["min"],
            way["scikit-image"]["min"],
        ),
    ]
    rows = [
        [what, f"{ours * 1e3:.0f} ms", f"{theirs * 1e3:,.0f} ms", f"{theirs / ours:.0f} x"]
        for what, ours, theirs in pairs
    ]
    there = load("measure_cuda")
    gpu = next(row for row in there["rows"] if row.get("columns") == ["area", "bbox", "centroid"])
    whole_there = next(
        row["seconds"]
        for row in load("pipeline_cuda")["rows"][1:]
        if "cuCIM" in row["seconds"] and row["shape"] == [4096, 4096]
    )
    there_ms = [whole_there[name]["min"] * 1e3 for name in ("equilabel", "cuCIM")]
    found = {row["way"]: row for row in load("recipes")["rows"] if row["set"] == "annotated"}
    ours, usual = found["per_object"], found["scikit-image"]
    cells = [f"{row['0.5']:.2f}" for row in (ours, usual)]
    rows.append([f"{ours['nuclei']:,} nuclei outlined by persons: found (F1)", *cells, ""])
    text = (
        "Two cores of a CPU, nuclei in an image of 4096 x 4096 pixels; scikit-image has one "
        "thread. Its recipe is Otsu's threshold and a watershed from the peaks of the smoothed "
        "distance; the annotated nuclei are those of 41 images of BBBC038v1. On an "
        f"{there['rows'][0]['card']} area, box and centroid of labels that it holds take "
        f"{gpu['us'] / 1e3:.2f} ms; cuCIM's take {gpu['cuCIM us'] / 1e3:.2f} ms. From the image to "
        "labels and a table, without splitting, they take "
        f"{there_ms[0]:.2f} and {there_ms[1]:.1f} ms."
    )
    return f"{table(['', 'equilabel', 'scikit-image', ''], rows)}\n\n{text}"


STEPS = ("binarize", "fill", "label", "split", "drop", "measure")


def pipeline_rows(results: dict[str, Any], ours: str) -> list[list[str]]:
    """Return the cells that tables of the whole way have in common: image, objects, ms, steps."""
    rows = []
    for row in results["rows"]:
        if "card" in row:
            continue
        image = " x ".join(map(str, row["shape"])) + (", split" if row["split"] else "")
        took = [row["steps"].get(one, 0) * 1e3 for one in STEPS]
        steps = [(f"{one:,.0f}" if one >= 100 else f"{one:.2g}") if one else "" for one in took]
        best = row["seconds"][ours]["min"] * 1e3
        whole = f"{best:,.0f}" if best >= 100 else f"{best:.3g}"
        rows.append([image, f"{row['objects']:,}", whole, *steps])
    return rows


def pipeline_cpu() -> str:
    """Tabulate the way from an image to labels and a table on the CPU, beside others."""
    results = load("pipeline_cpu")
    threads = results["machine"]["cores"]
    rows = pipeline_rows(results, f"equilabel {threads}")
    for cells, row in zip(rows, results["rows"], strict=True):
        best = {name: value["min"] for name, value in row["seconds"].items()}
        ours = best[f"equilabel {threads}"]
        cells.append(f"{best['equilabel 1'] / ours:.1f} x")
        peers = ("scikit-image", "peers")
        cells += [f"{best[one] / ours:.1f} x" if one in best else "-" for one in peers]
        cells.append(f"{row['extra_bytes_per_pixel']:.1f}")
    last = ("one thread", "scikit-image", "OpenCV, cc3d, edt", "bytes per pixel")
    head = ["image", "objects", "ms", *STEPS, *last]
    return machine(results) + "\n\n" + table(head, rows)


def pipeline_cuda() -> str:
    """Tabulate the way from an image to labels and a table on a GPU that holds the image."""
    results = load("pipeline_cuda")
    rows = pipeline_rows(results, "equilabel")
    for cells, row in zip(rows, results["rows"][1:], strict=True):
        ours, theirs = row["seconds"]["equilabel"]["min"], row["seconds"].get("cuCIM")
        cells.append(f"{theirs['min'] / ours:.0f} x" if theirs else "-")
        cells.append(f"{row['extra_bytes_per_pixel']:.1f}")
    head = ["image", "objects", "ms", *STEPS, "cuCIM", "bytes per pixel"]
    return f"{card(results)}\n\n{table(head, rows)}"


TABLES = {
    "../README.md": {headline: "measure"},
    "index.md": {headline: "measure"},
    "guide.md": {recipes: "recipes"},
    "batch.md": {options: ""},
    "performance.md": {
        pipeline_cpu: "pipeline_cpu",
        pipeline_cuda: "pipeline_cuda",
        relations: "relations",
    },
    "lab-notes/cpu-labels.md": {label_cpu: "label_cpu", cores_cpu: "cores_cpu"},
    "lab-notes/gpu-labels.md": {label_cuda: "label_cuda", wall_cuda: "label_cuda"},
    "lab-notes/tables.md": {
        measure: "measure",
        measure_fused: "measure",
        measure_occupation: "measure",
        measure_cuda: "measure_cuda",
    },
    "lab-notes/large-images.md": {large_cuda: "large_cuda"},
    "lab-notes/startup-and-plugin.md": {startup: "startup"},
    "scale.md": {
        make: make.__name__
        for make in (scale_cuda, scale_cuda_2)
        if (RESULTS / f"{make.__name__}.json").exists()
    },
    "statistics.md": {properties: ""},
    "methods.md": {
        make: make.__name__
        for make in (methods_cpu, methods_cuda)
        if (RESULTS / f"{make.__name__}.json").exists()
    },
}


def write(pages: dict[str, dict[Callable[[], str], str]]) -> None:
    """Write every table that has results into its page."""
    for name, tables in pages.items():
        page = (DOCS / name).read_text()
        for make, results in tables.items():
            if results and not (RESULTS / f"{results}.json").exists():
                continue
            mark = make.__name__
            page = re.sub(
                rf"<!-- {mark} -->.*?<!-- end -->",
                lambda _, mark=mark, make=make: f"<!-- {mark} -->\n{make()}\n<!-- end -->",
                page,
                flags=re.DOTALL,
            )
        (DOCS / name).write_text(page)


if __name__ == "__main__":
    write(TABLES)
