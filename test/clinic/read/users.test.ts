import { describe, expect, it } from 'vitest';
import { chooseTenant } from '../../../src/clinic/read/users.ts';
import { MirrorError } from '../../../src/model/errors.ts';
import { failureOf, openClient, profileOf, unhurried } from '../open-client.ts';
import { startScriptedServer } from '../scripted-server.ts';

async function userInfoOf(json: unknown) {
  await using server = await startScriptedServer(() => ({ json }));
  return await openClient(server.url, profileOf()).client.userInfo(unhurried());
}

describe('the connected user', () => {
  it('has tenants, by id or tenantId, as texts or numbers', async () => {
    const tenants = [{ id: 7, name: 'Uno' }, { tenantId: 't2' }];
    expect(await userInfoOf({ sub: 'u1', name: 'Ada', tenants })).toEqual({
      subject: 'u1',
      tenants: [
        { id: '7', name: 'Uno' },
        { id: 't2', name: null },
      ],
    });
  });

  it.each([{}, { tenants: null }, { tenants: [] }])('is not known to the clinic system when told %j', async (told) => {
    const error = await failureOf(userInfoOf({ sub: 'u1', name: 'Ada', ...told }));
    expect(error).toMatchObject({ actor: 'authorization', code: 'user-unknown', retry: 'never' });
    expect(error.message).toContain('not known to the clinic system');
  });

  it.each([[{ tenants: 'all' }], [{ tenants: [{ name: 'no id' }] }], [[]]])('is not guessed from %j', async (told) => {
    expect(await failureOf(userInfoOf(told))).toMatchObject({ actor: 'contract', code: 'bad-tenants' });
  });
});

describe('the choice of a tenant', () => {
  const one = { subject: 'u', tenants: [{ id: 'a', name: 'A' }] };
  const two = { subject: 'u', tenants: [...one.tenants, { id: 'b', name: 'B' }] };

  it('is the only one, or the configured one', () => {
    expect(chooseTenant(one, null).id).toBe('a');
    expect(chooseTenant(one, 'a').id).toBe('a');
    expect(chooseTenant(two, 'b').id).toBe('b');
  });

  it('stays with that of earlier work when others come, unless the operator chooses', () => {
    expect(chooseTenant(two, null, 'b').id).toBe('b');
    expect(chooseTenant(two, 'a', 'b').id).toBe('a');
  });

  it('never falls upon another when that of earlier work is gone', () => {
    expect(() => chooseTenant(one, null, 'b')).toThrow(
      expect.objectContaining({
        actor: 'settings',
        code: 'tenant-gone',
        retry: 'never',
        remedy:
          'have the clinic give the user access to b again, connect as another user, or set clinic.tenantId to one of: a',
      }),
    );
  });

  it.each([
    ['several and none configured', two, null, 'tenant-choice', 'a, b'],
    ['another one configured', two, 'c', 'tenant-not-allowed', 'a, b'],
    ['another one configured than the only one', one, 'b', 'tenant-not-allowed', 'a'],
  ])('is the operator’s with %s, who is told the ids', (_what, user, configured, code, ids) => {
    try {
      chooseTenant(user, configured);
      expect.unreachable();
    } catch (error) {
      if (!(error instanceof MirrorError)) throw error;
      expect(error).toMatchObject({ actor: 'settings', code, retry: 'never' });
      expect(error.remedy).toBe(`set clinic.tenantId to one of: ${ids}`);
    }
  });
});
