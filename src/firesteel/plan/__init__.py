"""Visualisation of plans: of a program, of its graphs as JSON, and of a job on a Flink cluster.

plan_source  the input: a program (not run), a stream graph, a job graph, or the plan of a real Flink job
diagram      nodes, edges and clusters, from which every view is drawn
operators, vertices, subtasks, slots
             the four views: StreamGraph, JobGraph, ExecutionGraph, slots
text, dot, page
             the formats: a tree of lines, DOT and SVG, an HTML page of all views
"""

from firesteel.plan.plan_source import InvalidPlanError, PlanSource, load_plan_source
from firesteel.plan.render import FORMATS, VIEWS, render

__all__ = ["FORMATS", "VIEWS", "InvalidPlanError", "PlanSource", "load_plan_source", "render"]
