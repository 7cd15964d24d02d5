"""Plans that people can look at: of a program, of its graphs as JSON, of a job on a Flink cluster.

plan_source  what to look at: a program (not run), a stream graph, a job graph, or the plan of a real Flink job
diagram      nodes, edges and clusters: what every view draws
operators, vertices, subtasks, slots
             the four views: StreamGraph, JobGraph, ExecutionGraph, slots
text, dot, page
             how a view is shown: as a tree of lines, as DOT and SVG, as an HTML page of all views
"""

from firesteel.plan.plan_source import InvalidPlanError, PlanSource, load_plan_source
from firesteel.plan.render import FORMATS, VIEWS, render

__all__ = ["FORMATS", "VIEWS", "InvalidPlanError", "PlanSource", "load_plan_source", "render"]
