"""`registerwatch register check`."""

from registerwatch_standins.register.faults import Faults
from tests.support.terminal import Terminal


def test_a_check_prints_what_it_found_and_ends_with_1_where_something_has_changed(
    terminal: Terminal, faults: Faults
) -> None:
    fine = terminal.types("register", "check")
    faults.fail("search", "json-of-renamed-fields", names=("riskClass",))
    changed = terminal.types("register", "check")

    assert (fine.code, changed.code) == (0, 1), fine
    assert "fine        build                      3.21.0" in fine.out
    assert "changed     shape device row           Missing: riskClass." in changed.out
