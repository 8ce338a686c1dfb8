import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Logger } from '../../../core/log/logger.ts';
import { maySee } from '../../../core/model/acts.ts';
import { MINUTE_MS, SECOND_MS } from '../../../core/model/time.ts';
import type { OverviewCache } from '../../control/tenant-list.ts';
import { type OperatorServices, type Visitor, visitorOf } from '../operators.ts';
import { digestOfOverview, overviewFor } from './overview.ts';

/** Interval of checks for changes while a page is followed. */
const LOOK_EVERY_MS = 2 * SECOND_MS;
/** Interval of comments that keep the connection open through proxies. */
const BEAT_EVERY_MS = 20 * SECOND_MS;
/** Lifetime of a stream. The browser then opens another, and access is checked again. */
const STREAM_LIFE_MS = 5 * MINUTE_MS;
/** Maximum number of followed pages per visitor; browsers open six connections per server. */
const MOST_OF_VISITOR = 8;
/** Maximum number of streams of all visitors. */
const MOST_STREAMS = 200;
/** Milliseconds until a browser reopens an ended stream. */
const RETRY_MS = 3_000;

/** A visitor who follows a page. */
interface Follower {
  /** Visitor at the last check. */
  visitor: Visitor;
  stillVisitor(): Promise<Visitor | null>;
  /** Null: the Overview. */
  tenant: string | null;
  response: ServerResponse;
  /** Digest of the displayed data; null before the first check of a new page. */
  seen: string | null;
  endAt: number;
  beatAt: number;
}

/** Times of {@link addLive}, replaceable in tests. */
export interface LiveTimes {
  lookEveryMs?: number;
  /** Milliseconds of a monotonic clock. */
  clock?: () => number;
}

/**
 * Adds the event stream for live pages (https://html.spec.whatwg.org/multipage/server-sent-events.html). The only event, `changed`, makes
 * the page reload its content. One loop serves all followers, and stops without any.
 */
export function addLive(
  app: FastifyInstance,
  services: OperatorServices,
  overview: OverviewCache,
  { lookEveryMs = LOOK_EVERY_MS, clock = () => performance.now() }: LiveTimes = {},
): void {
  const followers = new Set<Follower>();
  const ending = new AbortController();
  let looking: Promise<void> | null = null;
  const drop = (follower: Follower) => {
    followers.delete(follower);
    follower.response.end();
  };
  const look = async () => {
    while (followers.size > 0 && !ending.signal.aborted) {
      await dropStrangers(followers, drop, services.log);
      await publishChanges(followers, services, overview);
      const now = clock();
      for (const follower of followers) {
        if (now >= follower.endAt) drop(follower);
        else if (now >= follower.beatAt) {
          follower.beatAt = now + BEAT_EVERY_MS;
          follower.response.write(':\n\n');
        }
      }
      await pause(lookEveryMs, undefined, { signal: ending.signal }).catch(() => {});
    }
    looking = null;
  };
  app.get<{ Querystring: { tenant?: string; seen?: string } }>(
    '/events',
    { config: { level: 'viewer', isStream: true } },
    async (request, reply) => {
      const visitor = visitorOf(request);
      const { tenant = null } = request.query;
      if (tenant !== null && (!maySee(visitor, tenant) || services.installation.tenants.get(tenant) === undefined)) {
        return reply.callNotFound();
      }
      const own = [...followers].filter((each) => each.visitor.id === visitor.id).length;
      if (own >= MOST_OF_VISITOR || followers.size >= MOST_STREAMS) {
        return reply.code(429).send({ error: 'too-many-streams' });
      }
      const response = begin(reply.hijack().raw);
      const now = clock();
      const lastSeen = request.headers['last-event-id'] ?? request.query.seen;
      const follower: Follower = {
        ...{
          visitor,
          stillVisitor: () => request.stillVisitor(),
          tenant,
          response,
          seen: typeof lastSeen === 'string' ? lastSeen : null,
        },
        ...{ endAt: now + STREAM_LIFE_MS, beatAt: now + BEAT_EVERY_MS },
      };
      followers.add(follower);
      response.once('close', () => followers.delete(follower));
      looking ??= look();
    },
  );
  app.addHook('preClose', async () => {
    ending.abort();
    for (const follower of followers) drop(follower);
    await looking;
  });
}

/** Closes the streams of visitors who signed out or lost access, in any process. */
async function dropStrangers(
  followers: ReadonlySet<Follower>,
  drop: (follower: Follower) => void,
  log: Logger,
): Promise<void> {
  const looks = [...followers].map(async (follower) => {
    try {
      const visitor = await follower.stillVisitor();
      if (visitor === null || (follower.tenant !== null && !maySee(visitor, follower.tenant))) drop(follower);
      else follower.visitor = visitor;
    } catch (error) {
      log.debug({ error }, 'list of open pages could not be read');
    }
  });
  await Promise.all(looks);
}

function begin(response: ServerResponse): ServerResponse {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    // Prevents buffering in proxies (nginx: proxy_buffering).
    'x-accel-buffering': 'no',
  });
  response.write(`retry: ${RETRY_MS}\n\n`);
  return response;
}

async function publishChanges(
  followers: ReadonlySet<Follower>,
  services: OperatorServices,
  overview: OverviewCache,
): Promise<void> {
  const { installation, log } = services;
  try {
    const tenants = new Set([...followers].map(({ tenant }) => tenant));
    const all = tenants.has(null) ? await overview.read() : null;
    const digests = new Map<string, string>();
    for (const tenant of tenants) {
      // A clinic that was removed meanwhile no longer changes.
      if (tenant === null || installation.tenants.get(tenant) === undefined) continue;
      digests.set(tenant, await seenOfTenant(services, tenant));
    }
    for (const follower of followers) {
      const { tenant, visitor, response, seen } = follower;
      const found =
        tenant === null ? all && digestOfOverview(overviewFor(all, visitor)) : (digests.get(tenant) ?? null);
      if (found === null || found === seen) continue;
      follower.seen = found;
      // A browser returns the id when it reopens the stream, so that no change is missed.
      response.write(seen === null ? `id: ${found}\n\n` : `id: ${found}\nevent: changed\ndata:\n\n`);
    }
  } catch (error) {
    // While Redis is unreachable, pages keep their content and show its time.
    log.debug({ error }, 'changes of pages could not be checked');
  }
}

/** Returns the event-stream id of a tenant's current state, for pages that take long to render. */
export async function seenOfTenant({ installation, statuses }: OperatorServices, tenant: string): Promise<string> {
  const { at: _at, ...found } = await statuses.ofTenant(installation, tenant);
  return digestOf(found);
}

function digestOf(value: unknown): string {
  return hash('sha256', JSON.stringify(value), 'base64url');
}
