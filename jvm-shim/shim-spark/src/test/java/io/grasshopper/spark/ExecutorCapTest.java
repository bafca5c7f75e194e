// Does a bound on executors hold, and does whatever goes wrong give the user's own back?
package io.grasshopper.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ExecutorCapTest {
  private static final Set<String> NONE = Collections.emptySet();

  private final Allocation spark = new Allocation();

  @AfterEach
  void close() {
    spark.close();
  }

  private boolean lower(int executors) {
    return spark.cap.lower(executors, System.nanoTime() + 60_000_000_000L);
  }

  private void lowerToOneOfTwo() throws InterruptedException {
    spark.addBusyExecutor("1");
    spark.addBusyExecutor("2");
    lower(1);
    await(() -> spark.control.draining.equals(Collections.singleton("2")));
    assertEquals(1, spark.most());
  }

  private static void await(BooleanSupplier condition) throws InterruptedException {
    for (int i = 0; i < 500 && !condition.getAsBoolean(); i++) {
      Thread.sleep(10);
    }
    assertTrue(condition.getAsBoolean());
  }

  private boolean isStock() {
    return spark.most() == 8 && spark.control.draining.equals(NONE);
  }

  /** With Spark's next look, Spark asks for fewer again, and that is where the test's error is. */
  private void failAtTheNextLook(Error error) {
    spark.fault = error;
    synchronized (spark.manager) {
      spark.targets.update(0, 8);
    }
  }

  @Test
  void theNewestGoesAndTheUsersBoundComesBack() throws InterruptedException {
    lowerToOneOfTwo();
    spark.cap.lift();
    await(this::isStock);
  }

  /** The executor service drops a task that has thrown, so nobody would ever give it back. */
  @Test
  void memoryThatIsOverEndsTheBoundButNotTheNextOne() throws InterruptedException {
    lowerToOneOfTwo();
    failAtTheNextLook(new OutOfMemoryError("as the test wants"));
    await(this::isStock);
    spark.fault = null;
    assertTrue(lower(1));
    await(() -> spark.most() == 1 && !spark.control.draining.isEmpty());
  }

  /** Executors are one thing of many that the shim does. */
  @Test
  void aMemberThatIsMissedLaterEndsBoundsForGoodAndNothingElse() throws InterruptedException {
    lowerToOneOfTwo();
    failAtTheNextLook(new NoSuchMethodError("as the test wants"));
    await(this::isStock);
    assertFalse(lower(1));
    assertTrue(spark.control.guard.isOn());
  }

  @Test
  void aSparkWithoutOneOfTheMembersKeepsItsExecutors() throws Exception {
    assertTrue(isBounded("nothing", "nothing"));
    assertFalse(isBounded("shuffleIds", "shuffleAds"));
    assertFalse(isBounded("isIdle", "isBusy"));
    assertFalse(isBounded("minNumExecutors", "lowNumExecutors"));
  }

  /** Whether bounds are possible in a Spark where a member has another name. */
  private static boolean isBounded(String name, String otherName) throws Exception {
    Method bounded = new Renamed(name, otherName).loadClass(Allocation.class.getName()).getDeclaredMethod("isBounded");
    bounded.setAccessible(true);
    return (Boolean) bounded.invoke(null);
  }

  /** Loads Spark's dynamic allocation, and what of ours knows it, with one name exchanged for another as long. */
  private static final class Renamed extends ClassLoader {
    private final String name;
    private final String otherName;

    Renamed(String name, String otherName) {
      super(ExecutorCapTest.class.getClassLoader());
      this.name = name;
      this.otherName = otherName;
    }

    @Override
    protected Class<?> loadClass(String type, boolean resolve) throws ClassNotFoundException {
      boolean isSparks = type.startsWith("org.apache.spark.");
      if (!isSparks && !type.startsWith("io.grasshopper.spark.")) {
        return super.loadClass(type, resolve);
      }
      Class<?> loaded = findLoadedClass(type);
      if (loaded != null) {
        return loaded;
      }
      byte[] code = read(type);
      if (isSparks) {
        code = new String(code, StandardCharsets.ISO_8859_1).replace(name, otherName).getBytes(StandardCharsets.ISO_8859_1);
      }
      return defineClass(type, code, 0, code.length);
    }

    private byte[] read(String type) throws ClassNotFoundException {
      try (InputStream in = getResourceAsStream(type.replace('.', '/') + ".class")) {
        if (in == null) {
          throw new ClassNotFoundException(type);
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] part = new byte[8192];
        for (int read = in.read(part); read >= 0; read = in.read(part)) {
          out.write(part, 0, read);
        }
        return out.toByteArray();
      } catch (IOException error) {
        throw new ClassNotFoundException(type, error);
      }
    }
  }
}
