// Does the host's log name the address, and a refused token as such, once?
package io.grasshopper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import org.junit.jupiter.api.Test;

class ToldFailureTest {
  private final ToldFailure told = new ToldFailure("http://host:7272");

  @Test
  void namesTheAddressThatDoesNotAnswer() {
    assertEquals("the control plane is away (http://host:7272: Connection refused)", told.news(new IOException("Connection refused")));
    assertEquals("", told.news(new IOException("no answer within 2000 ms")));
    told.over();
    assertEquals("the control plane is away (http://host:7272: status 500)", told.news(new IOException("status 500")));
  }

  /** A control plane that starts may be away first, and then know another token than ours. */
  @Test
  void tellsARefusedTokenAlsoAfterAnotherFailure() {
    told.news(new IOException("Connection refused"));
    assertEquals("token refused by http://host:7272 (status 401)", told.news(new Transport.Refused(401)));
    assertEquals("", told.news(new Transport.Refused(403)));
    assertEquals("", told.news(new IOException("Connection refused")));
  }
}
