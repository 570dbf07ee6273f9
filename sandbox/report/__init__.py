"""What a person looks at: a picture of a gait, a replay page, a video, tables. Heavy libraries load when they are used."""

from sandbox.report.picture import save_picture
from sandbox.report.replay import replay_html, save_replay
from sandbox.report.table import columns_markdown, comparison_table, fields_markdown, summary_table, table
from sandbox.report.video import Camera, save_video

__all__ = [
    "Camera",
    "columns_markdown",
    "comparison_table",
    "fields_markdown",
    "replay_html",
    "save_picture",
    "save_replay",
    "save_video",
    "summary_table",
    "table",
]
