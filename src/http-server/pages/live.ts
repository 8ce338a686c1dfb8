import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { OverviewCache } from '../../control/tenant-list.ts';
import type { Logger } from '../../log/logger.ts';
import { maySee } from '../../model/acts.ts';
import { MINUTE_MS, SECOND_MS } from '../../model/time.ts';
import { type OperatorServices, type Visitor, visitorOf } from '../operators.ts';
import { digestOfOverview, overviewFor } from './overview.ts';

/** How often it is looked whether something changed, while somebody follows. */
const LOOK_EVERY_MS = 2 * SECOND_MS;
/** A comment is sent so often, so that whatever stands between keeps the connection. */
const BEAT_EVERY_MS = 20 * SECOND_MS;
/** A stream ends after this and the browser opens another: whether it may is asked again. */
const STREAM_LIFE_MS = 5 * MINUTE_MS;
/** Pages that one visitor follows at a time; a browser itself opens six connections to a server. */
const MOST_OF_VISITOR = 8;
/** Streams of all visitors. */
const MOST_STREAMS = 200;
/** Milliseconds after which a browser opens an ended stream again. */
const RETRY_MS = 3_000;

/** Somebody who follows a page. */
interface Follower {
  /** As of the last look. */
  visitor: Visitor;
  stillVisitor(): Promise<Visitor | null>;
  /** Null: the Overview. */
  tenant: string | null;
  response: ServerResponse;
  /** A digest of what they have seen; null before the first look: their page was made just now. */
  seen: string | null;
  endAt: number;
  beatAt: number;
}

/** How time goes for {@link addLive}: a test has its own. */
export interface LiveTimes {
  lookEveryMs?: number;
  /** Milliseconds of a clock that only goes forward. */
  clock?: () => number;
}

/**
 * Adds the stream of events by which pages follow what happens (https://html.spec.whatwg.org/multipage/server-sent-events.html): `changed` says that
 * the page is to be fetched again, and nothing else. One loop looks for all who follow, and stands still while nobody does.
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

/** Whoever signed out, or may see less than before, is told nothing more, in whatever process that was done. */
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
      log.debug({ error }, 'it could not be looked who still follows');
    }
  });
  await Promise.all(looks);
}

function begin(response: ServerResponse): ServerResponse {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    // Proxies that collect answers would keep events back (nginx: proxy_buffering).
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
      // One that was taken out of the configuration meanwhile changes no more.
      if (tenant === null || installation.tenants.get(tenant) === undefined) continue;
      digests.set(tenant, await seenOfTenant(services, tenant));
    }
    for (const follower of followers) {
      const { tenant, visitor, response, seen } = follower;
      const found =
        tenant === null ? all && digestOfOverview(overviewFor(all, visitor)) : (digests.get(tenant) ?? null);
      if (found === null || found === seen) continue;
      follower.seen = found;
      // A browser brings the id along when it opens the stream again, so that nothing is missed in between.
      response.write(seen === null ? `id: ${found}\n\n` : `id: ${found}\nevent: changed\ndata:\n\n`);
    }
  } catch (error) {
    // Redis may be away: pages stay as they are, and say as of when.
    log.debug({ error }, 'it could not be looked whether pages changed');
  }
}

/** What the stream calls how a tenant stands now: a page that takes long to make says so what it is older than. */
export async function seenOfTenant({ installation, statuses }: OperatorServices, tenant: string): Promise<string> {
  const { at: _at, ...found } = await statuses.ofTenant(installation, tenant);
  return digestOf(found);
}

function digestOf(value: unknown): string {
  return hash('sha256', JSON.stringify(value), 'base64url');
}
