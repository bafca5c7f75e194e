// A user's program: how often does each word occur? Some of its first attempts are slow, by the word of its user.
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskInputOutputContext;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

public final class Words extends Configured implements Tool {
  private static void lag(TaskInputOutputContext<?, ?, ?, ?> context, String kind) throws InterruptedException {
    Configuration conf = context.getConfiguration();
    boolean isSlow = context.getTaskAttemptID().getTaskID().getId() == conf.getInt("words.slow." + kind, -1)
        && context.getTaskAttemptID().getId() % 1000 == 0;
    Thread.sleep(conf.getInt("words.ms." + kind, 10) * (isSlow ? 20 : 1));
  }

  public static final class Split extends Mapper<LongWritable, Text, Text, IntWritable> {
    @Override
    protected void map(LongWritable at, Text line, Context context) throws IOException, InterruptedException {
      lag(context, "map");
      for (String word : line.toString().split(" ")) {
        context.write(new Text(word), new IntWritable(1));
      }
    }
  }

  public static final class Sum extends Reducer<Text, IntWritable, Text, IntWritable> {
    @Override
    protected void reduce(Text word, Iterable<IntWritable> ones, Context context) throws IOException, InterruptedException {
      lag(context, "reduce");
      int sum = 0;
      for (IntWritable one : ones) {
        sum += one.get();
      }
      context.write(word, new IntWritable(sum));
    }
  }

  @Override
  public int run(String[] paths) throws Exception {
    Job job = Job.getInstance(getConf(), "words");
    job.setJarByClass(Words.class);
    job.setMapperClass(Split.class);
    job.setReducerClass(Sum.class);
    job.setOutputKeyClass(Text.class);
    job.setOutputValueClass(IntWritable.class);
    FileInputFormat.addInputPath(job, new Path(paths[0]));
    FileOutputFormat.setOutputPath(job, new Path(paths[1]));
    return job.waitForCompletion(true) ? 0 : 1;
  }

  public static void main(String[] arguments) throws Exception {
    System.exit(ToolRunner.run(new Words(), arguments));
  }
}
