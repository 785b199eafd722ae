"""Publication of the opened quarters' data as one Hugging Face dataset repository."""

from hellofresh.releases.publish._parts import searched_corpus
from hellofresh.releases.publish.folder import Publication, copy_file, publish_to_folder
from hellofresh.releases.publish.hub import Hub, ask_hub, publish_to_hub
from hellofresh.releases.publish.restore import Restored, restore_from

__all__ = [
    "Hub",
    "Publication",
    "Restored",
    "ask_hub",
    "copy_file",
    "publish_to_folder",
    "publish_to_hub",
    "restore_from",
    "searched_corpus",
]
