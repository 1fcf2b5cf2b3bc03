"""Film: from any scene with a model to a poster or a video."""

from .filming import film, film_steps
from .options import FilmOptions

__all__ = ["FilmOptions", "film", "film_steps"]
