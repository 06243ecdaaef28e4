"""A fitted model as ONNX: the declared rows, the weights, the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reticent import _base
from reticent._extras import needs
from reticent._onnx_rows import Graph, Rows

OPSET = 17


def export(estimator: Any) -> Any:
    """The ONNX model of a fitted estimator: of a matrix `X`, or of an input for each declared
    column."""
    needs("onnx", "onnx", "to_onnx")
    from onnx import TensorProto, checker

    layout = estimator._model.layout()
    if layout["encoding"]["normalize_rows"]:
        raise ValueError("to_onnx takes models whose rows are not normalized; fit without `--normalize rows`")
    graph = Graph()
    inputs = _Inputs(graph, estimator, layout, TensorProto)
    row = Rows(graph, layout).encode(inputs.of)
    margins = _decisions(graph, layout, _margins(graph, estimator, row))
    outputs = _outputs(graph, estimator, margins, TensorProto)
    helper = graph.helper
    body = helper.make_graph(graph.nodes, "reticent", inputs.given, outputs, graph.constants)
    versions = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", 2)]
    model = helper.make_model(body, opset_imports=versions, ir_version=8, producer_name="reticent")
    helper.set_model_props(model, {"privacy": estimator.certificate_["statement"]})
    checker.check_model(model)
    return model


class _Inputs:
    """Where cells come from: the columns of a matrix `X`, or an input for each column by its
    name."""

    def __init__(self, graph: Graph, estimator: Any, layout: dict[str, Any], proto: Any) -> None:
        self.graph, self.proto = graph, proto
        self.given: list[Any] = []
        names = [column["name"] for column in layout["inputs"]]
        is_matrix = estimator.declaration is None and not isinstance(getattr(estimator, "bounds", None), Mapping)
        # The place of each column in the matrix.
        self.places = {name: place for place, name in enumerate(names)} if is_matrix else None
        if is_matrix:
            self.given.append(self._input("X", "number", estimator.n_features_in_))

    def _input(self, name: str, kind: str, width: int) -> Any:
        element = self.proto.STRING if kind == "text" else self.proto.DOUBLE
        return self.graph.helper.make_tensor_value_info(name, element, [None, width])

    def of(self, column: dict[str, Any], kind: str, width: int) -> str:
        """The cells of a column."""
        name: str = column["name"]
        if self.places is None:
            self.given.append(self._input(name, kind, width))
            return name
        if len(self.places) == 1 and width > 1:
            return "X"
        place = self.places[name]
        index = self.graph.constant(f"place_{place}", np.array([place]))
        return self.graph.node("Gather", ["X", index], f"cell_{place}", axis=1)


def _decisions(graph: Graph, layout: dict[str, Any], margins: str) -> str:
    """How much speaks for the second of two classes: less the margin where the first is the
    positive one."""
    if layout["labels"].get("binary", {}).get("positive") != 0:
        return margins
    return graph.node("Neg", [margins], "decisions")


def _margins(graph: Graph, estimator: Any, row: str) -> str:
    model = estimator._model.to_dict()
    weights, hidden = model["weights"], model["task"].get("hidden")
    random_features = estimator._model.random_features()
    if random_features is not None:
        return _mapped(graph, row, np.array(weights), *random_features)
    if hidden is None:
        return graph.node("MatMul", [row, graph.constant("weights", np.array(weights).T)], "margins")
    first, last = np.array(weights[:hidden]), np.array(weights[hidden:])
    units = graph.node("Tanh", [graph.node("MatMul", [row, graph.constant("first", first.T)], "sums")], "units")
    products = graph.node("MatMul", [units, graph.constant("last", last[:, :-1].T)], "products")
    return graph.node("Add", [products, graph.constant("constants", last[:, -1])], "margins")


def _labels(classes: Any, proto: Any) -> tuple[Any, Any]:
    """The names of classes, and their type: texts, whole numbers, or numbers where one is not
    whole."""
    if classes.dtype.kind not in "biuf":
        return np.array([str(label) for label in classes], dtype=object), proto.STRING
    if classes.dtype.kind == "f" and not all(label.is_integer() for label in classes.tolist()):
        return classes.astype(np.float64), proto.DOUBLE
    return classes.astype(np.int64), proto.INT64


def _mapped(graph: Graph, row: str, weights: Any, frequencies: Any, phases: Any, scale: float) -> str:
    """The margins of random features. The engine reads rows in single precision; one that does not
    fit counts as zero."""
    single = graph.node("Cast", [graph.node("Cast", [row], "single", to=1)], "rounded", to=11)
    single = graph.node("Where", [graph.node("IsInf", [single], "too_large"), "zero", single], "inputs")
    angles = graph.node("MatMul", [single, graph.constant("frequencies", frequencies.T)], "angles")
    if len(phases):
        angles = graph.node("Add", [angles, graph.constant("phases", phases)], "shifted")
    # A cosine is a sine a quarter of a turn later, which every runtime has for type double.
    cosines = graph.node("Sin", [graph.node("Add", [angles, graph.constant("quarter", np.pi / 2.0)], "later")], "cosines")
    if len(phases):
        return graph.node("MatMul", [cosines, graph.constant("weights", scale * weights.T)], "margins")
    # Features alternate between the cosine and the sine of each frequency.
    pair = np.concatenate([weights[:, 0::2], weights[:, 1::2]], axis=1)
    both = graph.node("Concat", [cosines, graph.node("Sin", [angles], "sines")], "features", axis=1)
    return graph.node("MatMul", [both, graph.constant("weights", scale * pair.T)], "margins")


def _outputs(graph: Graph, estimator: Any, margins: str, proto: Any) -> list[Any]:
    info = graph.helper.make_tensor_value_info
    if isinstance(estimator, _base.PrivateRegressor):
        last = estimator._model.last_layer()
        if last is None:
            raise ValueError("the model predicts classes; export its classifier")
        thresholds = np.array(last["thresholds"])
        if len(thresholds):
            margins = graph.node("Sub", [margins, graph.constant("thresholds", thresholds[None, :])], "log_odds")
        for place, operator in enumerate(last["operators"]):
            margins = graph.node(operator, [margins], f"linked_{place}")
        if len(thresholds):
            # The chance of each level but the lowest, or a higher one: their mean lies from 0 to 1,
            # labels from -1 to 1.
            each = graph.constant("each_threshold", np.full((len(thresholds), 1), 2.0 / len(thresholds)))
            margins = graph.node("Sub", [graph.node("MatMul", [margins, each], "risen"), "one"], "level")
        within = graph.node("Clip", [margins, graph.constant("low", last["low"]), graph.constant("high", last["high"])], "within")
        scaled = graph.node("Mul", [within, graph.constant("scale_of_target", last["scale"])], "scaled")
        graph.node("Add", [scaled, graph.constant("offset_of_target", last["offset"])], "variable")
        return [info("variable", proto.DOUBLE, [None, 1])]
    classes = estimator.classes_
    if len(classes) == 2:
        index = graph.node("Cast", [graph.node("Greater", [margins, "zero"], "above")], "index", to=proto.INT64)
        index = graph.node("Squeeze", [index, "axis"], "place")
    else:
        index = graph.node("ArgMax", [margins], "place", axis=1, keepdims=0)
    names, element = _labels(classes, proto)
    graph.node("Gather", [graph.constant("classes", names), index], "label")
    outputs = [info("label", element, [None])]
    if isinstance(estimator, _base.ProbabilityMixin):
        if len(classes) == 2:
            second = graph.node("Sigmoid", [margins], "second")
            graph.node("Concat", [graph.node("Sub", ["one", second], "first_class"), second], "probabilities", axis=1)
        else:
            graph.node("Softmax", [margins], "probabilities", axis=1)
        outputs.append(info("probabilities", proto.DOUBLE, [None, len(classes)]))
    return outputs
