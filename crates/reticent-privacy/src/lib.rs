//! What a release costs: events, accountants and calibration of differential privacy.
