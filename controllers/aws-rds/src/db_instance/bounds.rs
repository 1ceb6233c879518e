//! The bounds of the fields of a database.

use kraken_aws::bounds::{Pattern, Range, Words};

pub(super) static IDENTIFIER: Pattern = Pattern::new(
    "^[a-z](-?[a-z0-9]){0,62}$",
    63,
    "must have 1 to 63 lowercase letters, digits and single hyphens, begin with a letter, and not end with a hyphen",
);
pub(super) const ENGINE: Words = Words(&[
    "db2-ae",
    "db2-se",
    "mariadb",
    "mysql",
    "oracle-ee",
    "oracle-ee-cdb",
    "oracle-se2",
    "oracle-se2-cdb",
    "postgres",
    "sqlserver-ee",
    "sqlserver-ex",
    "sqlserver-se",
    "sqlserver-web",
]);
pub(super) static VERSION: Pattern = Pattern::new(
    "^[0-9][a-zA-Z0-9._-]*$",
    64,
    "must be a version such as 16 or 16.4, which begins with a digit",
);
pub(super) static CLASS: Pattern =
    Pattern::new("^db[.][a-z0-9.-]+$", 64, "must be a class such as db.t4g.micro");
pub(super) const STORAGE: Range = Range(5, 65_536);
pub(super) const STORAGE_TYPE: Words = Words(&["gp2", "gp3", "io1", "io2", "standard"]);
pub(super) const IOPS: Range = Range(1_000, 256_000);
pub(super) const THROUGHPUT: Range = Range(125, 16_000);
pub(super) static DB_NAME: Pattern = Pattern::new(
    "^[a-zA-Z][a-zA-Z0-9_]{0,63}$",
    64,
    "must have 1 to 64 letters, digits and underscores, and begin with a letter",
);
pub(super) static USER: Pattern = Pattern::new(
    "^[a-zA-Z][a-zA-Z0-9_]{0,127}$",
    128,
    "must have 1 to 128 letters, digits and underscores, and begin with a letter",
);
pub(super) static PASSWORD: Pattern = Pattern::new(
    "^[!#-&(-.0-?A-~]{8,128}$",
    128,
    "must have 8 to 128 printable ASCII characters, except / ' \" @ and spaces",
);
pub(super) const PORT: Range = Range(1_150, 65_535);
pub(super) static GROUP: Pattern = Pattern::new(
    "^[a-zA-Z0-9][a-zA-Z0-9 ._-]{0,254}$",
    255,
    "must be the name of a group, of letters, digits, spaces and ._-",
);
pub(super) const RETENTION: Range = Range(0, 35);
pub(super) static BACKUP: Pattern = Pattern::new(
    "^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$",
    11,
    "must be a time window in UTC such as 03:00-03:30",
);
pub(super) static MAINTENANCE: Pattern = Pattern::new(
    "^(mon|tue|wed|thu|fri|sat|sun):([01][0-9]|2[0-3]):[0-5][0-9]-(mon|tue|wed|thu|fri|sat|sun):([01][0-9]|2[0-3]):[0-5][0-9]$",
    19,
    "must be a time window in UTC such as sun:04:00-sun:04:30",
);
