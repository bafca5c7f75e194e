// What does a queue say, and which answers become the plan?
package io.grasshopper.yarn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grasshopper.core.FakePlane;
import io.grasshopper.core.Json;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class QueueLinkTest {
  private static final ApplicationId ID = ApplicationId.newInstance(1767225600000L, 1);
  private static final String GRANT = ", \"orders\": [{\"type\": \"container_grant\", \"order\": %s, \"ttl_ms\": 60000, \"job\": \"" + ID
      + "\", \"target\": 2, \"cap\": 3}]";

  private FakePlane plane;
  private QueueLink link;

  @BeforeEach
  void aPlane() throws Exception {
    plane = new FakePlane();
  }

  @AfterEach
  void noPlane() {
    plane.close();
    Plan.withdrawAll();
  }

  private void attach(boolean canHold, long longestMs) {
    link = new QueueLink("production:root.batch", "root.batch", "yarn 3.4.3", canHold, longestMs * 1_000_000,
        plane.settings("timeout", "2s"));
  }

  private static QueueDemand demand(String name) {
    return demand(name, 1, Collections.singleton("nightly"));
  }

  private static QueueDemand demand(String name, int weight, Collection<String> tags) {
    Map<String, Object> app = new HashMap<>();
    app.put("getName", name);
    app.put("getUser", "alice");
    app.put("getApplicationType", "SPARK");
    app.put("getApplicationTags", new HashSet<>(tags));
    app.put("getSubmitTime", System.currentTimeMillis() - 61_000);
    RMApp known = (RMApp) Proxy.newProxyInstance(RMApp.class.getClassLoader(), new Class<?>[] {RMApp.class},
        (proxy, method, arguments) -> app.get(method.getName()));
    QueuedApplication queued = new QueuedApplication(ApplicationAttemptId.newInstance(ID, 1), weight,
        2, Resource.newInstance(1536, 2), Collections.nCopies(1, null), 6, Resource.newInstance(768, 1));
    return new QueueDemand(8, Collections.singletonList(queued), Collections.singletonMap(ID, known),
        ID.getClusterTimestamp());
  }

  /** A valid reply whose one order has a number of its own. */
  private static String granting(Map<?, ?> request) {
    return FakePlane.acknowledging(request, String.format(GRANT, request.get("sequence")));
  }

  private Grant granted() {
    return Plan.current().of(ID, System.nanoTime());
  }

  private static void eventually(BooleanSupplier what) throws InterruptedException {
    for (int i = 0; i < 500 && !what.getAsBoolean(); i++) {
      Thread.sleep(10);
    }
    assertTrue(what.getAsBoolean());
  }

  /** The queue's demand as it arrives. */
  private Map<?, ?> report(String name) throws InterruptedException {
    link.report(demand(name));
    while (true) {
      for (Map<?, ?> fact : facts(plane.nextRequest())) {
        if (fact.get("type").equals("queue_demand")) {
          return fact;
        }
      }
    }
  }

  private static Map<?, ?> application(Map<?, ?> demand) {
    return (Map<?, ?>) ((List<?>) demand.get("applications")).get(0);
  }

  @SuppressWarnings("unchecked")
  private static List<Map<?, ?>> facts(Map<?, ?> request) {
    return (List<Map<?, ?>>) request.get("facts");
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> golden() throws Exception {
    Path folder = Paths.get("").toAbsolutePath();
    while (!Files.isDirectory(folder.resolve("tests/golden/wire"))) {
      folder = folder.getParent();
    }
    return (Map<String, Object>) Json.read(Files.readAllBytes(folder.resolve("tests/golden/wire/request_yarn.json")));
  }

  @Test
  @SuppressWarnings("unchecked")
  void saysWhatTheGoldenRequestSays() throws Exception {
    attach(true, 5000);
    Map<String, Object> golden = golden();
    List<Map<?, ?>> wanted = (List<Map<?, ?>>) golden.get("facts");
    Map<?, ?> attached = facts(plane.nextRequest()).get(0);
    Map<?, ?> demanded = report("nightly report");
    ((Map<String, Object>) wanted.get(0)).remove("user");
    // The jar's manifest has the version, and there is no jar yet.
    attached.remove("shim_version");
    ((Map<String, Object>) wanted.get(0)).remove("shim_version");
    assertEquals(wanted.get(0), attached);
    Map<String, Object> application = (Map<String, Object>) application(demanded);
    long ageMs = (Long) application.put("age_ms", 61_000L);
    assertTrue(ageMs >= 61_000 && ageMs < 70_000, "an age of " + ageMs);
    assertEquals(wanted.get(1), demanded);
  }

  @Test
  void cutsAndEscapesWhatUsersWrite() throws Exception {
    attach(true, 5000);
    StringBuilder name = new StringBuilder("\u0000\"\ud800");
    while (name.length() < 5000) {
      name.append('x');
    }
    String told = (String) application(report(name.toString())).get("name");
    assertEquals(1024, told.length());
    assertTrue(told.startsWith("\u0000\"?x"));
  }

  @Test
  void clampsWeightsAndTags() {
    String endless = String.join("", Collections.nCopies(5000, "t"));
    List<String> tags = IntStream.range(0, 50).mapToObj(i -> endless + i).collect(Collectors.toList());
    for (int weight : new int[] {-7, 0, 1_000_000}) {
      Map<?, ?> wire = (Map<?, ?>) ((List<?>) demand("nightly report", weight, tags).fact.get("applications")).get(0);
      assertEquals(weight < 1 ? 1 : 1000, wire.get("weight"));
      assertEquals(20, ((List<?>) wire.get("tags")).size());
      assertTrue(((List<?>) wire.get("tags")).stream().allMatch(tag -> ((String) tag).length() == 1024));
    }
  }

  @Test
  void grantsBecomeThePlanAndEndByThemselves() throws Exception {
    plane.behaviour = (exchange, request) -> FakePlane.reply(exchange, granting(request));
    attach(true, 300);
    report("nightly report");
    eventually(() -> granted() != null);
    assertEquals(2, granted().target);
    assertEquals(3, granted().cap);
    plane.behaviour = (exchange, request) -> Thread.sleep(60_000);
    eventually(() -> granted() == null);
  }

  @Test
  void aReplyInShadowModeTakesThePlanBack() throws Exception {
    plane.behaviour = (exchange, request) -> FakePlane.reply(exchange, granting(request));
    attach(true, 60_000);
    report("nightly report");
    eventually(() -> granted() != null);
    plane.behaviour = (exchange, request) ->
        FakePlane.reply(exchange, FakePlane.acknowledging(request, "").replace("\"control\"", "\"shadow\""));
    eventually(() -> granted() == null);
  }

  @Test
  void refusesCapsWhereNobodyCanKeepThem() throws Exception {
    plane.behaviour = (exchange, request) -> FakePlane.reply(exchange, granting(request));
    attach(false, 5000);
    report("nightly report");
    Map<?, ?> outcome = null;
    while (outcome == null) {
      outcome = facts(plane.nextRequest()).stream()
          .filter(fact -> "cap_unsupported".equals(fact.get("reason"))).findFirst().orElse(null);
    }
    assertEquals("refused", outcome.get("result"));
    assertNull(granted());
  }

  @Test
  void answersThatAreNoRepliesChangeNothing() throws Exception {
    byte[] flood = new byte[1 << 20];
    Arrays.fill(flood, (byte) ' ');
    List<FakePlane.Behaviour> wrong = Arrays.asList(
        (exchange, request) -> FakePlane.reply(exchange, "<html>" + GRANT),
        (exchange, request) -> FakePlane.reply(exchange, "[]"),
        (exchange, request) -> FakePlane.reply(exchange, granting(request).replace("\"protocol\": 1", "\"protocol\": 2")),
        (exchange, request) -> FakePlane.reply(exchange, granting(request).replace("\"target\": 2", "\"target\": -2")),
        (exchange, request) -> FakePlane.reply(exchange, granting(request).replace("\"target\": 2", "\"target\": 2.5")),
        (exchange, request) -> {
          exchange.sendResponseHeaders(200, 50L << 20);
          for (int i = 0; i < 50; i++) {
            exchange.getResponseBody().write(flood);
          }
        });
    for (FakePlane.Behaviour behaviour : wrong) {
      plane.close();
      plane = new FakePlane();
      plane.behaviour = behaviour;
      attach(true, 5000);
      link.report(demand("nightly report"));
      for (int exchange = 0; exchange < 3; exchange++) {
        plane.nextRequest();
      }
      assertNull(granted());
    }
  }
}
