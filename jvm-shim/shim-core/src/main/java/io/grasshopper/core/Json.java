// How do messages become bytes? Maps, lists, strings, longs and booleans, through a relocated streaming parser.
package io.grasshopper.core;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON with integers only; a fraction in a message is an error, because two languages print it differently. */
public final class Json {
  private static final JsonFactory FACTORY = new JsonFactory();

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
        return in.getLongValue();
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
