# The leaderboard with the board that lies in data/board, as built by `make release`:
#   docker build -t hellofresh-board . && docker run --rm -p 7860:7860 hellofresh-board
# A newer board without a new image: add -v "$PWD/data/board:/app/data/board:ro".
# By digest, so that an image is the same tomorrow. A newer one: docker buildx imagetools inspect python:3.12-slim
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea

# The user and the port are those that a Hugging Face Space expects.
RUN useradd --create-home --uid 1000 site
WORKDIR /app

COPY requirements-site.lock ./
RUN pip install --no-cache-dir --disable-pip-version-check --require-hashes --no-deps -r requirements-site.lock

COPY pyproject.toml LICENSE CHANGELOG.md ./
COPY hellofresh ./hellofresh
COPY leaderboard ./leaderboard
COPY data/board ./data/board

ENV PYTHONPATH=/app \
    PYTHONDONTWRITEBYTECODE=1 \
    HELLOFRESH_DATA=/app/data \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 \
    STREAMLIT_SERVER_PORT=7860 \
    STREAMLIT_SERVER_FILE_WATCHER_TYPE=none \
    STREAMLIT_BROWSER_GATHER_USAGE_STATS=false
USER site
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://localhost:{os.environ[\"STREAMLIT_SERVER_PORT\"]}/_stcore/health', timeout=4)"]
CMD ["streamlit", "run", "leaderboard/app.py"]
