"""The use cases of deliveries."""

from chamberlain.api.administration import Deliveries
from chamberlain.bootstrap.means import Means
from chamberlain.usecases.delivery_list import ListDeliveries
from chamberlain.usecases.delivery_redeliver import RedeliverDelivery
from chamberlain.usecases.delivery_redeliver_span import RedeliverSpan


def delivery_services(means: Means) -> Deliveries:
    """What the API may ask about deliveries."""
    return Deliveries(
        list=ListDeliveries(means.database, means.authorization),
        redeliver=RedeliverDelivery(means.database, means.authorization, means.notifier),
        redeliver_span=RedeliverSpan(means.database, means.authorization, means.notifier),
    )
