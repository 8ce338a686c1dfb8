import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import { redact } from '../log/redact.ts';
import type { OpenSpan, SpanFacts, SpanStart, Spans } from '../log/spans.ts';
import { asMirrorError } from '../model/errors.ts';

/** Spans of this process, and what is under way where it is asked. */
export interface TracedSpans extends Spans {
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
export function createSpans(tracer: Tracer): TracedSpans {
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
    tell: (facts) => void span.setAttributes(attributesOf(facts)),
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
