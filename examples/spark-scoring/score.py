"""Score a Spark data frame with mapInPandas: every worker opens the graph once.

spark-submit score.py m.onnx stones.csv scored.parquet
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DoubleType, StructField, StructType


def scored(frame: DataFrame, model: bytes, name: str = "score") -> DataFrame:
    """Add the score of each row; the content of the ONNX file travels with the job.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        With the raw columns of the model, and any others.
    model : bytes
    name : str
        Of the new column.
    """
    schema = StructType([*frame.schema.fields, StructField(name, DoubleType())])
    return frame.mapInPandas(scoring(model, name), schema)


def scoring(model: bytes, name: str) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """Return what a worker does with its batches."""

    def score(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        from crank.serve import Scorer

        scorer = Scorer(model, threads=1)  # Spark has one process a core
        for batch in batches:
            yield batch.assign(**{name: scorer(batch)})

    return score


def main(model: str, data: str, target: str) -> None:
    """Score a CSV file and write the rows with their scores as Parquet."""
    spark = SparkSession.builder.appName("crank").getOrCreate()
    frame = spark.read.csv(data, header=True, inferSchema=True)
    scored(frame, Path(model).read_bytes()).write.mode("overwrite").parquet(target)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
