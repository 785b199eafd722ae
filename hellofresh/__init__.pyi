from hellofresh.api._loading import LoadedEdition as LoadedEdition
from hellofresh.api._loading import load as load
from hellofresh.api._predictions import save as save
from hellofresh.api._running import EvaluatedRun as EvaluatedRun
from hellofresh.api._running import evaluate as evaluate
from hellofresh.api._scoring import ComparisonTable as ComparisonTable
from hellofresh.api._scoring import ScoreTable as ScoreTable
from hellofresh.api._scoring import compare as compare
from hellofresh.api._scoring import score as score
from hellofresh.tasks.outputs import Choice as Choice
from hellofresh.tasks.outputs import Ranking as Ranking
from hellofresh.tasks.outputs import Response as Response

__version__: str
