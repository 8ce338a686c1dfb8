import { randomUUID } from 'node:crypto';
import { SeverityNumber } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { LoggerProvider, type ReadableLogRecord } from '@opentelemetry/sdk-logs';
import {
  ParentBasedSampler,
  type ReadableSpan,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { HttpClient } from '../http/client.ts';
import type { LineMirror } from '../log/create-logger.ts';
import type { Logger } from '../log/logger.ts';
import type { Spans } from '../log/spans.ts';
import type { TelemetrySettings } from '../settings/telemetry-schema.ts';
import { HandOver, type HandOverCounts } from './hand-over.ts';
import { openOtlp } from './otlp.ts';
import { createSpans } from './spans.ts';

/** What was handed over, by what it was. */
export type TelemetryCounts = Readonly<Record<'traces' | 'logs', HandOverCounts>>;

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
export interface TelemetryOptions {
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
  const tell = (signal: string) => (code: string | null) =>
    code === null
      ? log().info({ signal }, 'the collector takes what it is sent again')
      : log().warn({ signal, code }, 'the collector does not take what it is sent: what has no room is dropped');
  const traces = new HandOver<ReadableSpan>({ send: otlp.traces, tell: tell('traces') });
  const logs = new HandOver<ReadableLogRecord>({ send: otlp.logs, tell: tell('logs') });
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
