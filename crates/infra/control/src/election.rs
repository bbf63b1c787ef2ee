//! One of several processes is the one that acts.
