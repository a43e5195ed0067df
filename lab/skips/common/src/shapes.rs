//! Functions that are called through tables.

use std::hint::black_box;

/// Is called through a vtable.
pub trait Shape {
    fn area(&self) -> u64;

    #[inline(never)]
    fn weight(&self) -> u64 {
        (0..6).fold(self.area(), |sum, round| black_box(sum + round))
    }

    #[inline(never)]
    fn colour(&self) -> u64 {
        (0..50).fold(7, |sum, round| black_box(sum ^ round))
    }
}

#[derive(Clone)]
pub struct Round(u64);

impl Shape for Round {
    #[inline(never)]
    fn area(&self) -> u64 {
        (0..12).fold(self.0, |sum, round| black_box(sum + round))
    }
}

#[derive(Clone)]
pub struct Square(u64);

impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> u64 {
        (0..14).fold(self.0, |sum, round| black_box(sum + round))
    }

    #[inline(never)]
    fn weight(&self) -> u64 {
        (0..8).fold(self.0, |sum, round| black_box(sum + round))
    }
}

/// Is in the program for a case that never comes.
pub struct Missing(u64);

impl Shape for Missing {
    #[inline(never)]
    fn area(&self) -> u64 {
        (0..90).fold(self.0, |sum, round| black_box(sum + round))
    }
}

/// Calls two of three methods.
#[inline(never)]
fn measured(shape: &dyn Shape) -> u64 {
    shape.area() + shape.weight()
}

#[inline(never)]
fn up(number: u64) -> u64 {
    (0..20).fold(number, |sum, round| black_box(sum + round))
}

#[inline(never)]
fn down(number: u64) -> u64 {
    (0..22).fold(number, |sum, round| black_box(sum ^ round))
}

static STEPS: [fn(u64) -> u64; 3] = [up, down, up];

/// Round or square.
#[inline(never)]
pub fn shapes(number: u64) -> u64 {
    let shape: Box<dyn Shape> = match number % 3 {
        0 => Box::new(Round(number)),
        _ if number > 1000 => Box::new(Missing(number)),
        _ => Box::new(Square(number)),
    };
    measured(&*shape)
}

/// Through a table of functions.
#[inline(never)]
pub fn dispatched(number: u64) -> u64 {
    STEPS[number as usize % 2](number)
}
