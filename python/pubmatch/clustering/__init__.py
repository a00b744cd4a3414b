"""Publisher clustering: who talks to whom when events carry sets of attributes.

Publishers that advertise attributes are grouped into clusters, so that a subscriber listens to one cluster,
a publisher keeps within its number of connections, and few unwanted notifications flow.

Examples
--------
>>> from pubmatch.clustering import Clustering
>>> c = Clustering(strategy="3.1")
>>> c.join("p1", {"A", "B"}, connections=2)
>>> c.join("p2", {"A", "C"}, connections=3)
>>> [sorted("".join(sorted(each)) for each in cluster.combinations) for cluster in c.clusters]
[['AB', 'B'], ['A'], ['AC', 'C']]
>>> c.connections("p1")
(1, 2)
"""

from __future__ import annotations

from pubmatch.clustering.books import MAX_ADVERTISED, MAX_ATTRIBUTES, InvariantError
from pubmatch.clustering.bounds import max_clusters_bound
from pubmatch.clustering.clustering import STRATEGIES, Clustering
from pubmatch.clustering.generator import Publisher, random_publishers
from pubmatch.clustering.model import Cluster, Delivery
from pubmatch.clustering.planner import ShardPlan, hash_shards, plan_shards

__all__ = [
    "MAX_ADVERTISED",
    "MAX_ATTRIBUTES",
    "STRATEGIES",
    "Cluster",
    "Clustering",
    "Delivery",
    "InvariantError",
    "Publisher",
    "ShardPlan",
    "hash_shards",
    "max_clusters_bound",
    "plan_shards",
    "random_publishers",
]
