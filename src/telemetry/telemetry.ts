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
import type { HttpClient, HttpResponse } from '../http/client.ts';
import type { LineMirror } from '../log/create-logger.ts';
import type { Logger, OpenSpan, SpanFacts, SpanStart, Spans } from '../log/logger.ts';
import { redact } from '../log/redact.ts';
import { asMirrorError } from '../model/errors.ts';
import { SECOND_MS } from '../model/time.ts';

import type { TelemetrySettings } from '../settings/settings-schema.ts';

/** What became of a batch. */
export type Handed =
  /** `refused` of it were taken for unusable by who got them. */
  | { result: 'taken'; refused: number }
  /** Sending it again is of no use. */
  | { result: 'refused'; code: string }
  | { result: 'later'; code: string; retryAfterMs: number | null };

/** How many there were, since the process began. */
interface HandOverCounts {
  sent: number;
  /** For want of room, or since the collector refused them. */
  dropped: number;
}

/** What {@link HandOver} needs. */
interface HandOverOptions<Item> {
  /** Never throws. */
  send(items: Item[], signal: AbortSignal): Promise<Handed>;
  /** Told when handing over begins to fail, with its code, and when it is well again (null). */
  report(trouble: string | null): void;
  /** Most that wait. Default 2,048: a few megabytes. */
  room?: number;
  /** Most of one request. Default 256: writing them out holds the one thread for some milliseconds. */
  batch?: number;
  /** Longest time that something waits while the collector takes what it is sent. */
  everyMs?: number;
}

const FIRST_REST_MS = SECOND_MS;
const LONGEST_REST_MS = 60 * SECOND_MS;

/**
 * Hands things over in batches, one at a time, beside the work that they tell of: whoever adds one never waits. What has no room is dropped
 * and counted, so that a collector that is slow, or gone for hours, costs a bounded room and nothing else.
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

  /** Sends what waits, once, and gives up the rest after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    this.#clearTimer();
    const deadline = setTimeout(() => this.#ending.abort(), graceMs);
    await this.#sending;
    while (this.#waiting.length > 0 && this.#restMs === 0 && !this.#ending.signal.aborted) await this.#sendBatch();
    clearTimeout(deadline);
    this.counts.dropped += this.#waiting.splice(0).length;
  }

  /** A full batch goes at once, unless the collector is to be left alone. */
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

  /** Said when it begins and when it is over, not with each batch. */
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

/** What was handed over, by what it was. */
type TelemetryCounts = Readonly<Record<'traces' | 'logs', HandOverCounts>>;

/** What goes to a collector. */
export interface Telemetry {
  spans: Spans;
  /** For the log: where its lines go too, and what ids they carry. */
  lines: LineMirror;
  counts: TelemetryCounts;
  /** Hands over what waits, within `graceMs`; the rest is given up. */
  close(graceMs: number): Promise<void>;
}

/** What {@link openTelemetry} needs beside the settings. */
interface TelemetryOptions {
  /** One of its own, whose requests are told to nobody: they would be told of for ever. */
  http: HttpClient;
  version: string;
  /** Asked for when there is something to say: the log itself goes through here. */
  log: () => Logger;
}

const SCOPE = 'clinic-mirror';
const SEVERITIES = {
  debug: SeverityNumber.DEBUG,
  info: SeverityNumber.INFO,
  warn: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
} as const;

/** Opens what sends traces and log lines to the collector of the settings. Nothing of it is waited for but by `close`. */
export function openTelemetry(settings: TelemetrySettings, { http, version, log }: TelemetryOptions): Telemetry {
  const otlp = openOtlp(settings, http);
  const logDelivery = (signal: string) => (code: string | null) =>
    code === null
      ? log().info({ signal }, 'the collector takes what it is sent again')
      : log().warn({ signal, code }, 'the collector does not take what it is sent: what has no room is dropped');
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
    // Of spans that are not sampled it is not told.
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

/** What waits is kept by {@link HandOver}, which ends by itself. */
const NO_PROCESSOR = { forceFlush: async () => {}, shutdown: async () => {} };

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
interface Otlp {
  traces(spans: ReadableSpan[], signal: AbortSignal): Promise<Handed>;
  logs(records: ReadableLogRecord[], signal: AbortSignal): Promise<Handed>;
}

/** Opens the way to a collector. Unless it is in the operator's own network, only addresses of the public internet are connected to. */
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

/** Spans of this process, and what is under way where it is asked. */
interface TracedSpans extends Spans {
  /** Null where nothing is under way. */
  underWay(): SpanContext | null;
  context(): Context;
}

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
} as const;

/** Spans by a tracer. What stands on them passes the redaction of the log. What is under way follows the work, not the process: nothing global is set. */
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
        // https://opentelemetry.io/docs/specs/semconv/registry/attributes/error/: of low cardinality, which no message is.
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
