//! Alarm, the API type.

use kraken_aws::{
    aws_group, aws_kind,
    bounds::{Pattern, Range},
    rules::{ValidationResult, ensure},
    words,
};
use kraken_kind::{
    Opt,
    options::{ListOpt, Public},
};

use super::observed::Alarm as Observed;

static NAME_PREFIX: Pattern = Pattern::new(
    "^[a-zA-Z0-9]([a-zA-Z0-9_./#-]*[a-zA-Z0-9])?$",
    200,
    "must have 1 to 200 letters, digits and the characters _./#-, with a letter or digit at its start and end",
);
static NAMESPACE: Pattern = Pattern::new(
    "^[^: \\x00-\\x1f\\x7f][^:\\x00-\\x1f\\x7f]*$",
    255,
    "must have 1 to 255 characters, no colon, and no space at its start",
);
static METRIC: Pattern = Pattern::new(
    "^ *[!-~][ -~]*$",
    255,
    "must have 1 to 255 printable ASCII characters that are not only spaces",
);
static DIMENSION: Pattern = Pattern::new(
    "^( +[!-~]|[!-9;-~])[ -~]*$",
    255,
    "must have 1 to 255 printable ASCII characters that are not only spaces, with no colon at its start",
);
static STATISTIC: Pattern = Pattern::new(
    "^(SampleCount|Average|Sum|Minimum|Maximum|IQM|p(100|[0-9]{1,2}([.][0-9]{1,10})?)|(tm|wm|tc|ts)[0-9]{1,2}([.][0-9]{1,10})?)$",
    20,
    "must be Average, Sum, Minimum, Maximum, SampleCount, a percentile such as p99 or p99.9, IQM, or a trimmed statistic such as tm90",
);
const PERIODS: Range = Range(1, 10_080);
/// In seconds.
const MINUTE: i32 = 60;
pub(super) const WEEK: i32 = 604_800;
/// The maximum length of a description.
const MAX_DESCRIPTION: usize = 1_024;
static ACTION: Pattern =
    Pattern::new("^arn:[a-z-]+:[a-z0-9-]+:[!-~]+$", 1_024, "must be the ARN of a topic or of another action");

/// The rule of `periodSeconds`.
fn period(seconds: &i32) -> ValidationResult {
    let is_valid =
        [10, 20, 30].contains(seconds) || (MINUTE..=WEEK).contains(seconds) && seconds % MINUTE == 0;
    ensure(is_valid, || format!("must be 10, 20, 30, or a multiple of 60 up to {WEEK}"))
}

/// The rule of `description`.
fn description(text: &str) -> ValidationResult {
    let is_valid = (1..=MAX_DESCRIPTION).contains(&text.chars().count());
    ensure(is_valid, || format!("must have 1 to {MAX_DESCRIPTION} characters"))
}

words!(
    /// How the metric is compared with the threshold.
    Comparison {
        GreaterOrEqual = "GreaterThanOrEqualToThreshold",
        Greater = "GreaterThanThreshold",
        Less = "LessThanThreshold",
        LessOrEqual = "LessThanOrEqualToThreshold",
    }
);
words!(
    /// What a period without data means.
    MissingData { Missing = "missing", Ignore = "ignore", Breaching = "breaching", NotBreaching = "notBreaching" }
);
words!(
    /// The unit of the metric.
    Unit {
        Seconds = "Seconds",
        Microseconds = "Microseconds",
        Milliseconds = "Milliseconds",
        Bytes = "Bytes",
        Kilobytes = "Kilobytes",
        Megabytes = "Megabytes",
        Gigabytes = "Gigabytes",
        Percent = "Percent",
        Count = "Count",
        BytesPerSecond = "Bytes/Second",
        CountPerSecond = "Count/Second",
        None = "None",
    }
);

/// A metric alarm of CloudWatch.
#[aws_kind(
    kind = "Alarm",
    plural = "alarms",
    shortname = "cwa",
    doc = "An alarm of CloudWatch on one metric. Its main id is its AlarmName.",
    noun = "alarm",
    state = "alarm",
    tag_name = "web",
    observed = Observed,
    summary("Metric" = "MetricName", "State" = "StateValue", "Threshold" = "Threshold"),
    whole("dimensions"),
    rules = Self::between_fields,
    cel(
        "!has(self.datapointsToAlarm) || !has(self.datapointsToAlarm.value) || !has(self.evaluationPeriods.value) || self.datapointsToAlarm.value <= self.evaluationPeriods.value"
            else "must not be greater than evaluationPeriods" at "datapointsToAlarm",
    )
)]
pub(crate) struct AlarmSpec {
    /// The beginning of the name, 1 to 200 letters, digits and the characters `_./#-`. Kraken adds a generated end, because AWS replaces an
    /// alarm with the same name, whoever created it. Immutable. Default: the name is generated. Example: `{value: shop/cpu}`
    #[field("namePrefix", rule = NAME_PREFIX, fixed, published("AlarmName"))]
    pub(crate) name_prefix: Option<Public<Opt<String>>>,

    /// The description, for those whom the alarm wakes: 1 to 1024 characters. Changed in place. Default: none; an existing one is not managed.
    /// Example: `{value: see the runbook of the shop}`
    #[field("description", check = description, change = Put, observed = alarm_description)]
    pub(crate) description: Option<Opt<String>>,

    /// The namespace of the metric, 1 to 255 characters without colons. Changed in place. Example: `{value: AWS/EC2}`
    #[field("namespace", rule = NAMESPACE, change = Put, always_sent)]
    pub(crate) namespace: Opt<String>,

    /// The name of the metric, 1 to 255 printable ASCII characters that are not only spaces. Changed in place. Example: `{value: CPUUtilization}`
    #[field("metricName", rule = METRIC, change = Put, always_sent)]
    pub(crate) metric_name: Opt<String>,

    /// The dimensions of the metric, up to 30: all that it has, because a metric with other dimensions is another metric. Changed in place.
    /// Default: a metric without dimensions. Example: `[{name: {value: InstanceId}, value: {valueFrom: {ref: EC2Instance/web}}}]`
    #[schemars(length(max = 30))]
    #[field(
        "dimensions",
        group,
        compare = Self::compare_dimensions,
        import = Self::import_dimensions,
        published("Dimensions"),
        none_if_unset
    )]
    pub(crate) dimensions: Option<Vec<Dimension>>,

    /// The statistic: `Average`, `Sum`, `Minimum`, `Maximum`, `SampleCount`, a percentile such as `p99`, `IQM`, or a trimmed statistic such as
    /// `tm90`. Changed in place. Example: `{value: Average}`
    #[field("statistic", rule = STATISTIC, change = Put, always_sent, published("Statistic", "ExtendedStatistic"))]
    pub(crate) statistic: Opt<String>,

    /// The length of a period in seconds: 10, 20, 30, or a multiple of 60 up to 604800. With `evaluationPeriods`, at most a day, or a week if
    /// it is at least 3600. Changed in place. Example: `{value: 300}`
    #[field("periodSeconds", check = period, change = Put, observed = period, always_sent)]
    pub(crate) period_seconds: Opt<i32>,

    /// The number of latest periods that are compared, 1 to 10080. Changed in place. Example: `{value: 3}`
    #[field("evaluationPeriods", rule = PERIODS, change = Put, always_sent)]
    pub(crate) evaluation_periods: Opt<i32>,

    /// How many of these periods must breach the threshold, 1 to `evaluationPeriods`. Changed in place. Default: all; an existing number is not
    /// managed. Example: `{value: 2}`
    #[field("datapointsToAlarm", rule = PERIODS, change = Put, none_if_unset)]
    pub(crate) datapoints_to_alarm: Option<Opt<i32>>,

    /// The value that the statistic is compared with, in the unit of the metric. Changed in place. Example: `{value: 80}`
    #[field("threshold", change = Put, observed = threshold(), always_sent, published("Threshold"))]
    pub(crate) threshold: Opt<f64>,

    /// When a period breaches the threshold: `GreaterThanOrEqualToThreshold`, `GreaterThanThreshold`, `LessThanThreshold` or
    /// `LessThanOrEqualToThreshold`. Changed in place. Example: `{value: GreaterThanThreshold}`
    #[field("comparisonOperator", change = Put, always_sent)]
    pub(crate) comparison_operator: Opt<Comparison>,

    /// What a period without data means: `missing`, `ignore`, `breaching` or `notBreaching`. Changed in place. Default: AWS's default
    /// (`missing`); an existing setting is not managed. Example: `{value: notBreaching}`
    #[field("treatMissingData", change = Put, unless = "missing", none_if_unset)]
    pub(crate) treat_missing_data: Option<Opt<MissingData>>,

    /// The unit of the metric, only if it is sent with several: `Seconds`, `Microseconds`, `Milliseconds`, `Bytes`, `Kilobytes`, `Megabytes`,
    /// `Gigabytes`, `Percent`, `Count`, `Bytes/Second`, `Count/Second` or `None`. Changed in place. Default: any; an existing unit is not
    /// managed. Example: `{value: Percent}`
    #[field("unit", change = Put, none_if_unset)]
    pub(crate) unit: Option<Opt<Unit>>,

    /// Whether the actions are executed. Changed in place. Default: AWS's default (true); an existing setting is not managed. Example:
    /// `{value: false}`
    #[field("actionsEnabled", change = Put, unless = true)]
    pub(crate) actions_enabled: Option<Opt<bool>>,

    /// What is executed when the metric breaches the threshold, up to 5 ARNs, such as of a topic. Changed in place; an empty list removes all.
    /// Default: none; existing actions are not managed. Example: `{value: [{valueFrom: {ref: Topic/ops}}]}`
    #[field("alarmActions", rule = ACTION, items(0, 5), change = Put, observed = alarm_actions)]
    pub(crate) alarm_actions: Option<ListOpt<String>>,

    /// What is executed when the alarm is over, up to 5 ARNs. Changed in place; an empty list removes all. Default: none; existing actions are
    /// not managed. Example: `{value: [{valueFrom: {ref: Topic/ops}}]}`
    #[field("okActions", rule = ACTION, items(0, 5), change = Put, observed = ok_actions, published("OKActions"))]
    pub(crate) ok_actions: Option<ListOpt<String>>,

    /// What is executed when there is not enough data, up to 5 ARNs. Changed in place; an empty list removes all. Default: none; existing actions
    /// are not managed. Example: `{value: [{valueFrom: {ref: Topic/ops}}]}`
    #[field("insufficientDataActions", rule = ACTION, items(0, 5), change = Put, observed = insufficient_data_actions)]
    pub(crate) insufficient_data_actions: Option<ListOpt<String>>,
}

/// A dimension of a metric.
#[aws_group]
pub(crate) struct Dimension {
    /// The name, 1 to 255 printable ASCII characters that are not only spaces, without a colon at its start; unique in the list. Example: `{value: InstanceId}`
    #[field("name", rule = DIMENSION)]
    pub(crate) name: Opt<String>,

    /// The value, 1 to 255 printable ASCII characters that are not only spaces, without a colon at its start. Example: `{valueFrom: {ref: EC2Instance/web}}`
    #[field("value", rule = DIMENSION)]
    pub(crate) value: Opt<String>,
}
