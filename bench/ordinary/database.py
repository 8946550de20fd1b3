# SPDX-License-Identifier: Apache-2.0
"""Sessions, one for each request."""

import os
from collections.abc import Iterator
from typing import Annotated

from fastapi import Depends
from sqlalchemy import create_engine
from sqlalchemy.orm import Session, sessionmaker

engine = create_engine(os.environ["ORDINARY_DATABASE"])
SessionLocal = sessionmaker(engine)


def get_session() -> Iterator[Session]:
    """A session that ends with the request."""
    with SessionLocal() as session:
        yield session


SessionOfRequest = Annotated[Session, Depends(get_session)]
