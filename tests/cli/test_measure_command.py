"""`equilabel measure`: tables for labels that were made elsewhere."""

from pathlib import Path

import numpy as np
import pytest
import tifffile

from batches import names, picture, record, refused, sizes, summary, tiff
from equilabel import regionprops_table, track_overlaps
from equilabel.cli import main
from equilabel.storage.table import read_table
from equilabel.storage.tiff import read_tiff

LABELS = np.zeros((24, 32), np.uint16)
LABELS[4:12, 4:10], LABELS[4:12, 14:20] = 7, 3


def measure(*words):
    return main(["measure", *map(str, words), "--out", "out"])


def test_labels_of_batch_give_the_same_tables_again(here):
    tiff("in/a.tif", picture(objects=3), ome=True, metadata={"axes": "YX", **sizes(0.5, 0.5)})
    tiff(
        "in/b.tif", np.stack([picture(), picture(objects=3)]), imagej=True, metadata={"axes": "TYX"}
    )
    main(["batch", "in", "--out", "first", "--threshold", "50"])
    Path("masks").mkdir()
    for name in "ab":
        Path(f"first/{name}_labels.tif").rename(f"masks/{name}_labels.tif")
    assert measure("masks", "--image", "in") == 0
    for name in "ab":
        before, after = (Path(out, f"{name}_table.csv").read_text() for out in ("first", "out"))
        rows = [line.split(",") for line in (before + after).splitlines()]
        assert len({len(row) for row in rows}) == 1
        assert after == before
        assert (
            Path(f"first/{name}_overlay.png").read_bytes()
            == Path(f"out/{name}_overlay.png").read_bytes()
        )
    assert summary()["masks/a_labels.tif"]["unit"] == "µm"
    assert not list(Path("out").glob("*_labels.tif"))


def test_numbers_are_kept_and_intensities_need_an_image(here):
    tiff("a_masks.tif", LABELS)
    tiff("a.tif", picture())
    assert measure("a_masks.tif") == 0
    table = read_table("out/a_table.csv")
    assert table["label"].tolist() == [3, 7]
    assert not [name for name in table if name.startswith("intensity")]
    assert names() == ["a_table.csv", "objects.csv", "report.html", "run.json", "summary.csv"]
    assert measure("a_masks.tif", "--image", "a.tif", "--overwrite") == 0
    assert read_table("out/a_table.csv")["intensity_mean"].tolist() == [200, 200]
    assert record()["files"][0]["image"] == "a.tif"


def test_labels_of_one_image_of_a_file_are_measured_in_it(here):
    for objects in (1, 3):
        tiff("many.tif", picture((24 + objects, 32), objects), metadata=None, append=objects > 1)
    assert main(["segment", "many.tif", "--series", "1", "--out", "one"]) == 0
    words = ["--image", "many.tif", "--series", "1"]
    assert measure("one/many_labels.tif", *words) == 0
    assert read_table("out/many_table.csv")["intensity_mean"].tolist() == [200] * 3


@pytest.mark.parametrize(
    ("mask", "image"),
    [
        ("masks/a.tif", "images/a.tif"),
        ("masks/a_cp_masks.tif", "images/a.tif"),
        ("masks/a_masks.tif", "images/a_img.tif"),
        ("masks/a_img_label.tif", "images/a_img.tif"),
        ("both/a_seg.tif", "both/a.tif"),
        ("masks/a\n_mask.tif", "images/a\n.tif"),
        ("masks/day1/A_Labels.TIF", "images/day1/A.tif"),
    ],
)
def test_pairs_are_found_by_name(here, mask, image):
    tiff(mask, LABELS)
    tiff(image, picture(), resolution=(4, 4), imagej=True, metadata={"unit": "um"})
    words = [mask.split("/")[0], "--image", image.split("/")[0], "--recursive"]
    assert measure(*words) == 0
    (entry,) = record()["files"]
    assert [entry["file"], entry["image"]] == [name.replace("\n", "\\n") for name in (mask, image)]
    assert (entry["status"], entry["unit"]) == ("done", "µm")


def test_labels_without_an_image_or_with_two_cost_their_row(here):
    for name in ("a", "b", "c"):
        tiff(f"masks/{name}.tif", LABELS)
    tiff("images/a.tif")
    tiff("images/b.tif")
    tiff("images/b_img.tif")
    Path("images/b.tif").rename("images/b_image.tif")
    assert measure("masks", "--image", "images") == 1
    rows = summary()
    assert [row["status"] for row in rows.values()] == ["done", "failed", "failed"]
    assert "got 'b_image.tif' and 'b_img.tif' for 'b' in 'images'" in rows["masks/b.tif"]["error"]
    assert "got none for 'c' in 'images'" in rows["masks/c.tif"]["error"]


def test_objects_that_are_kept_are_numbered_again_and_written(here, capsys):
    tiff("a_masks.tif", LABELS)
    assert measure("a_masks.tif", "--keep", "solidity > 0.5 and label > 3") == 0
    table = read_table("out/a_table.csv")
    assert (table["label"].tolist(), table["label_before"].tolist()) == ([1], [7])
    assert "solidity" not in table
    assert (tifffile.imread("out/a_labels.tif") == (LABELS == 7)).all()
    movie = np.stack([LABELS, np.roll(LABELS, -4, axis=0), LABELS])  # at the border in the middle
    tiff("b_masks.tif", movie, imagej=True, metadata={"axes": "TYX"})
    assert measure("b_masks.tif", "--exclude-border", "--overwrite") == 0
    table = read_table("out/b_table.csv")
    assert (table["label"].tolist(), table["frame"].tolist()) == ([1, 2, 3, 4], [0, 0, 2, 2])
    assert table["label_before"].tolist() == [3, 7, 3, 7]
    found = tifffile.imread("out/b_labels.tif")
    capsys.readouterr()
    assert np.unique(found[2][LABELS == 3]).tolist() == [3]
    assert np.unique(found[1]).tolist() == [0]
    assert "--keep must be on columns" in refused(
        capsys, "measure", "a_masks.tif", "--keep", "areas > 3", "--out", "other"
    )
    assert "--keep must compare" in refused(
        capsys, "measure", "a_masks.tif", "--keep", "area >", "--out", "other"
    )


def test_objects_that_are_chosen_are_measured_once(here, monkeypatch):
    def counted(labels, image, names, **keywords):
        shapes.extend([labels.shape] * ("area" in names))
        return regionprops_table(labels, image, names, **keywords)

    shapes = []
    monkeypatch.setattr("equilabel.segmentation.measure.regionprops_table", counted)
    movie = np.stack([LABELS, LABELS * (LABELS != 7), LABELS])
    tiff("a.tif", movie, imagej=True, metadata={"axes": "TYX", "finterval": 90})
    chosen = "--keep", "solidity > 0 and label > 3", "--properties", "label,area", "--track"
    assert measure("a.tif", *chosen) == 0
    assert read_tiff("out/a_labels.tif").interval == 90
    assert [shape for shape in shapes if 0 not in shape] == [LABELS.shape] * len(movie)
    table = read_table("out/a_table.csv")
    assert list(table) == ["label", "frame", "track", "parent", "event", "area", "label_before"]
    assert table["track"].tolist() == [1, 2]  # no object that was dropped lies between them


def test_a_tracked_object_has_a_row_for_each_frame(here):
    movie = np.stack([LABELS, np.roll(LABELS, 3, axis=0), LABELS * (LABELS == 3)])
    tiff("a.tif", movie, imagej=True, metadata={"axes": "TYX"})
    assert measure("a.tif", "--properties", "label,frame,area,centroid") == 0
    table = read_table("out/a_table.csv")
    assert list(table) == ["label", "frame", "area", "centroid-0", "centroid-1"]
    assert table["frame"].tolist() == [0, 0, 1, 1, 2]
    assert table["label"].tolist() == [3, 7, 3, 7, 3]
    for k, frame in enumerate(movie):
        alone = regionprops_table(frame, properties=("centroid",))["centroid-0"]
        assert table["centroid-0"][table["frame"] == k].tolist() == alone.tolist()


def test_shapes_have_to_agree(here):
    tiff("a_masks.tif", LABELS)
    tiff("a.tif", picture((24, 30)))
    assert measure("a_masks.tif", "--image", "a.tif") == 1
    assert "the shape of the labels, 24 x 32; got 24 x 30 (YX)" in summary()["a_masks.tif"]["error"]


@pytest.mark.parametrize(
    ("labels", "axes", "said"),
    [
        (LABELS / 2, "YX", "LABELS must be whole numbers; got 3.5"),
        (np.stack([LABELS] * 3), "CYX", "got 3 channels"),
        (LABELS > 0, "YX", "Use `equilabel segment` with --threshold 0.5"),
        (LABELS.astype(np.int16) - 1, "YX", "negative"),
    ],
)
def test_what_are_no_labels_is_refused(here, labels, axes, said):
    tiff("a.tif", labels, metadata={"axes": axes}, photometric="minisblack")
    assert measure("a.tif") == 1
    assert said in summary()["a.tif"]["error"]


def test_the_remedy_for_a_mask_works_and_one_of_255_is_noticed(here):
    tiff("mask.tif", LABELS > 0)
    assert main(["segment", "mask.tif", "--threshold", "0.5"]) == 0
    assert len(read_table("mask_table.csv")) == 2
    tiff("white.tif", np.where(LABELS, 255, 0).astype(np.uint8))
    assert measure("white.tif") == 0
    assert "the number 255, in 2 regions: if this is a mask" in summary()["white.tif"]["notes"]


def test_whole_floats_are_labels(here):
    tiff("a.tif", LABELS.astype(np.float32))
    assert measure("a.tif", "--properties", "label,area") == 0
    assert read_table("out/a_table.csv")["label"].tolist() == [3, 7]


def test_a_run_is_resumed_unless_the_image_has_changed(here):
    tiff("a_masks.tif", LABELS)
    tiff("a.tif", picture())
    words = ["a_masks.tif", "--image", "a.tif"]
    measure(*words)
    assert measure(*words, "--resume") == 0
    assert summary()["a_masks.tif"]["status"] == "skipped"
    tiff("a.tif", picture(objects=1))
    assert measure(*words, "--resume") == 0
    assert summary()["a_masks.tif"]["status"] == "done"


def test_results_of_batch_are_not_mixed_with_those_of_measure(here, capsys):
    tiff("a.tif", LABELS)
    assert main(["batch", "a.tif", "--out", "out", "--no-overlay"]) == 0
    capsys.readouterr()
    assert measure("a.tif", "--resume") == 2
    assert "got command measure where it was batch" in capsys.readouterr().err
    assert measure("a.tif", "--overwrite") == 0
    assert Path("out/a_labels.tif").exists()  # it may be what is measured next


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["masks", "--image", "masks/a.tif"], "--image must be a folder for 2 files of labels"),
        (["masks", "--image", "none"], "--image must be a file or a folder; got 'none', nothing."),
        (["masks", "--image", "masks"], "LABELS must end in one of"),
        (["masks", "--properties", "intensity_mean"], "got 'intensity_mean'. Pass --image, or"),
        (["masks", "--properties", "beauty"], "beauty"),
    ],
)
def test_what_cannot_be_measured_is_refused(here, capsys, words, said):
    tiff("masks/a.tif", LABELS)
    tiff("masks/b.tif", LABELS)
    assert said in refused(capsys, "measure", *words, "--out", "out")
    assert not Path("out").exists()


# ------------------------------------------------------------------- tracks, and runs repeated


def moving():
    """Frames in which one object moves and another splits; labels have gaps."""
    frames = np.zeros((3, 24, 32), np.uint16)
    for k in range(3):
        frames[k, 2:8, 3 + k : 9 + k] = 5 + k
        frames[k, 14:20, 10:22] = 3
    frames[2, 14:20, 15:17], frames[2, 14:20, 17:22] = 0, 9
    return frames


def test_objects_of_labels_made_elsewhere_are_followed(here, capsys):
    tiff("a_masks.tif", moving(), imagej=True, metadata={"axes": "TYX"})
    assert measure("a_masks.tif", "--track") == 0
    table = read_table("out/a_table.csv")
    assert list(table)[:6] == ["label", "frame", "track", "parent", "event", "area"]
    expected = track_overlaps(moving())
    for name in ("frame", "label", "track", "parent"):
        assert table[name].tolist() == expected[name].tolist()
    assert table["track"].tolist() == [1, 2, 1, 2, 3, 2, 4]
    assert "track" in read_table("out/objects.csv")
    tiff("b_masks.tif", moving(), imagej=True, metadata={"axes": "ZYX"})
    assert measure("b_masks.tif", "--track", "--overwrite") == 1
    assert "pass --stacked if the first axis is time" in summary()["b_masks.tif"]["error"]
    assert measure("b_masks.tif", "--track", "--stacked", "--overwrite") == 0
    tiff("c_masks.tif", LABELS)
    assert measure("c_masks.tif", "--track", "--overwrite") == 1
    assert "got axes 'YX'. Leave it out." in summary()["c_masks.tif"]["error"]
    capsys.readouterr()
    said = refused(capsys, "measure", "b_masks.tif", "--out", "no", "--track", "--no-stacked")
    assert "--track needs --stacked" in said


def test_a_run_of_measure_is_repeated(here, capsys):
    tiff("masks/a.tif", LABELS)
    tiff("images/a.tif", picture())
    words = ["--image", "images", "--properties", "label,area,intensity_mean"]
    assert measure("masks", *words) == 0
    assert main(["measure", "--from", "out/run.json", "--out", "again"]) == 0
    assert names("again") == names()
    for name in ("a_table.csv", "objects.csv", "a_overlay.png"):
        assert Path("again", name).read_bytes() == Path("out", name).read_bytes()
    assert record("again")["parameters"] == record()["parameters"]
    words = ["--properties", "label,area", "--out", "alone"]
    assert main(["measure", "masks/a.tif", "--from", "out/run.json", *words]) == 0
    assert names("alone") == [
        "a_table.csv",
        "objects.csv",
        "report.html",
        "run.json",
        "summary.csv",
    ]
    assert list(read_table("alone/a_table.csv")) == ["label", "area"]
    capsys.readouterr()
    said = refused(capsys, "measure", "--from", "out/run.json", "--image", "images", "--out", "x")
    assert "--image needs LABELS beside --from" in said
    said = refused(capsys, "batch", "--from", "out/run.json", "--out", "x")
    assert "Use `equilabel measure --from`" in said
    main(["batch", "images", "--out", "batch"])
    capsys.readouterr()
    said = refused(capsys, "measure", "--from", "batch/run.json", "--out", "x")
    assert "Use `equilabel batch --from`" in said
    assert main(["measure", "--out", "x"]) == 2
    assert "Missing argument 'LABELS...'" in capsys.readouterr().err


def test_planes_that_a_file_calls_colors_are_refused_with_what_to_write(here, capsys):
    tiff(
        "l_masks.tif",
        np.stack([LABELS, LABELS, 0 * LABELS]),
        photometric="rgb",
        planarconfig="separate",
    )
    assert measure("l_masks.tif") == 1
    assert "pass photometric='minisblack'" in summary()["l_masks.tif"]["error"]


@pytest.mark.parametrize("labels", [-LABELS.astype("i4"), LABELS.astype("u8") << 62])
def test_labels_out_of_range_are_refused_by_the_name_of_the_argument(here, labels):
    tiff("l_masks.tif", labels)
    assert measure("l_masks.tif") == 1
    assert summary()["l_masks.tif"]["error"].startswith("LABELS must hold")


def test_two_images_for_one_option_are_refused(here, capsys):
    tiff("l_masks.tif", LABELS)
    words = ["measure", "l_masks.tif", "--image", "a.tif", "--image", "b.tif", "--out", "out"]
    assert "--image must be given once; got 'b.tif', too" in refused(capsys, *words)


@pytest.mark.parametrize("more", [[], ["--keep", "area > 1"]])
def test_tracks_of_chosen_columns_have_their_frames(here, more):
    tiff("l_masks.tif", np.stack([LABELS] * 2), photometric="minisblack")
    words = ["--stacked", "--track", "--properties", "label,area", *more]
    assert measure("l_masks.tif", *words) == 0
    table = read_table("out/l_table.csv")
    assert table["frame"].tolist() == [0, 0, 1, 1]
    kept = ["label_before"] * bool(more)
    columns = ["label", "frame", "track", "parent", "event", "area"]
    assert [name for name in table if name not in kept] == columns
