import {
  type IExportLogsServiceResponse,
  type IExportTraceServiceResponse,
  type ISerializer,
  JsonLogsSerializer,
  JsonTraceSerializer,
  ProtobufLogsSerializer,
  ProtobufTraceSerializer,
} from '@opentelemetry/otlp-transformer';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { HttpClient, HttpResponse } from '../http/client.ts';
import { asMirrorError } from '../model/errors.ts';
import { SECOND_MS } from '../model/time.ts';
import type { TelemetrySettings } from '../settings/telemetry-schema.ts';
import type { Handed } from './hand-over.ts';

/** OTLP's usual limit for one try (https://opentelemetry.io/docs/specs/otel/protocol/exporter/). */
const TIMEOUT_MS = 10 * SECOND_MS;
/** Answers that ask for another try (https://opentelemetry.io/docs/specs/otlp/#otlphttp-response). */
const RETRYABLE = new Set([429, 502, 503, 504]);

type Response = IExportTraceServiceResponse & IExportLogsServiceResponse;

const SERIALIZERS = {
  'http/protobuf': { type: 'application/x-protobuf', traces: ProtobufTraceSerializer, logs: ProtobufLogsSerializer },
  'http/json': { type: 'application/json', traces: JsonTraceSerializer, logs: JsonLogsSerializer },
} as const;

/** Posts batches to the collector, by OTLP 1 over HTTP. */
export interface Otlp {
  traces(spans: ReadableSpan[], signal: AbortSignal): Promise<Handed>;
  logs(records: ReadableLogRecord[], signal: AbortSignal): Promise<Handed>;
}

/** Opens the way to a collector. Unless it is in the operator's own network, only addresses of the public internet are connected to. */
export function openOtlp(settings: TelemetrySettings, http: HttpClient): Otlp {
  const { type, traces, logs } = SERIALIZERS[settings.protocol];
  const headers = Object.fromEntries([...settings.headers].map(([name, value]) => [name, value.reveal()]));
  const post = (path: string, body: Uint8Array, signal: AbortSignal) =>
    http.send({
      label: `telemetry.${path}`,
      method: 'POST',
      url: `${settings.endpoint}/v1/${path}`,
      headers: { 'content-type': type, ...headers },
      body,
      signal,
      timeoutMs: TIMEOUT_MS,
      publicOnly: !settings.allowPrivateAddresses,
    });
  async function handOver<Item>(
    path: 'traces' | 'logs',
    serializer: ISerializer<Item[], Response>,
    items: Item[],
    signal: AbortSignal,
  ): Promise<Handed> {
    let body: Uint8Array;
    try {
      body = serializer.serializeRequest(items) ?? new Uint8Array();
    } catch (error) {
      // What can't be written out must not stand in the way of the others for ever.
      return { result: 'refused', code: asMirrorError(error).code };
    }
    try {
      return handedBy(await post(path, body, signal), serializer);
    } catch (error) {
      const { code, retryAfterMs = null } = asMirrorError(error);
      return { result: 'later', code, retryAfterMs };
    }
  }
  return {
    traces: (spans, signal) => handOver('traces', traces, spans, signal),
    logs: (records, signal) => handOver('logs', logs, records, signal),
  };
}

function handedBy({ status, body, retryAfterMs }: HttpResponse, serializer: ISerializer<never, Response>): Handed {
  if (RETRYABLE.has(status)) return { result: 'later', code: `status-${status}`, retryAfterMs };
  if (status < 200 || status >= 300) return { result: 'refused', code: `status-${status}` };
  return { result: 'taken', refused: refusedIn(body, serializer) };
}

/** Some collectors answer nothing, or text: the status counts. */
function refusedIn(body: Buffer, serializer: ISerializer<never, Response>): number {
  try {
    const { partialSuccess } = body.length === 0 ? {} : serializer.deserializeResponse(body);
    return Number(partialSuccess?.rejectedSpans ?? partialSuccess?.rejectedLogRecords ?? 0);
  } catch {
    return 0;
  }
}
