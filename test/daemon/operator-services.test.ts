import { describe, expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/core/model/time.ts';
import { openAccess } from '../../src/daemon/access.ts';
import { createLoginServices, openOperatorServices } from '../../src/daemon/operator-services.ts';
import { openStatuses } from '../../src/operator/control/statuses.ts';
import { useRedis } from '../support/redis.ts';
import { openComposition } from './open-composition.ts';

const redis = useRedis();

const open = (settings = '') => {
  const composition = openComposition(redis.url, { settings });
  return { composition, services: createLoginServices(composition) };
};

const errorOf = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    return error;
  }
  return null;
};

test('a session is too old for sensitive actions after the minutes of the settings; a token never is', () => {
  const access = 'operator: { port: 0, access: { reauthenticateAfterMinutes: 20 } }';
  const { composition } = open(access);
  const { acting } = openOperatorServices(composition, openStatuses(), null, openAccess(composition));
  const now = composition.installation.clock();
  const visitor = { id: 'owner', name: 'owner', level: 'owner', tenants: null, csrf: '' } as const;
  const ages = [19 * MINUTE_MS, 20 * MINUTE_MS + 60_000, now].map((ageMs) => now - ageMs);
  const isStale = ages.map((signedInAt) => acting({ ...visitor, signedInAt }, null).isStale);
  expect([...isStale, acting(visitor, null).isStale]).toEqual([false, true, true, false]);
});

describe('a connection', () => {
  test('at the clinic is verified before it is stored; others are not', () => {
    const { composition, services } = open();
    const { connections, verifyClinicLogin } = composition.composed.get('uno')!;
    expect(services.target('uno', 'clinic').verify).toBe(verifyClinicLogin);
    expect(services.target('uno', 'work')).toBe(connections.get('work')!.tokens!.login);
  });

  test.each(['dav', 'gone'])(
    'that cannot be made (%s) is refused with no-such-login and the names of possible connections',
    (id) => {
      const error = errorOf(() => open().services.target('uno', id));
      expect(error).toMatchObject({ actor: 'settings', code: 'no-such-login', retry: 'never' });
      expect(JSON.stringify((error as { remedy?: unknown }).remedy)).toContain('clinic, work, spare');
    },
  );

  test('of a tenant that does not exist is refused with no-such-tenant', () => {
    expect(errorOf(() => open().services.target('due', 'clinic'))).toMatchObject({ code: 'no-such-tenant' });
  });

  test('is in use if it is the clinic’s, or if a target uses it', () => {
    const { services } = open();
    const used = ['clinic', 'work', 'dav', 'spare'].filter((id) => services.isUsed('uno', id));
    expect(used).toEqual(['clinic', 'work', 'dav']);
  });

  test('serves the targets that use it, by their content', () => {
    const { services } = open();
    const ofClinic = { clinic: 'Studio Uno', language: 'it' };
    const targets = [{ connector: 'google-calendar', holds: 'events' }];
    expect(services.about('uno', 'work')).toEqual({ ...ofClinic, targets });
    expect(services.about('uno', 'spare')).toEqual({ ...ofClinic, targets: [] });
  });

  test('can be made on another host only with a public URL', () => {
    expect(open().services.remote).toBeNull();
    expect(open('http: { port: 8080, publicUrl: "https://mirror.example" }\n').services.remote).toEqual({
      callbackUrl: 'https://mirror.example/oauth/callback',
      linkUrl: 'https://mirror.example/oauth/login',
    });
  });
});
