//! A rule that is chosen at run time.

use super::{Analog, ChoppedTikiTaka, Digital, Manhattan, MixedPrecision, ResidualLearning, Rule, TikiTaka};
use crate::Scalar;

macro_rules! rules {
    ($($name:ident),*) => {
        /// Any of the rules, to be held as a [`Rule`] by [`AnyRule::boxed`].
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum AnyRule<T: Scalar = f64> {
            $(#[doc = concat!("[`", stringify!($name), "`].")] $name(Box<$name<T>>),)*
        }

        $(impl<T: Scalar> From<$name<T>> for AnyRule<T> {
            fn from(rule: $name<T>) -> Self {
                Self::$name(Box::new(rule))
            }
        })*

        impl<T: Scalar> AnyRule<T> {
            /// The rule behind a pointer. A `Box<dyn Rule>` compiles all of a rule in the crate that makes it; this one is made here,
            /// where loops are optimised, whatever is done about the crate that chooses the rule.
            pub fn boxed(self) -> Box<dyn Rule<T>> {
                T::boxed_rule(self)
            }

            /// What [`Scalar::boxed_rule`] does for either number.
            #[inline(always)]
            pub(crate) fn into_box(self) -> Box<dyn Rule<T>> {
                match self {
                    $(Self::$name(rule) => rule,)*
                }
            }
        }
    };
}

rules!(Analog, ChoppedTikiTaka, Digital, Manhattan, MixedPrecision, ResidualLearning, TikiTaka);
