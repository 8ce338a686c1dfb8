import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import {
  type Context,
  ROOT_CONTEXT,
  SeverityNumber,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import {
  type IExportLogsServiceResponse,
  type IExportTraceServiceResponse,
  type ISerializer,
  JsonLogsSerializer,
  JsonTraceSerializer,
  ProtobufLogsSerializer,
  ProtobufTraceSerializer,
} from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { LoggerProvider, type ReadableLogRecord } from '@opentelemetry/sdk-logs';
import {
  ParentBasedSampler,
  type ReadableSpan,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TelemetrySettings } from '../../settings/settings-schema.ts';
import type { HttpClient, HttpResponse } from '../http/client.ts';
import type { LineMirror } from '../log/create-logger.ts';
import type { Logger, OpenSpan, SpanFacts, SpanStart, Spans } from '../log/logger.ts';
import { redact } from '../log/redact.ts';
import { asMirrorError } from '../model/errors.ts';
import { SECOND_MS } from '../model/time.ts';

/** Result of a batch. */
export type Handed =
  /** The collector rejected `refused` elements as unusable. */
  | { result: 'taken'; refused: number }
  /** A retry is useless. */
  | { result: 'refused'; code: string }
  | { result: 'later'; code: string; retryAfterMs: number | null };

/** Counts since the start of the process. */
interface HandOverCounts {
  sent: number;
  /** Dropped because the queue was full or the collector refused the batch. */
  dropped: number;
}

interface HandOverOptions<Item> {
  /** Never throws. */
  send(items: Item[], signal: AbortSignal): Promise<Handed>;
  /** Reports the start of a failure with its code, and the recovery (null). */
  report(trouble: string | null): void;
  /** Largest queue. Default 2,048: a few megabytes. */
  room?: number;
  /** Largest batch. Default 256: serialization blocks the main thread for some milliseconds. */
  batch?: number;
  /** Longest time in the queue while the collector accepts data. */
  everyMs?: number;
}

const FIRST_REST_MS = SECOND_MS;
const LONGEST_REST_MS = 60 * SECOND_MS;

/**
 * Sends batches one at a time, in the background: adding an element never waits. When the queue is full, new elements are dropped and
 * counted, so that a slow or absent collector costs only bounded memory.
 */
export class HandOver<Item> {
  readonly counts: HandOverCounts = { sent: 0, dropped: 0 };
  readonly #options: HandOverOptions<Item> & { room: number; batch: number; everyMs: number };
  readonly #waiting: Item[] = [];
  readonly #ending = new AbortController();
  #sending: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #restMs = 0;
  #isWell = true;
  #isClosed = false;

  constructor(options: HandOverOptions<Item>) {
    this.#options = { room: 2_048, batch: 256, everyMs: 2 * SECOND_MS, ...options };
  }

  add(item: Item): void {
    if (this.#isClosed || this.#waiting.length >= this.#options.room) {
      this.counts.dropped += 1;
      return;
    }
    this.#waiting.push(item);
    this.#plan();
  }

  /** Sends queued elements once, and drops the rest after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    this.#clearTimer();
    const deadline = setTimeout(() => this.#ending.abort(), graceMs);
    await this.#sending;
    while (this.#waiting.length > 0 && this.#restMs === 0 && !this.#ending.signal.aborted) await this.#sendBatch();
    clearTimeout(deadline);
    this.counts.dropped += this.#waiting.splice(0).length;
  }

  /** A full batch is sent immediately unless the collector requested a pause. */
  #plan(): void {
    if (this.#sending !== null || this.#isClosed) return;
    if (this.#restMs === 0 && this.#waiting.length >= this.#options.batch) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), this.#restMs || this.#options.everyMs).unref();
  }

  #begin(): void {
    this.#clearTimer();
    this.#sending = this.#sendBatch().finally(() => {
      this.#sending = null;
      if (this.#waiting.length > 0) this.#plan();
    });
  }

  async #sendBatch(): Promise<void> {
    const items = this.#waiting.slice(0, this.#options.batch);
    const handed = await this.#options.send(items, this.#ending.signal);
    if (handed.result === 'later') {
      const restMs = Math.min(Math.max(FIRST_REST_MS, this.#restMs * 2), LONGEST_REST_MS);
      this.#restMs = Math.max(restMs, Math.min(handed.retryAfterMs ?? 0, LONGEST_REST_MS));
      this.#recordFailure(handed.code);
      return;
    }
    this.#waiting.splice(0, items.length);
    const refused = handed.result === 'refused' ? items.length : handed.refused;
    this.counts.sent += items.length - refused;
    this.counts.dropped += refused;
    this.#restMs = 0;
    this.#recordFailure(handed.result === 'refused' ? handed.code : null);
  }

  /** Reports the start and end of a failure, not each batch. */
  #recordFailure(trouble: string | null): void {
    const isWell = trouble === null;
    if (isWell !== this.#isWell && !this.#isClosed) this.#options.report(trouble);
    this.#isWell = isWell;
  }

  #clearTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

/** Counts by kind of data. */
type TelemetryCounts = Readonly<Record<'traces' | 'logs', HandOverCounts>>;

/** Data for a collector. */
export interface Telemetry {
  spans: Spans;
  /** Sends log lines to the collector, and adds ids of the current span. */
  lines: LineMirror;
  counts: TelemetryCounts;
  /** Sends queued elements within `graceMs` and drops the rest. */
  close(graceMs: number): Promise<void>;
}

interface TelemetryOptions {
  /** Separate client without tracing: tracing of export requests would never end. */
  http: HttpClient;
  version: string;
  /** Resolved on use: the log itself sends lines through telemetry. */
  log: () => Logger;
}

const SCOPE = 'clinic-mirror';
const SEVERITIES = {
  debug: SeverityNumber.DEBUG,
  info: SeverityNumber.INFO,
  warn: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
} as const;

/** Opens the export of traces and log lines to the configured collector. Only `close` waits for the export. */
export function openTelemetry(settings: TelemetrySettings, { http, version, log }: TelemetryOptions): Telemetry {
  const otlp = openOtlp(settings, http);
  const logDelivery = (signal: string) => (code: string | null) =>
    code === null
      ? log().info({ signal }, 'collector accepts data again')
      : log().warn({ signal, code }, 'collector does not accept data: data above the queue limit is dropped');
  const traces = new HandOver<ReadableSpan>({ send: otlp.traces, report: logDelivery('traces') });
  const logs = new HandOver<ReadableLogRecord>({ send: otlp.logs, report: logDelivery('logs') });
  const resource = resourceFromAttributes({
    ...Object.fromEntries(settings.resource),
    'service.name': settings.serviceName,
    'service.version': version,
    'service.instance.id': randomUUID(),
  });
  const provider = new TracerProvider({
    resource,
    sampler: new ParentBasedSampler({
      root: new TraceIdRatioBasedSampler(settings.traces ? settings.sampledShare : 0),
    }),
    // Called for sampled spans only.
    spanProcessors: [{ ...NO_PROCESSOR, onStart() {}, onEnd: (span) => settings.traces && traces.add(span) }],
  });
  const spans = createSpans(provider.getTracer(SCOPE, version));
  const logger = new LoggerProvider({
    resource,
    processors: [{ ...NO_PROCESSOR, onEmit: (record) => settings.logs && logs.add(record) }],
  }).getLogger(SCOPE, version);
  return {
    spans,
    lines: {
      ids() {
        const own = spans.underWay();
        return own === null ? {} : { trace_id: own.traceId, span_id: own.spanId };
      },
      take(level, data, message) {
        const [severityNumber, context] = [SEVERITIES[level], spans.context()];
        logger.emit({ severityNumber, severityText: level, body: message, attributes: data, context });
      },
    },
    counts: { traces: traces.counts, logs: logs.counts },
    async close(graceMs) {
      await Promise.all([traces.close(graceMs), logs.close(graceMs)]);
    },
  };
}

/** {@link HandOver} keeps the queue and closes separately. */
const NO_PROCESSOR = { forceFlush: async () => {}, shutdown: async () => {} };

/** OTLP's usual limit for one request (https://opentelemetry.io/docs/specs/otel/protocol/exporter/). */
const TIMEOUT_MS = 10 * SECOND_MS;
/** Statuses that request a retry (https://opentelemetry.io/docs/specs/otlp/#otlphttp-response). */
const RETRYABLE = new Set([429, 502, 503, 504]);

type Response = IExportTraceServiceResponse & IExportLogsServiceResponse;

const SERIALIZERS = {
  'http/protobuf': { type: 'application/x-protobuf', traces: ProtobufTraceSerializer, logs: ProtobufLogsSerializer },
  'http/json': { type: 'application/json', traces: JsonTraceSerializer, logs: JsonLogsSerializer },
} as const;

/** Posts batches to the collector, by OTLP 1 over HTTP. */
interface Otlp {
  traces(spans: ReadableSpan[], signal: AbortSignal): Promise<Handed>;
  logs(records: ReadableLogRecord[], signal: AbortSignal): Promise<Handed>;
}

/** Opens the export to a collector. A collector outside the operator's network is reached only over public internet hosts. */
function openOtlp(settings: TelemetrySettings, http: HttpClient): Otlp {
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
      // A batch that cannot be serialized must not block the others forever.
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

/** Some collectors answer without content or with text: the status decides. */
function refusedIn(body: Buffer, serializer: ISerializer<never, Response>): number {
  try {
    const { partialSuccess } = body.length === 0 ? {} : serializer.deserializeResponse(body);
    return Number(partialSuccess?.rejectedSpans ?? partialSuccess?.rejectedLogRecords ?? 0);
  } catch {
    return 0;
  }
}

/** Spans of this process, with the current span. */
interface TracedSpans extends Spans {
  /** Null without a current span. */
  underWay(): SpanContext | null;
  context(): Context;
}

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
} as const;

/**
 * Creates spans with a tracer. Attributes pass the redaction of the log. The current span follows the asynchronous work; there is no global
 * state.
 */
function createSpans(tracer: Tracer): TracedSpans {
  const following = new AsyncLocalStorage<Context>();
  const context = () => following.getStore() ?? ROOT_CONTEXT;
  const underWay = () => trace.getSpanContext(context()) ?? null;
  return {
    context,
    underWay,
    traceparent() {
      const own = underWay();
      return own === null ? null : traceparentOf(own);
    },
    begin(name, { kind = 'internal', facts = {}, parent = null }: SpanStart = {}) {
      const remote = parent === null ? null : parseTraceParent(parent);
      const around = remote === null ? context() : trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true });
      const span = tracer.startSpan(name, { kind: KINDS[kind], attributes: attributesOf(facts) }, around);
      return openSpan(span, (work) => following.run(trace.setSpan(around, span), work));
    },
  };
}

function openSpan(span: Span, within: OpenSpan['within']): OpenSpan {
  return {
    traceparent: traceparentOf(span.spanContext()),
    addFacts: (facts) => void span.setAttributes(attributesOf(facts)),
    within,
    end(error) {
      if (error !== undefined) {
        // https://opentelemetry.io/docs/specs/semconv/registry/attributes/error/: low cardinality is required, and messages have high
        // cardinality.
        span.setAttribute('error.type', asMirrorError(error).code).setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}

function attributesOf(facts: SpanFacts): Record<string, string | number | boolean> {
  return redact(facts) as Record<string, string | number | boolean>;
}

/** Version 0 of https://www.w3.org/TR/trace-context/#traceparent-header */
function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}
