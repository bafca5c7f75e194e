// Which of the user's keys does nobody read, and which one was meant?
package io.grasshopper.core;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;

/** A misspelt key is no error to any host system: it is only never read. */
public final class UnknownKeys {
  /** Of a prefix's last word; no other word that hosts have there is as near to ours. */
  private static final int MOST_TYPOS = 2;

  private UnknownKeys() {}

  /** One sentence that names each unknown key and the nearest known one, all with their prefix; empty where all are known. */
  public static String told(String prefix, Collection<String> given, Collection<String> known) {
    List<String> told = new ArrayList<>();
    for (String key : new TreeSet<>(given)) {
      if (!known.contains(key)) {
        told.add(prefix + key + " is no key of ours, " + meant(prefix, key, known));
      }
    }
    return String.join("; ", told);
  }

  /** The same of whole keys whose prefix's last word is nearly ours; {@code prefix} ends in a dot. */
  public static String toldOfPrefixes(String prefix, Collection<String> given, Collection<String> known) {
    int start = prefix.lastIndexOf('.', prefix.length() - 2) + 1;
    List<String> told = new ArrayList<>();
    for (String key : new TreeSet<>(given)) {
      int end = key.indexOf('.', start);
      if (end >= 0 && key.startsWith(prefix.substring(0, start))) {
        int typos = distance(key.substring(start, end + 1), prefix.substring(start));
        if (typos > 0 && typos <= MOST_TYPOS) {
          told.add(key + " is no key of ours, " + meant(prefix, key.substring(end + 1), known));
        }
      }
    }
    return String.join("; ", told);
  }

  private static String meant(String prefix, String key, Collection<String> known) {
    String nearest = known.stream().min(Comparator.comparingInt(other -> distance(key, other))).orElse("");
    boolean isLikely = distance(key, nearest) * 2 <= key.length();
    return isLikely ? "did you mean " + prefix + nearest + "?" : "those are " + String.join(", ", known);
  }

  /** Characters to put in, take out or exchange. */
  static int distance(String one, String other) {
    int[] above = new int[other.length() + 1];
    for (int j = 0; j < above.length; j++) {
      above[j] = j;
    }
    for (int i = 1; i <= one.length(); i++) {
      int[] row = new int[above.length];
      row[0] = i;
      for (int j = 1; j < row.length; j++) {
        int exchanged = above[j - 1] + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
        row[j] = Math.min(exchanged, 1 + Math.min(above[j], row[j - 1]));
      }
      above = row;
    }
    return above[other.length()];
  }
}
