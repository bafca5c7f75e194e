// What is going on at the host right now? The facts of everything that has not ended, for a full report.
package io.grasshopper.core;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * The latest fact about each live executor, job, stage and attempt; of live stages also their requests for slots and the ends
 * of their attempts; and snapshots.
 *
 * <p>Used by the sync loop's thread only. Finished attempts are bounded, for a full report must be sent and taken in quickly;
 * the oldest are forgotten first, and of them only which tasks they have finished is told.
 */
public final class LiveState {
  private static final int MAX_ENDED_PER_STAGE = 1_000;
  private static final int MAX_ENDED = 2_000;
  private static final int MAX_PREFERENCES = 2_000;
  private static final BitSet NONE_DONE = new BitSet();

  private final Map<String, Fact> executors = new LinkedHashMap<>();
  private final Map<String, Fact> jobs = new LinkedHashMap<>();
  private final Map<String, Fact> stages = new LinkedHashMap<>();
  private final Map<String, List<Fact>> requestsByStage = new HashMap<>();
  private final Map<String, Fact> snapshots = new LinkedHashMap<>();
  private final Map<Long, Fact> running = new LinkedHashMap<>();
  private final Map<String, Deque<Fact>> endedByStage = new HashMap<>();
  private final Map<String, BitSet> doneByStage = new HashMap<>();

  void apply(Fact fact) {
    switch (fact.type()) {
      case "executor_added":
        executors.put((String) fact.get("executor"), fact);
        break;
      case "executor_lost":
        executors.remove((String) fact.get("executor"));
        break;
      case "job_submitted":
        jobs.put((String) fact.get("job"), fact);
        break;
      case "job_ended":
        jobs.remove((String) fact.get("job"));
        break;
      case "stage_submitted":
        stages.put(stageOf(fact), fact);
        keepDone(fact);
        break;
      case "resource_requested":
        requestsByStage.computeIfAbsent(stageOf(fact), stage -> new ArrayList<>()).add(fact);
        break;
      case "stage_ended":
        stages.remove(stageOf(fact));
        forgetEndedStages();
        break;
      case "attempt_started":
        running.put(fact.number("attempt"), fact);
        break;
      case "attempt_ended":
        boolean wasRunning = running.remove(fact.number("attempt")) != null;
        if (stages.containsKey(stageOf(fact))) {
          keepEnd(stageOf(fact), fact, wasRunning);
        }
        break;
      default:
        if (isSnapshot(fact)) {
          snapshots.put(fact.type(), fact);
        }
        break;
    }
  }

  /** Tasks that are finished, and whose ends are not told one by one. */
  private void keepDone(Fact stage) {
    if (stage.get("done") instanceof List) {
      BitSet done = doneByStage.computeIfAbsent(stageOf(stage), s -> new BitSet());
      for (Object run : (List<?>) stage.get("done")) {
        done.set((Integer) ((List<?>) run).get(0), (Integer) ((List<?>) run).get(1) + 1);
      }
    }
  }

  private void forgetEndedStages() {
    requestsByStage.keySet().retainAll(stages.keySet());
    endedByStage.keySet().retainAll(stages.keySet());
    doneByStage.keySet().retainAll(stages.keySet());
  }

  /** Forgets the attempts, stages and executors that are not there any more; each is told by its fact. */
  public void retain(Predicate<Fact> isThere) {
    running.values().removeIf(isThere.negate());
    stages.values().removeIf(isThere.negate());
    executors.values().removeIf(isThere.negate());
    forgetEndedStages();
  }

  /** An attempt that is lost while it runs, a copy of a task that is done perhaps, takes no finished output with it. */
  private void keepEnd(String stage, Fact fact, boolean wasRunning) {
    Deque<Fact> ended = endedByStage.computeIfAbsent(stage, s -> new ArrayDeque<>());
    ended.add(fact);
    if (ended.size() > MAX_ENDED_PER_STAGE) {
      ended.poll();
    }
    boolean lostOutput = !wasRunning && "lost".equals(fact.get("outcome"));
    if (isSuccess(fact) || lostOutput) {
      doneByStage.computeIfAbsent(stage, s -> new BitSet()).set((int) fact.number("index"), isSuccess(fact));
    }
  }

  private static boolean isSuccess(Fact ended) {
    return "success".equals(ended.get("outcome"));
  }

  /** Whether a fact says everything by itself, so that only the latest of its kind counts. */
  static boolean isSnapshot(Fact fact) {
    return fact.type().equals("queue_demand");
  }

  /**
   * Everything that is alive, parents first.
   *
   * @param brief without what may be missing, as where a longer report was refused
   */
  List<Fact> report(boolean brief) {
    List<Fact> ended = brief ? Collections.emptyList() : newestEnded();
    Map<String, BitSet> untold = untold(ended);
    List<Fact> all = new ArrayList<>(snapshots.values());
    all.addAll(executors.values());
    all.addAll(jobs.values());
    for (Map.Entry<String, Fact> stage : stages.entrySet()) {
      BitSet done = untold.getOrDefault(stage.getKey(), NONE_DONE);
      Fact fact = withoutLongLists(stage.getValue(), brief ? 0 : MAX_PREFERENCES);
      all.add(done.isEmpty() ? fact : fact.plus("done", runs(done)));
      all.addAll(requestsByStage.getOrDefault(stage.getKey(), Collections.emptyList()));
    }
    all.addAll(ended);
    all.addAll(running.values());
    return all;
  }

  private static Fact withoutLongLists(Fact stage, int most) {
    Object hosts = stage.get("preferred_hosts");
    boolean isLong = hosts instanceof List && ((List<?>) hosts).size() > most;
    return isLong ? stage.plus("preferred_hosts", Collections.emptyList()) : stage;
  }

  private List<Fact> newestEnded() {
    List<Fact> ended = new ArrayList<>();
    endedByStage.values().forEach(ended::addAll);
    ended.sort(Comparator.comparingLong(Fact::atNanos));
    return ended.subList(Math.max(0, ended.size() - MAX_ENDED), ended.size());
  }

  /** The tasks that are done and that none of these ends tells of, by stage. */
  private Map<String, BitSet> untold(List<Fact> ended) {
    Map<String, BitSet> untold = new HashMap<>();
    doneByStage.forEach((stage, done) -> untold.put(stage, (BitSet) done.clone()));
    for (Fact fact : ended) {
      if (isSuccess(fact)) {
        untold.get(stageOf(fact)).clear((int) fact.number("index"));
      }
    }
    return untold;
  }

  /** First and last of each run of set bits. */
  private static List<List<Integer>> runs(BitSet bits) {
    List<List<Integer>> runs = new ArrayList<>();
    for (int first = bits.nextSetBit(0); first >= 0; first = bits.nextSetBit(bits.nextClearBit(first))) {
      runs.add(Arrays.asList(first, bits.nextClearBit(first) - 1));
    }
    return runs;
  }

  /** The start of an attempt that is still running, or null. */
  public Fact runningAttempt(long attempt) {
    return running.get(attempt);
  }

  /** The starts of all running attempts. */
  public Collection<Fact> runningAttempts() {
    return running.values();
  }

  /** The submission of a live stage, or null. */
  public Fact stage(long stage, long stageAttempt) {
    return stages.get(stage + "." + stageAttempt);
  }

  /** The submissions of all live stages. */
  public Collection<Fact> liveStages() {
    return stages.values();
  }

  /** The latest submission of a live job, or null. */
  public Fact job(String job) {
    return jobs.get(job);
  }

  private static String stageOf(Fact fact) {
    return fact.get("stage") + "." + fact.get("stage_attempt");
  }
}
