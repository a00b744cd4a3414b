"""The geographic two-tier overlay: operators placed inside the network, load moved when a node is too busy.

A core network knows nodes and publishers by their place on a Z-order curve. On it, every subscription gets a
transfer tree of three steps: edge nodes filter, joint nodes calculate, the root merges.
"""

from __future__ import annotations

from pubmatch.overlay import zorder
from pubmatch.overlay.balance import BalanceReport, Move
from pubmatch.overlay.churn import Departure
from pubmatch.overlay.core_network import CoreNetwork, Publisher
from pubmatch.overlay.dsm_network import DsmNetwork, SplitReport
from pubmatch.overlay.evaluation import cell_subscriptions, equal_intervals
from pubmatch.overlay.moving_area import AreaMove
from pubmatch.overlay.operator_graph import OperatorGraph
from pubmatch.overlay.partials import Partial
from pubmatch.overlay.subscription import FUNCTIONS, Calculate, Filter, Subscription
from pubmatch.overlay.transfer_network import POLICIES, TransferNetwork
from pubmatch.overlay.transfer_state import Rates
from pubmatch.overlay.transfer_tree import Flow, Joint, TreeView
from pubmatch.overlay.value_simulation import ValueSimulation

__all__ = [
    "FUNCTIONS",
    "POLICIES",
    "AreaMove",
    "BalanceReport",
    "Calculate",
    "CoreNetwork",
    "Departure",
    "DsmNetwork",
    "Filter",
    "Flow",
    "Joint",
    "Move",
    "OperatorGraph",
    "Partial",
    "Publisher",
    "Rates",
    "SplitReport",
    "Subscription",
    "TransferNetwork",
    "TreeView",
    "ValueSimulation",
    "cell_subscriptions",
    "equal_intervals",
    "zorder",
]
