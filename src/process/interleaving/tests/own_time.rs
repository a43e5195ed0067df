//! Own time against scripted clocks: each test chooses the steps of the process before which others interrupt it, and
//! for how long.

use std::cell::{Cell, RefCell};

use super::super::own_time::{Clocks, JUMP, OwnTime, State, packed, unpacked};

/// Time before and after each clock shows its reading, in ns.
const STEP: i64 = 20;
const TURN: i64 = 300_000;
/// Largest error, in ns, that clocks read one after the other cannot reveal, for each reading.
const UNNOTICED: i64 = 2_500;

/// A world with one process of one thread.
#[derive(Default)]
struct World {
    now: Cell<i64>,
    cpu_time: Cell<i64>,
    waits: Cell<i64>,
    others: Cell<i64>,
    /// None if a host may take time, too.
    delay: Cell<Option<i64>>,
    step: Cell<usize>,
    /// Steps before which the process is interrupted, with the durations.
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

    /// Another thread of the process has the CPU.
    fn work_elsewhere(&self, time: i64) {
        self.others.set(self.others.get() + time);
        self.now.set(self.now.get() + time);
    }

    /// Others have the CPU.
    fn preempt(&self, time: i64) {
        self.now.set(self.now.get() + time);
        self.delay.set(self.delay.get().map(|delay| delay + time));
    }

    /// The kernel processes packets that the process has sent to itself, which is nobody's CPU time.
    fn process_packets(&self, time: i64) {
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

    fn others(&self) -> i64 {
        self.show(&self.others)
    }

    fn delay(&self) -> Option<i64> {
        self.run(STEP);
        self.delay.get()
    }
}

/// A process that repeats the same measured work, with other work in between.
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

    /// Mirrors the library.
    fn read(&self) -> i64 {
        let mut now = self.world.now();
        let is_over = now - self.turn.get() >= TURN;
        if is_over || self.time.is_due(now) {
            self.time.settle(now, &self.world);
            if is_over {
                self.world.wait(TURN);
                self.time.add_work(i64::MAX, &self.world);
                now = self.time.go_on_after_wait(&self.world);
                self.turn.set(now);
            } else {
                now = self.time.go_on(&self.world);
            }
        }
        self.time.read(now).expect("it goes on")
    }

    /// The measured durations of `work`.
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

/// Measured work and the work between two measurements, in ns: shorter and longer than the library's interval between
/// CPU time readings, and than a time slice.
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
fn measurement_is_never_too_short_with_one_interruption() {
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
fn measurement_is_never_too_short_with_many_interruptions() {
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
fn interruption_is_excluded_up_to_the_unknown_interval() {
    for (work, between) in CASES {
        let undisturbed = Process::new(&[]);
        undisturbed.measure(work, between);
        for step in 0..undisturbed.world.step.get() {
            let took = Process::new(&[(step, 4_000_000)]).measure(work, between);
            // The library does not read the CPU time for this long.
            let unknown = if work + between < 10_000 { 10_000 } else { between.min(10_000) };
            assert!(
                took.iter().all(|took| *took <= work + unknown + UNNOTICED),
                "{work} {between} {step}: {took:?}"
            );
        }
    }
}

#[test]
fn own_time_includes_voluntary_waits() {
    let process = Process::new(&[]);
    let begin = process.read();
    process.world.wait(1_000_000);
    let took = process.read() - begin;
    assert!((1_000_000..1_000_000 + UNNOTICED).contains(&took), "{took}");
}

#[test]
fn own_time_includes_work_of_own_threads() {
    let process = Process::new(&[]);
    for _ in 0..3 {
        let begin = process.read();
        process.world.run(50_000);
        process.world.work_elsewhere(40_000);
        let took = process.read() - begin;
        assert!((90_000..90_000 + UNNOTICED).contains(&took), "{took}");
    }
}

#[test]
fn own_threads_and_others_are_told_apart() {
    let process = Process::new(&[]);
    let begin = process.read();
    process.world.work_elsewhere(40_000);
    process.world.now.set(process.world.now.get() + 70_000);
    let took = process.read() - begin;
    assert!((40_000..40_000 + UNNOTICED).contains(&took), "{took}");
}

#[test]
fn own_time_includes_interrupts_that_it_causes() {
    let process = Process::new(&[]);
    process.world.delay.set(Some(7_000));
    process.time.go_on_after_wait(&process.world);
    for taken in [0, 70_000] {
        let begin = process.read();
        process.world.run(50_000);
        process.world.process_packets(40_000);
        process.world.preempt(taken);
        let took = process.read() - begin;
        assert!((90_000..90_000 + UNNOTICED).contains(&took), "{took}");
    }
}

#[test]
fn own_time_excludes_what_a_host_takes() {
    let process = Process::new(&[]);
    let begin = process.read();
    process.world.run(50_000);
    process.world.preempt(70_000);
    let took = process.read() - begin;
    assert!((50_000..50_000 + UNNOTICED).contains(&took), "{took}");
}

#[test]
fn own_time_includes_work_beside_the_partner() {
    let process = Process::new(&[]);
    let begin = process.read();
    process.world.run(TURN);
    process.time.settle(process.world.now(), &process.world);
    process.world.wait(TURN);
    process.world.work_elsewhere(40_000);
    let added = process.time.add_work(i64::MAX, &process.world);
    assert_eq!(added, 40_000);
    let now = process.time.go_on_after_wait(&process.world);
    let took = process.time.read(now).unwrap() - begin;
    assert!((TURN + added..TURN + added + UNNOTICED).contains(&took), "{took}");
}

#[test]
fn time_does_not_go_back_for_threads_that_read_it_before_it_stood_still() {
    const TAKEN: i64 = 10_000_000;
    // The thread that stops the time loses the CPU before and after its first reading, and before the second one. Meanwhile
    // others show later times.
    for step in 0..3 {
        let process = Process::new(&[]);
        let (begin, first) = (process.world.now.get(), process.world.step.get());
        process.world.interruptions.replace(vec![(first + step, TAKEN)]);
        let State::Behind(left_out) = process.time.state() else { panic!("it runs") };
        let now = process.time.stand_still_for_all(&process.world);
        let State::Still(stood) = process.time.state() else { panic!("it stands still") };
        assert_eq!(stood, now - left_out);
        assert!(now - begin >= TAKEN, "{step}");
    }
}

#[test]
fn threads_that_work_at_once_take_the_time_of_one() {
    let process = Process::new(&[]);
    let begin = process.read();
    process.world.run(TURN);
    process.time.settle(process.world.now(), &process.world);
    process.world.wait(TURN);
    process.world.work_elsewhere(80_000);
    assert_eq!(process.time.add_work(50_000, &process.world), 50_000);
    // It was asked for all of it.
    assert_eq!(process.time.add_work(i64::MAX, &process.world), 0);
    let now = process.time.go_on_after_wait(&process.world);
    let took = process.time.read(now).unwrap() - begin;
    assert!((TURN + 50_000..TURN + 50_000 + UNNOTICED).contains(&took), "{took}");
}

#[test]
fn clock_that_was_set_back_is_due_and_takes_no_time() {
    let process = Process::new(&[]);
    process.world.run(20_000);
    let before = process.read();
    process.time.note(process.world.now() - 1_000_000_000);
    assert!(process.time.is_due(process.world.now() - 1_000_000_000));
    process.world.run(20_000);
    assert!(process.read() >= before + 20_000);
}

#[test]
fn packed_times_keep_their_order_and_their_parts() {
    for seconds in [-3, -1, 0, 7, 1_900_000_000] {
        for nanoseconds in [0, 1, 999_999_999] {
            let time = packed(seconds, nanoseconds);
            assert_eq!(unpacked(time), (seconds, nanoseconds));
            assert!(time < packed(seconds + 1, 0));
            assert!(time < packed(seconds, nanoseconds + 1) || nanoseconds == 999_999_999);
        }
    }
}

#[test]
fn forked_process_keeps_all_its_time() {
    let process = Process::new(&[]);
    process.measure(60_000, 100);
    let begin = process.read();
    process.world.cpu_time.set(0);
    process.world.run(30_000);
    let took = process.read() - begin;
    assert!((30_000..30_000 + UNNOTICED).contains(&took), "{took}");
}

#[test]
fn interruption_during_a_reading_does_not_change_it() {
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

/// Reads a time that may run faster, after some work.
fn read_hurried(time: &OwnTime, world: &World, work: i64) -> i64 {
    world.run(work);
    let now = world.now.get();
    time.settle(now, world);
    if time.is_hurrying() {
        time.hurry();
    }
    let now = time.go_on(world);
    time.read(now).unwrap()
}

#[test]
fn hurried_time_runs_faster_and_then_as_before() {
    let (world, time) = (World::default(), OwnTime::new());
    let read_after = |work| read_hurried(&time, &world, work);
    let before = read_after(10_000);
    time.run_at(10, world.now.get());
    let near = |time: i64, expected: i64| assert!((time - expected).abs() < 3_000, "{time}");
    near(read_after(50_000) - before, 500_000);
    // Others have the CPU: this gains nothing.
    world.interruptions.borrow_mut().push((world.step.get() + 1, 1_000_000));
    world.run(0);
    near(read_after(50_000) - before, 1_000_000);
    time.run_at(1, world.now.get());
    near(read_after(50_000) - before, 1_050_000);
}

#[test]
fn hurried_time_jumps_once_and_what_it_has_gained_is_known() {
    let (world, time) = (World::default(), OwnTime::new());
    read_hurried(&time, &world, 0);
    time.run_at(5, world.now.get());
    time.jump_after(100_000, world.now.get());
    let mut readings = Vec::new();
    for _ in 0..4 {
        let shown = read_hurried(&time, &world, 60_000);
        readings.push((shown, shown - time.gained()));
    }
    let differences = readings.windows(2).map(|pair| {
        let real = pair[1].1 - pair[0].1;
        assert!((60_000..61_000).contains(&real), "{readings:?}");
        pair[1].0 - pair[0].0 - 5 * real
    });
    assert_eq!(differences.collect::<Vec<_>>(), [JUMP, 0, 0]);
}

#[test]
fn time_that_goes_ahead_loses_nothing_of_what_it_has_gained() {
    let (world, time) = (World::default(), OwnTime::new());
    let before = read_hurried(&time, &world, 10_000);
    let now = world.now.get();
    let apart = time.read(now).unwrap() - before;
    for by in [40, 0, -40] {
        time.go_ahead(by);
    }
    assert_eq!(time.read(now), Some(before + apart + 40));
    assert_eq!(time.without_gain(now), before + apart + 40);
    time.stand_still(now);
    time.go_ahead(40);
    assert!(matches!(time.state(), State::Still(stood) if stood == before + apart + 40));
}
