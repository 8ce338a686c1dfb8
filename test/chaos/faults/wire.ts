import type { ProxiedAnswer, ProxyFault } from '../../../sandbox/kit/fault-proxy.ts';
import type { Service } from '../world/gates.ts';
import { type Fault, fault } from './fault.ts';
import { drawMoment, momentOf } from './moments.ts';

const HTTP: readonly Service[] = ['clinic', 'google', 'graph', 'caldav', 'hubspot', 'salesforce', 'sms'];
const SLOW_MS = [300, 1_200, 3_500] as const;
/** What is no answer at all, under the type of one. */
const GARBAGE = ['{"data":[{"id":', 'null', '[]', '\u0000\u0001\u0002', '{"items":"none","value":7,"results":{}}', ''];

/** Refusals that mean "too much", in each vendor's words. */
function limitOf(service: Service): ProxiedAnswer {
  const google = { error: { code: 403, message: 'Rate Limit Exceeded', errors: [{ reason: 'rateLimitExceeded' }] } };
  const graph = { error: { code: 'ErrorExceededMessageLimit', message: 'Too many' } };
  const salesforce = [{ errorCode: 'REQUEST_LIMIT_EXCEEDED', message: 'TotalRequests Limit exceeded.' }];
  const bodies: Partial<Record<Service, unknown>> = { google, graph, salesforce };
  return json(service === 'google' || service === 'salesforce' ? 403 : 503, bodies[service] ?? { error: 'too_many' });
}

function json(status: number, body: unknown, headers: Record<string, string> = {}): ProxiedAnswer {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

/** A fault of the wire at a moment. */
function wire<Drawn extends Record<string, number | boolean | string>>(
  name: string,
  options: {
    weight?: number;
    services?: readonly Service[];
    more: (draw: Parameters<Fault['draw']>[0]) => Drawn;
    of: (service: Service, given: Drawn) => ProxyFault;
  },
): Fault {
  return fault({
    group: 'wire',
    weight: options.weight ?? 1,
    draw: (draw) => ({
      ...drawMoment(draw, options.services ?? HTTP),
      side: 'before',
      times: draw.between(1, 3),
      ...options.more(draw),
    }),
    async play(scene, given) {
      const snare = scene.world.hub.lay({
        moment: momentOf(given),
        times: given.times,
        strike: (at) => scene.count(name, at.name),
        fault: (at) => options.of(at.service, given),
      });
      return { struck: snare.spent, cease: snare.lift };
    },
  });
}

const nothing = () => ({});

/** What happens between the daemons and the servers. Answers lost after the server has carried a request out among it. */
export const WIRE_FAULTS: Readonly<Record<string, Fault>> = {
  'answer-lost': wire('answer-lost', { weight: 3, more: nothing, of: () => ({ kind: 'lost-answer' }) }),
  'answer-cut': wire('answer-cut', { more: nothing, of: () => ({ kind: 'cut-body' }) }),
  'request-cut': wire('request-cut', { more: nothing, of: () => ({ kind: 'cut' }) }),
  throttled: wire('throttled', {
    weight: 2,
    more: (draw) => ({ retryAfter: draw.pick([0, 1, 2]) }),
    of: (_, { retryAfter }) => ({
      kind: 'answer',
      answer: json(429, { error: 'too_many' }, retryAfter === 0 ? {} : { 'retry-after': String(retryAfter) }),
    }),
  }),
  limited: wire('limited', { more: nothing, of: (service) => ({ kind: 'answer', answer: limitOf(service) }) }),
  'server-error': wire('server-error', {
    more: (draw) => ({ status: draw.pick([500, 502, 503, 504]) }),
    of: (_, { status }) => ({ kind: 'answer', answer: json(status, { error: 'broken' }) }),
  }),
  slow: wire('slow', {
    more: (draw) => ({ ms: draw.pick(SLOW_MS) }),
    of: (_, { ms }) => ({ kind: 'latency', ms }),
  }),
  html: wire('html', { more: nothing, of: () => ({ kind: 'html' }) }),
  garbage: wire('garbage', {
    more: (draw) => ({ body: draw.upTo(GARBAGE.length) }),
    of: (_, { body }) => ({
      kind: 'answer',
      answer: { status: 200, headers: { 'content-type': 'application/json' }, body: GARBAGE[body] ?? '' },
    }),
  }),
};
