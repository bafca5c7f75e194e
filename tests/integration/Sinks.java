// Which ways of committing does Spark not come with? A direct one, and a data source that asks the driver.

import java.io.IOException;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;
import org.apache.spark.api.java.function.VoidFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What a user may bring along. */
public final class Sinks {
  /** Attempts write to the final place at once, so nobody can keep one of them out. */
  public static final class DirectCommitter extends FileOutputCommitter {
    private final Path output;

    /** Called by Spark. */
    public DirectCommitter(Path output, TaskAttemptContext context) throws IOException {
      super(output, context);
      this.output = output;
    }

    @Override
    public Path getWorkPath() {
      return output;
    }

    @Override
    public boolean needsTaskCommit(TaskAttemptContext context) {
      return false;
    }
  }

  /** A user's function that takes rows and may write them anywhere. */
  public static final class Nowhere implements VoidFunction<Iterator<Row>> {
    @Override
    public void call(Iterator<Row> rows) {
      rows.forEachRemaining(row -> {});
    }
  }

  /** A data source that keeps nothing, whose commits Spark arbitrates; its own table, write and writer. */
  public static final class Coordinated implements TableProvider, SupportsWrite, WriteBuilder, Write, BatchWrite,
      DataWriterFactory, DataWriter<InternalRow> {
    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
      return new StructType();
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitions, Map<String, String> properties) {
      return this;
    }

    @Override
    public String name() {
      return "coordinated";
    }

    @Override
    public StructType schema() {
      return new StructType();
    }

    @Override
    public Set<TableCapability> capabilities() {
      return EnumSet.of(TableCapability.BATCH_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      return this;
    }

    @Override
    public Write build() {
      return this;
    }

    @Override
    public BatchWrite toBatch() {
      return this;
    }

    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      return this;
    }

    @Override
    public DataWriter<InternalRow> createWriter(int partition, long attempt) {
      return this;
    }

    @Override
    public void write(InternalRow row) {}

    @Override
    public WriterCommitMessage commit() {
      return new WriterCommitMessage() {};
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {}

    @Override
    public void abort() {}

    @Override
    public void abort(WriterCommitMessage[] messages) {}

    @Override
    public void close() {}
  }
}
