//! Which law a promise steers its window by.

/// The law by which a promise steers its window and answers losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PromiseLaw {
    /// Losses are answered in proportion to the need, control aims a little above the rate, and a
    /// promise that the path cannot carry rests.
    #[default]
    Proportional,
    /// The law as Hasegawa, Yamanegi and Murata print it: each loss halves the window, s is halved
    /// and doubled, k is bounded by the physical bandwidth alone, control aims at the rate itself,
    /// and nothing ends a promise that cannot be kept. It is there to be compared with. It belongs
    /// to [`crate::Window::Reno`], and takes no notice of [`crate::Config::promise_ceiling`],
    /// [`crate::Config::promise_weight`] and [`crate::Config::slot_length`].
    Paper,
}
