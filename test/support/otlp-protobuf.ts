/** Encoding of a field: a number, text, bytes (shown in hexadecimal), or a nested message. */
type Form = 'varint' | 'fixed64' | 'double' | 'text' | 'bytes' | Message | (() => Message);
/** Fields by their numbers; a name with the suffix `[]` is a repeated field. */
interface Message {
  [number: number]: readonly [name: string, form: Form];
}

// As in https://github.com/open-telemetry/opentelemetry-proto (common, resource, trace and logs, v1), what is read of it.
const ANY_VALUE: Message = {
  1: ['stringValue', 'text'],
  2: ['boolValue', 'varint'],
  3: ['intValue', 'varint'],
  4: ['doubleValue', 'double'],
  5: ['arrayValue', () => ({ 1: ['values[]', ANY_VALUE] })],
  6: ['kvlistValue', () => ({ 1: ['values[]', KEY_VALUE] })],
  7: ['bytesValue', 'bytes'],
};
const KEY_VALUE: Message = { 1: ['key', 'text'], 2: ['value', ANY_VALUE] };
const RESOURCE: Message = { 1: ['attributes[]', KEY_VALUE] };
const SPAN: Message = {
  1: ['traceId', 'bytes'],
  2: ['spanId', 'bytes'],
  4: ['parentSpanId', 'bytes'],
  5: ['name', 'text'],
  6: ['kind', 'varint'],
  7: ['startTimeUnixNano', 'fixed64'],
  8: ['endTimeUnixNano', 'fixed64'],
  9: ['attributes[]', KEY_VALUE],
  15: ['status', { 2: ['message', 'text'], 3: ['code', 'varint'] }],
};
const LOG_RECORD: Message = {
  1: ['timeUnixNano', 'fixed64'],
  2: ['severityNumber', 'varint'],
  3: ['severityText', 'text'],
  5: ['body', ANY_VALUE],
  6: ['attributes[]', KEY_VALUE],
  9: ['traceId', 'bytes'],
  10: ['spanId', 'bytes'],
};
const REQUESTS: Readonly<Record<string, Message>> = {
  '/v1/traces': {
    1: ['resourceSpans[]', { 1: ['resource', RESOURCE], 2: ['scopeSpans[]', { 2: ['spans[]', SPAN] }] }],
  },
  '/v1/logs': {
    1: ['resourceLogs[]', { 1: ['resource', RESOURCE], 2: ['scopeLogs[]', { 2: ['logRecords[]', LOG_RECORD] }] }],
  },
};

/** Returns a protobuf request of OTLP in the shape of its JSON. @param path path of the request */
export function readProtobuf(path: string, body: Buffer): unknown {
  return read(body, REQUESTS[path] ?? {});
}

/** https://protobuf.dev/programming-guides/encoding/ */
function read(bytes: Buffer, message: Message): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  let at = 0;
  const varint = () => {
    let [value, shift] = [0n, 0n];
    for (;;) {
      const byte = BigInt(bytes[at++] ?? 0);
      value |= (byte & 0x7fn) << shift;
      shift += 7n;
      if (byte < 0x80n) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const [number, wire] = [tag >> 3, tag & 7];
    const from = at;
    let value: bigint | Buffer;
    if (wire === 0) value = varint();
    else {
      const length = wire === 1 ? 8 : wire === 5 ? 4 : Number(varint());
      value = bytes.subarray(at, at + length);
      at += length;
      if (at > bytes.length) throw new Error(`field ${number} at ${from} is cut off`);
    }
    const field = message[number];
    if (field !== undefined) put(found, field[0], shown(value, field[1]));
  }
  return found;
}

function put(found: Record<string, unknown>, name: string, value: unknown): void {
  const list = name.endsWith('[]') ? name.slice(0, -2) : null;
  if (list === null) found[name] = value;
  else found[list] = [...((found[list] as unknown[] | undefined) ?? []), value];
}

function shown(value: bigint | Buffer, form: Form): unknown {
  if (typeof value === 'bigint') return Number(BigInt.asIntN(64, value));
  if (form === 'text') return value.toString('utf8');
  if (form === 'bytes') return value.toString('hex');
  if (form === 'double') return value.readDoubleLE();
  if (typeof form === 'string') return String(value.readBigUInt64LE());
  return read(value, typeof form === 'function' ? form() : form);
}
