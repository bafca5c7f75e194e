// How do messages become bytes? Maps, lists, strings, longs and booleans, through a relocated streaming parser.
package io.grasshopper.core;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON. No field of the protocol takes a fraction or more than 64 bits; they are read, so that the field can be named. */
public final class Json {
  private static final int DEEPEST = 100;
  /** A message of 8 MiB could else become a hundred times as many bytes of empty lists. */
  private static final long MOST_TOKENS = 1_000_000;
  private static final JsonFactory FACTORY = new JsonFactoryBuilder()
      .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(DEEPEST).maxTokenCount(MOST_TOKENS).build())
      .build();

  private Json() {}

  /** Writes maps, collections, long arrays, numbers, booleans, strings and nulls. */
  public static byte[] write(Object value) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(1024);
    try (JsonGenerator out = FACTORY.createGenerator(bytes)) {
      write(out, value);
    }
    return bytes.toByteArray();
  }

  private static void write(JsonGenerator out, Object value) throws IOException {
    if (value == null) {
      out.writeNull();
    } else if (value instanceof Boolean) {
      out.writeBoolean((Boolean) value);
    } else if (value instanceof Number) {
      out.writeNumber(((Number) value).longValue());
    } else if (value instanceof long[]) {
      out.writeArray((long[]) value, 0, ((long[]) value).length);
    } else if (value instanceof Map) {
      out.writeStartObject();
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
        out.writeFieldName((String) entry.getKey());
        write(out, entry.getValue());
      }
      out.writeEndObject();
    } else if (value instanceof Iterable) {
      out.writeStartArray();
      for (Object item : (Iterable<?>) value) {
        write(out, item);
      }
      out.writeEndArray();
    } else {
      out.writeString(value.toString());
    }
  }

  /** Reads one value that fills the whole input. */
  public static Object read(byte[] bytes) throws IOException {
    try (JsonParser in = FACTORY.createParser(bytes)) {
      in.nextToken();
      Object value = read(in);
      if (in.nextToken() != null) {
        throw new IOException("something follows the JSON value");
      }
      return value;
    }
  }

  private static Object read(JsonParser in) throws IOException {
    JsonToken token = in.currentToken();
    if (token == null) {
      throw new IOException("empty");
    }
    switch (token) {
      case START_OBJECT:
        Map<String, Object> map = new LinkedHashMap<>();
        while (in.nextToken() != JsonToken.END_OBJECT) {
          String name = in.currentName();
          in.nextToken();
          map.put(name, read(in));
        }
        return map;
      case START_ARRAY:
        List<Object> list = new ArrayList<>();
        while (in.nextToken() != JsonToken.END_ARRAY) {
          list.add(read(in));
        }
        return list;
      case VALUE_STRING:
        return in.getText();
      case VALUE_NUMBER_INT:
        boolean isLong = in.getNumberType() != JsonParser.NumberType.BIG_INTEGER;
        return isLong ? (Object) in.getLongValue() : (Object) in.getDoubleValue();
      case VALUE_NUMBER_FLOAT:
        return in.getDoubleValue();
      case VALUE_TRUE:
        return Boolean.TRUE;
      case VALUE_FALSE:
        return Boolean.FALSE;
      case VALUE_NULL:
        return null;
      default:
        throw new IOException("not allowed here: " + token);
    }
  }
}
