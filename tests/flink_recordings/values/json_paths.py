"""JSON paths, and the document that they are asked of."""

from __future__ import annotations

DOCUMENT = (
    '{"a": [{"b": 1, "c": "x", "d": [1, 2]}, {"b": 2.5, "c": "Y"}, {"c": "z z", "e": null}, {"b": "2", "d": []}, 7, '
    '"x"], "n": [3, 1, 2.5], "o": {"p": {"q": 5}, "b": true}, "s": "text", "m": {}, "l": [[1, 2], [3]], "k": null, '
    '"x y": 1}'
)
PATHS = r"""
$.a[?(@.b > 1)]
$.a[?(@.b >= 1)].b
$.a[?(@.b < 2)].c
$.a[?(@.b <= 2.5)].b
$.a[?(@.b == 2)]
$.a[?(@.b === 2)]
$.a[?(@.b == '2')].b
$.a[?(@.b != 1)]
$.a[?(@.b !== 1)].c
$.a[?(1 < @.b)].b
$.a[?(@.b)]
$.a[?(!@.b)]
$.a[?(@.e)]
$.a[?(@.e == null)]
$.a[?(@.zz == null)].c
$.a[?(@.d)].d
$.a[?(@.d[0])].c
$.a[?(@.d[0] == 1)].c
$.a[?(@.d == [1, 2])].c
$.a[?(@.d size 0)].b
$.a[?(@.d size 2)].b
$.a[?(@.c size 3)].c
$.a[?(@.d empty true)].b
$.a[?(@.d empty false)].b
$.a[?(@.c empty false)].c
$.a[?(@.c in ['x', 'z z'])].c
$.a[?(@.c nin ['x', 'z z'])].c
$.a[?(@.b in [1, 2])].b
$.a[?(@.d contains 2)].b
$.a[?(@.c contains 'z')].c
$.a[?(@.d anyof [2, 3])].b
$.a[?(@.d noneof [2, 3])].b
$.a[?(@.d subsetof [1, 2, 3])].b
$.a[?(@.c =~ /x|y/)].c
$.a[?(@.c =~ /x|y/i)].c
$.a[?(@.c =~ /.*z/)].c
$.a[?(@.b =~ /[0-9]/)].b
$.a[?(@.c == 'x' && @.b == 1)].c
$.a[?(@.c == 'x' || @.b > 2)].c
$.a[?(@.b > 1 && @.c || @.d)].b
$.a[?(@.b > 1 && (@.c == 'Y' || @.d))].b
$.a[?(!(@.b > 1))]
$.a[?(!(@.b > 1) && @.c)].c
$.a[?(@.b > $.n[1])].b
$.a[?($.s)].c
$.a[?($.zz)].c
$.a[?(@ == 7)]
$.a[?(@ == 'x')]
$.n[?(@ > 1)]
$.n[?(@ > 1 && @ < 3)]
$.n[?(@ in [1, 3])]
$.o[?(@.q)]
$.o[?(@.b)]
$.o[?(@.p.q == 5)]
$.o[?(@.b == true)].p
$.s[?(@.b)]
$.k[?(@.b)]
$.l[?(@[0] == 1)]
$.l[?(@ contains 3)]
$..[?(@.b)].b
$..[?(@.b == 1)]
$..[?(@ > 1)]
$..[?(@.q)]
$..b
$..d[0]
$..[0]
$..*
$..p.q
$..d[*]
$.*
$.a.*
$.a[*].b
$.o.*
$.a[0]['b','c']
$.a[0]['b']
$.a[*]['b','c']
$.o['p','b']
$['s','m']
$['x y']
$.a[0,1].b
$.a[-1]
$.a[-2:]
$.a[:2].b
$.a[1:3].c
$.a[9]
$.a[9].b
$.a[9:]
$.zz
$.zz.y
$.s.y
$.s[0]
$.k
$.k.y
$.l[*][0]
$.n.length()
$.n.size()
$.o.length()
$.s.length()
$.k.length()
$.n.min()
$.n.max()
$.n.sum()
$.n.avg()
$.n.stddev()
$.a.sum()
$.l[0].sum()
$.s.sum()
$.n.first()
$.n.last()
$.a.first().b
$.m.*
$
"""


FAILING = r"""
$.a[?(@.b)]
$.a[?(!@.b)]
$.a[?(@.e)]
$.a[?(@.d)].d
$.a[?(@.d[0])].c
$.a[?(@.d == [1, 2])].c
$.a[?(@.d size 0)].b
$.a[?(@.d size 2)].b
$.a[?(@.d empty true)].b
$.a[?(@.d empty false)].b
$.a[?(@.c in ['x', 'z z'])].c
$.a[?(@.c nin ['x', 'z z'])].c
$.a[?(@.b in [1, 2])].b
$.a[?(@.d contains 2)].b
$.a[?(@.d anyof [2, 3])].b
$.a[?(@.d noneof [2, 3])].b
$.a[?(@.d subsetof [1, 2, 3])].b
$.a[?(@.b > 1 && @.c || @.d)].b
$.a[?(!(@.b > 1) && @.c)].c
$.a[?($.s)].c
$.a[?($.zz)].c
$.a[?(@ == 7)]
$.a[?(@ == 'x')]
$.n[?(@ in [1, 3])]
$.o[?(@.q)]
$.o[?(@.b)]
$.l[?(@ contains 3)]
$..[?(@.b)].b
$..[?(@ > 1)]
$..[?(@.q)]
"""
"""Paths of which Flink lacks a class of its JSON library."""


def json_path_expressions(paths: str = PATHS) -> list[str]:
    """Return what JSON_QUERY and JSON_EXISTS are asked, in both modes."""
    texts = [path.replace("'", "''") for path in paths.split("\n") if path]
    calls = [
        "JSON_QUERY('{0}', 'strict {1}' WITH WRAPPER)",
        "JSON_QUERY('{0}', 'lax {1}' WITH WRAPPER)",
        "JSON_EXISTS('{0}', 'strict {1}')",
    ]
    return [call.replace("{0}", DOCUMENT).replace("{1}", path) for path in texts for call in calls]
