"""What `--resume` keeps, makes again and refuses."""

import copy
import json
import os
import random
import shutil
import signal
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from attack.records import printed
from batches import label_here, names, picture, posix, record, refused, results, summary, tiff
from equilabel.cli import batch, folder, main, records, trial
from equilabel.cli.records import record_path

A, B = ("--spacing", "2"), ("--spacing", "3")
BATCH = ("batch", "in", "--out", "out")


class Killed(BaseException):
    """What nothing is written after, as after SIGKILL."""


@contextmanager
def killed(after):
    """Let a run die after some images."""

    def label_some(*words, **keywords):
        for number, found in enumerate(label_here(*words, **keywords)):
            if number == after:
                raise Killed
            yield found

    with pytest.MonkeyPatch.context() as patch, suppress(Killed):
        patch.setattr(batch, "label_all", label_some)
        yield
        pytest.fail("the run came to its end")


@pytest.fixture
def finished(here):
    """A finished run over a.tif and b.tif; returns a function that resumes and tells statuses."""
    tiff("in/a.tif")
    tiff("in/b.tif")
    assert main(BATCH) == 0

    def resume(*words):
        assert main([*BATCH, "--resume", *words]) == 0
        return [row["status"] for row in summary().values()]

    return resume


def area(name):
    return float(Path(f"out/{name}_table.csv").read_text(encoding="utf-8").split(",")[-13])


def content():
    """Read everything in the folder, records too."""
    return {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}


# ------------------------------------------------------------------------------ what is complete


def test_resume_skips_what_is_complete(finished):
    before = Path("out/a_labels.tif").stat().st_mtime_ns
    assert finished() == ["skipped", "skipped"]
    assert Path("out/a_labels.tif").stat().st_mtime_ns == before
    assert summary()["in/a.tif"]["objects"] == "2"
    assert finished() == ["skipped", "skipped"]


def test_resume_makes_what_is_missing(finished):
    Path("out/b_overlay.png").unlink()
    assert finished() == ["skipped", "done"]
    assert names() == results("a", "b")


@pytest.mark.parametrize("ending", ["_labels.tif", "_table.csv", "_overlay.png"])
def test_resume_makes_what_has_another_byte(finished, ending):
    path = Path(f"out/b{ending}")
    whole, stat = path.read_bytes(), path.stat()
    path.write_bytes(whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:])
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert finished() == ["skipped", "done"]
    assert finished() == ["skipped", "skipped"]


def test_resume_makes_what_has_another_input(finished):
    stat = Path("in/b.tif").stat()
    tiff("in/b.tif", picture(objects=1))
    os.utime("in/b.tif", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert finished() == ["skipped", "done"]
    assert summary()["in/b.tif"]["objects"] == "1"


def test_resume_keeps_the_results_of_another_image_of_the_name(finished, monkeypatch, capsys):
    tiff("other/in/a.tif", picture(objects=1))
    monkeypatch.chdir("other")  # where `in/a.tif` is another file
    words = ("batch", "in", "--out", "../out", "--resume")
    before = Path("../out/run.json").read_bytes()
    capsys.readouterr()
    assert "results must not replace those of another image" in refused(capsys, *words)
    assert main([*words, "--dry-run"]) == 2
    assert Path("../out/run.json").read_bytes() == before
    Path("../in/a.tif").unlink()
    assert main(words) == 0
    assert summary("../out")["in/a.tif"]["objects"] == "1"


def test_resume_makes_what_is_a_link_now(finished):
    path = Path("out/b_table.csv")
    path.rename("b")
    path.symlink_to(Path("b").absolute())
    assert finished() == ["skipped", "done"]
    assert not path.is_symlink()


def test_resume_tries_failures_again(finished):
    Path("in/c.tif").write_text("broken")
    assert main([*BATCH, "--resume"]) == 1
    tiff("in/c.tif")
    assert finished() == ["skipped", "skipped", "done"]


def test_resume_begins_where_nothing_is(here):
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "out", "--resume"]) == 0


def test_every_image_has_a_record_of_its_own(finished):
    found = json.loads(record_path(Path("out"), "a").read_text(encoding="utf-8"))
    assert found["parameters"] == record()["parameters"]
    assert found["versions"].items() <= record()["versions"].items()
    assert found["record"] == record()["files"][0]
    assert set(found["record"]["outputs"]["table"]) == {"file", "bytes", "sha256", "units"}


def test_results_count_only_with_their_record(finished, monkeypatch):
    def die(path, final):
        if path.name == folder.RECORD:  # results have their names, the record not yet
            raise Killed
        os.replace(path, final)  # noqa: PTH105 - what it stands in for

    tiff("in/b.tif", picture(objects=1))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", die)
        with pytest.raises(Killed):
            main([*BATCH, "--resume"])
    assert len(Path("out/b_table.csv").read_text(encoding="utf-8").splitlines()) == 2
    assert finished() == ["skipped", "done"]


def test_resume_starts_no_process_where_all_images_are_complete(finished, monkeypatch):
    def fail(*_, **__):
        pytest.fail("a process was started")

    with monkeypatch.context() as patch:
        patch.setattr(batch, "label_all", fail)
        assert finished() == ["skipped", "skipped"]


def test_an_interrupt_while_results_are_compared_leaves_all_as_it_is(finished, monkeypatch, capsys):
    def interrupt(*_):
        signal.raise_signal(signal.SIGINT)

    before = content()
    with monkeypatch.context() as patch:
        patch.setattr(folder, "find_kept", interrupt)
        assert main([*BATCH, "--resume"]) == 130
    assert "nothing was written" in capsys.readouterr().err
    assert content() == before


def test_a_trial_of_the_options_comes_before_kept_images_are_declared(finished, monkeypatch):
    tiff("in/c.tif")
    before = content()
    with monkeypatch.context() as patch:
        patch.setattr(trial, "check", lambda _: "no GPU")
        patch.setattr(batch, "label_all", label_here)
        assert main([*BATCH, "--resume"]) == 2
    assert content() == before


def test_a_record_that_an_earlier_version_wrote_reads():
    found = records.read_record(Path(__file__).with_name("format_2.json"))
    assert (found.threshold, found.shape, found.spacing) == (
        *(20.0, (2, 24, 32)),
        {"Y": 0.5, "X": 0.5},
    )
    assert found.in_pixels == {"min_size": 4}
    assert [frame["objects"] for frame in found.frames] == [2, 2]
    assert type(found.in_pixels["min_size"]) is int  # as it was written


# -------------------------------------------------------------------------------------- two runs


def test_resume_with_other_parameters_is_refused(finished, capsys):
    before = content()
    capsys.readouterr()
    said = refused(capsys, *BATCH, "--resume", *B, "--fill-holes")
    assert "got --fill-holes given where it was not given; --spacing 3.0 where it was none" in said
    assert "--overwrite" in said
    assert content() == before
    assert finished() == ["skipped", "skipped"]


def test_resume_with_another_version_is_refused(finished, monkeypatch, capsys):
    monkeypatch.setattr("equilabel.__version__", "99")
    capsys.readouterr()
    assert "equilabel 99 where it was" in refused(capsys, *BATCH, "--resume")


def test_resume_may_have_other_parameters_where_nothing_was_made(here):
    tiff("in/a.tif").write_text("broken")
    assert main([*BATCH, *A]) == 1
    tiff("in/a.tif")
    assert main([*BATCH, "--resume", *B]) == 0
    assert area("a") == 48 * 9


def test_results_of_two_runs_are_never_taken_for_one(here, capsys):
    for name in "abc":
        tiff(f"in/{name}.tif")
    assert main([*BATCH, *A]) == 0
    with killed(after=1):
        main([*BATCH, "--overwrite", *B])
    assert [area(name) for name in "abc"] == [48 * 9, 48 * 4, 48 * 4]
    assert not Path("out/summary.csv").exists()  # that of A does not tell of what is there
    capsys.readouterr()
    assert "--spacing 2.0 where it was 3.0" in refused(capsys, *BATCH, "--resume", *A)
    assert main([*BATCH, "--resume", *B]) == 0
    assert [row["status"] for row in summary().values()] == ["skipped", "done", "done"]
    assert [area(name) for name in "abc"] == [48 * 9] * 3


def test_a_run_that_dies_while_overwriting_with_the_same_parameters_is_resumed(finished):
    with killed(after=1):
        main([*BATCH, "--overwrite"])
    assert finished() == ["skipped", "skipped"]


def test_the_summary_has_the_images_of_this_run_alone(finished, capsys):
    assert main(["batch", "in/b.tif", "--out", "out", "--resume"]) == 0
    assert set(summary()) == {"in/b.tif"}
    assert "1 image of earlier runs" in capsys.readouterr().out
    assert finished() == ["skipped", "skipped"]
    assert set(summary()) == {"in/a.tif", "in/b.tif"}
    assert "of earlier runs" not in capsys.readouterr().out


def test_other_parameters_are_refused_for_other_images_too(finished, capsys):
    tiff("c.tif")
    capsys.readouterr()
    said = refused(capsys, "batch", "c.tif", "--out", "out", "--resume", *B)
    assert "--spacing 3.0 where" in said


@pytest.mark.parametrize(
    ("words", "gone"), [(["--no-overlay"], "_overlay.png"), (["--format", "parquet"], "_table.csv")]
)
def test_results_that_a_run_does_not_write_do_not_stay_beside_its_own(finished, words, gone):
    if "parquet" in words:
        pytest.importorskip("pyarrow")
    assert main([*BATCH, "--overwrite", *words]) == 0
    assert not [name for name in names() if name.endswith(gone)]
    assert finished(*words) == ["skipped", "skipped"]


# ----------------------------------------------------------------------------- damaged records


def test_resume_needs_the_record_of_the_run(finished, capsys):
    for text in (
        *(None, "", "{}", "3", '{"files": 3}', '{"format": 1}', "[" * 100_000, '{"a": "\ud800'),
        '{"format": 1, "parameters": [], "versions": {}}',
        '{"format": true, "parameters": {}, "versions": {}}',
    ):
        Path("out/run.json").unlink(missing_ok=True)
        if text is not None:
            Path("out/run.json").write_text(text, encoding="utf-8", errors="surrogatepass")
        before = content()
        capsys.readouterr()
        said = refused(capsys, *BATCH, "--resume")
        assert "resume needs the run.json" in said, text
        assert "'out/run.json'" in said
        assert "--overwrite" in said
        assert content() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX pipes")
def test_a_pipe_in_the_place_of_a_record_is_not_waited_for(finished, capsys):
    path = record_path(Path("out"), "b")
    path.unlink()
    os.mkfifo(path)
    assert finished() == ["skipped", "done"]
    Path("out/run.json").unlink()
    os.mkfifo("out/run.json")
    capsys.readouterr()
    assert "a pipe in place of a file" in refused(capsys, *BATCH, "--resume")


WRONG = [
    *(("objects", value) for value in (float("inf"), 2**80, 2.5, True, "2")),
    *(("statistics", value) for value in ({"a": "x"}, {"area_mean": float("nan")}, [])),
    *(("sizes", {"of": "area", "unit": "", "counts": {step: 1}}) for step in ("1000000", "--5")),
    *(("sizes", {"of": "area", "unit": "", "counts": {"3": count}}) for count in (0, -1)),
    ("sizes", {"of": "area", "unit": "", "counts": {"8" * 5000: 1}}),
    *(("frames", [frame]) for frame in (3, {"frame": 0, "objects": 1, "a": []})),
    *(("shape", [20, n]) for n in (None, 2.5, "x")),
    ("outputs", {"labels": {"file": "x", "sha256": 3}}),
    *(("notes", [text]) for text in ("\x1b[31mred", "a\nb", "\x9b2J", "\u202e")),
    *(("threshold", float("nan")), ("spacing", {"X": 10**400}), ("in_pixels", {"sigma": "x"})),
]


def test_a_record_that_no_run_can_have_written_does_not_read(finished):
    path = record_path(Path("out"), "b")
    whole = path.read_bytes()
    for name, value in WRONG:
        sign("b", **{name: value})
        assert records.read_record(path) is None, (name, value)
        path.write_bytes(whole)
    assert records.read_record(path) is not None


@pytest.mark.parametrize(("name", "value"), [WRONG[0], WRONG[-1], ("outputs", {})])
def test_an_image_whose_record_does_not_read_is_labeled_anew(finished, name, value):
    sign("b", **{name: value})
    assert finished() == ["skipped", "done"]
    assert Path("out/objects.csv").read_text("utf-8").count("in/b.tif") == 2


@pytest.mark.parametrize("name", ["outputs", "sizes", "spacing", "statistics", "in_pixels"])
def test_numbers_that_json_has_not_are_found_wherever_they_stand(finished, name):
    known = json.loads(record_path(Path("out"), "b").read_text("utf-8"))["record"][name]
    holder = known["labels"] if name == "outputs" else known
    holder["=1+1"] = float("-inf")
    sign("b", **{name: known})
    assert finished() == ["skipped", "done"]


def test_what_a_terminal_would_obey_is_not_taken_from_a_record(finished, capsys):
    notes, there = ["\x1b[31mred\n\x9b2J"], Path("out/b_table.csv").read_bytes()
    sign("b", notes=notes, unit="\x1b]0;x\x07", spacing={"X": 1.0}, statistics={"\x1b[2J": 1.0})
    capsys.readouterr()
    assert finished() == ["skipped", "done"]
    said = capsys.readouterr().out
    pages = [Path("out", page).read_text("utf-8") for page in ("summary.csv", "report.html")]
    assert not {letter for letter in "".join([said, *pages]) if not printed(letter)}
    assert "31mred" not in "".join([said, *pages])
    assert Path("out/b_table.csv").read_bytes() == there


@posix
def test_a_name_that_cannot_be_printed_is_no_damage_to_its_record(here):
    tiff("in/a\n\x1b[31m.tif")
    assert main(BATCH) == 0
    assert main([*BATCH, "--resume"]) == 0
    assert [row["status"] for row in summary().values()] == ["skipped"]


def test_a_record_cannot_bring_another_picture_into_the_report(finished):
    Path("out/b_overlay.png").rename("secret.png")
    shutil.copy("secret.png", "out/b_overlay.png")
    known = json.loads(record_path(Path("out"), "b").read_text("utf-8"))["record"]["outputs"]
    known["overlay"]["file"] = "b/../../secret.png"
    sign("b", outputs=known)
    assert finished() == ["skipped", "done"]


def sign(name, **values):
    """Replace values in the record of an image, with the checksum that its writer would make."""
    path = record_path(Path("out"), name)
    content = json.loads(path.read_text("utf-8"))
    del content["sha256"]
    content["record"] |= values
    content["sha256"] = records._digest(content)
    path.write_text(json.dumps(content), "utf-8")


def mutated(value, rng):
    """Exchange one value somewhere in JSON for one of another type, or drop it."""
    other = rng.choice([None, True, -1, 1e300, "", "x", [], [[]], {}, {"file": 3}])
    if isinstance(value, (dict, list)) and value and rng.random() < 0.9:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = rng.choice(keys)
        if rng.random() < 0.1:
            del value[key]
        else:
            value[key] = mutated(value[key], rng)
        return value
    return other


@pytest.mark.parametrize("seed", range(5))
def test_records_of_wrong_types_are_refused_or_made_again(finished, capsys, seed):
    rng = random.Random(seed)
    for path in (record_path(Path("out"), "b"), Path("out/run.json")):
        whole = json.loads(path.read_text(encoding="utf-8"))
        other = whole
        while other == whole:
            other = mutated(copy.deepcopy(whole), rng)
        path.write_text(json.dumps(other), encoding="utf-8")
    Path("out/summary.csv").write_text("file,status\n=1;\x00", encoding="utf-8")
    capsys.readouterr()
    code = main([*BATCH, "--resume"])
    said = capsys.readouterr()
    if code == 2:
        assert said.err.count("\n") == 1
        assert "--overwrite" in said.err
    else:
        assert (code, said.err) == (0, "")
        assert [row["status"] for row in summary().values()] == ["skipped", "done"]
        assert {row["objects"] for row in summary().values()} == {"2"}
