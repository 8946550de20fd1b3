"""What is told on a page instead of the one that was asked for.

PageRefused
|-- WrongAddress     the page is reached by another address, or without TLS
|-- FormNotOurs      a form that did not come from the page that we gave this browser
|-- RequestNotOurs   a program asks in a way that must not be answered to it
|-- NobodySignsIn    strangers can reach this service, so nobody signs in
`-- NothingThere     no such organisation
"""


class PageRefused(Exception):
    """The title and the sentence stand on the page; the sentence says what to do."""

    status = 400
    title = "This does not work"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class WrongAddress(PageRefused):
    """The page is reached by another address, or without TLS: another site may have bent its name to us."""

    status = 421
    title = "This page has another address"

    def __init__(self, base_url: str, address: str) -> None:
        """`address` is where the same page is, if there is one that could be opened."""
        super().__init__(f"The pages of this sign-in platform are below {base_url}/ and nowhere else.")
        self.address = address


class FormNotOurs(PageRefused):
    """A form that did not come from the page that we gave this browser, or not in this state of things."""

    status = 403
    title = "The page has become too old"

    def __init__(self) -> None:
        super().__init__("Nothing was done. Go back, load the page again and send it once more. Cookies are needed.")


class RequestNotOurs(PageRefused):
    """A program asks in a way that must not be answered to it: nobody knows that the address is its own."""

    title = "The program asked wrongly"


class NobodySignsIn(PageRefused):
    """The people of an example are nobody's, and must not be found where strangers can reach them."""

    status = 403
    title = "Nobody can sign in here"

    def __init__(self) -> None:
        super().__init__(
            "Other machines can reach this service, so the example users cannot sign in. Let the service listen on "
            "127.0.0.1, or connect it to the sign-in platform of your organisation."
        )


class NothingThere(PageRefused):
    """No such organisation."""

    status = 404
    title = "There is no such organisation"

    def __init__(self) -> None:
        super().__init__("No organisation with the id in the address is known here. Look at the address.")
