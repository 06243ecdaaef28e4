//! Work that is compiled for each loss: the branch on the loss is taken once, outside every loop.

use super::Loss;

/// A loss of the form `φ(⟨w, x⟩, y)`.
///
/// Its gradient is `slope · x`, so a row's gradient norm is `|slope|·‖x‖` and no row's gradient is
/// ever written to memory.
pub trait LinearLoss: Copy + Send + Sync {
    /// `φ(margin, label)`.
    fn value(self, margin: f64, label: f64) -> f64;

    /// `∂φ/∂margin`, a fixed choice at a kink.
    fn slope(self, margin: f64, label: f64) -> f64;
}

/// A loss with one weight vector per class.
///
/// Its gradient is `residual ⊗ x`.
pub trait MultiLoss: Copy + Send + Sync {
    /// How many classes.
    fn classes(self) -> usize;

    /// The loss of a row with these margins and this class.
    fn value(self, margins: &[f64], class: usize) -> f64;

    /// Turns margins into the residual, in place. A class that does not exist counts as the last
    /// one, because nothing that happens here may stop a run for the sake of one row.
    fn residual(self, margins: &mut [f64], class: usize);
}

/// Work to be done with a linear loss of any kind.
pub trait LinearVisitor {
    /// The result of the work.
    type Output;
    /// Does the work with a linear loss.
    fn visit<L: LinearLoss>(self, loss: L) -> Self::Output;
}

/// Work to be done with a loss of any kind. Every loss is one or the other, so none is passed over.
pub trait LossVisitor: LinearVisitor {
    /// Does the work with a loss that has one weight vector per class.
    fn visit_multi<L: MultiLoss>(self, loss: L) -> Self::Output;
}

impl Loss {
    /// Hands the linear loss to `visitor`; none for one with several weight vectors.
    #[inline(always)]
    pub fn visit_linear<V: LinearVisitor>(self, visitor: V) -> Option<V::Output> {
        self.visit(f64::INFINITY, OnlyLinear(visitor))
    }

    /// Weight vectors: one, or one for each class.
    #[inline(always)]
    pub fn outputs(self) -> usize {
        self.visit(f64::INFINITY, Outputs)
    }

    /// The loss of a row with these margins, one for each output, and this label.
    pub fn value(self, margins: &[f64], label: f64) -> f64 {
        self.visit(f64::INFINITY, Value { margins, label })
    }
}

struct OnlyLinear<V>(V);

impl<V: LinearVisitor> LinearVisitor for OnlyLinear<V> {
    type Output = Option<V::Output>;

    #[inline(always)]
    fn visit<L: LinearLoss>(self, loss: L) -> Self::Output {
        Some(self.0.visit(loss))
    }
}

impl<V: LinearVisitor> LossVisitor for OnlyLinear<V> {
    #[inline(always)]
    fn visit_multi<L: MultiLoss>(self, _: L) -> Self::Output {
        None
    }
}

struct Outputs;

impl LinearVisitor for Outputs {
    type Output = usize;

    #[inline(always)]
    fn visit<L: LinearLoss>(self, _: L) -> usize {
        1
    }
}

impl LossVisitor for Outputs {
    #[inline(always)]
    fn visit_multi<L: MultiLoss>(self, loss: L) -> usize {
        loss.classes()
    }
}

struct Value<'a> {
    margins: &'a [f64],
    label: f64,
}

impl LinearVisitor for Value<'_> {
    type Output = f64;

    fn visit<L: LinearLoss>(self, loss: L) -> f64 {
        loss.value(self.margins[0], self.label)
    }
}

impl LossVisitor for Value<'_> {
    fn visit_multi<L: MultiLoss>(self, loss: L) -> f64 {
        loss.value(self.margins, self.label as usize)
    }
}
