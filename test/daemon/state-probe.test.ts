import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import type { Composition } from '../../src/daemon/compose.ts';
import { stateProbe } from '../../src/daemon/state-probe.ts';
import { message } from '../../src/messages/message.ts';

const probeOf = (composition: object) =>
  stateProbe(composition as unknown as Composition, async () => {}, { openSecrets: () => [] });

describe('unreadable connections', () => {
  const failing = (code: string) => async () => {
    throw new MirrorError(message('no-such-tenant', { id: 'aurora' }), { actor: 'settings', code, retry: 'never' });
  };
  /** Returns the read errors of a tenant's connections; null stands for a connection without tokens. */
  function unopened(logins: Record<string, (() => Promise<unknown>) | null>, tenant = 'aurora') {
    const connections = Object.entries(logins).map(
      ([id, read]) => [id, { id, tokens: read === null ? null : {} }] as const,
    );
    const credentials = { read: (id: string) => logins[id]!() };
    return probeOf({ composed: new Map([['aurora', { connections: new Map(connections), credentials }]]) }).unopened(
      tenant,
    );
  }

  test('are reported by the cause of the decryption failure, one error each', async () => {
    const errors = await unopened({
      changed: failing('state-damaged'),
      old: failing('sealing-key-unknown'),
      away: failing('redis-unreachable'),
      sound: async () => ({}),
      fixed: null,
    });
    expect(errors.map(({ code }) => code)).toEqual(['state-damaged', 'sealing-key-unknown']);
  });

  test('are not reported for a tenant that is not open', async () => {
    expect(await unopened({ changed: failing('state-damaged') }, 'bianchi')).toEqual([]);
  });
});

test('the time of Redis is in whole milliseconds', async () => {
  expect(await probeOf({ redis: { time: async () => ['1700000000', '123999'] } }).time()).toBe(1_700_000_000_123);
});

test('looks for data that Redis lost before reporting the state', async () => {
  let lost = 0;
  const stateCounter = {
    async lostAt() {
      lost = 7;
    },
    view: async () => ({ writesLostAt: lost }),
  };
  expect(await probeOf({ stateCounter }).view()).toMatchObject({ writesLostAt: 7 });
});

test.each([
  [true, 'https://mirror.example', null, []],
  [true, null, 'https://desk.example', []],
  [false, 'https://mirror.example', null, ['10.0.0.1']],
  [false, 'http://mirror.example', null, []],
  [false, null, null, []],
])('proxies are missing (%s) by addresses %s and %s with proxies %j', (expected, http, operator, trustedProxies) => {
  const settings = { http: { publicUrl: http, trustedProxies }, operator: { publicUrl: operator } };
  expect(probeOf({ configuration: { settings } }).lacksTrustedProxies()).toBe(expected);
});
