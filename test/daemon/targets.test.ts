import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { SharedState } from '../../src/connectors/shared-state.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { OpenConnection } from '../../src/daemon/open-connection.ts';
import {
  type ConnectorParts,
  type Connectors,
  openNotifications,
  openTargets,
  scopesOfTargets,
} from '../../src/daemon/targets.ts';
import { FingerprintMemory } from '../../src/engine/identity.ts';
import type { TargetConfiguration, TenantConfiguration } from '../../src/settings/configuration.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { createProofSealer } from '../../src/state/sealing.ts';

const KEY = new Uint8Array(32);
const SUBSCRIPTIONS = { stands: 'in for what a connector subscribes with' };

/** A connector of calendars that notes what it is opened with. */
function openWorld(own: object = {}) {
  const opened: { settings: unknown; ownerTag: string; http: unknown }[] = [];
  const calendars = {
    name: 'calendars',
    holds: 'events',
    supports: { keys: 'enforced', erases: ['appointments'] },
    connectionKinds: ['google'],
    settingsSchema: z.strictObject({ calendar: z.string() }),
    neededScopes: ({ calendar }: { calendar: string }, stream: string) => ['read', `${stream}:${calendar}`],
    open(context: (typeof opened)[number]) {
      opened.push(context);
      return { subscriptions: SUBSCRIPTIONS };
    },
    ...own,
  };
  const parts = {
    ...{ tenant: 'aurora', zone: 'Europe/Rome', identityKey: KEY, identity: 'fingerprint', remotes: new SharedState() },
    ...{ log: silentLogger, clock: () => 0, feeds: { feedStore: () => ({}) } },
    connectors: new Map([['calendars', calendars]]) as unknown as Connectors,
    httpOf: { calendars: 'the way to calendars', crms: 'the way to CRMs' },
    connections: new Map([
      ['work', { kind: 'google', budget: null, authorizer: () => ({}) } as unknown as OpenConnection],
    ]),
  } as unknown as ConnectorParts;
  return { opened, parts };
}

const targetOf = (id: string, own: object = {}) =>
  ({
    id,
    connector: 'calendars',
    connection: 'work',
    settings: { calendar: id },
    ...own,
  }) as unknown as TargetConfiguration;

const tenantOf = (...targets: TargetConfiguration[]) =>
  ({ targets: new Map(targets.map((target) => [target.id, target])) }) as unknown as TenantConfiguration;

describe('scopes of a connection', () => {
  const { connectors } = openWorld().parts;

  test('are those of its targets, each once, for the changes of each target', () => {
    const crm = { crm: { stream: 'patients' } };
    const tenant = tenantOf(targetOf('one'), targetOf('two', crm), targetOf('other', { connection: 'private' }));
    expect(scopesOfTargets(tenant, 'work', connectors)).toEqual(['read', 'appointments:one', 'patients:two']);
    expect(scopesOfTargets(tenant, 'private', connectors)).toEqual(['read', 'appointments:other']);
  });

  test('are empty if no target uses it', () => {
    expect(scopesOfTargets(tenantOf(targetOf('one')), 'clinic', connectors)).toEqual([]);
  });
});

describe('a target', () => {
  const cached = () => ({ fingerprints: new FingerprintMemory(), preparedContainer: null, idleTarget: null });

  function open(own: object = {}, module: object = {}) {
    const world = openWorld(module);
    const known = cached();
    const target = openTargets(tenantOf(targetOf('one', own)), new Map([['one', known]]), world.parts).get('one')!;
    return { ...world, known, target };
  }

  test('opens its connector once, at first use, as its purpose requires', () => {
    const { opened, target } = open();
    expect(opened).toEqual([]);
    expect(target.connector).toBe(target.connector);
    expect(opened).toMatchObject([{ settings: { calendar: 'one' }, http: 'the way to calendars' }]);
    expect(opened[0]?.ownerTag).toBe(target.identity.ownerTag);
    const crm = open({}, { holds: 'objects' });
    expect(crm.target.connector).toBeDefined();
    expect(crm.opened).toMatchObject([{ http: 'the way to CRMs' }]);
  });

  test('with another name is a new one, unless its file gives the former name', () => {
    const tagOf = (own: object) => open(own).target.identity.ownerTag;
    expect(tagOf({ formerly: 'two' })).not.toBe(tagOf({}));
    expect(tagOf({ formerly: 'one' })).toBe(tagOf({}));
  });

  test('has the guarantees of its connector, and different ones under special settings', () => {
    expect(open().target.supports).toMatchObject({ keys: 'enforced', erases: ['appointments'] });
    const own = { keysOf: () => 'searched', erasesOf: () => [] };
    expect(open({}, own).target.supports).toMatchObject({ keys: 'searched', erases: [] });
  });

  test('passes its known state to its replacement', () => {
    const { known, target } = open();
    target.preparedContainer = 'a calendar' as never;
    expect(known.preparedContainer).toBe('a calendar');
  });
});

describe('a stored subscription', () => {
  const KEPT = { connector: 'calendars', connection: 'work', settings: { calendar: 'of before' } };

  function subscriptionsOf(own: Partial<typeof KEPT> = {}, module: object = {}) {
    const { opened, parts } = openWorld(module);
    const proofs = createProofSealer(KEY, 'aurora');
    const whole = { ...parts, redis: {} as RedisClient, id: 'aurora', proofs };
    const notifications = openNotifications(whole, null);
    const subscriptions = notifications.subscriptionsOf({ ...KEPT, ...own } as never);
    return { opened, subscriptions };
  }

  test('is cancelled under the settings that created it, and changes no managed object', () => {
    const { opened, subscriptions } = subscriptionsOf();
    expect(subscriptions).toBe(SUBSCRIPTIONS);
    expect(opened).toMatchObject([{ settings: { calendar: 'of before' }, ownerTag: '' }]);
  });

  test.each([
    ['of a deleted connection', { connection: 'gone' }, {}],
    ['of a removed connector', { connector: 'gone' }, {}],
    ['with settings that became invalid', { settings: { calendar: 7 as unknown as string } }, {}],
    ['of a connection whose kind changed', {}, { connectionKinds: ['microsoft'] }],
  ])('%s is not changed', (_what, own, module) => {
    const { opened, subscriptions } = subscriptionsOf(own, module);
    expect(subscriptions).toBeNull();
    expect(opened).toEqual([]);
  });
});
