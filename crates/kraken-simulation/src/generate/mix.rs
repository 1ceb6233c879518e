//! The operations, faults and policies of one seed, and their frequency: every seed has a random subset with random
//! weights, so that rare ones coincide.

use crate::random::Random;

/// A class of operations or faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepClass {
    Apply,
    Edit,
    EditSchema,
    EditInvalid,
    Policy,
    Data,
    Scale,
    Delete,
    DeleteNamespace,
    Recreate,
    Replace,
    Adopt,
    Approve,
    Annotate,
    Strip,
    ForgeStatus,
    Internal,
    CreateRemote,
    DeleteRemote,
    TagRemote,
    ChangeRemote,
    Restart,
    Expire,
    Backup,
    Manifests,
    Crash,
    Kill,
    Replica,
    Suspend,
    Lose,
    Delay,
    Refuse,
    Fail,
    Watches,
    Outage,
    Throttle,
    Capacity,
    Hide,
    Contend,
}

use StepClass::{
    Adopt, Annotate, Apply, Approve, Backup, Capacity, ChangeRemote, Contend, Crash, CreateRemote, Data,
    Delay, Delete, DeleteNamespace, DeleteRemote, Edit, EditInvalid, EditSchema, Expire, Fail, ForgeStatus,
    Hide, Internal, Kill, Lose, Manifests, Outage, Policy, Recreate, Refuse, Replace, Replica, Restart,
    Scale, Strip, Suspend, TagRemote, Throttle, Watches,
};

/// The frequency of each class among operations or faults.
const OPERATIONS: [(StepClass, usize); 25] = [
    (Apply, 10),
    (Edit, 12),
    (EditSchema, 4),
    (EditInvalid, 4),
    (Policy, 8),
    (Data, 8),
    (Scale, 4),
    (Delete, 8),
    (DeleteNamespace, 1),
    (Recreate, 3),
    (Replace, 3),
    (Adopt, 4),
    (Approve, 4),
    (Annotate, 3),
    (Strip, 4),
    (ForgeStatus, 2),
    (Internal, 4),
    (CreateRemote, 3),
    (DeleteRemote, 6),
    (TagRemote, 4),
    (ChangeRemote, 6),
    (Restart, 1),
    (Expire, 1),
    (Backup, 1),
    (Manifests, 2),
];
const FAULTS: [(StepClass, usize); 14] = [
    (Crash, 12),
    (Kill, 3),
    (Replica, 3),
    (Suspend, 2),
    (Lose, 8),
    (Delay, 4),
    (Refuse, 6),
    (Fail, 8),
    (Watches, 6),
    (Outage, 1),
    (Throttle, 2),
    (Capacity, 2),
    (Hide, 4),
    (Contend, 1),
];
/// What every seed has, so that none is empty.
const ALWAYS: [StepClass; 3] = [Apply, Edit, Delete];

/// The policies of `lifecycle` that objects of a seed may have.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // a set, which nothing else is made of
pub(crate) struct Policies {
    pub(crate) report: bool,
    pub(crate) ignore: bool,
    pub(crate) retain: bool,
    pub(crate) protect: bool,
    pub(crate) replace: bool,
    pub(crate) disrupt: bool,
    pub(crate) manual: bool,
    pub(crate) paused: bool,
    pub(crate) share: bool,
    pub(crate) interval: bool,
    pub(crate) depends: bool,
    /// Not of `lifecycle`: whether resources use an Account.
    pub(crate) account: bool,
}

/// The subset of one seed.
#[derive(Clone, Debug)]
pub(crate) struct Mix {
    operations: Vec<(StepClass, usize)>,
    faults: Vec<(StepClass, usize)>,
    /// How many of a hundred steps are faults.
    fault_share: usize,
    pub(crate) policies: Policies,
}

impl Mix {
    pub(crate) fn of(rng: &mut Random) -> Self {
        let mut choose = |classes: &[(StepClass, usize)]| -> Vec<(StepClass, usize)> {
            let enabled = rng.one([35, 50, 70]);
            let chosen = classes.iter().filter_map(|(class, weight)| {
                let in_use = ALWAYS.contains(class) || rng.chance(enabled);
                in_use.then(|| (*class, weight * rng.one([1, 2, 4])))
            });
            chosen.collect()
        };
        let (operations, faults) = (choose(&OPERATIONS), choose(&FAULTS));
        let policies = Policies {
            report: rng.chance(25),
            ignore: rng.chance(20),
            retain: rng.chance(20),
            protect: rng.chance(15),
            replace: rng.chance(50),
            disrupt: rng.chance(25),
            manual: rng.chance(20),
            paused: rng.chance(10),
            share: rng.chance(10),
            interval: rng.chance(30),
            depends: rng.chance(20),
            account: rng.chance(20),
        };
        // One seed in ten has no faults, to find failures without faults.
        Self { operations, faults, fault_share: rng.one([0, 10, 20, 30, 30, 40, 40, 50, 50, 70]), policies }
    }

    /// The class of the next step.
    pub(crate) fn next(&self, rng: &mut Random) -> StepClass {
        let half = if rng.chance(self.fault_share) { &self.faults } else { &self.operations };
        rng.weighted(half).unwrap_or(Apply)
    }
}
