# SPDX-License-Identifier: Apache-2.0
"""The tables: those that a request is written to, copies of the service's, and those of the service that are read."""

from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ARRAY, JSON, ForeignKey, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class Base(DeclarativeBase):
    """All tables."""

    # Whatever JSON has.
    type_annotation_map = {dict[str, Any]: JSON, list[dict[str, Any]]: JSON, list[str]: ARRAY(String)}


class Tenant(Base):
    """An organisation."""

    __tablename__ = "tenant"
    __table_args__ = {"schema": "chamberlain"}

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    domains: Mapped[list[str]]


class Template(Base):
    """The state of a template, and which revision of it counts."""

    __tablename__ = "template"
    __table_args__ = {"schema": "chamberlain"}

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    template_id: Mapped[UUID] = mapped_column(primary_key=True)
    kind: Mapped[str]
    active: Mapped[bool]
    revision: Mapped[int]


class TemplateRevision(Base):
    """The content of a template."""

    __tablename__ = "template_revision"
    __table_args__ = {"schema": "chamberlain"}

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    template_id: Mapped[UUID] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True)
    content: Mapped[dict[str, Any]]


class User(Base):
    """A user in the directory."""

    __tablename__ = "users"
    __table_args__ = {"schema": "directory"}

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    display_name: Mapped[str]
    account_enabled: Mapped[bool]


class Address(Base):
    """An address of an object in the directory."""

    __tablename__ = "addresses"
    __table_args__ = {"schema": "directory"}

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    address: Mapped[str] = mapped_column(primary_key=True)


class GroupRequest(Base):
    """A group that was asked for."""

    __tablename__ = "request"
    __table_args__ = {"schema": "ordinary"}

    request_id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    tenant_id: Mapped[UUID]
    kind: Mapped[str]
    state: Mapped[str]
    display_name: Mapped[str]
    mail_nickname: Mapped[str]
    address: Mapped[str]
    template_id: Mapped[UUID]
    template_revision: Mapped[int]
    template_name: Mapped[str]
    body: Mapped[dict[str, Any]]
    approval_required: Mapped[bool]
    people_checked: Mapped[bool]
    steps: Mapped[list[dict[str, Any]]]
    client_id: Mapped[str]
    actor_type: Mapped[str]
    actor_id: Mapped[UUID]
    actor_name: Mapped[str]
    trace_id: Mapped[str]

    reservation: Mapped["Reservation"] = relationship(back_populates="request")
    job: Mapped["Job"] = relationship(back_populates="request")
    audit: Mapped["Audit"] = relationship(back_populates="request")


class Reservation(Base):
    """An address that is reserved for a request."""

    __tablename__ = "reservation"
    __table_args__ = {"schema": "ordinary"}

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str] = mapped_column(primary_key=True)
    request_id: Mapped[UUID] = mapped_column(ForeignKey("ordinary.request.request_id"))

    request: Mapped[GroupRequest] = relationship(back_populates="reservation")


class Job(Base):
    """A job of a request."""

    __tablename__ = "job"
    __table_args__ = {"schema": "ordinary"}

    job_id: Mapped[int] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]
    kind: Mapped[str]
    subject: Mapped[UUID] = mapped_column(ForeignKey("ordinary.request.request_id"))
    trace_id: Mapped[str]

    request: Mapped[GroupRequest] = relationship(back_populates="job")


class Audit(Base):
    """An entry of the audit trail: the action and its actor."""

    __tablename__ = "audit"
    __table_args__ = {"schema": "ordinary"}

    sequence: Mapped[int] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID]
    action: Mapped[str]
    request_id: Mapped[UUID] = mapped_column(ForeignKey("ordinary.request.request_id"))
    trace_id: Mapped[str]
    payload: Mapped[dict[str, Any]]

    request: Mapped[GroupRequest] = relationship(back_populates="audit")
