import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import ICAL from 'ical.js';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { rotateFeed, showFeed, withdrawFeed } from '../../../src/features/feeds/feeds.ts';
import { createFeedDirectory } from '../../../src/features/feeds/store.ts';
import { type Installation, requireTenant } from '../../../src/operator/control/installation.ts';
import { status } from '../../../src/operator/control/status.ts';
import { syncTenant } from '../../../src/operator/control/sync.ts';
import { createPublicServer } from '../../../src/operator/http-server/public-server.ts';
import type { PublicVerbs } from '../../../src/operator/http-server/verbs.ts';
import { useSmallWorld } from '../../e2e/support/small-world.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
const TENANT = 'clinic-1';
const FEED = 'rooms';
const PUBLIC_URL = 'https://mirror.example';

/** Opens a clinic whose first agenda is in a calendar and in a feed; the calendar is written once, and the feed is served. */
async function open(changes: object = {}) {
  const world = await useSmallWorld({ redisUrl: redis.url });
  const file = join(world.configDir, 'tenants', `${TENANT}.yaml`);
  const content = parse(await readFile(file, 'utf8'));
  content.connections.feeds = { kind: 'feed' };
  const { agendas, window } = content.targets['doctor-1'];
  content.targets[FEED] = { connector: 'feed', connection: 'feeds', agendas, window, ...changes };
  await writeFile(file, stringify(content));
  const composition = world.open();
  const { installation } = composition;
  const directory = createFeedDirectory(composition.redis);
  const verbs = {
    showFeed: (token, caller, tag) => showFeed({ installation, directory }, token, caller, tag),
  } satisfies Partial<PublicVerbs>;
  const server = await createPublicServer(verbs as unknown as PublicVerbs, {
    publicUrl: () => PUBLIC_URL,
    log: silentLogger,
  });
  onTestFinished(() => server.close());
  const fetched = (url: string, headers: Record<string, string> = {}) =>
    server.inject({ url: new URL(url).pathname, headers, remoteAddress: '8.8.8.8' });
  const address = async () => (await rotateFeed(installation, TENANT, FEED, PUBLIC_URL)).url;
  return { world, installation, fetched, address, cycle: () => cycle(installation) };
}

function cycle(installation: Installation) {
  const { signal } = new AbortController();
  Object.assign(requireTenant(installation, TENANT), { random: () => 0, missedForMs: 0 });
  return syncTenant(installation, TENANT, { progress: () => {}, signals: { stop: signal, abort: signal } });
}

function eventsOf(text: string): ICAL.Component[] {
  return ICAL.Component.fromString(text).getAllSubcomponents('vevent');
}

const startsOf = (text: string) => eventsOf(text).map((event) => new ICAL.Event(event).startDate.toUnixTime() * 1_000);

test('a feed shows the events of the clinic as busy time only, follows changes, and is not sent again while unchanged', async () => {
  const { world, installation, fetched, address, cycle: cycled } = await open();
  const { clinicId, agendaIds } = world.tenants[0]!;
  const first = await cycled();
  expect(first.targets.map(({ target, sync }) => [target, sync])).toEqual([
    ['doctor-1', 'in-sync'],
    [FEED, 'in-sync'],
  ]);
  const url = await address();
  expect(url).toMatch(/^https:\/\/mirror\.example\/feeds\/[\w-]{43}\.ics$/);
  const answer = await fetched(url);
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'text/calendar; charset=utf-8']);
  const shown = await world.targets[0]!.read();
  expect(startsOf(answer.body).sort()).toEqual(shown.map(({ startAt }) => startAt).sort());
  // By default a feed shows only busy time.
  expect(new Set(eventsOf(answer.body).map((event) => event.getFirstPropertyValue('summary')))).toEqual(
    new Set(['Busy']),
  );
  for (const line of answer.body.split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);

  const known = { 'if-none-match': `"other", W/${answer.headers.etag}` };
  expect([(await fetched(url, known)).statusCode, (await fetched(url, known)).body]).toEqual([304, '']);
  const { start } = world.clinic.book(clinicId, { agendaId: agendaIds[0]! });
  await cycled();
  const later = await fetched(url, known);
  expect([later.statusCode, startsOf(later.body).includes(start)]).toEqual([200, true]);
  const [, view] = (await status(installation)).tenants[0]!.targets;
  expect(view).toMatchObject({ target: FEED, feed: { fetches: 4, fetchedAt: expect.any(Number) } });
});

test('a URL expires when it is replaced or withdrawn; unknown and expired URLs get the same answer', async () => {
  const { installation, fetched, address, cycle: cycled } = await open({ title: 'appointment' });
  await cycled();
  const [before, now] = [await address(), await address()];
  const unknown = `${PUBLIC_URL}/feeds/${'A'.repeat(43)}.ics`;
  expect((await fetched(now)).body).toContain('SUMMARY:Appointment');
  await withdrawFeed(installation, TENANT, FEED);
  const answers = await Promise.all([before, now, unknown, `${PUBLIC_URL}/feeds/x.ics`].map((url) => fetched(url)));
  expect(answers.map(({ statusCode, body }) => [statusCode, body])).toEqual(
    answers.map(() => [404, '{"error":"not-found"}']),
  );
});

test('write access to Redis is not enough to create a URL', async () => {
  const { fetched, address, cycle: cycled } = await open();
  await cycled();
  await address();
  const { feedKeys } = await import('../../../src/features/feeds/keys.ts');
  const { createHash } = await import('node:crypto');
  const token = 'B'.repeat(43);
  const hash = createHash('sha256').update(token).digest('base64url');
  const connection = redis.connect();
  await connection.set(feedKeys.feedToken(hash), JSON.stringify({ tenant: TENANT, target: FEED }));
  await connection.hset(feedKeys.feedAccess(TENANT, FEED), { hash });
  expect((await fetched(`${PUBLIC_URL}/feeds/${token}.ics`)).statusCode).toBe(404);
});

test('too many requests for one URL or for many get a delay, and Redis holds nothing in clear', async () => {
  const { fetched, address, cycle: cycled } = await open({ settings: { name: 'CanaryName' }, title: 'appointment' });
  await cycled();
  const url = await address();
  const answers: number[] = [];
  for (let index = 0; index < 32; index += 1) answers.push((await fetched(url)).statusCode);
  expect(answers.filter((code) => code === 429)).toHaveLength(2);
  const guesses: number[] = [];
  for (let index = 0; index < 40; index += 1) {
    guesses.push((await fetched(`${PUBLIC_URL}/feeds/${'C'.repeat(40)}${100 + index}.ics`)).statusCode);
  }
  expect(guesses.slice(0, 3)).toEqual([404, 404, 404]);
  expect(guesses.at(-1)).toBe(429);
  const connection = redis.connect();
  const token = url.slice(-47, -4);
  for (const key of await connection.keys('*')) {
    if ((await connection.type(key)) !== 'hash') continue;
    const text = JSON.stringify(await connection.hgetall(key));
    expect(text, key).not.toContain(token);
    expect(text, key).not.toContain('VEVENT');
  }
});
