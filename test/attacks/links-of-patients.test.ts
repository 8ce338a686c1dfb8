import type { IncomingMessage } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../src/core/log/create-logger.ts';
import { DAY_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { callerOf, trustedBy } from '../../src/operator/http-server/caller.ts';
import { createPublicServer } from '../../src/operator/http-server/public-server.ts';
import { type AnswerBed, openAnswerBed, press } from '../features/reminders/reminder-world.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis({ appendOnly: false });

const storeOf = ({ world }: AnswerBed) => {
  const answers = world.tenant.reminders?.answers;
  if (answers == null) throw new Error('the tenant has no answers');
  return answers.store;
};

describe('a client that opens links endlessly', () => {
  test('with one link uses no budget of the clinic’s other patients', async () => {
    const bed = await openAnswerBed(redis.connect());
    for (let at = 0; at < 1_000; at += 1) await bed.desk.show(bed.token, '198.18.0.1');
    expect((await bed.desk.show(bed.token, '198.18.0.1')).says).toBe('limited');
    // A patient at another address, and one at the attacker's address.
    for (const caller of ['another', 'a third'])
      expect(await storeOf(bed).admit('other', caller, bed.world.now)).toBe(true);
  });

  test('with many links from one address uses a third of the budget of all the clinic’s patients', async () => {
    const bed = await openAnswerBed(redis.connect());
    const store = storeOf(bed);
    const admitted = [];
    for (let at = 0; at < 400; at += 1) admitted.push(await store.admit(`link-${at}`, 'one', bed.world.now));
    expect(admitted.filter(Boolean)).toHaveLength(100);
    expect(await store.admit('other', 'another', bed.world.now)).toBe(true);
    expect(await store.admit('other', 'one', bed.world.now + MINUTE_MS)).toBe(true);
  });

  test('leaves no address in Redis', async () => {
    const bed = await openAnswerBed(redis.connect());
    await bed.desk.show(bed.token, '198.18.7.77');
    const names = await bed.connection.keys('*answers-minute*');
    expect(names).toHaveLength(3);
    expect(names.join()).not.toContain('198.18.7.77');
  });
});

const PROXIES = ['127.0.0.1', '::1', '10.0.0.0/8', '2a01:4f8:0:77::/64', '8.8.4.0/24'];

describe('a request is counted for', () => {
  const from = (remoteAddress: string, forwarded?: string | string[]) =>
    callerOf(
      {
        socket: { remoteAddress },
        headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
      } as unknown as IncomingMessage,
      trustedBy(() => PROXIES),
    );

  test.each([
    ['the peer of a direct connection', '8.8.8.8', undefined, '8.8.8.8'],
    ['the same, written as IPv6', '::ffff:8.8.8.8', undefined, '8.8.8.8'],
    ['the peer of a direct connection, regardless of its header', '8.8.8.8', '9.9.9.9', '8.8.8.8'],
    ['the client of a trusted proxy', '127.0.0.1', '8.8.8.8', '8.8.8.8'],
    ['the client of a trusted proxy, regardless of its header', '10.0.0.7', '9.9.9.9, 8.8.8.8', '8.8.8.8'],
    ['the client of the first of two trusted proxies', '10.0.0.7', '9.9.9.9, 8.8.8.8, 10.0.0.6', '8.8.8.8'],
    ['the same, with a port', '10.0.0.7', '8.8.8.8:51234', '8.8.8.8'],
    ['the network of an IPv6 client', '::1', '2a01:4f8:1:2:3:4:5:6', '2a01:4f8:1:2::/64'],
    ['the same, in another spelling', '::1', '[2A01:04f8:1:0002::6]:443', '2a01:4f8:1:2::/64'],
    ['the same, short', '::1', '2a01:4f8::6', '2a01:4f8:0:0::/64'],
    [
      'the last proxy within the limit, regardless of the length of the header',
      '10.0.0.7',
      `8.8.8.8${', 10.0.0.6'.repeat(8)}`,
      '10.0.0.6',
    ],
    ['the proxy that names no client', '127.0.0.1', undefined, '127.0.0.1'],
    ['the proxy that names nonsense', '127.0.0.1', '8.8.8.8, unknown, <script>, 10.0.0.1', '10.0.0.1'],
    ['a client in one’s own network', '192.168.1.20', '', '192.168.1.20'],
    ['the same, behind a proxy', '10.0.0.7', '192.168.1.20', '192.168.1.20'],
    ['a private peer that is no trusted proxy, regardless of its header', '192.168.1.20', '8.8.8.8', '192.168.1.20'],
    ['a client behind a proxy on the internet', '8.8.4.4', '9.9.9.9', '9.9.9.9'],
    ['a client behind a proxy of IPv6', '2a01:4f8:0:77::5', '9.9.9.9', '9.9.9.9'],
    ['a client behind a proxy with an IPv4-mapped address', '::ffff:10.0.0.7', '9.9.9.9', '9.9.9.9'],
    ['the peer, if every hop is a trusted proxy, the first of them', '10.0.0.7', '10.0.0.5, 10.0.0.6', '10.0.0.5'],
    ['a closed connection: one limit for all closed connections', '', '8.8.8.8', ''],
  ])('%s', (_, peer, forwarded, expected) => {
    expect(from(peer, forwarded)).toBe(expected);
  });

  test('the port passes the address to the limit', async () => {
    const bed = await openAnswerBed(redis.connect());
    const seen: string[] = [];
    const log = createLogger({ level: 'debug', destination: { write: () => {} } });
    const verbs = {
      completeLogin: async () => ({ outcome: 'failed', language: 'en' }) as const,
      describeLogin: async () => null,
      beginLogin: async () => ({ outcome: 'failed', language: 'en' }) as const,
      takeNotification: async () => null,
      takeReminderCallback: async () => 404,
      showFeed: async () => ({ status: 404 as const }),
      showAnswer: (token: string, caller: string) => {
        seen.push(caller);
        return bed.desk.show(token, caller);
      },
      takeAnswer: bed.desk.take,
    };
    const app = await createPublicServer(verbs, {
      publicUrl: () => 'https://mirror.test',
      log,
      trustedProxies: () => PROXIES,
    });
    onTestFinished(() => app.close());
    await app.inject({ url: `/r/${bed.token}`, headers: { 'x-forwarded-for': '8.8.8.8' } });
    expect(seen).toEqual(['8.8.8.8']);
  });
});

describe('a link that a stranger finds later', () => {
  test.each([
    ['without an answer', async () => {}],
    ['with an answer', (bed: AnswerBed) => press(bed, 'confirmed')],
    [
      'that is opened without end',
      async (bed: AnswerBed) => {
        for (let at = 0; at < 30; at += 1) await bed.desk.show(bed.token);
      },
    ],
  ])('reveals neither clinic nor time: one %s', async (_, before) => {
    const bed = await openAnswerBed(redis.connect());
    await before(bed);
    const during = await bed.desk.show(bed.token);
    await bed.world.advance(2 * DAY_MS);
    const page = await bed.desk.show(bed.token);
    expect(page).toEqual({ says: 'expired', about: null, form: null });
    expect(await bed.desk.take(bed.token, { answer: 'cancelled', proof: during.form?.proof ?? '' })).toEqual(page);
  });
});
