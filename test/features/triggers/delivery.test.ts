import { describe, expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../../src/core/log/logger.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/core/model/time.ts';
import { runTriggers } from '../../../src/features/triggers/job.ts';
import { useRedis } from '../../support/redis.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { startReceiver } from '../reminders/channels/receiver.ts';
import { createTriggerWorld, usePortal } from './trigger-world.ts';

const redis = useRedis();
const BOTH = ['report.available', 'invoice.issued'];
const portal = usePortal(redis);
const { begin, add, ids, answer, endpoint, waiting } = portal;

describe('a receiver', () => {
  test('that is failing gets the same message again under the same id, with its own time for each try', async () => {
    await begin();
    answer(500, {}, 2);
    portal.receiver.kit.faults.add({ times: 1, fault: { kind: 'lost-answer' } });
    add('r1');
    await portal.world.turn();
    await portal.world.advance(HOUR_MS);
    const tries = portal.receiver.kit.recording.recorded();
    expect(tries.length).toBe(4);
    const headers = portal.receiver.taken.map((each) => each.headers);
    expect(headers.map((each) => each['webhook-id'])).toEqual([headers[0]?.['webhook-id'], headers[0]?.['webhook-id']]);
    expect(headers[0]?.['webhook-timestamp']).not.toBe(headers[1]?.['webhook-timestamp']);
    expect(portal.receiver.taken[0]?.body).toBe(portal.receiver.taken[1]?.body);
    expect(await waiting()).toEqual([]);
    expect(await endpoint()).toMatchObject({ code: null, restUntil: null, failingSince: null });
  });

  test.each([429, 503])('that answers %i with Retry-After receives nothing for the requested time', async (status) => {
    await begin();
    answer(status, { 'retry-after': '1800' });
    add('r1');
    await portal.world.turn();
    await portal.world.advance(29 * MINUTE_MS);
    await portal.world.turn();
    expect(ids()).toEqual([]);
    await portal.world.advance(2 * MINUTE_MS);
    expect(ids()).toEqual(['r1']);
  });

  test('that refuses one message gets the others, and that one again later', async () => {
    await begin();
    answer(400);
    add('r1');
    add('r2');
    await portal.world.turn();
    expect(ids()).toHaveLength(1);
    await portal.world.advance(MINUTE_MS);
    expect(ids().sort()).toEqual(['r1', 'r2']);
  });

  test.each([301, 308])('that answers %i is not followed and is retried', async (status) => {
    await begin();
    answer(status, { location: `${portal.receiver.url}/elsewhere` });
    add('r1');
    await portal.world.turn();
    expect((await endpoint()).code).toBe('webhook-redirected');
    expect(portal.receiver.kit.recording.recorded()).toHaveLength(1);
    await portal.world.advance(MINUTE_MS);
    expect(ids()).toEqual(['r1']);
  });

  test('that refuses our signature rests, and nothing is lost', async () => {
    await begin();
    answer(401);
    add('r1');
    await portal.world.turn();
    expect((await endpoint()).code).toBe('webhook-unauthorized');
    const refusing = async () => (await portal.world.open().triggers?.status())?.refusing;
    const remedy = 'set the same signing secret on both sides; the secret comes from the environment variable SECRET';
    expect(await refusing()).toMatchObject([{ endpoint: 'portal', code: 'webhook-unauthorized', remedy }]);
    await portal.world.advance(MINUTE_MS);
    expect(ids()).toEqual(['r1']);
    expect(await refusing()).toEqual([]);
  });

  test('that fails with one code has one warning until the code changes or a message is taken', async () => {
    await begin();
    add('r1');
    const warned: object[] = [];
    const log: Logger = { ...silentLogger, warn: (data) => warned.push(data) };
    const failTimes = async (times: number, status: number) => {
      for (let tries = 0; tries < times; tries += 1) {
        answer(status);
        await portal.world.turn(portal.world.open({ log }));
        portal.world.now = ((await endpoint()).restUntil ?? portal.world.now) + SECOND_MS;
      }
    };
    await failTimes(10, 401);
    expect(warned).toMatchObject([{ endpoint: 'portal', code: 'webhook-unauthorized' }]);
    await failTimes(2, 301);
    expect(warned).toMatchObject([{}, { code: 'webhook-redirected' }]);
    await portal.world.turn(portal.world.open({ log }));
    expect(ids()).toEqual(['r1']);
    add('r2');
    await failTimes(2, 301);
    expect(warned).toMatchObject([{}, {}, { code: 'webhook-redirected' }]);
  });

  test('that answers 410 gets nothing any more until it is opened; then all that came meanwhile', async () => {
    await begin();
    answer(410);
    add('r1');
    await portal.world.turn();
    add('r2');
    portal.world.now += DAY_MS;
    await portal.world.turn();
    await portal.world.advance(DAY_MS);
    expect(portal.receiver.kit.recording.recorded()).toHaveLength(1);
    expect((await endpoint()).closed).toMatchObject({ code: 'webhook-gone' });
    await portal.world.open().triggers!.store.reopen('portal');
    await portal.world.turn();
    expect(ids().sort()).toEqual(['r1', 'r2']);
  });

  test('that fails delays no other receiver', async () => {
    const other = await startReceiver();
    try {
      portal.world = createTriggerWorld(redis.connect(), {
        portal: { url: portal.receiver.url, events: ['report.available'] },
        ledger: { url: other.url, events: ['report.available'] },
      });
      await begin();
      answer(503);
      add('r1');
      await portal.world.turn();
      expect([portal.receiver.taken.length, other.taken.length]).toEqual([0, 1]);
    } finally {
      await other.close();
    }
  });

  test('by a name that leads into the own network gets nothing, unless that is allowed', async () => {
    portal.world = createTriggerWorld(redis.connect(), {
      portal: { url: 'https://10.1.2.3/in', events: BOTH },
    });
    await begin();
    add('r1');
    await portal.world.turn();
    expect((await endpoint()).code).toBe('address-not-allowed');
  });
});

test('a clinic that does not answer when a message is due is queried again; the receiver is not blamed', async () => {
  await begin();
  answer(503);
  add('r1');
  await portal.world.turn();
  const gone = { actor: 'remote', code: 'clinic-unavailable', retry: 'later' } as const;
  portal.world.documents.errors.reports = new MirrorError('the clinic is failing', gone);
  await portal.world.advance(5 * SECOND_MS);
  expect((await waiting())[0]).toMatchObject({ attempts: 1, code: 'clinic-unavailable' });
  portal.world.documents.errors.reports = null;
  await portal.world.advance(2 * MINUTE_MS);
  expect(ids()).toEqual(['r1']);
});

test('a document that can not be used when its message is due is reported once it can', async () => {
  await begin();
  answer(503);
  add('r1');
  await portal.world.turn();
  portal.world.documents.unusable.add('r1');
  await portal.world.advance(5 * MINUTE_MS);
  expect((await waiting())[0]).toMatchObject({ code: 'document-unusable' });
  portal.world.documents.unusable.clear();
  await portal.world.advance(5 * MINUTE_MS);
  expect(ids()).toEqual(['r1']);
});

test('a stopped run ends after the current message, and leaves the rest to the next run', async () => {
  await begin();
  const stop = new AbortController();
  for (let count = 0; count < 5; count += 1) add(`r${count}`);
  const { readReport } = portal.world.documents;
  let reads = 0;
  portal.world.documents.readReport = (id, signal) => {
    reads += 1;
    if (reads === 3) stop.abort();
    return readReport(id, signal);
  };
  await runTriggers(portal.world.open(), { read: true }, { stop: stop.signal, abort: NEVER });
  expect(ids()).toHaveLength(3);
  await portal.world.retry();
  expect(new Set(ids()).size).toBe(5);
  expect(ids()).toHaveLength(5);
});
