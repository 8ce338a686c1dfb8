import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { readProtobuf } from './otlp-protobuf.ts';

/** A value as OTLP's JSON has it. */
interface AnyValue {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: number | string;
  doubleValue?: number;
  arrayValue?: { values?: AnyValue[] };
  kvlistValue?: { values?: KeyValue[] };
}

interface KeyValue {
  key: string;
  value?: AnyValue;
}

/** One span as it came. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  kind: number;
  /** 2: it failed. */
  status: number;
  attributes: Record<string, unknown>;
  resource: Record<string, unknown>;
}

/** One log line as it came. */
export interface ReceivedLine {
  traceId: string;
  spanId: string;
  severity: number;
  body: unknown;
  attributes: Record<string, unknown>;
}

/** A collector of OpenTelemetry for tests: it takes OTLP over HTTP, in both encodings, and checks what the protocol asks of a sender. */
export interface OtlpReceiver {
  url: string;
  spans: ReceivedSpan[];
  lines: ReceivedLine[];
  /** All bodies as text, to search for forbidden content. */
  text(): string;
  requests: { path: string; headers: IncomingMessage['headers'] }[];
  /** How it answers; null: as it should. It may answer never. */
  answer: ((response: ServerResponse, path: string) => void) | null;
  close(): Promise<void>;
}

/** Starts it on a free port of the loopback. */
export async function startOtlpReceiver(port = 0): Promise<OtlpReceiver> {
  const texts: string[] = [];
  const receiver: OtlpReceiver = {
    ...{ url: '', spans: [], lines: [], requests: [], answer: null },
    text: () => texts.join('\n'),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const path = request.url ?? '';
    receiver.requests.push({ path, headers: request.headers });
    if (receiver.answer !== null) return receiver.answer(response, path);
    const type = request.headers['content-type'] ?? '';
    const isKnown = request.method === 'POST' && (path === '/v1/traces' || path === '/v1/logs');
    if (!isKnown) return response.writeHead(404).end();
    const content = type === 'application/json' ? JSON.parse(body.toString()) : readProtobuf(path, body);
    texts.push(body.toString('latin1'), JSON.stringify(content));
    take(receiver, content);
    return response.writeHead(200, { 'content-type': type }).end(type === 'application/json' ? '{}' : '');
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return receiver;
}

// biome-ignore lint/suspicious/noExplicitAny: what another program sent
function take(receiver: OtlpReceiver, content: any): void {
  for (const { resource, scopeSpans } of content.resourceSpans ?? []) {
    for (const { spans } of scopeSpans) {
      for (const span of spans) {
        receiver.spans.push({
          ...{ traceId: span.traceId, spanId: span.spanId, parentSpanId: span.parentSpanId ?? '', name: span.name },
          ...{ kind: span.kind, status: span.status?.code ?? 0 },
          attributes: plain(span.attributes),
          resource: plain(resource?.attributes),
        });
      }
    }
  }
  for (const { scopeLogs } of content.resourceLogs ?? []) {
    for (const { logRecords } of scopeLogs) {
      for (const { traceId = '', spanId = '', severityNumber, body, attributes } of logRecords) {
        const line = { traceId, spanId, severity: severityNumber, body: told(body) };
        receiver.lines.push({ ...line, attributes: plain(attributes) });
      }
    }
  }
}

function plain(attributes: readonly KeyValue[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, told(value)]));
}

function told(value: AnyValue = {}): unknown {
  if (value.kvlistValue !== undefined) return plain(value.kvlistValue.values);
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(told);
  if (value.intValue !== undefined) return Number(value.intValue);
  return value.stringValue ?? value.boolValue ?? value.doubleValue ?? null;
}
