"""From Pyomo expressions to the expressions of a solver's own Python interface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import SumExpression, UnaryFunctionExpression
from pyomo.core.expr.numvalue import native_numeric_types
from pyomo.core.expr.visitor import StreamBasedExpressionVisitor, polynomial_degree


@dataclass(frozen=True)
class Interface:
    """What a solver's Python interface offers beside the arithmetic operators."""

    add: Callable[[list[Any]], Any]
    """The sum of a list."""
    log: Callable[[Any], Any] | None = None


class Translator:
    """Rebuilds an expression with a solver's variables in place of Pyomo's."""

    def __init__(self, interface: Interface, variables: dict[int, Any]) -> None:
        self._interface = interface
        self._variables = variables  # id of a Pyomo variable -> the solver's
        self._visitor = StreamBasedExpressionVisitor(
            beforeChild=self._before_child, exitNode=self._exit_node, initializeWalker=self._initialize
        )

    def __call__(self, expression: Any) -> Any:
        return self._visitor.walk_expression(expression)

    def _initialize(self, expression: Any) -> tuple[bool, Any]:
        descend, value = self._before_child(None, expression, 0)
        return descend, value

    def _before_child(self, node: Any, child: Any, index: int) -> tuple[bool, Any]:
        if child.__class__ in native_numeric_types:
            return False, float(child)
        if child.is_expression_type():
            return True, None
        if child.is_variable_type():
            return False, self._variables[id(child)]
        return False, float(pyo.value(child))

    def _exit_node(self, node: Any, arguments: list[Any]) -> Any:
        if isinstance(node, SumExpression):
            return self._interface.add(arguments)
        if isinstance(node, UnaryFunctionExpression):
            if node.getname() != "log" or self._interface.log is None:
                raise NotImplementedError(f"the solver has no function {node.getname()}")
            return self._interface.log(arguments[0])
        return node._apply_operation(arguments)


def summands(model: pyo.ConcreteModel) -> tuple[list[Any], list[Any], list[Any]]:
    """The summands of the objective: linear, quadratic, and others."""
    expression = model.cost.expr
    parts = list(expression.args) if isinstance(expression, SumExpression) else [expression]
    linear: list[Any] = []
    quadratic: list[Any] = []
    other: list[Any] = []
    for part in parts:
        degree = polynomial_degree(part) if part.__class__ not in native_numeric_types else 0
        (linear if degree in (0, 1) else quadratic if degree == 2 else other).append(part)
    return linear, quadratic, other
