from hellofresh.api import ComparisonTable as ComparisonTable
from hellofresh.api import EvaluatedRun as EvaluatedRun
from hellofresh.api import LoadedEdition as LoadedEdition
from hellofresh.api import ScoreTable as ScoreTable
from hellofresh.api import compare as compare
from hellofresh.api import evaluate as evaluate
from hellofresh.api import load as load
from hellofresh.api import save as save
from hellofresh.api import score as score
from hellofresh.tasks.outputs import Choice as Choice
from hellofresh.tasks.outputs import Ranking as Ranking
from hellofresh.tasks.outputs import Response as Response

__version__: str
