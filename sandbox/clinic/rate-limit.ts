import type { FaultableRequest } from '../kit/faults.ts';
import type { SandboxKit } from '../kit/kit.ts';

/** At most `requests` per client id in any window of this length, over all tenants and the token endpoint. */
export interface RateLimit {
  requests: number;
  windowMs: number;
}

export interface RateLimiter {
  /** Takes one request of a client. Returns the whole seconds to wait when the request exceeds a limit, otherwise undefined. */
  take(request: FaultableRequest): number | undefined;
}

/** The answer's body, the same at the API and at the token endpoint. */
export const RATE_LIMIT_BODY = { error: 'rate_limit_exceeded', message: 'Too many requests of this application' };

/** Fault kind of a limit on demand: `{kind: 'rate-limit', requests, windowMs}`, in addition to the permanent limit. */
const FAULT_KIND = 'rate-limit';

/** Keeps a sliding window per limit and client. Requests without a known client are not limited, because they have no budget. */
export function createRateLimiter(kit: SandboxKit, always: RateLimit | undefined): RateLimiter {
  const windows = new Map<string, number[]>();

  function take(request: FaultableRequest): number | undefined {
    if (request.client === undefined) return undefined;
    const limits = [always, onDemand(kit, request)].filter((limit) => limit !== undefined);
    const waits = limits.map((limit) => takeFrom(limit, request.client ?? ''));
    const waitMs = Math.max(0, ...waits);
    if (waitMs === 0) return undefined;
    kit.counts.add(`rate-limited client:${request.client}`);
    return Math.max(1, Math.ceil(waitMs / 1000));
  }

  /** Returns the milliseconds until the window accepts a request. If the result is 0, the request is recorded. */
  function takeFrom(limit: RateLimit, client: string): number {
    const key = `${limit.requests}/${limit.windowMs} ${client}`;
    const now = performance.now();
    const recent = (windows.get(key) ?? []).filter((at) => at > now - limit.windowMs);
    windows.set(key, recent);
    const blocking = recent[recent.length - limit.requests];
    if (recent.length >= limit.requests) return Math.max(1, (blocking ?? now) + limit.windowMs - now);
    recent.push(now);
    return 0;
  }

  return { take };
}

function onDemand(kit: SandboxKit, request: FaultableRequest): RateLimit | undefined {
  const fault = kit.faults.active(FAULT_KIND, request);
  if (fault === undefined || !('requests' in fault) || !('windowMs' in fault)) return undefined;
  const { requests, windowMs } = fault;
  return typeof requests === 'number' && typeof windowMs === 'number' ? { requests, windowMs } : undefined;
}
