"""Shapes of the register's records: the fields that are read of each kind, and those that normally have a value.

A field that a new build renames decodes as missing, since every field of `wire` may be. Replies of 2022 to 2026 show
which fields real answers always have; fields that only some of them have are optional here.
"""

from registerwatch.sources.checks.names import CheckName
from registerwatch.sources.checks.shapes import Shape
from registerwatch.sources.eudamed import wire

SHAPES = {
    CheckName.DEVICE_ROW: Shape(
        wire.device_row,
        keys=frozenset({"uuid", "primaryDi", "manufacturerSrn"}),
        filled=frozenset(
            {
                "deviceStatusType.code",
                "latestVersion",
                "manufacturerName",
                "versionNumber",
            }
        ),
        optional=frozenset({"manufacturerStatus"}),
        usual=frozenset({"basicUdi", "manufacturerStatus.code", "reference", "riskClass.code", "tradeName"}),
    ),
    CheckName.DEVICE_DETAIL: Shape(
        wire.device_detail,
        keys=frozenset({"uuid", "primaryDi.code"}),
        filled=frozenset({"deviceStatus.type.code", "versionDate", "versionNumber"}),
    ),
    CheckName.BASIC_UDI_RECORD: Shape(
        wire.basic_udi_record,
        keys=frozenset({"manufacturer.srn"}),
        filled=frozenset({"legislation.code", "versionNumber"}),
    ),
    CheckName.ACTOR_ROW: Shape(
        wire.actor_row,
        keys=frozenset({"uuid", "srn"}),
        filled=frozenset({"countryIso2Code", "eudamedIdentifier", "latestVersion", "name", "versionNumber"}),
        optional=frozenset({"actorStatus"}),
    ),
    CheckName.ACTOR_DETAIL: Shape(
        wire.actor_information,
        keys=frozenset({"actorDataPublicView.uuid"}),
        optional=frozenset({"actorDataPublicView.actorStatus"}),
    ),
    CheckName.CERTIFICATE_ROW: Shape(
        wire.listed_certificate,
        keys=frozenset({"uuid", "ulid", "certificateNumber", "actorSrn"}),
        filled=frozenset(
            {
                "actorName",
                "certificateStatus.code",
                "certificateType.code",
                "issueDate",
                "latestVersion",
                "notifiedBodySrn",
                "versionNumber",
            }
        ),
    ),
    CheckName.CERTIFICATE_DETAIL: Shape(
        wire.certificate_record,
        keys=frozenset({"uuid"}),
        optional=frozenset(
            {
                "additionalStatusChangeReason",
                "decisionDate",
                "documents",
                "scopes.basicUdiData",
                "scopes.description",
                "scopes.deviceTypeCodes",
                "scopes.riskClass",
                "statusChangeReasons",
            }
        ),
    ),
    CheckName.REFUSAL_ROW: Shape(
        wire.refused_application,
        keys=frozenset({"uuid", "applicationReferenceNumber"}),
        filled=frozenset({"certificateRefusalDate"}),
        optional=frozenset({"actorName", "actorSrn", "notifiedBodySrn", "ulid"}),
    ),
    CheckName.NOTIFIED_BODY: Shape(wire.listed_body, keys=frozenset({"eudamedIdentifier"}), filled=frozenset({"name"})),
}
