import { describe, expect, it } from 'vitest';
import { chooseTenant } from '../../../src/clinic/read/users.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { failureOf, openClient, profileOf, unhurried, type WrittenProfile } from '../open-client.ts';
import { startScriptedServer } from '../scripted-server.ts';

async function userInfoOf(json: unknown, tenants: WrittenProfile['tenants'] = {}) {
  await using server = await startScriptedServer(() => ({ json }));
  return await openClient(server.url, profileOf({ tenants })).client.userInfo(unhurried());
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

  it('has the only tenant of a system without UserInfo, and nothing is requested', async () => {
    await using server = await startScriptedServer(() => ({ status: 404 }));
    const { client } = openClient(server.url, profileOf({ tenants: { only: 'studio' } }));
    const user = await client.userInfo(unhurried());
    expect(user).toEqual({ subject: null, tenants: [{ id: 'studio', name: null }] });
    expect(chooseTenant(user, null).id).toBe('studio');
    expect(() => chooseTenant(user, 'other')).toThrow(MirrorError);
    expect(server.requests).toEqual([]);
  });

  it.each([{}, { tenants: null }, { tenants: [] }])('is not known to the clinic system when told %j', async (told) => {
    const error = await failureOf(userInfoOf({ sub: 'u1', name: 'Ada', ...told }));
    expect(error).toMatchObject({ actor: 'authorization', code: 'user-unknown', retry: 'never' });
    expect(error.message).toContain('does not know the connected user');
  });

  it.each<[string, unknown, NonNullable<WrittenProfile['tenants']>, string[]]>([
    ['a list of ids', { tenants: [7, '8'] }, {}, ['7', '8']],
    ['one tenant without a list', { tenants: { id: 7, name: 'Uno' } }, {}, ['7']],
    ['one id', { user: { clinicId: 7 } }, { path: 'user.clinicId' }, ['7']],
    ['tenants under their ids', { tenants: { 7: { name: 'Uno' }, 8: {} } }, {}, ['7', '8']],
    ['a list that is the answer', [{ id: 7 }], { path: '.' }, ['7']],
    [
      'tenants within memberships',
      { roles: [{ clinic: { uid: 7 } }] },
      { path: 'roles', fields: { id: ['clinic.uid'] } },
      ['7'],
    ],
  ])('has %s', async (_what, json, written, ids) => {
    const { tenants } = await userInfoOf(json, written);
    expect(tenants.map(({ id }) => id)).toEqual(ids);
  });

  it.each([
    [
      { sub: 'u1', email: 'ada@x.example', workplaces: [{ uid: 7, title: 'Uno' }] },
      'the answer has these fields: sub, email, workplaces',
    ],
    [{ sub: 'u1', workplaces: [], 'ada@x.example': 1 }, 'the answer has these fields: sub, workplaces'],
    [[{ uid: 7 }], 'the answer is a list whose records have these fields: uid'],
  ])(
    'is distinguished from a user without tenants if the answer lists them at another path: %j',
    async (told, fields) => {
      const error = await failureOf(userInfoOf(told));
      expect(error).toMatchObject({ actor: 'contract', code: 'tenants-not-found', retry: 'later' });
      expect(error.message).toBe(`clinic.userInfo.read: the answer has no tenants at \`tenants\`; ${fields}`);
      expect(error.remedy).toContain('set tenants.path and tenants.fields');
    },
  );

  it('names the fields of tenants whose id is elsewhere, without a value', async () => {
    const error = await failureOf(userInfoOf({ tenants: [{ ref: 'x-7', title: 'Studio Uno' }] }));
    expect(error.message).toMatch(/no id at `id, tenantId` of a tenant; a tenant has these fields: ref, title$/);
  });

  it.each([[{ tenants: 'all' }], [{ tenants: [{ name: 'no id' }] }], ['x']])('is not guessed from %j', async (told) => {
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
          'request access to b for the user from the clinic, connect as another user, or set clinic.tenantId to one of: a',
      }),
    );
  });

  it.each([
    ['several and none configured', two, null, 'tenant-choice', 'a, b'],
    ['another one configured', two, 'c', 'tenant-not-allowed', 'a, b'],
    ['another one configured than the only one', one, 'b', 'tenant-not-allowed', 'a'],
  ])('is left to the operator with %s; the error lists the ids', (_what, user, configured, code, ids) => {
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
