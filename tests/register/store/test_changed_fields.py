"""Which fields of a record changed."""

from registerwatch.register.store.changed_fields import device_changes
from tests.register.builders import a_device


def test_a_flag_that_is_told_for_the_first_time_is_no_change_and_any_later_one_is() -> None:
    unknown, no, yes = a_device(), a_device(latex=False), a_device(latex=True)

    assert device_changes(unknown, no) == {}
    assert device_changes(no, yes) == {"latex": False}
