"""Nexmark q0 to q8: an auction site's events and queries on them, as DataStream programs for firesteel and PyFlink.

Written from the published description (Tucker, Tufte, Papadimos, Maier: "NEXMark, A Benchmark for Queries over Data
Streams") and the proportions that its later versions agree on: of 50 events one is a new person, three are new
auctions and 46 are bids.
"""
