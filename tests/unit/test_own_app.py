"""cli/own_app.py: `run module:app` finds the App, and refuses what belongs to the default application."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from soloist.cli.own_app import own_app
from soloist.cli.run import _default_app
from soloist.errors import UsageError

NOTHING: dict[str, Any] = {"interval": None, "error_rate": None, "count": None, "until_empty": False}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a module in it."""
    (tmp_path / "a_shop_of_ours.py").write_text("from soloist import App\napp = App('orders')\nnumber = 7\n")
    (tmp_path / "in_need.py").write_text("import not_installed_anywhere\n")
    (tmp_path / "two_shops.py").write_text(
        "from soloist import App\norders = App('orders')\ninvoices = App('invoices')\n"
    )
    (tmp_path / "no_shop.py").write_text("number = 7\n")
    (tmp_path / "wrong_kind.py").write_text("from soloist import App\napp = App('orders')\n\napp.handler(7)\n")
    (tmp_path / "wrong_name.py").write_text("from soloist import App\n\n\napp = App('two words')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


def test_the_app_is_found_in_the_current_folder() -> None:
    """Without installing anything."""
    assert own_app("a_shop_of_ours:app", NOTHING).name == "orders"


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("a_shop_of_ours", "'a_shop_of_ours' is not MODULE:APP. Write a_shop_of_ours:app."),
        (":app", "is not MODULE:APP"),
        ("a_shop_of_ours:", "is not MODULE:APP. Write a_shop_of_ours:app."),
        ("two_shops", "'two_shops' is not MODULE:APP. Its Apps are orders, invoices."),
        ("no_shop", "There is no App in no_shop: write `app = App"),
        ("a_shop_of_ours.py:app", "names a file: write its module, a_shop_of_ours:app."),
        ("./shops/orders.py", "names a file: write its module, shops.orders:app."),
        ("no_such_module:app", "No module named 'no_such_module'"),
        ("in_need:app", "No module named 'not_installed_anywhere'"),
        ("a_shop_of_ours:application", "has no 'application'. Write a_shop_of_ours:app."),
        ("a_shop_of_ours:number", "is a int, not a soloist.App. Write a_shop_of_ours:app."),
        ("two_shops:order", "has no 'order'. Did you mean two_shops:orders. Its Apps are orders, invoices."),
        ("two_shops:App", "is a type, not a soloist.App. Its Apps are orders, invoices."),
        ("wrong_kind:app", r"a kind must be 1 to 128 .*, not 7 \(wrong_kind.py, line 4\)."),
        ("wrong_name:app", r"the App's name must be 1 to 128 .*, not 'two words' \(wrong_name.py, line 4\)."),
    ],
)
def test_what_is_no_app_is_refused_in_words(where: str, says: str) -> None:
    """With what was looked for, and where."""
    with pytest.raises(UsageError, match=says):
        own_app(where, NOTHING)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("interval", 0.5),
        ("interval", 0.0),
        ("error_rate", 0.1),
        ("error_rate", 0.0),
        ("count", 5),
        ("until_empty", True),
    ],
)
def test_options_of_the_default_application_are_refused(option: str, value: Any) -> None:
    """Also 0: what would do nothing must not look as if it did."""
    with pytest.raises(UsageError, match=f"--{option.replace('_', '-')} belongs to the default application"):
        own_app("a_shop_of_ours:app", NOTHING | {option: value})


def test_the_default_application_takes_them() -> None:
    """0 is a number like any other; nothing said is the assignment's."""
    assert _default_app(NOTHING | {"interval": 0.0}).sources[0].every == 0
    assert _default_app(NOTHING).sources[0].every == 0.5
