import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readUserInfo } from '../../src/clinic/read/users.ts';
import { probeClinic } from '../../src/profile-finder/probe.ts';
import { tenantPaths } from '../../src/profile-finder/tenants.ts';
import { WINDOW } from '../clinic/dialect-truth.ts';
import { documented, speak } from '../clinic/dialects.ts';
import { anyUserForm, userIn } from '../clinic/forms/user-form.ts';
import { failureOf, profileOf, unhurried } from '../clinic/open-client.ts';
import { type Script, startScriptedServer } from '../clinic/scripted-server.ts';
import { openClinicAccess } from '../control/open-clinic-access.ts';

const anyIds = fc.uniqueArray(fc.integer({ min: 1, max: 99_999 }), { minLength: 3, maxLength: 3 });

describe('the tenants in user information', () => {
  test('are found whatever it calls them, and read where they were found', () => {
    fc.assert(
      fc.property(anyUserForm, anyIds, fc.boolean(), (form, numbers, isWord) => {
        const ids = numbers.slice(0, form.others + 1).map((one) => (isWord ? `t-${one}` : one));
        const answer = userIn(form, ids);
        const [place] = tenantPaths(answer);
        const fields = { id: [...(place?.id ?? [])], name: [...(place?.name ?? [])] };
        const { tenants } = readUserInfo(answer, profileOf({ tenants: { path: place?.path ?? 'none', fields } }));
        expect(tenants.map(({ id }) => id).sort()).toEqual(ids.map(String).sort());
      }),
    );
  });

  test('are not seen in what a user may do, or who they are', () => {
    const user = { sub: 'u1', roles: [{ id: 1, name: 'doctor' }], permissions: ['a'], groups: [{ id: 5 }] };
    expect(tenantPaths({ ...user, email: 'ada@x.example', addresses: [{ id: 7 }] })).toEqual([]);
  });
});

/** The documented clinic with user information of another form. */
function tellingUser(user: unknown): Script {
  const script = speak(documented, {});
  return (request) => (request.path.endsWith('/userinfo') ? { json: user } : script(request));
}

async function probe(user: unknown, configuredId: string | null = null) {
  await using server = await startScriptedServer(tellingUser(user));
  const access = openClinicAccess({ baseUrl: server.url }, 'token', profileOf({}), { clock: () => WINDOW.fromAt });
  return await probeClinic({ ...access, configuredId }, () => {}, unhurried());
}

describe('a probe of a clinic whose user information no profile reads yet', () => {
  test('goes on with the tenant where it is likely, and proposes the path', async () => {
    const { proposedProfile, toDecide } = await probe({ sub: 'u1', work: { clinics: [{ uid: 't1', title: 'Uno' }] } });
    expect(proposedProfile).toMatch(/tenants:\n.*\n? *path: work\.clinics/);
    expect(proposedProfile).toContain('id: [uid]');
    expect(toDecide.find(({ location: place }) => place === 'tenants.path')?.ask).toContain(
      'does work.clinics list the clinics',
    );
  });

  test('goes on with the one that the operator chose', async () => {
    const clinics = [{ uid: 't1' }, { uid: 't2' }];
    expect((await probe({ sub: 'u1', clinics }, 't1')).proposedProfile).toContain('path: clinics');
    const failure = await failureOf(probe({ sub: 'u1', clinics }));
    expect(failure).toMatchObject({ code: 'tenant-choice' });
    expect(failure.remedy).toBe(
      'set tenants.path to clinics and tenants.fields.id to [uid] in the clinic profile; set clinic.tenantId to one of: t1, t2',
    );
  });

  test('names the fields that are there where none looks like tenants', async () => {
    const failure = await failureOf(probe({ sub: 'u1', theme: 'dark' }));
    expect(failure).toMatchObject({ code: 'tenants-not-found' });
    expect(failure.message).toContain('it has these fields: sub, theme');
  });
});
