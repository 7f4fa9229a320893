"""REST's answers about a code."""

from collections.abc import Iterable
from typing import Annotated

import msgspec

from registerwatch.copy.documents.documents import CodedDevice
from registerwatch.register.identifiers import Agency, Candidate, CandidateKind, ParsedCode, Part, PartName, Verdict
from registerwatch.register.other_codes import OtherCode
from registerwatch.web.answers.answers import Answer, doc


class CodeCheck(Answer):
    """What the check digits or characters of a candidate say."""

    verdict: Annotated[
        Verdict,
        doc(
            "`right` or `wrong`; `absent`: the code was written without them; `unknown`: this form has none, or nothing"
            " tells which they are.",
            "right",
        ),
    ]
    expected: Annotated[str | None, doc("What they should be, null where that cannot be said.", "1")]


class CodeCandidate(Answer):
    """An identifier that the code can mean."""

    kind: Annotated[CandidateKind, doc("What it identifies.", "udi-di")]
    value: Annotated[str, doc("The identifier as the register writes it.", "04012345678901")]
    agency: Annotated[Agency | None, doc("Who issues it, null where that cannot be said.", "gs1")]
    form: Annotated[str, doc("What it is called there.", "GTIN-13")]
    check: Annotated[CodeCheck, msgspec.Meta(description="Its check digits.")]
    explanation: Annotated[
        str,
        doc(
            "Why it is a candidate, for a person.", "GTIN-13. The register writes it with leading zeros, in 14 digits."
        ),
    ]

    @classmethod
    def of(cls, each: Candidate) -> "CodeCandidate":
        """The answer for a candidate."""
        check = CodeCheck(each.check.verdict, each.check.expected or None)
        return cls(each.kind, each.value, each.agency, each.form, check, each.explanation)


class CodePart(Answer):
    """What the code says of one lot or one device. It is answered here, and stored nowhere."""

    name: Annotated[PartName, doc("What it is; `other` for what has no name here.", "expiry")]
    label: Annotated[str, doc("The same for a person.", "Expiry date")]
    value: Annotated[
        str | None, doc("A date as `2028-01-31` or `2028-01`, else what is written; null for no date.", "2028-01-31")
    ]
    written: Annotated[str, doc("As the code has it.", "280131")]
    qualifier: Annotated[str, doc("What announces it in the code: an application identifier or the like.", "17")]

    @classmethod
    def of(cls, part: Part) -> "CodePart":
        """The answer for a part."""
        return cls(part.name, part.label, part.value, part.written, part.qualifier)


class CodeOfDevice(OtherCode, frozen=True, omit_defaults=True, kw_only=True):
    """A device of the copy, and what a code that is not its UDI-DI is to it."""

    udi: Annotated[str, doc("The UDI-DI of the device.", "04012345678901")]


def codes_of_devices(coded: Iterable[CodedDevice]) -> list[CodeOfDevice]:
    """The role of a code for each of some devices."""
    return [CodeOfDevice(udi=each.udi, **msgspec.structs.asdict(code)) for each in coded for code in each.meanings]


class ParsedCodeAnswer(Answer):
    """What a code says."""

    subject: Annotated[
        str | None,
        doc("The one UDI-DI or SRN that it certainly means, null for none and for several.", "04012345678901"),
    ]
    candidates: Annotated[list[CodeCandidate], msgspec.Meta(description="What it can mean, the likeliest first.")]
    parts: Annotated[list[CodePart], msgspec.Meta(description="What else it says, in its order.")]
    warnings: Annotated[
        list[str],
        doc("What is odd about it, for a person.", ["A separator may be missing in “LOT17251231”: it may be …"]),
    ]
    code_of: Annotated[
        list[CodeOfDevice] | msgspec.UnsetType,
        doc("Only where it is no UDI-DI in the copy but another code of devices there: what it is to each of them."),
    ] = msgspec.UNSET

    @classmethod
    def of(cls, parsed: ParsedCode, coded: Iterable[CodedDevice] = ()) -> "ParsedCodeAnswer":
        """A parsed code, and the devices of which it is another code."""
        return cls(
            parsed.subject,
            [CodeCandidate.of(each) for each in parsed.candidates],
            [CodePart.of(part) for part in parsed.parts],
            list(parsed.warnings),
            codes_of_devices(coded) or msgspec.UNSET,
        )
