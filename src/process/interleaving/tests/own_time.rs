//! The time of a process in a world where whatever happens is scripted: which step of the process others interrupt, and
//! for how long.

use std::cell::{Cell, RefCell};

use super::super::own_time::{Clocks, OwnTime};

/// How long the library needs before and after each clock shows its time, in ns.
const STEP: i64 = 20;
const TURN: i64 = 300_000;
/// What the library cannot tell from clocks that were read one after the other, for each reading.
const UNNOTICED: i64 = 2_500;

/// A world with one process of one thread.
#[derive(Default)]
struct World {
    now: Cell<i64>,
    cpu_time: Cell<i64>,
    waits: Cell<i64>,
    step: Cell<usize>,
    /// Before which steps the process is interrupted, and for how long.
    interruptions: RefCell<Vec<(usize, i64)>>,
}

impl World {
    /// The process executes something.
    fn run(&self, time: i64) {
        let step = self.step.replace(self.step.get() + 1);
        for (at, length) in self.interruptions.borrow().iter() {
            if *at == step {
                self.now.set(self.now.get() + length);
            }
        }
        self.now.set(self.now.get() + time);
        self.cpu_time.set(self.cpu_time.get() + time);
    }

    /// The process makes a voluntary context switch.
    fn wait(&self, time: i64) {
        self.waits.set(self.waits.get() + 1);
        self.now.set(self.now.get() + time);
    }

    fn show(&self, clock: &Cell<i64>) -> i64 {
        self.run(STEP);
        let time = clock.get();
        self.run(STEP);
        time
    }
}

impl Clocks for World {
    fn now(&self) -> i64 {
        self.show(&self.now)
    }

    fn cpu_time(&self) -> i64 {
        self.show(&self.cpu_time)
    }

    fn waits(&self) -> i64 {
        self.show(&self.waits)
    }
}

/// A process that measures the same work again and again, with something else in between.
struct Process {
    world: World,
    time: OwnTime,
    turn: Cell<i64>,
}

impl Process {
    fn new(interruptions: &[(usize, i64)]) -> Self {
        let world =
            World { interruptions: RefCell::new(interruptions.to_vec()), ..World::default() };
        let time = OwnTime::new();
        time.stand_still(world.now());
        let turn = Cell::new(time.go_on_after_wait(&world));
        Self { world, time, turn }
    }

    /// As the library does it.
    fn read(&self) -> i64 {
        let mut now = self.world.now();
        let is_over = now - self.turn.get() >= TURN;
        if is_over || self.time.is_due(now) {
            self.time.settle(now, &self.world);
            if is_over {
                self.world.wait(TURN);
                now = self.time.go_on_after_wait(&self.world);
                self.turn.set(now);
            } else {
                now = self.time.go_on(&self.world);
            }
        }
        self.time.read(now).expect("it goes on")
    }

    /// How long each measurement of `work` takes.
    fn measure(&self, work: i64, between: i64) -> Vec<i64> {
        let measurements = (0..12).map(|_| {
            let begin = self.read();
            self.world.run(work);
            let took = self.read() - begin;
            self.world.run(between);
            took
        });
        measurements.collect()
    }
}

/// Work that is measured, and what is between two measurements: shorter and longer than the library goes without the
/// CPU time, and than a turn.
const CASES: [(i64, i64); 8] = [
    (60_000, 100),
    (60_000, 9_000),
    (60_000, 20_000),
    (60_000, 70_000),
    (4_000, 100),
    (4_000, 3_000),
    (25_000, 25_000),
    (400_000, 100),
];

const LENGTHS: [i64; 5] = [1_500, 8_000, 30_000, 45_000, 4_000_000];

#[test]
fn no_measurement_is_shorter_than_what_it_measures_wherever_it_is_interrupted() {
    for (work, between) in CASES {
        for length in LENGTHS {
            let undisturbed = Process::new(&[]);
            undisturbed.measure(work, between);
            for step in 0..undisturbed.world.step.get() {
                let took = Process::new(&[(step, length)]).measure(work, between);
                assert!(
                    took.iter().all(|took| *took >= work),
                    "{work} {between} {length} {step}: {took:?}"
                );
            }
        }
    }
}

#[test]
fn no_measurement_is_shorter_than_what_it_measures_with_an_interruption_before_every_step() {
    for (work, between) in CASES {
        for length in LENGTHS {
            for every in 1..7 {
                for first in 0..every {
                    let steps = (first..2_000).step_by(every);
                    let all: Vec<_> = steps.map(|step| (step, length)).collect();
                    let took = Process::new(&all).measure(work, between);
                    assert!(
                        took.iter().all(|took| *took >= work),
                        "{work} {between} {length} {every} {first}: {took:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn an_interruption_is_left_out_but_for_what_may_have_been_before_the_measurement() {
    for (work, between) in CASES {
        let undisturbed = Process::new(&[]);
        undisturbed.measure(work, between);
        for step in 0..undisturbed.world.step.get() {
            let took = Process::new(&[(step, 4_000_000)]).measure(work, between);
            // For so long the library goes without the CPU time.
            let unknown = if work + between < 10_000 { 10_000 } else { between.min(10_000) };
            assert!(
                took.iter().all(|took| *took <= work + unknown + UNNOTICED),
                "{work} {between} {step}: {took:?}"
            );
        }
    }
}

#[test]
fn what_is_waited_of_ones_own_accord_stays_in_the_time() {
    let process = Process::new(&[]);
    let begin = process.read();
    process.world.wait(1_000_000);
    let took = process.read() - begin;
    assert!((1_000_000..1_000_000 + UNNOTICED).contains(&took), "{took}");
}

#[test]
fn a_copy_of_a_process_whose_cpu_time_begins_anew_keeps_all_its_time() {
    let process = Process::new(&[]);
    process.measure(60_000, 100);
    let begin = process.read();
    process.world.cpu_time.set(0);
    process.world.run(30_000);
    let took = process.read() - begin;
    assert!((30_000..30_000 + UNNOTICED).contains(&took), "{took}");
}

#[test]
fn time_goes_on_from_where_it_stood_whatever_happens_until_its_reading_is_told() {
    for since_last in [20_000, TURN] {
        let undisturbed = Process::new(&[]);
        undisturbed.world.run(since_last);
        // The second step of the reading is the first one after the real clock has shown its time.
        let first = undisturbed.world.step.get() + 1;
        let reading = undisturbed.read();
        for step in first..undisturbed.world.step.get() {
            let process = Process::new(&[(step, 4_000_000)]);
            process.world.run(since_last);
            assert_eq!(process.read(), reading, "{since_last} {step}");
        }
    }
}
