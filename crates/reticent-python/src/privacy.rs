//! Events and what they cost.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pythonize::pythonize;
use reticent::privacy::calibrate::{self, Sampling};
use reticent::privacy::explain::explain;
use reticent::privacy::risk::{self, Risk, RiskBounds};
use reticent::privacy::{
    Adjacency, Delta, Epsilon, Event as Inner, PrivacyError, delta_lower, delta_upper,
    epsilon_attained, epsilon_lower, epsilon_upper, rdp, tradeoff,
};

use crate::error::to_python;
use crate::given::read;

/// The mechanisms that a computation applied to the data, as the accountant sees them.
#[pyclass(frozen, module = "reticent.privacy")]
pub(crate) struct Event(Inner);

impl Event {
    /// Asks a question for each number, without the interpreter.
    fn each(
        &self,
        py: Python<'_>,
        numbers: &[f64],
        question: impl Fn(&Inner, f64) -> Result<f64, PrivacyError> + Sync,
    ) -> PyResult<Vec<f64>> {
        py.detach(|| numbers.iter().map(|x| question(&self.0, *x)).collect::<Result<_, _>>())
            .map_err(to_python)
    }
}

#[pymethods]
impl Event {
    /// The event that a dictionary describes.
    #[new]
    fn new(description: &Bound<'_, PyAny>) -> PyResult<Self> {
        let event: Inner = read("event", description)?;
        event.check().map_err(to_python)?;
        Ok(Self(event))
    }

    /// The event as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0)?)
    }

    /// Which neighbours it speaks of; none where any do.
    #[getter]
    fn adjacency(&self) -> PyResult<Option<&'static str>> {
        Ok(self.0.adjacency().map_err(to_python)?.map(Adjacency::name))
    }

    /// Upper bounds on the success of any attack, as numbers, for an event that keeps this budget.
    fn risk_bounds<'py>(
        &self,
        py: Python<'py>,
        epsilon: f64,
        delta: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let epsilon = Epsilon::new(epsilon).map_err(to_python)?;
        let delta = Delta::new(delta).map_err(to_python)?;
        let bounds = py.detach(|| RiskBounds::of(&self.0, epsilon, delta)).map_err(to_python)?;
        Ok(pythonize(py, &bounds)?)
    }

    fn epsilon_upper(&self, py: Python<'_>, deltas: Vec<f64>) -> PyResult<Vec<f64>> {
        self.each(py, &deltas, epsilon_upper)
    }

    fn epsilon_lower(&self, py: Python<'_>, deltas: Vec<f64>) -> PyResult<Vec<f64>> {
        self.each(py, &deltas, epsilon_lower)
    }

    fn epsilon_attained(&self, py: Python<'_>, deltas: Vec<f64>) -> PyResult<Vec<f64>> {
        self.each(py, &deltas, epsilon_attained)
    }

    fn epsilon_rdp(&self, py: Python<'_>, deltas: Vec<f64>) -> PyResult<Vec<f64>> {
        self.each(py, &deltas, rdp::rdp_epsilon_upper)
    }

    fn delta_upper(&self, py: Python<'_>, epsilons: Vec<f64>) -> PyResult<Vec<f64>> {
        self.each(py, &epsilons, delta_upper)
    }

    fn delta_lower(&self, py: Python<'_>, epsilons: Vec<f64>) -> PyResult<Vec<f64>> {
        self.each(py, &epsilons, delta_lower)
    }

    fn delta_rdp(&self, py: Python<'_>, epsilons: Vec<f64>) -> PyResult<Vec<f64>> {
        self.each(py, &epsilons, rdp::rdp_delta_upper)
    }

    fn rdp(&self, py: Python<'_>, orders: Vec<f64>) -> PyResult<Vec<f64>> {
        self.each(py, &orders, rdp::rdp)
    }

    fn true_positive_rate_upper(&self, py: Python<'_>, rates: Vec<f64>) -> PyResult<Vec<f64>> {
        let curve = py.detach(|| tradeoff::curve(&self.0, &rates)).map_err(to_python)?;
        Ok(curve.iter().map(|point| point.true_positive_rate).collect())
    }

    /// Every accountant's bound, which is used and why.
    fn explain<'py>(&self, py: Python<'py>, delta: f64) -> PyResult<Bound<'py, PyAny>> {
        let found = py.detach(|| explain(&self.0, delta, None)).map_err(to_python)?;
        Ok(pythonize(py, &found)?)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Event({})", self.to_dict(py)?.repr()?))
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        Ok((py.get_type::<Self>().into_any(), (self.to_dict(py)?,)))
    }
}

/// Repeated noisy sums over batches drawn by a scheme.
fn scheme(sampling: &str, rate: f64) -> PyResult<Sampling> {
    match sampling {
        "none" => Ok(Sampling::None),
        "poisson" => Ok(Sampling::Poisson { rate }),
        "without-replacement" => Ok(Sampling::FixedSize { rate }),
        other => Err(PyValueError::new_err(format!(
            "`sampling` must be `none`, `poisson` or `without-replacement`, got `{other}`"
        ))),
    }
}

fn adjacency(word: &str) -> PyResult<Adjacency> {
    word.parse().map_err(|error: PrivacyError| to_python(error))
}

/// The event of repeated noisy sums; the noise is in units of the clip norm.
#[pyfunction]
pub(crate) fn sampled_gaussian(
    sampling: &str,
    sample_rate: f64,
    noise_multiplier: f64,
    steps: u64,
    adjacency: &str,
) -> PyResult<Event> {
    let sampling = scheme(sampling, sample_rate)?;
    let event =
        calibrate::sampled_gaussian(sampling, noise_multiplier, steps, self::adjacency(adjacency)?);
    event.check().map_err(to_python)?;
    Ok(Event(event))
}

/// The smallest noise multiplier for a budget.
#[pyfunction]
pub(crate) fn noise_multiplier_for(
    py: Python<'_>,
    epsilon: f64,
    delta: f64,
    sampling: &str,
    sample_rate: f64,
    steps: u64,
    adjacency: &str,
) -> PyResult<f64> {
    let (sampling, adjacency) = (scheme(sampling, sample_rate)?, self::adjacency(adjacency)?);
    let at = |noise: f64| calibrate::sampled_gaussian(sampling, noise, steps, adjacency);
    at(1.0).check().map_err(to_python)?;
    py.detach(|| calibrate::noise_multiplier_for(epsilon, delta, at)).map_err(to_python)
}

/// The smallest noise over clip norm that keeps a risk, of an advantage or of a true-positive rate
/// at a false-positive rate.
#[pyfunction]
pub(crate) fn noise_multiplier_for_risk(
    py: Python<'_>,
    risk: &Bound<'_, PyAny>,
    sampling: &str,
    sample_rate: f64,
    steps: u64,
    adjacency: &str,
) -> PyResult<f64> {
    let risk: Risk = read("risk", risk)?;
    let (sampling, adjacency) = (scheme(sampling, sample_rate)?, self::adjacency(adjacency)?);
    let at = |noise: f64| calibrate::sampled_gaussian(sampling, noise, steps, adjacency);
    at(1.0).check().map_err(to_python)?;
    py.detach(|| risk::noise_multiplier_for_risk(risk, at)).map_err(to_python)
}

/// The largest number of steps for a budget.
#[pyfunction]
pub(crate) fn steps_for(
    py: Python<'_>,
    epsilon: f64,
    delta: f64,
    sampling: &str,
    sample_rate: f64,
    noise_multiplier: f64,
    adjacency: &str,
) -> PyResult<u64> {
    let (sampling, adjacency) = (scheme(sampling, sample_rate)?, self::adjacency(adjacency)?);
    let at = |steps: u64| calibrate::sampled_gaussian(sampling, noise_multiplier, steps, adjacency);
    py.detach(|| calibrate::steps_for(epsilon, delta, at)).map_err(to_python)
}

/// The largest sample rate for a budget.
#[pyfunction]
pub(crate) fn sample_rate_for(
    py: Python<'_>,
    epsilon: f64,
    delta: f64,
    noise_multiplier: f64,
    steps: u64,
    adjacency: &str,
) -> PyResult<f64> {
    let adjacency = self::adjacency(adjacency)?;
    let at = |rate: f64| {
        calibrate::sampled_gaussian(Sampling::Poisson { rate }, noise_multiplier, steps, adjacency)
    };
    py.detach(|| calibrate::sample_rate_for(epsilon, delta, at)).map_err(to_python)
}
