//! Sample values for the tests of all modules.

use std::time::{Duration, SystemTime};

use super::{Execution, ExecutionRequest, Machine, Resources, Schedule, Series};

/// The resources of a process that does nothing.
pub fn resources() -> Resources {
    Resources {
        start: SystemTime::UNIX_EPOCH,
        wall: Duration::ZERO,
        user: Duration::ZERO,
        system: Duration::ZERO,
        peak_memory: None,
        voluntary_switches: 0,
        involuntary_switches: 0,
        at_end: None,
    }
}

/// A typical request.
pub fn request() -> ExecutionRequest {
    ExecutionRequest {
        measurements: 10,
        warm_up: Duration::from_millis(10),
        min_time: Duration::from_millis(5),
        iterations: None,
        seed: 0,
    }
}

/// An execution that measured these series.
pub fn execution(asked: ExecutionRequest, series: Vec<Series>) -> Execution {
    Execution {
        asked,
        series,
        throughput: Vec::new(),
        warm_up: None,
        resources: resources(),
        schedule: Schedule::NotRequested,
        alone: None,
        incidents: Vec::new(),
    }
}

/// A machine with this id.
pub fn machine(id: &str) -> Machine {
    Machine {
        cpu: "Example".to_owned(),
        cores: 2,
        memory: 1 << 33,
        os: "linux".to_owned(),
        architecture: "x86_64".to_owned(),
        id: id.to_owned(),
        class: String::new(),
    }
}
