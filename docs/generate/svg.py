"""A few SVG shapes. Pictures have a light ground of their own, so they are legible on light and dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

__all__ = ["BLUE", "GREEN", "GREY", "INK", "ORANGE", "Svg"]

INK, GREY, PALE = "#1f2430", "#5d6675", "#d5dae2"
BLUE, GREEN, ORANGE = "#2f6fb7", "#2e8b57", "#d9541e"


class Svg:
    """A picture that grows shape by shape.

    Args:
        width: In pixels.
        height: In pixels.
        title: What the picture shows, for screen readers.
    """

    def __init__(self, width: int, height: int, title: str) -> None:
        self._shapes = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{escape(title)}" font-family="Helvetica, Arial, sans-serif" font-size="13">',
            f"<title>{escape(title)}</title>",
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            f'orient="auto-start-reverse"><path d="M0 0 10 5 0 10z" fill="{INK}"/></marker></defs>',
            f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff" stroke="{PALE}"/>',
        ]

    def rect(
        self, x: float, y: float, width: float, height: float, fill: str = "#ffffff", stroke: str = INK, radius: int = 5
    ) -> None:
        """Draw a rectangle."""
        self._shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}" fill="{fill}" '
            f'stroke="{stroke}"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        anchor: str = "middle",
        color: str = INK,
        size: int = 13,
        bold: bool = False,
        halo: bool = False,
    ) -> None:
        """Write a line of text; a halo keeps it apart from lines behind it."""
        weight = ' font-weight="bold"' if bold else ""
        if halo:
            weight += ' paint-order="stroke" stroke="#ffffff" stroke-width="5"'
        self._shapes.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{color}" font-size="{size}"{weight}>'
            f"{escape(text)}</text>"
        )

    def box(self, x: float, y: float, width: float, height: float, lines: Sequence[str], fill: str = "#ffffff") -> None:
        """Draw a rectangle with centred lines of text, the first one in bold."""
        self.rect(x, y, width, height, fill)
        top = y + height / 2 - 8 * (len(lines) - 1) + 4.5
        for index, line in enumerate(lines):
            first = index == 0
            self.text(
                x + width / 2,
                top + 16 * index,
                line,
                size=13 if first else 11,
                bold=first,
                color=INK if first else GREY,
            )

    def line(
        self, points: Sequence[tuple[float, float]], color: str = INK, arrow: bool = False, dashed: bool = False
    ) -> None:
        """Draw a line through points, with an arrow at its end if asked."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        head = ' marker-end="url(#head)"' if arrow else ""
        dashes = ' stroke-dasharray="4 4"' if dashed else ""
        self._shapes.append(
            f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.3"{dashes}{head}/>'
        )

    def circle(self, x: float, y: float, color: str) -> None:
        """Draw a dot."""
        self._shapes.append(f'<circle cx="{x:g}" cy="{y:g}" r="3.5" fill="{color}"/>')

    def __str__(self) -> str:
        return "\n".join([*self._shapes, "</svg>", ""])
