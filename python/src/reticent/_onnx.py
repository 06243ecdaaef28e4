"""A fitted model as ONNX: the declared clipping, the weights, the classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent import _base

OPSET = 17


class _Graph:
    """Nodes one after another, each named by what it gives."""

    def __init__(self) -> None:
        from onnx import helper, numpy_helper

        self.helper, self.numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any) -> str:
        self.constants.append(self.numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(self.helper.make_node(kind, inputs, [output], **attributes))
        return output


def export(estimator: Any) -> Any:
    """The ONNX model of a fitted estimator whose rows are a matrix."""
    try:
        from onnx import TensorProto, checker
    except ImportError as error:
        raise ImportError("to_onnx needs the package `onnx`: pip install reticent[onnx]") from error
    if estimator.declaration is not None:
        raise ValueError("to_onnx takes models of a matrix: put a DeclaredEncoder before an estimator with `feature_norm`")
    if estimator._model.to_dict()["task"].get("map") is not None:
        raise ValueError("to_onnx takes models of the columns themselves, not of random features")
    graph = _Graph()
    row = _encode(graph, estimator)
    outputs = _outputs(graph, estimator, _margins(graph, estimator, row), TensorProto)
    helper = graph.helper
    given = helper.make_tensor_value_info("X", TensorProto.DOUBLE, [None, estimator.n_features_in_])
    body = helper.make_graph(graph.nodes, "reticent", [given], outputs, graph.constants)
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="reticent")
    helper.set_model_props(model, {"privacy": estimator.certificate_["statement"]})
    checker.check_model(model)
    return model


def _encode(graph: _Graph, estimator: Any) -> str:
    """Rows as the encoder makes them: zero if a cell is not finite, clipped to the declared norm, then the constant."""
    norm = estimator._model.to_dict()["task"]["declaration"]["columns"][0]["bounds"]["l2_norm_max"]
    one, zero = graph.constant("one", 1.0), graph.constant("zero", 0.0)
    axis = graph.constant("axis", np.array([1]))
    odd = graph.node("Or", [graph.node("IsNaN", ["X"], "nan"), graph.node("IsInf", ["X"], "inf")], "odd")
    bad = graph.node("ReduceMax", [graph.node("Cast", [odd], "odd_number", to=11)], "bad", axes=[1])
    broken = graph.node("Greater", [bad, zero], "broken")
    kept = graph.node("Where", [broken, zero, "X"], "kept")
    # As the encoder: dividing by the largest entry first keeps the squares in range for every finite row.
    largest = graph.node("ReduceMax", [graph.node("Abs", [kept], "sizes")], "largest", axes=[1])
    positive = graph.node("Greater", [largest, zero], "positive")
    scale = graph.node("Where", [positive, largest, one], "scale")
    unit = graph.node("Div", [kept, scale], "unit")
    squares = graph.node("ReduceSum", [graph.node("Mul", [unit, unit], "squared"), axis], "squares")
    limit = graph.node("Div", [graph.constant("norm", float(norm)), graph.node("Sqrt", [squares], "length")], "limit")
    clipped = graph.node("Mul", [unit, graph.node("Min", [scale, limit], "factor")], "clipped")
    if not estimator.fit_intercept:
        return clipped
    constant = graph.node("Sub", [one, bad], "constant")
    return graph.node("Concat", [clipped, constant], "row", axis=1)


def _margins(graph: _Graph, estimator: Any, row: str) -> str:
    model = estimator._model.to_dict()
    weights, hidden = model["weights"], model["task"].get("hidden")
    if hidden is None:
        return graph.node("MatMul", [row, graph.constant("weights", np.array(weights).T)], "margins")
    first, last = np.array(weights[:hidden]), np.array(weights[hidden:])
    units = graph.node("Tanh", [graph.node("MatMul", [row, graph.constant("first", first.T)], "sums")], "units")
    products = graph.node("MatMul", [units, graph.constant("last", last[:, :-1].T)], "products")
    return graph.node("Add", [products, graph.constant("constants", last[:, -1])], "margins")


def _outputs(graph: _Graph, estimator: Any, margins: str, proto: Any) -> list[Any]:
    info = graph.helper.make_tensor_value_info
    if isinstance(estimator, _base.PrivateRegressor):
        last = estimator._model.last_layer()
        if last is None:
            raise ValueError("the model predicts classes; export its classifier")
        for place, operator in enumerate(last["operators"]):
            margins = graph.node(operator, [margins], f"linked_{place}")
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
    is_text = classes.dtype.kind not in "biuf"
    if classes.dtype.kind == "f" and not all(label.is_integer() for label in classes.tolist()):
        raise ValueError(
            f"to_onnx names classes by whole numbers or texts, got {classes.tolist()}; fit with the classes as texts, for instance "
            f"classes={[str(label) for label in classes.tolist()]}"
        )
    names = np.array([str(c) for c in classes], dtype=object) if is_text else classes.astype(np.int64)
    graph.node("Gather", [graph.constant("classes", names), index], "label")
    outputs = [info("label", proto.STRING if is_text else proto.INT64, [None])]
    if isinstance(estimator, _base.ProbabilityMixin):
        if len(classes) == 2:
            second = graph.node("Sigmoid", [margins], "second")
            graph.node("Concat", [graph.node("Sub", ["one", second], "first_class"), second], "probabilities", axis=1)
        else:
            graph.node("Softmax", [margins], "probabilities", axis=1)
        outputs.append(info("probabilities", proto.DOUBLE, [None, len(classes)]))
    return outputs
