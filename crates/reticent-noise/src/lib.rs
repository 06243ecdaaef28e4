//! How noise is drawn: a secure source, exact lattice samplers, fast Gaussian vectors.
