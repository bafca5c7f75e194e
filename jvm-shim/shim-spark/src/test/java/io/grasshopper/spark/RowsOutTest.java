// Does the count of rows tell work that has come out? By metrics as real Sparks register them, and what they showed.
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class RowsOutTest {
  private static final String ROWS = "number of output rows";
  private static final String BATCHES = "number of input batches";
  private static final String SENT = "data sent to Python workers";
  private static final String RETURNED = "data returned from Python workers";

  /** Names and values by turns, nearest the input first. */
  private static RowsOut read(Object... metrics) {
    RowsOut rows = new RowsOut();
    for (int i = 0; i < metrics.length; i += 2) {
      rows.next(RowsOut.metric((String) metrics[i]), ((Number) metrics[i + 1]).longValue());
    }
    return rows;
  }

  /** Where nothing behind the scan counts, all that is known is what has been read, and that is told elsewhere. */
  @Test
  void rowsThatWereOnlyReadAreNotOut() {
    assertEquals(-1, read("scan time", 279, ROWS, 300_000, ROWS, 300_000, BATCHES, 74).count());
    assertEquals(-1, read(ROWS, 10_000).count());
  }

  @Test
  void theLastOperatorThatCountsTellsWhatIsOut() {
    assertEquals(895_527, read(
        "scan time", 67, ROWS, 299_008, ROWS, 299_008, BATCHES, 73, ROWS, 1_492_545, ROWS, 895_527).count());
  }

  /** The straggler that the shim is for: its input is read, and the worker hangs in its first batch. */
  @Test
  void nothingIsOutOfAPythonWorkerThatHasReturnedNothing() {
    assertEquals(0, read(
        "scan time", 374, ROWS, 300_000, ROWS, 300_000, BATCHES, 74, ROWS, 60_000, SENT, 488_400, RETURNED, 0, ROWS, 0).count());
    assertEquals(0, read("scan time", 374, ROWS, 300_000, ROWS, 60_000, SENT, 0, RETURNED, 0, ROWS, 0).count());
  }

  /** One worker feeds the next, so neither alone says how much of the work is done. */
  @Test
  void rowsOfAllPythonWorkersCount() {
    assertEquals(110_000, read(
        ROWS, 300_000, RETURNED, 480_864, SENT, 488_400, ROWS, 60_000, ROWS, 54_094, RETURNED, 400_720, SENT, 440_408, ROWS, 50_000)
        .count());
  }

  /** An aggregation behind it gives its few rows at the end. */
  @Test
  void rowsFromPythonCountAlsoWhereAnotherOperatorFollows() {
    assertEquals(40_000, read(ROWS, 300_000, SENT, 244_200, RETURNED, 320_576, ROWS, 40_000, ROWS, 0).count());
  }

  /** A sort has them all, and counts none. */
  @Test
  void rowsThatWentIntoASortAreNotOut() {
    assertEquals(-1, read(ROWS, 300_000, ROWS, 90_000, "sort time", 0).count());
  }

  @Test
  void whatGoesToAShuffleIsOut() {
    assertEquals(-1, read(ROWS, 300_000, ROWS, 90_000, "sort time", 745, ROWS, 0, "shuffle records written", 0).count());
    assertEquals(13_981, read(ROWS, 300_000, ROWS, 300_000, BATCHES, 74, "shuffle records written", 13_981).count());
  }

  /** The plan before a shuffle is captured in the stage behind it, where its metrics stand at nought for ever. */
  @Test
  void metricsOfTheStageBeforeDoNotCount() {
    assertEquals(-1, read("shuffle records written", 0, "records read", 285_251, "scan time", 0, ROWS, 0, "sort time", 0).count());
    assertEquals(-1, read("records read", 66_000, ROWS, 0, SENT, 0, RETURNED, 0, ROWS, 0).count());
    assertEquals(114_953, read("records read", 299_920, "scan time", 0, ROWS, 0, "sort time", 3, ROWS, 114_953).count());
  }

  @Test
  void theOtherBranchOfAUnionDoesNotCount() {
    assertEquals(-1, read(
        "scan time", 104, ROWS, 237_568, ROWS, 23_765, "scan time", 0, ROWS, 0, ROWS, 0, BATCHES, 0, SENT, 0, ROWS, 0).count());
    assertEquals(23_550, read("scan time", 0, ROWS, 0, ROWS, 0, "scan time", 90, ROWS, 241_664, ROWS, 23_550).count());
  }

  /** The metrics of the plan that filled the cache come before those of the one that reads it. */
  @Test
  void cachedRowsAreReadUntilAnOperatorCountsThem() {
    assertEquals(-1, read("scan time", 0, ROWS, 0, ROWS, 0, ROWS, 40_000).count());
    assertEquals(31_134, read("scan time", 0, ROWS, 0, ROWS, 0, ROWS, 40_000, ROWS, 31_134).count());
  }

  /** Heartbeats leave out what stands at nought, so which operator is the last is not known there. */
  @Test
  void heartbeatsTellOfPythonWorkersOnly() {
    assertEquals(-1, read(ROWS, 300_000, ROWS, 60_000).fromWorkers());
    assertEquals(0, read(ROWS, 300_000, ROWS, 60_000, SENT, 488_400).fromWorkers());
    assertEquals(10_000, read(ROWS, 300_000, ROWS, 60_000, SENT, 488_400, ROWS, 10_000).fromWorkers());
  }
}
