//! How a world is made.

use assembly::plane::Settings;
use object::quantity::Quantity;
use sim::MemberConfig;

use crate::world::World;

/// What a world is to look like.
#[derive(Clone)]
pub struct Builder {
    pub(crate) members: Vec<MemberPlan>,
    pub(crate) settings: Settings,
    pub(crate) ready: bool,
}

/// One member of a world to be.
#[derive(Clone)]
pub(crate) struct MemberPlan {
    pub(crate) config: MemberConfig,
    /// How many seconds its clock is ahead.
    pub(crate) skew: i64,
    pub(crate) joins: bool,
}

/// Which members: so many, called `m1`, `m2`, …, or by their names.
pub struct Roster(Vec<String>);

impl From<usize> for Roster {
    fn from(count: usize) -> Self {
        Self((1..=count).map(|number| format!("m{number}")).collect())
    }
}

impl<const N: usize> From<[&str; N]> for Roster {
    fn from(names: [&str; N]) -> Self {
        Self(names.map(str::to_owned).to_vec())
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            members: Vec::new(),
            settings: Settings::default(),
            ready: true,
        }
    }
}

impl Builder {
    /// Members as the simulator makes them: three nodes of 8 processors and 16 GiB.
    #[must_use]
    pub fn members(mut self, roster: impl Into<Roster>) -> Self {
        for name in roster.into().0 {
            self = self.member(config(&name));
        }
        self
    }

    /// A member of another shape. Begin with [`config`].
    #[must_use]
    pub fn member(mut self, config: MemberConfig) -> Self {
        self.members.push(MemberPlan {
            config,
            skew: 0,
            joins: true,
        });
        self
    }

    /// The member added last has a clock that is so many seconds ahead.
    #[must_use]
    pub fn skewed(mut self, seconds: i64) -> Self {
        if let Some(last) = self.members.last_mut() {
            last.skew = seconds;
        }
        self
    }

    /// The member added last runs but does not join.
    #[must_use]
    pub fn stranger(mut self) -> Self {
        if let Some(last) = self.members.last_mut() {
            last.joins = false;
        }
        self
    }

    /// Changes how the parts of the control plane behave.
    #[must_use]
    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Does not wait until the members are ready.
    #[must_use]
    pub fn unready(mut self) -> Self {
        self.ready = false;
        self
    }

    /// Starts everything, joins the members and waits until they are ready.
    pub async fn start(self) -> World {
        World::start(self).await
    }
}

/// A member as the simulator makes it by itself, without events, which cost more than all else together.
#[must_use]
pub fn config(name: &str) -> MemberConfig {
    let mut config = MemberConfig::new(name);
    config.events = false;
    config.authority_pem = "nobody checks certificates inside a process".to_owned();
    config
}

/// A member with so many nodes of so many processors and so much memory each.
#[must_use]
pub fn sized(name: &str, nodes: usize, cpu: &str, memory: &str) -> MemberConfig {
    let quantity = |text: &str| -> Quantity {
        text.parse()
            .unwrap_or_else(|error| panic!("{text} is no quantity: {error}"))
    };
    MemberConfig {
        nodes,
        cpu: quantity(cpu),
        memory: quantity(memory),
        ..config(name)
    }
}
