"""Form that segments: from an image layer to a labels layer and its table, with a preview."""

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from magicgui.widgets import CheckBox, ComboBox, SpinBox
from qtpy.QtCore import QSettings, Qt, QTimer, Signal
from qtpy.QtWidgets import QFileDialog, QLabel

from equilabel.widget import Event, Layer, Viewer
from equilabel.widget.logic import large
from equilabel.widget.logic.choices import (
    DEPTH,
    Choices,
    connectivities,
    length_unit,
    offered,
    question_smoothing,
)
from equilabel.widget.logic.outcomes import Outcome, segment_source, warm_up_segmenting
from equilabel.widget.logic.planes import UNKNOWN
from equilabel.widget.logic.sources import Source
from equilabel.widget.viewer import layers
from equilabel.widget.viewer.preview import LivePreview
from equilabel.widget.viewer.tasks import ask, guarded, inform, sentence, warn

from .fields import (
    AxesField,
    LengthField,
    StatisticsField,
    color_field,
    device_field,
    field,
    layer_field,
    length,
    method_field,
    offer,
    offer_layers,
)
from .layout import Form, Grid, RunForm, button, column, fold, scrolled, side_by_side
from .threshold import ThresholdField

# ---- The fields


NO_IMAGE = "Open an image, or a sample: File > Open Sample > equilabel."
BACKGROUNDS = [("Box (top-hat)", "top_hat"), ("Rolling ball", "rolling_ball")]
SPLITS = [("Necks", "shape"), ("Dark lines", "intensity")]
PIXELS = "pixels"
TIPS = {
    "image": "Image layer to find objects in. Or a labels layer that is a mask, as it was painted.",
    "unit": "Pixels: the same number along each axis. The unit of the layer: the same length in "
    "all directions, converted with its pixel size.",
    "labels": "Set all fields as they were when the labels under Results were found.",
    "first": "Set all fields as they were at first.",
    "new_layer": "Keep the labels of earlier runs. Otherwise a run replaces them.",
    "preview": "Show the outline of the objects on the visible plane, and count them.",
}


# Fields that are not kept with labels: other layers, and what does not change the labels.
NOT_KEPT = ("image", "markers", "mask", "connectivity", "new_layer", "show_preview")
OPTIONS = {each.name for each in fields(Choices)}
OF_THRESHOLD = ("method", "block_size", "dark", "automatic", "offset")


def _store() -> Any:
    return QSettings("equilabel", "napari")


class SegmentFields(Form):
    """The fields of the form, and their values."""

    histogram_changed = Signal()  # a value changed on which the histogram or the threshold depends
    outline_changed = Signal()  # a value changed on which only the preview depends
    settings_wanted = Signal()  # those with which labels were found

    image = layer_field("Image", TIPS["image"])
    color = color_field("_change_histogram")
    channel = field(SpinBox, "Channel", min=0, max=0, then="_change_histogram")
    unit = field(ComboBox, "Lengths in", TIPS["unit"], choices=[PIXELS], then="_change_unit")
    # The values of fields make a recipe for a first try: that of the guide.
    sigma = length("radius", "Smoothing", start=1.0, then="_change_histogram")
    fill_holes = field(CheckBox, "Fill holes", value=True, then="_change_outline")
    split = field(CheckBox, "Split objects that touch", value=True, then="_change_outline")
    split_by = field(ComboBox, "Split at", choices=SPLITS, then="_change_outline")
    depth = length("depth", "Neck depth", start=DEPTH, least=0.1, step=0.1, then="_change_outline")
    markers = field(ComboBox, "Markers", choices=[], nullable=True, then="_change_outline")
    mask = field(ComboBox, "Mask", choices=[], nullable=True, then="_change_outline")
    min_size = length(
        "size", "Minimum size", start=30.0, step=10.0, decimals=0, then="_change_outline"
    )
    exclude_border = field(CheckBox, "Drop objects at the border", then="_change_outline")
    grow = length("depth", "Grow by", then="_change_outline")
    track = field(CheckBox, "Follow objects over time")
    background = length("radius", "Background", step=10.0, decimals=0, then="_change_histogram")
    background_method = field(ComboBox, "Found with", choices=BACKGROUNDS, then="_change_histogram")
    closing = length("radius", "Closing", then="_change_outline")
    opening = length("radius", "Opening", then="_change_outline")
    connectivity = field(
        ComboBox, "Neighbors", choices=connectivities(2), value=2, then="_change_outline"
    )
    method = field(method_field, "Method")
    device = field(device_field, "Device")
    new_layer = field(CheckBox, "New layer for each run", TIPS["new_layer"])
    show_preview = field(CheckBox, "Preview", TIPS["preview"], then="_change_outline")

    def __init__(self) -> None:
        super().__init__()
        self.source: Source | None = None  # the image, with the chosen roles of axes
        self._spacing: tuple[float, ...] = (1.0, 1.0)
        self._remarks: dict[str, str] = {}
        # Below the fields, so that these do not move.
        self.remark, self.count = QLabel(wordWrap=True), QLabel()
        changes = (self.histogram_changed.emit, self.outline_changed.emit)
        self.threshold = ThresholdField(*changes, partial(self.say, "threshold"))
        self.axes, self.statistics = AxesField(self.update_axes), StatisticsField()
        self.settings = side_by_side(
            button("Settings of the labels", TIPS["labels"], self.settings_wanted.emit),
            button("First settings", TIPS["first"], lambda: self.set_values(self.first)),
        )
        self._arrange()
        self.threshold.dark.changed.connect(self._change_histogram)
        self._change_outline()
        self._change_histogram()
        self.show_source(None)
        self.first: dict[str, Any] = {}  # values for the first image, before those of the last run

    @property
    def kept(self) -> dict[str, Any]:
        """The fields that are kept with labels, by name: the unit before the lengths."""
        own = [name for name, each in vars(SegmentFields).items() if hasattr(each, "attrname")]
        found = {name: getattr(self, name) for name in own if name not in NOT_KEPT}
        return found | {f"threshold.{name}": getattr(self.threshold, name) for name in OF_THRESHOLD}

    def _arrange(self) -> None:
        main = Grid(
            *(self.color, self.channel, self.unit, *self.threshold.rows, self.sigma),
            *(self.fill_holes, self.split, self.split_by, self.depth, self.markers, self.mask),
            *(self.min_size, self.exclude_border, self.grow, self.track),
        )
        background = (self.background, self.background_method)
        steps = Grid(*background, self.closing, self.opening, self.connectivity)
        self._body = column(
            main,
            fold("More steps", steps),
            fold("Axes", self.axes),
            fold("Statistics", self.statistics),
            fold("Computing", Grid(self.method, self.device, self.new_layer, self.settings)),
        )
        self.count.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        width = self.count.fontMetrics().horizontalAdvance("1000000 objects in this plane")
        self.count.setFixedSize(width, self.show_preview.native.sizeHint().height())
        self._foot = side_by_side(self.show_preview.native, self.count, widths=(1, 0))
        column(scrolled(Grid(self.image), self._body), self.remark, self._foot, into=self)

    def say(self, subject: str, text: str) -> None:
        """Show a remark on a subject below the fields, or remove it if the text is ""."""
        self._remarks[subject] = sentence(text)
        whole = "\n".join(dict.fromkeys(filter(None, self._remarks.values())))
        if whole != self.remark.text():  # setting the same text would lay out the form again
            self.remark.setText(whole)
            self.remark.setVisible(bool(whole))

    def show_count(self, count: str, remark: str) -> None:
        """Show how many objects the preview has, and how it differs from a run."""
        self.count.setText(count)
        self.say("preview", remark)

    def _change_outline(self, *_: object) -> None:
        self.split_by.enabled = bool(self.split.value or self.markers.value)
        self.depth.number.enabled = bool(self.split.value) and self.split_by.value == "shape"
        self.outline_changed.emit()

    @guarded
    def _change_unit(self) -> None:
        """Show all lengths in the chosen unit."""
        unit = "" if self.unit.value == PIXELS else self.unit.value
        for each in self.kept.values():
            if isinstance(each, LengthField):
                each.show_unit(unit, self._spacing)
        self._change_histogram()

    @guarded
    def _change_histogram(self) -> None:
        self.background_method.enabled = bool(self.background.value)
        if self.source is not None and not self.source.problem:
            self.say("smoothing", question_smoothing(self.source, self.choices()))
        self.histogram_changed.emit()

    def show_source(self, source: Source | None) -> None:
        self.source = source
        self._remarks.clear()
        for part in (self._body, self._foot):
            part.setVisible(source is not None)
        self.say("image", "" if source else NO_IMAGE)
        if source is None:
            self.threshold.show_histogram(UNKNOWN)
            return
        self.axes.show_axes(source)

    @guarded
    def update_axes(self) -> None:
        if self.source is None:
            return
        self.source = source = replace(self.source, roles=self.axes.roles)
        self.say("axes", source.problem or source.explain_guess())
        if source.problem:
            return
        self.say("pixel size", source.doubt_pixel_size())
        self._spacing, unit = source.pixel_size
        rank = len(self._spacing)
        if rank != len(self.connectivity.choices):
            self.connectivity.choices = connectivities(rank)
            self.connectivity.value = rank
        self.statistics.offer(offered(source))
        self.color.visible = source.rgb
        self.channel.visible = source.channel is not None
        if source.channel is not None:
            self.channel.max = source.shape[source.channel] - 1
        self.track.visible = "time" in source.roles
        unit = length_unit(unit)
        offer(self.unit, [PIXELS, unit] if unit else [PIXELS])
        self.unit.visible = bool(unit)
        self.align()
        self._change_unit()

    def begin(self) -> None:
        """Set fields as for the last run, when the first image is shown."""
        if self.first:
            return
        self.first = self.values()
        with suppress(ValueError, AttributeError):  # another program has written there
            last = json.loads(_store().value("fields", "{}"))
            if last.keys() == self.first.keys() and isinstance(last["level"], str):
                self.set_values(last)  # a level is that of its image alone

    @property
    def _hops(self) -> int | None:
        """The connectivity; None for that of all neighbors."""
        hops: int = self.connectivity.value
        return None if hops == len(self._spacing) else hops

    def values(self) -> dict[str, Any]:
        """Return the values of all fields on which labels depend, by their names."""
        found = {name: each.value for name, each in self.kept.items()}
        found |= {"rank": len(self._spacing), "hops": self._hops}
        return {**found, "level": self.threshold.choice, "statistics": self.statistics.ticks}

    def set_values(self, values: Mapping[str, Any]) -> None:
        """Set fields to what `values` returned; what this image does not offer stays as it is."""
        same = values["unit"] == PIXELS or values["rank"] == len(self._spacing)
        has_unit = same and values["unit"] in self.unit.choices
        for name, each in self.kept.items():
            if has_unit or not isinstance(each, LengthField):
                with suppress(ValueError):
                    each.value = values[name]
        self.connectivity.value = min(values["hops"] or math.inf, len(self._spacing))
        if not isinstance(values["level"], str):
            self.threshold.set_level(values["level"])
        for name in values["statistics"].keys() & self.statistics.ticks.keys():
            self.statistics.tick(name, values["statistics"][name])

    def choices(self) -> Choices:
        fields = {name: each for name, each in self.kept.items() if name in OPTIONS}
        given = {name: getattr(each, "choice", each.value) for name, each in fields.items()}
        markers, mask = (each.value and Source.of(each.value) for each in (self.markers, self.mask))
        given |= {
            "markers": markers,
            "mask": mask,
            "threshold": self.threshold.choice,
            "dark": self.threshold.dark.value,
            "block_size": self.threshold.block_size.choice,
            "offset": self.threshold.shift,
            "background": self.background.choice or None,
            "connectivity": self._hops,
            "split": self.split.value and (self.split_by.value != "shape" or self.depth.choice),
            "properties": self.statistics.names,
        }
        return Choices(**given)


# ---- The form


FOLLOWED = (  # events of a layer after which its pixels or its transform are others
    *("data", "paint", "scale", "translate", "rotate", "shear", "affine"),
    *("units", "axis_labels"),
)
STAGES = (
    *("read", "background", "binarize", "close and open", "fill"),
    *("label", "split", "drop", "grow", "measure"),
)


class SegmentForm(RunForm):
    """Find the objects of an image layer."""

    fields: SegmentFields

    def __init__(self, napari_viewer: Viewer) -> None:
        fields = SegmentFields()
        super().__init__(napari_viewer, "Find objects", fields, fields.image)
        self._warm: Any = ()  # kind of image for which functions were compiled
        self._drawn: Any = None  # position of the plane that napari has drawn
        self._queue: list[Layer] = []  # images whose objects are found after it
        self.choices = self.fields.choices
        self.preview = LivePreview(napari_viewer, self.fields, self)
        self.fields.image.changed.connect(self._set_layer)
        self.fields.settings_wanted.connect(self._take_settings)
        self.run_button.clicked.connect(self._run)
        self.reset_choices()
        self._prepare()

    @guarded
    def reset_choices(self) -> None:
        """Offer the layers of the viewer; napari calls it when they change."""
        masks = layers.labels(self._viewer)
        offer_layers(self.fields.image, layers.images(self._viewer), masks)
        if self.fields.image.value is not self._layer:
            self._set_layer()
        self._offer_labels()

    def _offer_labels(self) -> None:
        """Offer labels of the shape of the image as markers and mask; the preview follows them."""
        source, every = self.fields.source, layers.labels(self._viewer)
        found = [each for each in every if source is not None and source.holds(Source.of(each))]
        for layer in found:
            for event in (layer.events.paint, layer.events.data):
                event.connect(self.preview.update_outline)
        for choice in (self.fields.markers, self.fields.mask):
            before = choice.value
            offer(choice, [(layer.name, layer) for layer in found])
            choice.visible = bool(found)
            if choice.value is not before:
                self.preview.update_outline()

    @guarded
    def _set_layer(self) -> None:
        if self._layer is not None:
            self._layer.events.disconnect(self._hear)
        self._layer, self.fields.source = self.fields.image.value, None
        if not self.running:
            self.message.setText("")  # the message was about another image
        if self._layer is not None:
            self._layer.events.connect(self._hear)
            self._drawn = layers.position(self._viewer, self._layer)
        self._update_pixels()

    def _hear(self, event: Event) -> None:
        if event.type in FOLLOWED:
            self._update_pixels()
        elif event.type == "set_data":
            self._see_drawn()

    @guarded
    def _update_pixels(self) -> None:
        """Use the pixels of a layer that has changed or has just been chosen."""
        before = self.fields.source
        source = None if self._layer is None else layers.source_of(self._layer)
        self.preview.set_layer(self._layer)
        if source is not None and before is not None and source.has_axes_of(before):
            source = replace(source, roles=before.roles)
            if source.pixel_size == before.pixel_size:
                self.fields.source = source
                self.preview.update_histogram()
                return
        self.fields.show_source(source)
        self._offer_labels()
        if source is not None:
            self.fields.begin()
            self._prepare()

    @guarded
    def _see_drawn(self) -> None:
        """Use pixels that were changed in place: napari draws the same plane of an image again."""
        source, before = self.fields.source, self._drawn
        self._drawn = layers.position(self._viewer, self._layer)
        if source is None or source.is_mask:  # which is drawn for other reasons, too
            return
        if self._drawn == before and source.data is self._layer.data:
            self._update_pixels()

    @guarded
    def _prepare(self) -> None:
        """Compile in the background what the first run on an image of this kind needs."""
        source = self.fields.source
        if source is None or not source.problem:
            kind = None if source is None else (source.data.dtype, source.rgb, source.roles)
            if kind != self._warm:
                self._warm = kind
                self._warm_up.submit(partial(warm_up_segmenting, source, self.choices()))

    def hideEvent(self, event: Event) -> None:
        self.preview.hide()
        super().hideEvent(event)

    def cancel(self) -> None:
        self._queue = []
        super().cancel()

    def end(self) -> None:
        super().end()
        self.preview.cancel()

    @guarded
    def _take_settings(self) -> None:
        values = layers.made_by(self.results.layer).get("form")
        if not values:
            message = (
                "labels under Results must be found by this form; got others. Choose them there."
            )
            raise ValueError(message)
        self.fields.set_values(values)

    @guarded
    def _run(self) -> None:
        """Start a run on the image, or on all selected images if a person wants it."""
        chosen = self._viewer.layers.selection
        images = [each for each in layers.images(self._viewer) if each in chosen]
        self._queue = []
        if len(images) > 1 and self._layer in images:
            one, every = f"Only {self._layer.name!r}", f"All {len(images)}"
            text = f"{len(images)} image layers are selected."
            more = "Objects can be found in one after the other, with these settings."
            buttons = {one: "Accept", every: "Accept", "Cancel": "Reject"}
            answer = ask(self, "Selected images", text, more, buttons)
            if answer not in (one, every):
                return
            if answer == every:
                self._queue = [each for each in images if each is not self._layer]
        self._start()

    @guarded
    def _run_next(self) -> None:
        """Start a run on the next of the selected images."""
        while self._queue:
            layer = self._queue.pop(0)
            if layer in self._viewer.layers:
                self.fields.image.value = layer
                self._start()
                return

    @guarded
    def _start(self) -> None:
        """Start a run, or say why it cannot start."""
        source = self._take_source(self.fields.axes.roles)
        source = replace(source, is_mask=layers.source_of(self._layer).is_mask)
        choices, values = self.choices(), self.fields.values()
        if (target := self._choose_target(source.identity)) is None:
            return
        _store().setValue("fields", json.dumps(values))
        title = f"objects of {source.name!r}"
        show = partial(self._show_outcome, source, values, *target)
        if not (size := large.explain_size(source, choices)):
            self.begin(title, lambda report: segment_source(source, choices, report), show, STAGES)
            return
        if problem := large.explain_refusal(source, choices, size):
            raise ValueError(problem)
        wanted, place = self._ask_where(source, size)
        if wanted:
            work = partial(large.segment_large, source, choices, place)
            self.begin(title, work, show, ("blocks",))  # the bar begins again with each stage

    def _choose_target(self, identity: str) -> tuple[Layer, str] | None:
        """Return the labels that a run replaces, or None, and their changes; None to do nothing."""
        fields, earlier = self.fields, layers.find_result(self._viewer, identity)
        if fields.new_layer.value or earlier in (None, fields.markers.value, fields.mask.value):
            return None, ""
        if not (changes := layers.describe_changes(earlier)):
            return earlier, ""
        answer = ask(
            self,
            "Replace labels",
            f"Replace {earlier.name!r}? Since its objects were found, {changes}.",
            "If you keep it, the new labels get a layer of their own.",
            {"Keep it": "Accept", "Replace": "Destructive", "Cancel": "Reject"},
        )
        return {"Keep it": (None, ""), "Replace": (earlier, changes)}.get(answer)

    def _ask_where(self, source: Source, size: str) -> tuple[bool, Path | None]:
        """Ask whether to run, and where to store labels: None for a temporary folder."""
        answer = ask(
            self,
            "Image larger than memory",
            f"{size}. It is segmented block by block.",
            "Its labels are stored as an OME-Zarr. A temporary folder is removed when their layer "
            "is removed or napari ends.",
            {"Save as ...": "Accept", "Temporary folder": "Accept", "Cancel": "Reject"},
        )
        if answer != "Save as ...":
            return answer == "Temporary folder", None
        suggested = str(large.suggest_place(source))
        place, _ = QFileDialog.getSaveFileName(self, "Store labels as", suggested, "Zarr (*)")
        return bool(place), Path(place) if place else None

    def _show_outcome(
        self, source: Source, values: Any, target: Layer, changes: str, outcome: Outcome
    ) -> None:
        """Show labels, tracks and results, and say what a person should know of them."""
        outcome.metadata["form"], viewer = values, self._viewer
        if target not in viewer.layers or layers.describe_changes(target) != changes:
            target = None  # it was changed or removed during the run
        beside = layers.find_result(viewer, source.identity) is not target
        layer = layers.show_labels(viewer, outcome, target)
        layers.show_tracks(viewer, outcome, beside=beside)
        self.fields.show_preview.value = False
        self.results.show_layer(layer)
        if outcome.tracks is not None and not self.results.colors.range.chosen:
            self.results.colors.column.value = "track"
        text = f"{self.results.summary.text()} {outcome.stored}".strip()
        text = text if outcome.metadata["objects"] else outcome.note
        image, name = layers.find(viewer, source.identity), source.name
        self.message.setText(text if image is self._layer is not None else f"{name}: {text}")
        if image is None or not layers.unchanged(image, source):
            inform(f"{name!r} was changed or removed during the run: its labels may not fit it.")
        if outcome.note:
            warn(outcome.note)
        QTimer.singleShot(0, self._run_next)
