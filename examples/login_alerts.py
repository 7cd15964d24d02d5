"""Reports users with three failed logins in a row, and users that do not log out within an hour of a login.

    firesteel run examples/login_alerts.py

The first pattern is matched when the third login fails. The second one waits for an event that does not come, so it is
matched when the watermark passes the end of the hour.
"""

from firesteel.cep import CEP, AfterMatchSkipStrategy, Pattern
from firesteel.common import Duration, Time, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment

EVENTS = [  # minute, user, action
    (0, "ada", "login"),
    (2, "bob", "failed"),
    (3, "bob", "failed"),
    (4, "ada", "logout"),
    (5, "bob", "failed"),
    (6, "bob", "login"),
    (7, "eve", "failed"),
    (9, "eve", "login"),
    (30, "eve", "logout"),
    (90, "ada", "login"),
    (95, "ada", "logout"),
]


def is_action(action):
    return lambda event: event[2] == action


def attack():
    """Three failures in a row; a fourth one does not make a second alert of the same failures."""
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    return Pattern.begin("failures", skip).where(is_action("failed")).times(3).consecutive().within(Time.minutes(10))


def forgotten():
    """A login without a logout in the next hour."""
    return (
        Pattern.begin("login")
        .where(is_action("login"))
        .not_followed_by("logout")
        .where(is_action("logout"))
        .within(Time.hours(1))
    )


def alerts(env, events):
    """Return the texts of the alerts."""
    by_minute = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(1)).with_timestamp_assigner(
        lambda event, _: event[0] * 60_000
    )
    users = (
        env.from_collection(events, Types.TUPLE([Types.LONG(), Types.STRING(), Types.STRING()]))
        .assign_timestamps_and_watermarks(by_minute)
        .key_by(lambda event: event[1], Types.STRING())
    )
    attacks = CEP.pattern(users, attack()).select(
        lambda match: f"{match['failures'][0][1]}: 3 failed logins until minute {match['failures'][-1][0]}",
        Types.STRING(),
    )
    forgotten_logins = CEP.pattern(users, forgotten()).select(
        lambda match: f"{match['login'][0][1]}: no logout after minute {match['login'][0][0]}", Types.STRING()
    )
    return attacks.union(forgotten_logins)


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    alerts(env, EVENTS).print().set_parallelism(1)
    env.execute("login alerts")


if __name__ == "__main__":
    main()
